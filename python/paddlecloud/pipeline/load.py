"""The pipeline that a program describes, for `paddle run create -f FILE.py` and the verbs of `paddle pipeline`.

The program is loaded as a module, so code below `if __name__ == "__main__":` is not executed. Its output goes to standard error; standard
output is only for the definition.
"""

import importlib.util
import inspect
import os
import sys
import traceback
import types
from typing import Any, Dict, List, Optional

from ..client import Client
from ..errors import ApiError, PaddleError, ServerNotReached
from . import context
from .emit import to_yaml
from .errors import DSLError
from .pipeline import Pipeline

SHOWN_MAX = 5  # frames of a traceback: the last ones
FAILED, WRONG, REFUSED, UNREACHED, INTERRUPTED = 1, 2, 3, 4, 130  # exit statuses, as those of `paddle`


class Refused(Exception):
    """There is no definition; the text says why, and its second line what to do. `status` is the exit status."""

    def __init__(self, message: str, status: int = WRONG) -> None:
        super().__init__(message)
        self.status = status


def load(path: str) -> types.ModuleType:
    """The program as a module. Raises whatever the program raises, and Refused if it ends Python."""
    name = os.path.splitext(os.path.basename(path))[0]
    if not name.isidentifier() or name in sys.modules or name in sys.builtin_module_names:
        name = "paddle_pipeline_program"
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.argv = [path]
    try:
        with open(path, "rb") as file:  # not by the loader of the module, which would leave a __pycache__
            exec(compile(file.read(), os.path.abspath(path), "exec", dont_inherit=True), vars(module))
    except SystemExit as error:
        raise Refused(
            f"{path}: the program ended itself (SystemExit: {error}) before its pipeline was known\n"
            'Put the code that runs something below `if __name__ == "__main__":`, which is not executed here.'
        ) from None
    return module


# -- which one


Candidates = Dict[str, Any]  # pipelines and functions that make one, by their names in the program


def _candidates(module: types.ModuleType) -> Candidates:
    """Each once: pipelines, and the functions of this program that made none of them."""
    found: Candidates = {}
    makers: Candidates = {}
    for name, value in vars(module).items():
        if isinstance(value, Pipeline) and value.entry_points and not any(value is other for other in found.values()):
            found[name] = value
        elif isinstance(getattr(value, "_decorator", None), Pipeline) and value not in makers.values():
            makers[name] = value
    used = [value._maker for value in found.values()]
    own = {name: maker for name, maker in makers.items() if maker.__module__ == module.__name__}
    found.update({name: maker for name, maker in (own or makers).items() if maker not in used})
    return found


def choose(module: types.ModuleType, path: str, name: Optional[str]) -> Pipeline:
    """The pipeline `name` of a program, or its only one. Raises Refused, and what the function of the pipeline raises."""
    found = _candidates(module)
    if name is not None:
        found = {name: vars(module).get(name)}
        if not isinstance(found[name], Pipeline) and not hasattr(found[name], "_decorator"):
            raise Refused(f"{path} has no pipeline '{name}'{_those(_candidates(module))}")
    if not found:
        raise Refused(
            f"{path} has no pipeline\nDescribe one with @Pipeline(name=...) of paddlecloud.pipeline; `paddle submit -- python {path}` runs a "
            "program as a job."
        )
    if len(found) > 1:
        raise Refused(f"{path} has {len(found)} pipelines\nChoose one of them: {_choices(path, found)}")
    ((name, value),) = found.items()
    return value if isinstance(value, Pipeline) else _made_by(value, path, name)


def _those(found: Candidates) -> str:
    return "\nIt has " + ", ".join(sorted(found)) if found else ""


def _choices(path: str, found: Candidates) -> str:
    return ", ".join(f"{path}:{name}" for name in sorted(found))


def _made_by(maker: Any, path: str, name: str) -> Pipeline:
    missing = [
        parameter.name
        for parameter in inspect.signature(maker).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        given = ", ".join(f"{one}=..." for one in missing)
        raise Refused(
            f"{path}: the pipeline '{name}' needs {'a value' if len(missing) == 1 else 'values'} for {', '.join(missing)}\n"
            f"Give default values in `def {name}({given})`, or make the pipeline in the program: `pipeline = {name}({given})`."
        )
    made: Pipeline = maker()
    return made


# -- errors of the program


def _place(error: BaseException, frames: List[traceback.FrameSummary], path: str, absolute: str) -> str:
    """FILE:LINE of the error; the program itself is called as the user called it."""
    file, line = (frames[-1].filename, frames[-1].lineno) if frames else (path, None)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    file = path if file == absolute else file
    return f"{file}:{line}" if line else file


def _root_of(module: str) -> str:
    """The directory of the package that has a module: the older names have one of their own."""
    root = sys.modules[module.partition(".")[0]]
    return os.path.dirname(os.path.abspath(str(root.__file__))) + os.sep


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def _of_program(error: Exception, path: str, absolute: str) -> Refused:
    """An error of the program as a message with its place. The last lines of the traceback go to standard error, unless the place says it
    all."""
    modules = {__name__, type(error).__module__} if isinstance(error, DSLError) else {__name__}
    skipped = ("<frozen", *(_root_of(module) for module in modules))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(skipped)]
    place, text = _place(error, frames, path, absolute), _line(getattr(error, "message", None) or str(error))
    if isinstance(error, DSLError):
        return Refused(text if error.place else f"{place}: {text}")
    if isinstance(error, SyntaxError):
        text = _line(error.msg)
    else:
        sys.stderr.write("".join(traceback.format_list(frames[-SHOWN_MAX:])))
    return Refused(
        f"{place}: {type(error).__name__}{': ' if text else ''}{text}\nCorrect the program; nothing was run."
    )


def _of_server(error: PaddleError) -> Refused:
    refused = isinstance(error, ApiError) and error.status in (401, 403, 409, 429)
    status = UNREACHED if isinstance(error, ServerNotReached) else REFUSED if refused else FAILED
    return Refused(str(error), status)


# -- the whole


def definition_of(path: str, name: Optional[str], is_sent: bool, directory: Optional[str]) -> str:
    """The definition in YAML. `name` is that of a pipeline in the program (None: its only one). With `is_sent` the functions of the pipeline
    are sent to the server, each with `directory` if there is one. Raises Refused."""
    context.loading = path
    file, place = os.path.abspath(path), None if directory is None else os.path.abspath(directory)
    try:  # the program may change the current directory
        pipeline = choose(load(path), path, name)
        return to_yaml(pipeline._sent(Client(), place) if is_sent else pipeline.compile())
    except Refused:
        raise
    except Exception as error:
        if isinstance(error, PaddleError) and not isinstance(error, DSLError):
            raise _of_server(error) from None
        raise _of_program(error, path, file) from None


def main(path: str, name: str, what: str, directory: str) -> int:
    """Writes the definition, or a message, to standard output; returns the exit status. `what` is "send" or "check"; texts that are empty mean
    None."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace") as result:
        os.dup2(2, 1)
        status = 0
        try:
            text = definition_of(path, name or None, what == "send", directory or None)
        except Refused as refused:
            text, status = str(refused), refused.status
        except KeyboardInterrupt:
            return INTERRUPTED
        sys.stdout.flush()
        result.write(text)
    return status
