"""A pipeline as Python describes it: to a definition, to a run, and into the server's store."""

import copy
import functools
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from . import names
from .compiler import compile_entry_points, compile_post_process
from .component import Component
from .context import Scope, check_running, scopes
from .dag import EntryPoints
from .emit import to_yaml
from .errors import Raising, fault
from .maps import EnvMap
from .options import CacheOptions, FailureOptions, FSOptions
from .programs import Programs
from .step import Step

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from ..client import Client
    from ..runs import Run, StoredPipeline

    P = ParamSpec("P")

Self = TypeVar("Self", bound="Pipeline")


class Pipeline(Raising):
    """A pipeline, as a decorator of the function that makes its steps; each call of the function gives a pipeline:

        @Pipeline(name="digits", docker_env="python:3.11")
        def digits(epochs):
            prepare = ContainerStep("prepare", command="...", outputs={"data": Artifact()})
            ContainerStep("train", command=f"python train.py {prepare.outputs['data']} --epochs {epochs}")

        run = digits(5).run().wait()

    `parallelism` is the number of steps at one time (None and 0: the platform's), `docker_env` the image of steps that have none, `env` are
    variables of all steps. `cache_options`, `failure_options` and `fs_options` are of the whole pipeline. Raises DSLError."""

    def __init__(
        self,
        name: str,
        parallelism: Optional[int] = None,
        docker_env: Optional[str] = None,
        env: Optional[Mapping[str, Any]] = None,
        cache_options: Optional[CacheOptions] = None,
        failure_options: Optional[FailureOptions] = None,
        fs_options: Optional[FSOptions] = None,
    ) -> None:
        if callable(name):
            raise fault(f"@Pipeline has no name here: write @Pipeline(name={_word_of(name)!r}) above the function")
        self._name = names.check_pipeline(name)
        self.parallelism = _parallelism(parallelism)
        if docker_env is not None and not isinstance(docker_env, str):
            raise fault(f"pipeline '{name}': docker_env is {docker_env!r}; it is a text")
        self.docker_env = docker_env
        self.cache_options = _option(name, "cache_options", cache_options, CacheOptions)
        self.failure_options = _option(name, "failure_options", failure_options, FailureOptions)
        self.fs_options = _option(name, "fs_options", fs_options, FSOptions)
        self._env = EnvMap(f"pipeline '{name}'", self, env)
        self._post_process: Optional[Step] = None
        self._root = EntryPoints(self)
        self._maker: Optional[Callable[..., Pipeline]] = None  # the decorated function that made it

    def __call__(self, function: "Callable[P, object]") -> "Callable[P, Pipeline]":
        """The decorated function: a call makes a new pipeline of what `function` makes."""

        @functools.wraps(function)
        def make(*args: "P.args", **keywords: "P.kwargs") -> "Pipeline":
            made = self._fresh()
            made._root._enter()
            try:
                function(*args, **keywords)
            finally:
                made._root._exit()
            made._maker = make
            return made

        make._decorator = self  # type: ignore[attr-defined]
        for name in ("run", "create", "update", "compile", "to_yaml", "tree", "picture"):
            setattr(make, name, _uncalled(function, name))
        return make

    def _fresh(self: Self) -> Self:
        """The same options without components. post_process stays if it was set here."""
        made = copy.copy(self)
        made._env = EnvMap(f"pipeline '{self._name}'", self, self._env)
        made._root = EntryPoints(made)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._name}': {len(self._root._children)} components>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = names.check_pipeline(name)

    @property
    def env(self) -> EnvMap:
        """Variables of all its steps; those of a step with the same name count."""
        return self._env

    def add_env(self, env: Optional[Mapping[str, Any]]) -> None:
        """Further variables; those of the same names are replaced."""
        self._env.update(env or {})

    @property
    def entry_points(self) -> Dict[str, Component]:
        """Its outermost steps and DAGs by name."""
        return self._root.entry_points

    def set_post_process(self, step: Step) -> None:
        """The step that runs when all others have ended, however they ended; a second one replaces the first."""
        if not isinstance(step, Step):
            raise fault(f"pipeline '{self._name}': post_process is {step!r}; it is a step")
        self._post_process = step

    def get_post_process(self) -> Optional[Step]:
        """The step of set_post_process; None without one."""
        return self._post_process

    # -- definition

    def compile(self, save_path: Union[str, "os.PathLike[str]", None] = None) -> Dict[str, Any]:
        """The definition (doc/reference/pipelines.md); with `save_path`, a file of the kind .yaml, .yml or .json, it is also written there, and
        directories that are missing are made. Only files that an earlier compile() wrote are replaced. Raises DSLError for others, and if it
        cannot be a pipeline."""
        if save_path is None:
            return self._compiled()
        path = os.fspath(save_path)
        if not path.endswith((".json", ".yaml", ".yml")):
            raise fault(f"pipeline '{self._name}': save_path '{path}' does not end in .yaml, .yml or .json")
        from .saving import Saved, save, text_of

        programs = Programs()
        definition = self._compiled(programs)
        save({path: text_of(definition, path), **programs.files(os.path.dirname(path))})
        return Saved(definition, path)

    def to_yaml(self) -> str:
        """The definition as a text in YAML."""
        return to_yaml(self._compiled())

    def _compiled(self, programs: Optional[Programs] = None) -> Dict[str, Any]:
        env, programs = dict(self._env), Programs() if programs is None else programs
        values: Dict[str, Any] = {
            "name": self._name,
            "docker_env": self.docker_env,
            "parallelism": self.parallelism,
            "cache": self.cache_options and self.cache_options.compile(),
            "failure_options": self.failure_options and self.failure_options.compile(),
            "fs_options": (self.fs_options and self.fs_options.compile()) or None,
            "entry_points": compile_entry_points(self._root, env, programs),
        }
        if self._post_process is not None:
            values["post_process"] = compile_post_process(self._post_process, env, programs, self._root._children)
        if self.docker_env is None:
            self._check_images(self._root._children)
        return {key: value for key, value in values.items() if value is not None}

    def _check_images(self, components: Mapping[str, Component]) -> None:
        for component in components.values():
            if isinstance(component, Step) and component._needs_image():
                raise fault(
                    f"{component.said} has no image, and pipeline '{self._name}' has none: give one of them docker_env"
                )
            self._check_images(getattr(component, "_children", {}))

    # -- in a notebook

    def tree(self) -> str:
        """Its components as lines of text, each with what it waits for, its loop and its condition."""
        from .drawing import tree_of

        return tree_of(self._compiled())

    def picture(self) -> Optional[str]:
        """Its components as a picture, the text of an SVG; None without the program `paddle`, which draws it."""
        from .drawing import picture_of

        return picture_of(self._compiled())

    def _repr_html_(self) -> Optional[str]:
        """The picture, or the tree; None for one that cannot be compiled."""
        from .drawing import html_of

        try:
            return html_of(self._compiled())
        except ValueError:
            return None

    # -- runs

    def run(
        self,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        fs_name: Optional[str] = None,
        run_name: Optional[str] = None,
        desc: Optional[str] = None,
        disabled: Union[str, Component, Sequence[Union[str, Component]], None] = None,
        client: Optional["Client"] = None,
        **keywords: Any,
    ) -> "Run":
        """Runs it; returns the run, which has begun. `parameters` ("n", "train.n"), `desc` and further keywords are as in Client.run_create,
        `run_name` is its `name`.

        `fs_name` is the main file system if `fs_options` names none. `disabled` are components, or their paths, that are left out. Without
        `client` the server is found as Client() finds it. Raises DSLError, and what Client.run_create raises."""
        server = _client("run()", client)
        definition = to_yaml(self._with_fs(self._sent(server, keywords.get("directory")), fs_name))
        return server.run_create(
            definition, parameters, name=run_name, description=desc, disabled=paths_of(disabled), **keywords
        )

    def create(
        self,
        *,
        fs_name: Optional[str] = None,
        desc: Optional[str] = None,
        directory: Union[str, "os.PathLike[str]", None] = None,
        client: Optional["Client"] = None,
    ) -> "StoredPipeline":
        """Stores it on the server as version 1 of a pipeline of its name; as Client.pipeline_create. Steps that are functions need no
        `directory`: their programs are stored anyway."""
        server = _client("create()", client)
        return server.pipeline_create(to_yaml(self._sent(server, directory)), desc, fs_name, directory=directory)

    def update(
        self,
        pipeline: Optional[str] = None,
        *,
        fs_name: Optional[str] = None,
        desc: Optional[str] = None,
        directory: Union[str, "os.PathLike[str]", None] = None,
        client: Optional["Client"] = None,
    ) -> "StoredPipeline":
        """Stores it as another version of `pipeline` (an id or name; None: that of its name); as Client.pipeline_update. `directory` is as
        in create."""
        server = _client("update()", client)
        definition = to_yaml(self._sent(server, directory))
        return server.pipeline_update(pipeline or self._name, definition, desc, fs_name, directory=directory)

    def _sent(self, server: "Client", directory: Union[str, "os.PathLike[str]", None] = None) -> Dict[str, Any]:
        """The definition; the programs of functions are sent, and their steps name the packages that hold them."""
        programs = Programs()
        definition = self._compiled(programs)
        if programs:
            programs.send(server, None if directory is None else os.fspath(directory))
            definition = self._compiled(programs)
        return definition

    def _with_fs(self, definition: Dict[str, Any], fs_name: Optional[str]) -> Dict[str, Any]:
        if fs_name is None:
            return definition
        options = definition.get("fs_options", {})
        main = options.get("main_fs", {})
        if main.get("name", fs_name) != fs_name:
            raise fault(
                f"pipeline '{self._name}' has the main file system '{main['name']}', and fs_name is '{fs_name}'"
            )
        return {**definition, "fs_options": {**options, "main_fs": {**main, "name": fs_name}}}


def _word_of(function: Any) -> str:
    return getattr(function, "__name__", "NAME")


def _uncalled(function: Any, method: str) -> Callable[..., None]:
    """A method of the decorated function itself, of which only a call gives a pipeline."""
    name = _word_of(function)

    def refuse(*args: object, **keywords: object) -> None:
        raise fault(f"'{name}' is the function that makes the pipeline; call it first: {name}(...).{method}()")

    return refuse


def _client(user: str, given: Optional["Client"]) -> "Client":
    from ..client import Client

    check_running(user)
    return given or Client()


def _parallelism(number: object) -> Optional[int]:
    if number is None or number == 0:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise fault(f"parallelism is {number!r}; it is a number of steps, at least 1")
    return number


def _option(name: str, what: str, value: Any, kind: Any) -> Any:
    if value is not None and not isinstance(value, kind):
        raise fault(f"pipeline '{name}': {what} is {value!r}; it is of the class {kind.__name__}")
    return value


def paths_of(components: Union[str, Component, Sequence[Union[str, Component]], None]) -> Optional[List[str]]:
    """The paths of components for `disabled`: as `paddle run create --disabled` takes them."""
    if components is None:
        return None
    several = [components] if isinstance(components, (str, Component)) else components
    paths = [item.full_name if isinstance(item, Component) else item for item in several]
    head = names.ROOT + "."
    return [path[len(head) :] if path.startswith(head) else path for path in paths]


class post_process(Scope):
    """Inside of the function of a pipeline: the step in this `with` runs when all others have ended, however they ended."""

    def __init__(self) -> None:
        roots = [scope for scope in scopes() if isinstance(scope, EntryPoints)]
        if not roots:
            raise fault("post_process() is used inside of the function of a pipeline")
        self._pipeline: Pipeline = roots[-1].pipeline

    def add(self, component: Component) -> None:
        """Takes the step."""
        self._pipeline.set_post_process(component)  # type: ignore[arg-type]

    def __enter__(self) -> None:
        self._enter()

    def __exit__(self, *exc: object) -> None:
        self._exit()
