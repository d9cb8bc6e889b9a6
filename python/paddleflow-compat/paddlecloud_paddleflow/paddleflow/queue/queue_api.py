"""Requests about queues and grants."""

from typing import Any, Dict, List, Mapping, Optional

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, filled
from ..common.values import taken
from .queue_info import GrantInfo, QueueInfo

QUEUE = (
    "name status namespace clusterName quotaType maxResources minResources usedResources idleResources location "
    "schedulingPolicy createTime updateTime"
)


def _queue(item: Mapping[str, Any]) -> QueueInfo:
    return taken(QueueInfo, QUEUE, item)


def _grants(data: Mapping[str, Any]) -> List[GrantInfo]:
    """Those of queues; a server may list those of other things, too."""
    items = [item for item in data.get("grantList") or [] if item.get("resourceType") == "queue"]
    return [taken(GrantInfo, "userName resourceID", item) for item in items]


class QueueServiceApi(Session):
    """The part of a client that asks for queues."""

    def add_queue(
        self,
        name: str,
        namespace: str,
        clusterName: str,
        maxResources: Mapping[str, Any],
        minResources: Optional[Mapping[str, Any]] = None,
        schedulingPolicy: Optional[List[str]] = None,
        location: Optional[Dict[str, str]] = None,
        quotaType: Optional[str] = None,
    ) -> Answer:
        """(True, None). Resources have "cpu", "mem" and "scalarResources"; those of `maxResources` need the first two."""
        self.need("InvalidNameSpace", namespace=namespace)
        self.need("InvalidQueueName", queuename=name)
        self.need("InvalidQueueClusterName", clustername=clusterName)
        if not maxResources or any(maxResources.get(key) is None for key in ("cpu", "mem")):
            raise PaddleFlowSDKException("InvalidQueueMaxResources", "queue maxResources cpu or mem should not be none")
        body = {"name": name, "namespace": namespace, "clusterName": clusterName, "maxResources": maxResources}
        more = {"minResources": minResources, "schedulingPolicy": schedulingPolicy, "location": location}
        return self.ask("POST", "/queue", body={**body, **filled({**more, "quotaType": quotaType})})

    def update_queue(
        self,
        queuename: str,
        maxResources: Optional[Mapping[str, Any]],
        minResources: Optional[Mapping[str, Any]] = None,
        schedulingPolicy: Optional[List[str]] = None,
        location: Optional[Dict[str, str]] = None,
    ) -> Answer:
        """(True, None). What is None or empty stays as it is."""
        self.need("InvalidQueueName", queuename=queuename)
        body = {"maxResources": maxResources, "minResources": minResources}
        more = {"schedulingPolicy": schedulingPolicy, "location": location}
        return self.ask("PUT", at("queue", queuename), body=filled({**body, **more}))

    def grant_queue(self, username: str, queuename: str) -> Answer:
        """(True, None)."""
        return self.ask("POST", "/grant", body=self._grant(username, queuename))

    def ungrant_queue(self, username: str, queuename: str) -> Answer:
        """(True, None)."""
        return self.ask("DELETE", "/grant", query=self._grant(username, queuename))

    def _grant(self, username: str, queuename: str) -> Dict[str, str]:
        self.need("InvalidName", name=username)
        self.need("InvalidQueueName", queuename=queuename)
        return {"username": username, "resourceType": "queue", "resourceID": queuename}

    def show_queue_grant(self, username: Optional[str] = None, maxsize: int = 100) -> Answer:
        """(True, [GrantInfo])."""
        self.not_blank("InvalidName", name=username)
        self.positive(maxsize=maxsize)
        return self.ask("GET", "/grant", _grants, {"maxKeys": maxsize, "username": username or None})

    def del_queue(self, queuename: str) -> Answer:
        """(True, None)."""
        self.need("InvalidQueueName", queuename=queuename)
        return self.ask("DELETE", at("queue", queuename))

    def list_queue(self, maxsize: int = 100, marker: Optional[str] = None) -> Answer:
        """(True, [QueueInfo], marker)."""
        self.positive(maxsize=maxsize)
        return self.ask_page("/queue", "queueList", _queue, {"maxKeys": maxsize, "marker": marker or None})

    def show_queue(self, queuename: str) -> Answer:
        """(True, QueueInfo)."""
        self.need("InvalidQueueName", queuename=queuename)
        return self.ask("GET", at("queue", queuename), _queue)
