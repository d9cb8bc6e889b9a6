"""Users."""

from .user_api import UserServiceApi
from .user_info import UserInfo

__all__ = ["UserInfo", "UserServiceApi"]
