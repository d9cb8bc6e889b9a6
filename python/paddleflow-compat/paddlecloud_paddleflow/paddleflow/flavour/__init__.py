"""Flavours: named amounts of resources."""

from .flavour_api import FlavourServiceApi
from .flavour_info import FlavourInfo

__all__ = ["FlavourInfo", "FlavourServiceApi"]
