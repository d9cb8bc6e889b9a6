"""Python SDK of the Paddle job platform.

    import paddlecloud as paddle
    paddle.dist.train(trainer=main, job_name="digits", trainers=4, pservers=2, output="digits")

Run by hand, the call submits the program it stands in; run by the platform, it trains. `Client` speaks the `/v1` interface.
"""

from . import dist, job
from .client import Client, Event, Job, LogLine, Member
from .errors import ApiError, Denied, NotFound, ServerNotReached, Unavailable
from .job import PaddleJob

__all__ = [
    "ApiError",
    "Client",
    "Denied",
    "Event",
    "Job",
    "LogLine",
    "Member",
    "NotFound",
    "PaddleJob",
    "ServerNotReached",
    "Unavailable",
    "dist",
    "job",
]
__version__ = "0.1.0"
