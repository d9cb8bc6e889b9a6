"""What requirements.txt (the first argument) asks for and this image lacks; status 1 and words when that is something.

Runs before a member's program where no image is built for the job, in whatever Python the image has. It looks at names and
release numbers. Lines that it cannot judge (options, addresses, markers, an unusual version) count as met: pip's own rules
are pip's.
"""

import re
import sys

try:
    from importlib.metadata import PackageNotFoundError, version
except ImportError:  # before Python 3.8
    sys.exit(0)

LINE = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*((?:[<>=!~].*)?)")
TEST = re.compile(r"(==|!=|<=|>=|~=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def release(text):
    """(2, 6, 2) of "2.6.2.post1"; zeros at the end say nothing."""
    numbers = [int(part) for part in re.match(r"v?(\d+(?:\.\d+)*)", text).group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def begins(have, wanted, parts):
    return (have + (0,) * parts)[:parts] == (wanted + (0,) * parts)[:parts]


def meets(have, sign, number, star):
    there, wanted, parts = release(have), release(number), number.count(".") + 1
    return {
        "==": begins(there, wanted, parts) if star else there == wanted,
        "!=": not begins(there, wanted, parts) if star else there != wanted,
        "<=": there <= wanted,
        ">=": there >= wanted,
        "<": there < wanted,
        ">": there > wanted,
        "~=": there >= wanted and begins(there, wanted, parts - 1),
    }[sign]


def lack(line):
    """What is wrong with a line, or None."""
    found = LINE.fullmatch(line)
    if not found:
        return None
    name, tests = found.group(1), [TEST.fullmatch(test.strip()) for test in found.group(2).split(",") if test.strip()]
    try:
        have = version(name)
    except PackageNotFoundError:
        return f"{line} (it has none)"
    if not all(tests) or not re.match(r"v?\d", have) or all(meets(have, *test.groups()) for test in tests):
        return None
    return f"{line} (it has {have})"


def lines(text):
    for line in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if line and not line.startswith("-") and ";" not in line:
            yield re.sub(r"\s+--.*", "", line)


lacks = [words for words in map(lack, lines(sys.argv[1])) if words]
if lacks:
    sys.exit(
        f"its image lacks what requirements.txt asks for: {', '.join(lacks)}. Name an image that has it with --base-image, "
        "or let images be built, for which the cluster's setting needs a registry"
    )
