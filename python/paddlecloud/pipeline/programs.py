"""The programs of the decorated functions of one pipeline, as files that are sent with it.

Modules that only these need are imported where they are used, so that a program without such functions begins sooner."""

import os
import pathlib
from typing import Any, Dict, Optional

from .errors import fault

FOLDER = "paddle_steps"
_RUNNER = pathlib.Path(__file__).with_name("runner.py")


class Programs:
    """Each function once, in a module of its name. On a server each has a package of its own, so that a change of one function leaves the
    steps of others as they were, also for the cache."""

    def __init__(self) -> None:
        self._packages: Dict[str, str] = {}  # of modules, once they are sent
        self._modules: Dict[Any, str] = {}  # of functions
        self._sources: Dict[str, str] = {}  # of modules
        self._digests: Dict[str, str] = {}  # of modules
        self._beside: Dict[str, Dict[str, str]] = {}  # modules that they import: {path in the package: file}
        self.requirements: Optional[str] = None  # of the directory that was sent with them

    def __bool__(self) -> bool:
        return bool(self._sources)

    def module_of(self, function: Any) -> str:
        """The module of a function, which becomes one of the programs."""
        if function not in self._modules:
            self._modules[function] = self._add(function)
        return self._modules[function]

    def _add(self, function: Any) -> str:
        from .source import StepProgram, files_of, place_of

        name: str = function.__name__
        number = 1
        try:
            source = StepProgram(function).source(name)
        except ValueError as error:
            raise fault(str(error), place_of(function)) from None
        module = name
        while self._sources.get(module, source) != source:
            number += 1
            module = f"{name}_{number}"
        if module not in self._sources:
            self._sources[module] = source
            self._beside[module] = files_of(source)
        return module

    def digest(self, module: str) -> str:
        """A hash of a module and of all that it imports."""
        if module not in self._digests:
            self._digests[module] = self._digest(module)
        return self._digests[module]

    def _digest(self, module: str) -> str:
        import hashlib

        known = hashlib.sha256(_RUNNER.read_bytes())
        known.update(self._sources[module].encode())
        for inside, path in sorted(self._beside[module].items()):
            known.update(inside.encode() + b"\0" + pathlib.Path(path).read_bytes())
        return known.hexdigest()[:16]

    def package_of(self, module: str) -> Optional[str]:
        """The hash of its package; None before it is sent."""
        return self._packages.get(module)

    def files(self, directory: str) -> Dict[str, str]:
        """{path: text} of all below `directory`, but modules that are there because the program itself is. Other texts have a mark."""
        from .saving import marked

        found: Dict[str, str] = {}
        for module in self._sources:
            for inside, source in self._own(module).items():
                found[os.path.join(directory, inside)] = marked(source)
            for inside, path in self._beside[module].items():
                target = os.path.join(directory, inside)
                if not (os.path.exists(target) and os.path.samefile(target, path)):
                    text = pathlib.Path(path).read_text(encoding="utf-8")
                    found[target] = marked(text) if target.endswith(".py") else text
        return found

    def _own(self, module: str) -> Dict[str, str]:
        runner = _RUNNER.read_text(encoding="utf-8")
        return {f"{FOLDER}/run.py": runner, f"{FOLDER}/{module}.py": self._sources[module]}

    def send(self, client: Any, directory: Optional[str]) -> None:
        """Sends them, each with `directory` if there is one."""
        if directory is not None and os.path.lexists(os.path.join(directory, FOLDER)):
            raise fault(
                f"'{directory}' has a '{FOLDER}' of its own, which is where the decorated functions go; remove it"
            )
        if directory is not None and os.path.isfile(os.path.join(directory, "requirements.txt")):
            self.requirements = pathlib.Path(directory, "requirements.txt").read_text(encoding="utf-8")
        for module in self._sources:
            self._packages[module] = self._send(client, module, directory)

    def _send(self, client: Any, module: str, directory: Optional[str]) -> str:
        import tempfile

        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as empty:
            own = self._own(module)
            for inside, source in own.items():
                _write(scratch, inside, source)
            places = {**self._beside[module], **{inside: os.path.join(scratch, inside) for inside in own}}
            return str(client.send_package(directory or empty, extra=places))


def _write(directory: str, inside: str, text: str) -> None:
    path = os.path.join(directory, inside)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
