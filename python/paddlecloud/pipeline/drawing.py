"""How a notebook shows a pipeline: as the picture that the program `paddle` draws, without it as a tree of text."""

import html
import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from .emit import to_yaml

DRAWING_MAX = 20.0  # seconds that the program may take
SHOWN_MAX = 200  # components of the tree that are shown


def picture_of(definition: Mapping[str, Any]) -> Optional[str]:
    """The text of an SVG; None if there is no program `paddle` (PADDLE_PROGRAM, or in PATH) that draws it."""
    import shutil
    import subprocess
    import tempfile

    program = os.environ.get("PADDLE_PROGRAM") or shutil.which("paddle")
    if not program:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "pipeline.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(to_yaml(definition))
        try:
            done = subprocess.run(
                [program, "pipeline", "show", path, "--svg"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=DRAWING_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    text = done.stdout.decode("utf-8", "replace")
    return text if done.returncode == 0 and text.startswith("<svg") else None


def tree_of(definition: Mapping[str, Any]) -> str:
    """The components as lines of text, each with what it waits for, its loop and its condition."""
    lines = [str(definition["name"]), *_lines(definition["entry_points"], "", ())]
    if definition.get("post_process"):
        lines += ["post_process", *_lines(definition["post_process"], "", ())]
    if len(lines) > SHOWN_MAX:
        lines[SHOWN_MAX:] = [f"... {len(lines) - SHOWN_MAX} more"]
    return "\n".join(lines) + "\n"


Bodies = Tuple[Mapping[str, Any], ...]  # a component, behind the DAGs around it
_GENERATED = re.compile(r"\{\{(?:PF_PARENT\.)?((?:command|env|condition|loop|dsl)_(?:param|art)_[0-9a-z]{1,25})\}\}")


def _shown(text: str, bodies: Bodies) -> str:
    """A text in which a generated name is replaced by where its value comes from."""

    def origin(found: "re.Match[str]") -> str:
        at = bodies[:-1] if found[0].startswith("{{PF_PARENT") else bodies
        body = at[-1] if at else {}
        inputs = body.get("artifacts", {}).get("input", {})
        value = body.get("parameters", {}).get(found[1]) or inputs.get(found[1])
        return _shown(value, at) if isinstance(value, str) else found[0]

    return _GENERATED.sub(origin, text)


def _lines(components: Mapping[str, Dict[str, Any]], indent: str, around: Bodies) -> Iterator[str]:
    for number, (name, body) in enumerate(components.items(), 1):
        is_last = number == len(components)
        said = _said((*around, body))
        yield f"{indent}{'└─' if is_last else '├─'} {name}{'  ' if said else ''}{said}"
        yield from _lines(body.get("entry_points", {}), indent + ("   " if is_last else "│  "), (*around, body))


def _said(bodies: Bodies) -> str:
    parts: List[str] = []
    body = bodies[-1]
    if body.get("deps"):
        parts.append("after " + body["deps"].replace(",", ", "))
    argument = body.get("loop_argument")
    if argument is not None:
        parts.append(
            f"loop over {len(argument)} items"
            if isinstance(argument, list)
            else f"loop over {_shown(argument, bodies)}"
        )
    if body.get("condition"):
        parts.append(f"if {_shown(body['condition'], bodies)}")
    return "; ".join(parts)


def html_of(definition: Mapping[str, Any]) -> str:
    """For a notebook. All text is escaped."""
    return picture_of(definition) or f"<pre>{html.escape(tree_of(definition))}</pre>"
