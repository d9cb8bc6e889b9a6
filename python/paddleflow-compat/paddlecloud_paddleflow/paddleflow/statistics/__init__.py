"""What jobs have used."""

from .statistics_api import StatisticsServiceApi
from .statistics_info import CardTimeInfo, StatisticsJobDetailInfo, StatisticsJobInfo

__all__ = ["CardTimeInfo", "StatisticsJobDetailInfo", "StatisticsJobInfo", "StatisticsServiceApi"]
