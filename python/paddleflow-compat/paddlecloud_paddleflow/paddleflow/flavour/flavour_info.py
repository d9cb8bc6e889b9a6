"""What is known of a flavour."""

import dataclasses


@dataclasses.dataclass(eq=False)
class FlavourInfo:
    """`scalar_resources` is JSON text, empty if there are none; `cluster_name` is always empty."""

    name: str
    cpu: str
    mem: str
    scalar_resources: str
    cluster_name: str
    createtime: str
    updatetime: str
