"""Requests about clusters."""

import base64
from typing import Any, Dict, List, Mapping, Optional

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer, Session, at, filled
from ..common.values import taken
from .cluster_info import ClusterInfo

CLUSTER = (
    "id clusterName description endpoint source clusterType version status credential setting namespaceList "
    "createTime updateTime"
)


def _brief(item: Mapping[str, Any]) -> ClusterInfo:
    return taken(ClusterInfo, CLUSTER, {**item, "credential": None, "setting": None, "namespaceList": None})


def _cluster(item: Mapping[str, Any]) -> ClusterInfo:
    try:
        credential = base64.b64decode(item.get("credential") or "", validate=True).decode()
    except ValueError as error:
        raise PaddleFlowSDKException("InvalidResponse", "Credential is not Base64 encoded") from error
    return taken(ClusterInfo, CLUSTER, {**item, "credential": credential})


def _coded(credential: Optional[bytes]) -> Optional[str]:
    if credential and not isinstance(credential, bytes):
        raise PaddleFlowSDKException("InvalidRequest", "credential must be bytes type")
    return base64.b64encode(credential).decode() if credential else None


def _checked(namespacelist: Optional[List[str]]) -> Optional[List[str]]:
    if namespacelist and not isinstance(namespacelist, list):
        raise PaddleFlowSDKException("InvalidRequest", "namespaceList must be list type")
    return namespacelist


def _id(data: Mapping[str, Any]) -> Any:
    return data["id"]


class ClusterServiceApi(Session):
    """The part of a client that asks for clusters. A `credential` is a kubeconfig as bytes."""

    def create_cluster(
        self,
        clustername: str,
        endpoint: str,
        clustertype: str,
        credential: Optional[bytes] = None,
        description: Optional[str] = None,
        source: Optional[str] = None,
        setting: Optional[str] = None,
        status: Optional[str] = None,
        namespacelist: Optional[List[str]] = None,
        version: Optional[str] = None,
    ) -> Answer:
        """(True, id)."""
        self.need("InvalidClusterName", clustername=clustername)
        self.need("InvalidEndpoint", endpoint=endpoint)
        self.need("InvalidClusterType", clustertype=clustertype)
        body = {"clusterName": clustername, "endpoint": endpoint, "clusterType": clustertype, "version": version}
        more = {"credential": _coded(credential), "description": description, "source": source, "setting": setting}
        last = {"status": status, "namespaceList": _checked(namespacelist)}
        return self.ask("POST", "/cluster", _id, body=filled({**body, **more, **last}))

    def list_cluster(
        self,
        maxkeys: int = 100,
        marker: Optional[str] = None,
        clustername: Optional[str] = None,
        clusterstatus: Optional[str] = None,
    ) -> Answer:
        """(True, [ClusterInfo], marker). `clustername` may be several, with commas."""
        self.positive(maxkeys=maxkeys)
        query = {"marker": marker, "clusterNames": clustername, "clusterStatus": clusterstatus}
        return self.ask_page("/cluster", "clusterList", _brief, {"maxKeys": maxkeys, **filled(query)})

    def show_cluster(self, clustername: str) -> Answer:
        """(True, ClusterInfo)."""
        self.need("InvalidClusterName", clustername=clustername)
        return self.ask("GET", at("cluster", clustername), _cluster)

    def delete_cluster(self, clustername: str) -> Answer:
        """(True, clustername)."""
        self.need("InvalidClusterName", clustername=clustername)
        return self.ask("DELETE", at("cluster", clustername), lambda data: clustername)

    def update_cluster(
        self,
        clustername: str,
        endpoint: Optional[str] = None,
        credential: Optional[bytes] = None,
        clustertype: Optional[str] = None,
        description: Optional[str] = None,
        source: Optional[str] = None,
        setting: Optional[str] = None,
        status: Optional[str] = None,
        namespacelist: Optional[List[str]] = None,
        version: Optional[str] = None,
    ) -> Answer:
        """(True, id)."""
        self.need("InvalidClusterName", clustername=clustername)
        body = {"endpoint": endpoint, "clusterType": clustertype, "description": description, "version": version}
        more = {"credential": _coded(credential), "source": source, "setting": setting, "status": status}
        changes = filled({**body, **more, "namespaceList": _checked(namespacelist)})
        return self.ask("PUT", at("cluster", clustername), _id, body=changes)

    def list_cluster_resource(self, clustername: Optional[str] = None) -> Answer:
        """(True, dict): by cluster its nodes and the sums of their resources."""
        return self.ask("GET", "/cluster/resource", dict, {"clusterNames": clustername or None})

    def list_cluster_resource_v2(
        self,
        page_no: int,
        page_size: int,
        clusternames: Optional[List[str]] = None,
        queuenaame: Optional[str] = None,
        labels: Optional[str] = None,
    ) -> Answer:
        """(True, dict): by cluster the resources of its nodes. `queuenaame` has three a."""
        body: Dict[str, Any] = {"pageNo": page_no, "pageSize": page_size}
        more = filled({"clusterNames": clusternames, "queueName": queuenaame, "labels": labels})
        return self.ask("POST", "/cluster/resource", dict, body={**body, **more})
