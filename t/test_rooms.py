"""The table of rooms in doc/internals/design.md is the whole list of includes that a room may have."""

import re

from conftest import ROOT


def allowed():
    """{room: rooms it may include} from the table of section 3."""
    rooms = {}
    section = (ROOT / "doc/internals/design.md").read_text().split("## 3. The rooms")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        for name in re.findall(r"([a-z]+)/?", cells[0].replace("`", " ")):
            rooms[name] = set(cells[2].split()) | {name}
    return rooms


def test_includes_follow_the_table():
    table = allowed()
    wrong = []
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        room = path.relative_to(ROOT / "src").parts[0]
        if room not in table:
            wrong.append(f"{path.relative_to(ROOT)}: room '{room}' is not in the table of doc/internals/design.md")
            continue
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            if included.split("/")[0] not in table[room]:
                wrong.append(f"{path.relative_to(ROOT)} includes {included}")
    assert not wrong, "\n".join(wrong)


def test_no_interface_knows_a_driver():
    """What api/, engine/ and the contract itself need of a runtime is in the contract; drivers are chosen in server/."""
    allowed = {"runtime/local/identity.h"}  # which Unix user a member runs as
    found = []
    for pattern in ("api/**/*.[ch]", "engine/**/*.[ch]", "runtime/*.[ch]", "runtime/environment/*.[ch]"):
        for path in sorted((ROOT / "src").glob(pattern)):
            included = set(re.findall(r'^#include "(runtime/(?:local|kubernetes)/[^"]+)"', path.read_text(), re.M))
            found += [f"{path.relative_to(ROOT)} includes {name}" for name in sorted(included - allowed)]
    assert not found, "\n".join(found)


def test_folders_of_a_room_include_one_way():
    """Includes between folders do not form a circle."""
    edges = {}
    allowed = {("cli", "cli/paddleflow")}  # the table of commands names these; they use what all commands use
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        folder = str(path.parent.relative_to(ROOT / "src"))
        if folder.endswith("test"):
            continue
        for included in re.findall(r'^#include "([^"]+)/[^/"]+"', path.read_text(), re.M):
            if included != folder and (folder, included) not in allowed:
                edges.setdefault(folder, set()).add(included)
    circles = []

    def walk(folder, trail):
        if folder in trail:
            circles.append(" > ".join([*trail[trail.index(folder) :], folder]))
        elif folder not in done:
            for included in sorted(edges.get(folder, ())):
                walk(included, [*trail, folder])
            done.add(folder)

    done = set()
    for folder in sorted(edges):
        walk(folder, [])
    assert edges and not circles, "\n".join(circles)


def test_no_base_name_stands_three_times_in_reach():
    """A reader of a room who meets `usage.h` has at most two files to choose from: those of its room and of the rooms that
    it may include. `internal.h` is the private header of each folder, `main.c` its program."""
    found = []
    for room, reach in allowed().items():
        names = {}
        for path in sorted(path for other in reach for path in (ROOT / "src" / other).rglob("*.[ch]")):
            if "test" not in path.parts and path.name not in ("internal.h", "main.c"):
                names.setdefault(path.name, []).append(str(path.relative_to(ROOT / "src")))
        found += [f"{room}: {', '.join(paths)}" for paths in names.values() if len(paths) > 2]
    assert not found, "\n".join(found)


def test_every_include_is_spelled_from_src():
    wrong = []
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            if not (ROOT / "src" / included).exists():
                wrong.append(f"{path.relative_to(ROOT)} includes {included}")
    assert not wrong, "\n".join(wrong)


def test_tables_of_names_that_users_choose_have_a_keyed_hash():
    """Of the usual hash anybody computes 100,000 texts of one value, for each of which the table walks over all before it."""
    files = [*ROOT.glob("src/storage/*.c"), *ROOT.glob("src/package/*.c"), *ROOT.glob("src/base/*.c")]
    files += [
        ROOT / "src" / name
        for name in ("engine/submit.c", "engine/submit-after.c", "model/framework.c", "runtime/local/variables.c")
    ]
    found = [str(path) for path in files if "g_str_hash" in path.read_text(encoding="utf-8")]
    assert files and not found
