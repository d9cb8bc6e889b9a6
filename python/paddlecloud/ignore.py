"""The rules of .gitignore and .paddleignore files, with git's meaning (gitignore(5)), over bytes as git and `paddle` do."""

import re
import string
from typing import List, NamedTuple, Optional, Pattern, Set, Tuple

ALWAYS_IGNORED = {b".git", b"__pycache__"}
VENV_MARK = b"pyvenv.cfg"  # a directory that holds it is a virtual environment of Python
_NOTHING = b"(?!)"
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Rule(NamedTuple):
    """One line. `base` is the directory of its file, "" or with a slash at its end; `whole` matches the path below it, not the name."""

    base: bytes
    pattern: Pattern[bytes]
    whole: bool
    dir_only: bool
    negated: bool


def parse(base: bytes, text: bytes) -> List[Rule]:
    """The rules of the text of one file in directory `base` ("" or "a/b")."""
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    rules = (_rule(base + b"/" if base else b"", _trim(line)) for line in text.split(b"\n"))
    return [rule for rule in rules if rule]


def is_ignored(rules: List[Rule], path: bytes, is_dir: bool) -> bool:
    """Whether a path whose directories are not ignored is: the last rule that matches decides."""
    rule = _deciding(rules, path, is_dir)
    return path.rpartition(b"/")[2] in ALWAYS_IGNORED or (rule is not None and not rule.negated)


def takes_back(rules: List[Rule], path: bytes, is_dir: bool = True) -> bool:
    """Whether a rule ("!name/") takes back what is left out by default."""
    rule = _deciding(rules, path, is_dir)
    return rule is not None and rule.negated


def takes_back_any(rules: List[Rule], path: bytes) -> bool:
    """Whether a rule takes back a file, or a directory that it is in."""
    parts = path.split(b"/")
    above = [b"/".join(parts[:end]) for end in range(1, len(parts))]
    return any(takes_back(rules, one) for one in above) or takes_back(rules, path, False)


def _deciding(rules: List[Rule], path: bytes, is_dir: bool) -> Optional[Rule]:
    """The last rule that matches, which decides."""
    name = path.rpartition(b"/")[2]
    for rule in reversed(rules):
        if (rule.dir_only and not is_dir) or not path.startswith(rule.base):
            continue
        if rule.pattern.fullmatch(path[len(rule.base) :] if rule.whole else name):
            return rule
    return None


def _trim(line: bytes) -> bytes:
    """Without a carriage return and without trailing blanks that no backslash protects."""
    line = line[:-1] if line.endswith(b"\r") else line
    kept = line.rstrip(b" ")
    slashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if slashes % 2 and len(kept) < len(line) else kept


def _rule(base: bytes, line: bytes) -> Optional[Rule]:
    if not line or line.startswith(b"#"):
        return None
    negated = line.startswith(b"!")
    pattern = line[negated:]
    dir_only = pattern.endswith(b"/")
    pattern = pattern[: len(pattern) - dir_only]
    if not pattern:
        return None
    whole = b"/" in pattern
    parts = pattern[pattern.startswith(b"/") :].split(b"/")
    return Rule(base, re.compile(_path_regex(parts), re.DOTALL), whole, dir_only, negated)


def _path_regex(parts: List[bytes]) -> bytes:
    regex = b""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == b"**" and len(parts) > 1:
            regex += b".+" if last else b"(?:[^/]+/)*"
        else:
            regex += _name_regex(part) + (b"" if last else b"/")
    return regex


def _name_regex(glob: bytes) -> bytes:
    regex, at = b"", 0
    while at < len(glob):
        char = glob[at : at + 1]
        at += 1
        if char == b"*":
            regex += b"[^/]*" if not regex.endswith(b"[^/]*") else b""
        elif char == b"?":
            regex += b"[^/]"
        elif char == b"[":
            piece, at = _bracket_regex(glob, at)
            regex += piece
        elif char == b"\\":
            regex += re.escape(glob[at : at + 1]) or _NOTHING
            at += 1
        else:
            regex += re.escape(char)
    return regex


def _bracket_char(glob: bytes, at: int) -> Tuple[Optional[int], int]:
    if glob[at : at + 1] == b"\\":
        at += 1
    return (glob[at], at + 1) if at < len(glob) else (None, at)


def _bracket_regex(glob: bytes, at: int) -> Tuple[bytes, int]:
    """The set behind a '[' that stands before `at`, and where it ends; an unclosed one matches nothing."""
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    found: Set[int] = set()
    first = True
    while first or glob[at : at + 1] != b"]":
        first = False
        end = glob.find(b":]", at + 2) if glob.startswith(b"[:", at) else -1
        if end >= 0:
            found |= set(_CLASSES.get(glob[at + 2 : end].decode("latin-1"), "").encode())
            at = end + 2
            continue
        low, at = _bracket_char(glob, at)
        high = low
        if low is not None and glob[at : at + 1] == b"-" and glob[at + 1 : at + 2] not in (b"", b"]"):
            high, at = _bracket_char(glob, at + 1)
        if low is None or high is None:
            return _NOTHING, len(glob)
        found |= set(range(low, high + 1))
    chosen = (set(range(256)) - found if negated else found) - {ord("/")}
    return (b"[" + b"".join(b"\\x%02x" % value for value in sorted(chosen)) + b"]" if chosen else _NOTHING), at + 1


# They come before the rules of files, so that a rule of a file can override them.
DEFAULTS = parse(
    b"",
    b".ipynb_checkpoints/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.tox/\n.nox/\n.idea/\n.vscode/\nnode_modules/\n.DS_Store\n",
)
