"""The guide and the messages of the programs name verbs and options that `paddle` has."""

import functools
import re
import shlex
import subprocess

import pytest
from conftest import BIN, ROOT

PAGES = sorted((ROOT / "doc/guide").glob("*.md"))
KINDS = (
    "artifact",
    "queue",
    "flavour",
    "cluster",
    "user",
    "grant",
    "token",
    "secret",
    "schedule",
    "audit",
    "storage",
    "sched",
    "job",
    "pipeline",
    "run",
    "fs",
)


def commands(text):
    """What stands behind "paddle" in blocks of code and in code spans of tables."""
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            if mark := re.match(r"(?:\$ )?paddle (.*)", line):
                yield mark[1]
    for row in re.findall(r"^\|.*", text, re.M):
        yield from re.findall(r"`paddle ([^`]*)`", row)


@functools.cache
def help_of(verb):
    done = subprocess.run([BIN / "paddle", *verb.split(), "--help"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def has_option(text, option):
    """Whether a help lists it: `--all`, or `--[no-]backfill`, which means both `--backfill` and `--no-backfill`."""
    name = option.removeprefix("--")
    switch = rf"--\[no-\]{re.escape(name.removeprefix('no-'))}"
    return re.search(rf"(?:--{re.escape(name)}|{switch})(?![\w-])", text) is not None


def words_of(command):
    """The words before the job's own command, its comment and the next command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word == "--" or set(word) <= set(";|&"):
            break
        words.append(word)
    return words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_verbs_and_options_exist(page):
    wrong = []
    for command in commands(page.read_text()):
        if "..." in command.split(" -- ")[0] or not command[0].islower():
            continue
        words = words_of(command)
        verb = " ".join(words[: 2 if words[0] in KINDS else 1])
        text = help_of(verb)
        if text is None:
            wrong.append(f"paddle {command}: no verb '{verb}'")
            continue
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            if not has_option(text, option):
                wrong.append(f"paddle {command}: no option {option}")
    assert not wrong, "\n".join(wrong)


def string_literals(source):
    """C strings with those that follow them directly, as one."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    one = r'"(?:[^"\\\n]|\\.)*"'
    for literal in re.findall(rf"{one}(?:\s*(?:[A-Z_0-9]+\s*)?{one})*", source):
        yield re.sub(r'"\s*(?:[A-Z_0-9]+\s*)?"', "", literal[1:-1])


def hints():
    """(file, command): `paddle ...` in quotes, in a message of a program."""
    for path in sorted((ROOT / "src").glob("**/*.c")):
        if "test" in path.parts or "paddleflow" in path.parts:
            continue
        for text in string_literals(path.read_text()):
            for command in re.findall(r"[`']paddle ([a-z][^`'\\]*)[`']", text):
                yield path.relative_to(ROOT), command


def test_hints_name_verbs_and_options_that_exist():
    wrong, seen = [], 0
    for path, command in hints():
        words = command.split()
        verb = " ".join(words[: 2 if words[0] in KINDS else 1])
        if "%" in verb:
            continue
        seen += 1
        text = help_of(verb)
        options = [word.split("=")[0].rstrip(".,") for word in words if re.match(r"--[^%]", word)]
        if text is None:
            wrong.append(f"{path}: paddle {command}: no verb '{verb}'")
        else:
            wrong += [f"{path}: paddle {command}: no option {name}" for name in options if not has_option(text, name)]
    assert not wrong, "\n".join(wrong)
    assert seen > 100
