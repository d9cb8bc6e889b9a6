"""The README as a program: its blocks of commands, and its transcripts.

A block of commands is one whose lines are typed as they stand. A transcript has lines `$ COMMAND`, each followed by what the
command shows; `...` alone on a line stands for any number of lines that are left out."""

import re

from conftest import ROOT

MEMBER = re.compile(r"^([a-z]+-\d+|environment) +\| ")
VARYING = [  # what is another at each run, and what is compared in its place
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (r"\b(?=[a-z0-9]*\d)[a-z0-9]{16}\b", "ID"),
    (r"/tmp/paddle-demo[./\w]*?(?=/home)", "/tmp/paddle-demo"),
    (r"process \d+", "process N"),
    (r"\bat (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC\b", "at A TIME"),
    (r" *(\d+[hm] )?\d[\d.]* ?(ms|s|min|m|h)\b", " TIME"),
    (r"[█▏▎▍▌▋▊▉]+", "BAR"),
    (r" +\d[\d.]* (B|KiB|MiB|GiB)\b", " SIZE"),
    (r"\b\d+ %", "N %"),
    (r"\b0\.\d{4}\b", "FRACTION"),
    (r"\d+ packages", "N packages"),
    (r"3\.\d+\.\d+ environment", "VERSION environment"),
    (r" +BAR| +$", ""),
    (r"^ +", ""),
]


def section(title, text=None):
    """What stands below a heading, up to the next one of any level."""
    parts = re.split(r"^#+ (.*)$", text or (ROOT / "README.md").read_text(), flags=re.M)
    return parts[parts.index(title) + 1]


def blocks(text):
    return [block.strip("\n").split("\n") for block in re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)]


def commands(title):
    """[[command]]: the blocks below a heading, without comments and empty lines. A line that ends in a backslash goes on in the next."""
    joined = [re.sub(r"\\\n\s*", " ", "\n".join(block)).split("\n") for block in blocks(section(title))]
    return [[line for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in block) if line] for block in joined]


def transcripts(title):
    """(command, lines it shows) of the blocks of `$ COMMAND` and output below a heading."""
    found = []
    for block in blocks(section(title)):
        for number, line in enumerate(block):
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and number:
                found[-1][1].append(line)
    return found


def alike(line):
    """The line with what varies from run to run replaced."""
    for pattern, word in VARYING:
        line = re.sub(pattern, word, line)
    return line


def by_source(lines):
    """Lines by who wrote them: of two members either may come first."""
    sources = {}
    for line in map(alike, lines):
        mark = MEMBER.match(line)
        if line.strip(" .") != "":
            sources.setdefault(mark[1] if mark else "paddle", []).append(line)
    return sources


def missing(shown, said):
    """Lines of a transcript that a command did not say, or not in this order: [line]."""
    said, absent = by_source(said), []
    for source, lines in by_source(shown).items():
        rest = iter(said.get(source, []))
        absent += [line for line in lines if line not in rest]
    return absent
