"""Pipelines described in Python: the classes of `paddlecloud.pipeline`, with the older methods of Pipeline and the older exception."""

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

import paddlecloud.pipeline
from paddlecloud.pipeline import (
    FAIL_CONTINUE,
    FAIL_FAST,
    PF_LOOP_ARGUMENT,
    PF_RUN_ID,
    PF_STEP_NAME,
    PF_USER_NAME,
    Component,
    DSLError,
)
from paddlecloud.pipeline.context import check_running
from paddlecloud.pipeline.emit import to_yaml
from paddlecloud.pipeline.pipeline import paths_of

from ..common.exception import PaddleFlowSDKException
from ..common.session import Answer
from ..common.util import get_default_config_path, read_config

if TYPE_CHECKING:
    from ..client import Client

__all__ = [
    "DAG",
    "FAIL_CONTINUE",
    "FAIL_FAST",
    "PF_LOOP_ARGUMENT",
    "PF_RUN_ID",
    "PF_STEP_NAME",
    "PF_USER_NAME",
    "Artifact",
    "CacheOptions",
    "ContainerStep",
    "ExtraFS",
    "FSOptions",
    "FSScope",
    "FailureOptions",
    "MainFS",
    "Parameter",
    "Pipeline",
]


class PipelineDSLError(PaddleFlowSDKException, DSLError):
    """A description that cannot become a pipeline; its code is "PipelineDSLError"."""

    code: str

    def __init__(self, message: str) -> None:
        super().__init__("PipelineDSLError", message)


class DAG(paddlecloud.pipeline.DAG):
    __doc__ = paddlecloud.pipeline.DAG.__doc__
    _error = PipelineDSLError


class Artifact(paddlecloud.pipeline.Artifact):
    __doc__ = paddlecloud.pipeline.Artifact.__doc__
    _error = PipelineDSLError


class CacheOptions(paddlecloud.pipeline.CacheOptions):
    __doc__ = paddlecloud.pipeline.CacheOptions.__doc__
    _error = PipelineDSLError


class ContainerStep(paddlecloud.pipeline.ContainerStep):
    __doc__ = paddlecloud.pipeline.ContainerStep.__doc__
    _error = PipelineDSLError


class FailureOptions(paddlecloud.pipeline.FailureOptions):
    __doc__ = paddlecloud.pipeline.FailureOptions.__doc__
    _error = PipelineDSLError


class FSOptions(paddlecloud.pipeline.FSOptions):
    __doc__ = paddlecloud.pipeline.FSOptions.__doc__
    _error = PipelineDSLError


class FSScope(paddlecloud.pipeline.FSScope):
    __doc__ = paddlecloud.pipeline.FSScope.__doc__
    _error = PipelineDSLError


class MainFS(paddlecloud.pipeline.MainFS):
    __doc__ = paddlecloud.pipeline.MainFS.__doc__
    _error = PipelineDSLError


class ExtraFS(paddlecloud.pipeline.ExtraFS, MainFS):
    __doc__ = paddlecloud.pipeline.ExtraFS.__doc__


class Parameter(paddlecloud.pipeline.Parameter):
    __doc__ = paddlecloud.pipeline.Parameter.__doc__
    _error = PipelineDSLError


def _sorted(value: Any) -> Any:
    """The same with the keys of maps in alphabetical order, as the older module writes them."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


class Pipeline(paddlecloud.pipeline.Pipeline):
    """As paddlecloud.pipeline.Pipeline. It runs and is stored by a client that logs in as `config` says, the path of an ini file (None:
    $HOME/.paddleflow/paddleflow.ini). Only root may give the `username` of another."""

    _error = PipelineDSLError

    def run(  # type: ignore[override]
        self,
        config: Optional[str] = None,
        username: Optional[str] = None,
        fs_name: Optional[str] = None,
        run_name: Optional[str] = None,
        desc: Optional[str] = None,
        disabled: Optional[Sequence[Union[str, Component]]] = None,
    ) -> Answer:
        """(True, id of the run)."""
        text = self._bytes("run()")
        left_out: List[str] = paths_of(disabled) or []
        return self._logged_in(config).create_run(
            fs_name, username, run_name, desc, run_yaml_raw=text, disabled=",".join(left_out)
        )

    def create(  # type: ignore[override]
        self, config: Optional[str] = None, username: Optional[str] = None, desc: Optional[str] = None
    ) -> Answer:
        """(True, {"name": name, "pplID": id, "pplVerID": version})."""
        text = self._bytes("create()")
        return self._logged_in(config).create_pipeline(username=username, desc=desc, yaml_raw=text)

    def update(  # type: ignore[override]
        self,
        pipeline_id: str,
        config: Optional[str] = None,
        username: Optional[str] = None,
        desc: Optional[str] = None,
    ) -> Answer:
        """(True, {"pipelineID": id, "pipelineVersionID": version})."""
        text = self._bytes("update()")
        return self._logged_in(config).update_pipeline(pipeline_id, username=username, desc=desc, yaml_raw=text)

    def _bytes(self, user: str) -> bytes:
        check_running(user)
        return to_yaml(_sorted(self.compile())).encode()

    def _logged_in(self, config: Optional[str]) -> "Client":
        from ..client import Client  # which needs this folder

        found = read_config(config or get_default_config_path(), "PipelineDSLError")
        client = Client(found.host, found.name, found.password, found.port)
        ok, message = client.login(found.name, found.password)
        if not ok:
            raise PipelineDSLError(f"login as '{found.name}' failed: {message}")
        return client
