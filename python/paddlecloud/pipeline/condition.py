"""Checks the text of a condition before it runs: the grammar of doc/reference/pipelines.md, "Conditions", and the types that are known.

Only the kind of each value is known here: NUMBER, TEXT, TRUE, FALSE, BOOL (one of them) and LIST, or ANY for what a template becomes in the
run. Regular expressions are read by the server alone."""

import re
from typing import Callable, Dict, List, Optional, Tuple

from .errors import fault
from .values import PLACEHOLDER, with_system_variables

NUMBER, TEXT, TRUE, FALSE, BOOL, LIST, ANY = "number", "text", "true", "false", "bool", "list", "any"
_FLAGS = (TRUE, FALSE, BOOL, ANY)
_TEMPLATE = re.compile(r"\{\{\s*\.?[A-Za-z0-9_.-]+\s*\}\}")
_HOLE = "\0"  # what a template becomes in the run; in a token it counts as a letter
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>0x(?:[0-9A-Fa-f]|\\.)* | (?:\d|\.)(?:[\d.]|\\.)*) |
    (?P<mark>[(),]) |
    (?P<quoted>['"](?:[^'"\\]|\\.)*(?P<end>['"])?) |
    (?P<bracket>\[(?:[^\]\\]|\\.)*(?P<close>\])?) |
    (?P<word>[^\W\d_\0]|\0) (?P<rest>(?:[\w.\0]|\\.)*) |
    (?P<operator>(?:[^\w\s()\[\]'"\0]|_)+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_OTHERS = {"and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!", "is": "==", "eq": "==", "=": "=="}
_OTHERS.update({"===": "==", "<>": "!=", "!==": "!=", "=>": ">=", "=<": "<="})
_LEVELS = ("||", "&&", "== != > < >= <= =~ !~ in", "& | ^", "<< >>", "+ -", "* / %", "**")
_BY_LEVEL = [frozenset(names.split()) for names in _LEVELS]
_OPERATORS = frozenset(["?", ":", "??", "!", "~"]).union(*_BY_LEVEL)
_DEPTH_MAX = 100  # of parentheses

Token = Tuple[str, str]  # its kind, and its text


class Wrong(ValueError):
    """What is wrong with a condition."""


def _token(found: "re.Match[str]") -> Token:
    text = found.group().strip()
    if found["number"]:
        if not re.fullmatch(r"0x[0-9A-Fa-f]+|[0-9]+\.?[0-9]*|\.[0-9]+", text):
            raise Wrong(f"'{text}' is not a number")
        return NUMBER, text
    if found["mark"]:
        return text, text
    if found["quoted"] and not found["end"]:
        raise Wrong("a text in quotes has no end")
    if found["bracket"] and not found["close"]:
        raise Wrong("'[' has no ']'")
    if found["quoted"] or found["bracket"]:
        may_be_number = _HOLE in text or (found["quoted"] and re.search(r"\d", text))  # a date in quotes is one
        return ANY if may_be_number else TEXT, text
    return _word(text) if found["word"] else _operator(text)


def _word(text: str) -> Token:
    if text in ("true", "false"):
        return text, text
    if text in ("in", "IN"):
        return "operator", "in"
    if _HOLE in text:
        return ANY, text
    if "." in text:
        raise Wrong(f"a word cannot have a dot: '{text}'; put it in quotes if it is text")
    return "word", text


def _operator(text: str) -> Token:
    if text in _OTHERS:
        raise Wrong(f"'{text}' is not an operator; write '{_OTHERS[text]}'")
    if text not in _OPERATORS:
        raise Wrong(f"'{text}' is not an operator; separate operators with blanks")
    return "operator", text


def _tokens(text: str) -> List[Token]:
    tokens, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if not found:
            raise Wrong(f"'{text[at:].strip()[0]}' stands where it cannot be read")
        tokens.append(_token(found))
        at = found.end()
    return tokens


class _Reader:
    """Reads the tokens as the server does, and finds the kind of the whole."""

    def __init__(self, tokens: List[Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.skip = 0  # inside of a side that does not count
        self.words = [text for kind, text in tokens if kind == "word"]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def text(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def is_operator(self, *names: str) -> bool:
        return self.kind == "operator" and self.text in names

    def wrong_types(self, name: str, wanted: str) -> None:
        if self.skip:
            return
        raise Wrong(f"'{name}' needs {wanted}{self.hint()}")

    def hint(self) -> str:
        if not self.words:
            return ""
        word = self.words[0]
        return f"; '{word}' is a text here: for the value of {word}, write {{{word}}} in an f-string"

    def whole(self) -> str:
        kind = self.several()
        if self.at < len(self.tokens):
            raise Wrong("')' has no '('")
        if kind not in _FLAGS:
            raise Wrong(f"it is neither true nor false, but a {kind}{self.hint()}")
        return kind

    def several(self) -> str:
        kind = self.choices()
        while self.kind == ",":
            self.at += 1
            self.choices()
            kind = LIST
        if self.at < len(self.tokens) and self.kind != ")":
            self.pair()
        return kind

    def pair(self) -> None:
        for word in (self.text, self.tokens[self.at - 1][1]):
            if word in _OTHERS:
                raise Wrong(f"'{word}' is not an operator; write '{_OTHERS[word]}'")
        raise Wrong("an operator is missing between two values")

    def choices(self) -> str:
        kind = self.level(0)
        while self.is_operator("?", ":", "??"):
            if self.text == "?" and kind not in _FLAGS:
                self.wrong_types("?", "true or false before it")
            self.at += 1
            self.skip += 1  # which side counts is only known in the run
            self.level(0)
            self.skip -= 1
            kind = ANY
        return kind

    def level(self, number: int) -> str:
        if number == len(_BY_LEVEL):
            return self.prefixed()
        left = self.level(number + 1)
        while self.kind == "operator" and self.text in _BY_LEVEL[number]:
            name = self.text
            decided = (name, left) in (("&&", FALSE), ("||", TRUE))
            self.at += 1
            self.skip += decided
            right = self.level(number + 1)
            self.skip -= decided
            left = left if decided else self.applied(name, left, right)
        return left

    def applied(self, name: str, left: str, right: str) -> str:
        for names, is_good, wanted, kind in _RULES:
            if name in names:
                if not is_good(left, right):
                    self.wrong_types(name, wanted)
                return kind
        return self.added(left, right)

    def added(self, left: str, right: str) -> str:
        if TEXT in (left, right) and LIST not in (left, right):
            return TEXT
        if left not in (NUMBER, ANY) or right not in (NUMBER, ANY):
            self.wrong_types("+", "two numbers, or a text")
        return NUMBER if (left, right) == (NUMBER, NUMBER) else ANY

    def prefixed(self) -> str:
        if not self.is_operator("!", "-", "~"):
            return self.operand()
        name = self.text
        self.at += 1
        if self.kind not in (NUMBER, TRUE, FALSE, "("):
            raise Wrong(f"'{name}' must stand before a number, true, false or '(': write {name}(...)")
        kind = self.operand()
        if kind not in (_FLAGS if name == "!" else (NUMBER, ANY)):
            self.wrong_types(name, "true or false" if name == "!" else "a number")
        return {TRUE: FALSE, FALSE: TRUE}.get(kind, BOOL) if name == "!" else NUMBER

    def operand(self) -> str:
        if not self.kind:
            raise Wrong("it ends where a value should be")
        if self.kind in ("operator", ",", ")"):
            raise Wrong(f"'{self.text}' stands where a value should be")
        kind = self.kind
        self.at += 1
        return self.parenthesis() if kind == "(" else TEXT if kind == "word" else kind

    def parenthesis(self) -> str:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise Wrong(f"more than {_DEPTH_MAX} parentheses in one another")
        kind = self.several()
        if self.kind != ")":
            raise Wrong("'(' has no ')'")
        self.at += 1
        self.depth -= 1
        return kind


def _both(*kinds: str) -> Callable[[str, str], bool]:
    return lambda left, right: left in kinds and right in kinds


def _are_ordered(left: str, right: str) -> bool:
    return _both(NUMBER, ANY)(left, right) or _both(TEXT, ANY)(left, right)


_RULES: Tuple[Tuple[Tuple[str, ...], Callable[[str, str], bool], str, str], ...] = (
    (("==", "!="), lambda left, right: True, "", BOOL),
    (("=~", "!~"), _both(TEXT, ANY), "two texts", BOOL),
    (("in",), lambda left, right: right in (LIST, ANY), "a list of at least two items: x in (a, b)", BOOL),
    ((">", "<", ">=", "<="), _are_ordered, "two numbers or two texts", BOOL),
    (("&&", "||"), _both(*_FLAGS), "true or false on both sides", BOOL),
    (("-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>"), _both(NUMBER, ANY), "two numbers", NUMBER),
)


def check_condition(said: str, text: str, place: Optional[str]) -> None:
    """A DSLError, which begins with `place`, unless the text can be the condition of `said` (a component in words)."""
    plain = _TEMPLATE.sub(_HOLE, PLACEHOLDER.sub(_HOLE, with_system_variables(text)))
    try:
        _Reader(_tokens(plain)).whole()
    except Wrong as wrong:
        raise fault(f"{said}: its condition '{shown(text)}' is wrong: {wrong}", place) from None


def shown(text: str) -> str:
    """A condition in a message: names of steps in place of placeholders."""
    return PLACEHOLDER.sub(lambda found: _named(found.groups()), with_system_variables(text))


def _named(parts: Tuple[str, ...]) -> str:
    kind, full_name, name = parts
    step = full_name.rpartition(".")[2]
    return (
        "{"
        + (step if kind == "artifact" and name == "result" else "item" if kind == "loop" else f"{step}.{name}")
        + "}"
    )


_SYSTEM = ("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME", "PF_LOOP_ARGUMENT")


def check_templates(said: str, text: str, own: Dict[str, object], place: Optional[str]) -> None:
    """A DSLError for a template of the compiled condition that is neither a system variable nor one of the component's `own` names."""
    for found in re.finditer(r"\{\{\s*([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)?)\s*\}\}", text):
        if found[1] not in own and found[1] not in _SYSTEM:
            has = ", ".join(own) or "none"
            raise fault(
                f"{said}: its condition refers to '{found[1]}', which is no parameter or input of it (it has: {has}); for the result of a step, "
                "write {step} in an f-string",
                place,
            )
