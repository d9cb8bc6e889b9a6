"""What is known of a cluster."""

import dataclasses
from typing import List, Optional


@dataclasses.dataclass(eq=False)
class ClusterInfo:
    """`credential` is plain text. In a list, it, `setting` and `namespacelist` are None."""

    clusterid: str
    clustername: str
    description: str
    endpoint: str
    source: str
    clustertype: str
    version: str
    status: str
    credential: Optional[str]
    setting: Optional[str]
    namespacelist: Optional[List[str]]
    createtime: str
    updatetime: str
