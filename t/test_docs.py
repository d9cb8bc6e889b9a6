"""What the documents point at is there."""

import re

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
