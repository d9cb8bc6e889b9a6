"""What the documents point at is there."""

import contextlib
import functools
import re
import subprocess

from conftest import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "doc").rglob("*.md"))]


def test_links_lead_somewhere():
    wrong = []
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target and not (page.parent / target.split("#")[0]).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert not wrong, "\n".join(wrong)


def test_paths_that_exist_in_the_tree():
    """Files that are named in full, such as `deploy/v1/crd.yaml`. NAME is the reader's."""
    wrong = []
    for page in PAGES:
        for path in re.findall(r"`((?:deploy|charts|config|bench|fuzz|t|src)/[\w./-]+\.[a-z]+)`", page.read_text()):
            if "NAME" not in path and not (ROOT / path).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {path}")
    assert not wrong, "\n".join(wrong)


def test_each_bench_is_listed():
    """The table of doc/internals/benchmarks.md has the benches of bench/bench.py, in their order."""
    text = (ROOT / "bench/bench.py").read_text()
    benches = re.findall(r'^    "([\w-]+)": \w+,$', text[text.index("BENCHES = {") :], re.M)
    listed = re.findall(r"^\| `bench/run ([\w-]+)` \|", (ROOT / "doc/internals/benchmarks.md").read_text(), re.M)
    assert len(benches) > 20 and listed == benches


def test_each_command_of_the_engine_is_listed():
    """The table of doc/internals/engine.md has each command with its file."""
    made = set()
    for path in (ROOT / "src/engine").glob("*.c"):
        for name in re.findall(r"CommandOps \w+ = \{\s*\.name = \"([^\"]+)\"", path.read_text()):
            made.add((name, path.name))
    text = (ROOT / "doc/internals/engine.md").read_text()
    table = re.search(r"^\| command \| file \|.*?\n\|[-|]+\n(.*?)\n\n", text, re.S | re.M)[1]
    listed = set()
    for row in table.splitlines():
        names, files = (cell.strip() for cell in row.split("|")[1:3])
        for name in re.sub(r" \([^)]*\)", "", names).split(", "):
            listed |= {(name, file) for file in re.findall(r"`([\w-]+\.c)`", files)}
    assert len(made) > 30
    assert not made - listed, made - listed
    assert not {name for name, _ in listed} - {name for name, _ in made}


def test_identifiers_that_contributors_look_for():
    """A name behind "in" a file, in CONTRIBUTING.md, is in that file: `rules` in `src/model/catalog-check.c`."""
    text = re.sub(r"\s+", " ", (ROOT / "CONTRIBUTING.md").read_text())
    named = re.findall(r"`(\w+)` in `(src/[\w./-]+)`", text)
    named = [(name, path) for name, path in named if "NAME" not in name]  # the reader's
    assert len(named) > 8
    assert not [pair for pair in named if not re.search(rf"\b{pair[0]}\b", (ROOT / pair[1]).read_text())]


def test_the_glossary_is_short_and_each_word_is_in_its_header():
    text = (ROOT / "doc/internals/glossary.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    rows = [cells for cells in rows if cells[0] != "word"]
    assert 20 < len(rows) <= 40
    assert [cells[0] for cells in rows] == sorted(cells[0] for cells in rows)
    wrong = []
    for word, _, _, header in rows:
        for path in re.findall(r"`(src/[^`]+)`", header):
            if not re.search(word, (ROOT / path).read_text(), re.I):
                wrong.append(f"{word}: not in {path}")
    assert not wrong, "\n".join(wrong)


def test_lines_have_at_most_120_characters():
    """Rows of tables are exempt, since Markdown cannot break them; so is a line of one word, such as a URL."""
    wrong = []
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if len(line) > 120 and not line.lstrip().startswith("|") and len(line.split()) > 1:
                wrong.append(f"{page.relative_to(ROOT)}:{number}: {len(line)} characters")
    assert not wrong, "\n".join(wrong)


def texts_of_the_repository():
    """Every tracked file that is text, by path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        path = ROOT / name
        if name and path.is_file() and not path.is_symlink():
            with contextlib.suppress(UnicodeDecodeError):
                yield path, path.read_text()


@functools.cache
def headings(page):
    """Headings and the bold beginnings of items, without their numbers; also as far as a colon or bracket."""
    text = re.sub(r"\n +", " ", page.read_text())
    found = re.findall(r"^#+ +(.*?) *$", text, re.M) + re.findall(r"\*\*(.+?)\.?\*\*", text)
    plain = [re.sub(r"^\d+[a-z]?\. +", "", heading).replace("`", "") for heading in found]
    return {*plain, *(re.split(r" \(|:", heading)[0] for heading in plain)}


def citations(text):
    """Each page that a text names, with the headings quoted behind it, also of several: "One" to "Two"; or a number."""
    text = re.sub(r"\n[ \t]*(?:\*(?!/)|#+|//)?[ \t]*", " ", text)
    page = r"(?<![\w./-])([\w./-]+\.md)\b(?:#[\w-]+)?[`)]*"
    quoted = r"((?:,? (?:(?:and|to) )?\"\w[^\"]+\")*)"
    number = r"(?:,? (?:decisions? )?(\d+[a-z]?)(?=[ ,.;:)]))?"
    for name, words, digits in re.findall(page + quoted + number, text):
        yield name, re.findall(r'"([^"]+)"', words), digits


def test_pages_and_headings_that_are_cited_exist():
    """A reader of a comment has the repository and nothing else."""
    wrong, cited = [], 0
    for path, text in texts_of_the_repository():
        for name, quoted, number in citations(text):
            page = next((page for page in (ROOT / name, path.parent / name) if page.is_file()), None)
            if not page:
                wrong.append(f"{path.relative_to(ROOT)}: there is no {name}")
                continue
            cited += len(quoted)
            if number and not re.search(rf"^(?:#+ )?{number}\. ", page.read_text(), re.M):
                wrong.append(f"{path.relative_to(ROOT)}: {name} has no {number}")
            wrong += [
                f'{path.relative_to(ROOT)}: {name} has no "{word}"' for word in quoted if word not in headings(page)
            ]
    assert cited > 100
    assert not wrong, "\n".join(wrong)
