"""Steps: components that run a command."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from .component import Component, Loop
from .errors import fault
from .maps import EnvMap
from .options import CacheOptions, ExtraFS, mounts_of
from .values import Artifact, Value

if TYPE_CHECKING:
    from .programs import Programs


class Step(Component):
    """A component that runs a command as a job. Its base, for all kinds of steps."""

    _word = "step"
    type = "step"

    def __init__(
        self,
        name: str,
        docker_env: Optional[str] = None,
        command: Optional[str] = None,
        inputs: Optional[Mapping[str, Artifact]] = None,
        outputs: Optional[Mapping[str, Artifact]] = None,
        parameters: Optional[Mapping[str, Value]] = None,
        env: Optional[Mapping[str, Any]] = None,
        cache_options: Optional[CacheOptions] = None,
        condition: Optional[str] = None,
        loop_argument: Optional[Loop] = None,
        extra_fs: Union[ExtraFS, Sequence[ExtraFS], None] = None,
        *,
        retries: Optional[int] = None,
        time_limit: Union[int, str, None] = None,
        requirements: Union[str, Sequence[str], None] = None,
    ) -> None:
        super().__init__(name, condition, loop_argument, inputs, outputs, parameters)
        for what, text in (("docker_env", docker_env), ("command", command)):
            if text is not None and not isinstance(text, str):
                raise fault(f"{self.said}: its {what} is {text!r}; it is a text")
        if cache_options is not None and not isinstance(cache_options, CacheOptions):
            raise fault(f"{self.said}: cache_options is {cache_options!r}; it is a CacheOptions")
        self.docker_env = docker_env
        self.command = command
        self._env = EnvMap(self.said, self, env)
        self.cache_options = cache_options
        self.extra_fs: List[ExtraFS] = mounts_of(extra_fs)
        self.retries = retries
        self.time_limit = time_limit
        self.requirements = requirements

    @property
    def env(self) -> EnvMap:
        """Variables of its job."""
        return self._env

    def add_env(self, env: Mapping[str, Any]) -> None:
        """Further variables; those of the same names are replaced."""
        self._env.update(env)

    # -- in the definition

    def _needs_image(self) -> bool:
        return self.docker_env is None

    def _command_text(self, programs: "Programs") -> Optional[str]:
        return self.command

    def _env_texts(self, programs: "Programs") -> Dict[str, str]:
        return dict(self._env)

    def _package(self, programs: "Programs") -> Optional[str]:
        """The hash of a package of its own."""
        return None


class ContainerStep(Step):
    """A step with a command for the shell, which runs in the image `docker_env` (None: that of the pipeline).

    `inputs` maps names to artifacts of other steps, `outputs` names to Artifact(), `parameters` names to values. In the command, `{{name}}` is
    the path of an artifact or the value of a parameter of this step; an f-string takes those of other steps: f"cat {other.outputs['log']}".
    `retries` are further attempts after a failed one, `time_limit` is in seconds or text ("2h"), `requirements` are lines of a
    requirements.txt."""
