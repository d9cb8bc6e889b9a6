"""What is known of queues and grants."""

import dataclasses
from typing import Any, Dict, List, Optional

Resources = Dict[str, Any]  # "cpu", "memory", "scalarResources"


@dataclasses.dataclass(eq=False)
class QueueInfo:
    """`usedResources` and `idleResources` are None in a list."""

    name: str
    status: str
    namespace: str
    clusterName: str
    quotaType: str
    maxResources: Resources
    minResources: Optional[Resources]
    usedResources: Optional[Resources]
    idleResources: Optional[Resources]
    location: Optional[Dict[str, str]]
    schedulingPolicy: Optional[List[str]]
    createTime: str
    updateTime: str


@dataclasses.dataclass(eq=False)
class GrantInfo:
    """A user may use a queue."""

    username: str
    resourceName: str
