"""The client: who is logged in at a server, and every request by its older name."""

from .cluster.cluster_api import ClusterServiceApi
from .common.session import Answer, Session
from .flavour.flavour_api import FlavourServiceApi
from .fs.fs_api import FSServiceApi
from .job.job_api import JobServiceApi
from .log.log_api import LogServiceApi
from .pipeline.pipeline_api import PipelineServiceApi
from .queue.queue_api import QueueServiceApi
from .run.run_api import RunServiceApi
from .schedule.schedule_api import ScheduleServiceApi
from .statistics.statistics_api import StatisticsServiceApi
from .user.user_api import UserServiceApi


class Client(
    UserServiceApi,
    QueueServiceApi,
    FlavourServiceApi,
    FSServiceApi,
    RunServiceApi,
    ClusterServiceApi,
    PipelineServiceApi,
    ScheduleServiceApi,
    LogServiceApi,
    JobServiceApi,
    StatisticsServiceApi,
    Session,
):
    """A server, by host and port. Nothing is sent before login().

    Methods return (True, value), lists of some kinds (True, values, marker of the next page or None). A refusal raises
    PaddleFlowSDKException with the server's code; (False, message) comes only of a server that puts a message into a reply of success."""

    def get_version(self) -> Answer:
        """(True, dict): what the server says of its version."""
        return self.ask("GET", "/version", dict)
