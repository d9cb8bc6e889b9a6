"""What the documents point at is there."""

import re

from conftest import ROOT


def test_links_lead_somewhere():
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.md"))]:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target and not (page.parent / target.split("#")[0]).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert not wrong, "\n".join(wrong)


def test_paths_that_exist_in_the_tree():
    """Files that are named in full, such as `deploy/v1/crd.yaml`."""
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.md"))]:
        for path in re.findall(r"`((?:deploy|charts|config|bench|fuzz|t)/[\w./-]+\.[a-z]+)`", page.read_text()):
            if not (ROOT / path).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {path}")
    assert not wrong, "\n".join(wrong)
