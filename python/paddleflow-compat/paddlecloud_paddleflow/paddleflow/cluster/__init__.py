"""Clusters."""

from .cluster_api import ClusterServiceApi
from .cluster_info import ClusterInfo

__all__ = ["ClusterInfo", "ClusterServiceApi"]
