"""Requests about flavours."""

import json
from typing import Any, Mapping, Optional

from ..common.session import Answer, Session, at, filled
from .flavour_info import FlavourInfo


def _flavour(item: Mapping[str, Any]) -> FlavourInfo:
    scalars = json.dumps(item["scalarResources"]) if "scalarResources" in item else ""
    name, cpu, mem, created, updated = (item.get(key) for key in ("name", "cpu", "mem", "createTime", "updateTime"))
    return FlavourInfo(str(name), str(cpu), str(mem), scalars, "", str(created), str(updated))


class FlavourServiceApi(Session):
    """The part of a client that asks for flavours."""

    def list_flavour(
        self, maxsize: int = 100, marker: Optional[str] = None, clustername: str = "", key: str = ""
    ) -> Answer:
        """(True, [FlavourInfo], marker). `key` is a part of their names."""
        self.positive(maxsize=maxsize)
        query = filled({"marker": marker, "clusterName": clustername, "name": key})
        return self.ask_page("/flavour", "flavourList", _flavour, {"maxKeys": maxsize, **query})

    def show_flavour(self, name: str) -> Answer:
        """(True, FlavourInfo)."""
        self.need("InvalidFlavourName", name=name)
        return self.ask("GET", at("flavour", name), _flavour)

    def add_flavour(
        self,
        name: str,
        cpu: str,
        memory: str,
        scalar_resources: Optional[Mapping[str, Any]] = None,
        cluster_name: Optional[str] = None,
    ) -> Answer:
        """(True, None)."""
        self.need("InvalidFlavourName", name=name, cpu=cpu, memory=memory)
        more = filled({"scalarResources": scalar_resources, "clusterName": cluster_name})
        return self.ask("POST", "/flavour", body={"name": name, "cpu": cpu, "mem": memory, **more})

    def del_flavour(self, name: str) -> Answer:
        """(True, None)."""
        self.need("InvalidFlavourName", name=name)
        return self.ask("DELETE", at("flavour", name))

    def update_flavour(
        self,
        name: str,
        cpu: Optional[str] = None,
        memory: Optional[str] = None,
        scalar_resources: Optional[Mapping[str, Any]] = None,
        cluster_name: Optional[str] = None,
    ) -> Answer:
        """(True, name)."""
        self.need("InvalidFlavourName", name=name)
        more = {"scalarResources": scalar_resources, "clusterName": cluster_name}
        body = filled({"cpu": cpu, "mem": memory, **more})
        return self.ask("PUT", at("flavour", name), lambda data: data["name"], body=body)
