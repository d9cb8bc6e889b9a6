"""The exception of this package."""

from .paddleflow_sdk_exception import PaddleFlowSDKException

__all__ = ["PaddleFlowSDKException"]
