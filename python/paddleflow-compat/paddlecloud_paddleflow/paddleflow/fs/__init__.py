"""File systems, their caches and links."""

from .fs_api import FSServiceApi
from .fs_info import CacheConfigInfo, FSInfo, LinkInfo

__all__ = ["CacheConfigInfo", "FSInfo", "FSServiceApi", "LinkInfo"]
