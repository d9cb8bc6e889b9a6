"""In what two runs differ: the files of the directories that were sent with them, and who may compare packages."""

import json

import pytest
from conftest import PATIENCE, server_of_module
from people import Person
from test_packages import refused, tar_of

DEFINITION = "name: {name}\nentry_points: {{fit: {{command: python3 fit.py}}}}\n"

server = server_of_module("--cpus", "16")


@pytest.fixture(scope="module")
def bea(server):
    return Person(server, "bea")


def sent(person, *entries):
    headers = {**person.headers, "Content-Type": "application/x-tar"}
    reply = person.server.post("/v1/packages", tar_of(*entries), headers=headers)
    assert reply.status == 200, reply.body
    return reply.json["package"]


def compare(person, package, other, query=""):
    return person.get(f"/v1/packages/{package}/compare?with={other}{query}")


def run(person, definition):
    made = person.paddle("run", "create", "-f", definition, check=0).stdout.strip()
    person.paddle("run", "wait", made, timeout=PATIENCE)
    return made


def package_of(person, made):
    return person.get(f"/v1/runs/{made}/definition").json["request"]["package"]


def test_two_packages_are_compared(ann):
    first = sent(ann, ("fit.py", b"1"), ("old.py", b""), ("same.py", b""))
    second = sent(ann, ("fit.py", b"2"), ("new.py", b""), ("same.py", b""))
    reply = compare(ann, first, second)
    assert reply.status == 200 and reply.json == {
        "package": first,
        "with": second,
        "items": [
            {"path": "fit.py", "change": "differs"},
            {"path": "new.py", "change": "new"},
            {"path": "old.py", "change": "gone"},
        ],
        "total": 3,
    }
    assert compare(ann, second, first).json["items"][1:] == [
        {"path": "new.py", "change": "gone"},
        {"path": "old.py", "change": "new"},
    ]
    cut = compare(ann, first, second, "&limit=2").json
    assert [item["path"] for item in cut["items"]] == ["fit.py", "new.py"] and cut["total"] == 3
    assert compare(ann, first, first).json["items"] == []


def test_packages_of_others_are_not_compared(server, ann, bea):
    """Another's package is not told apart from one that does not exist; an administrator may compare all."""
    hers = sent(ann, ("secret-plan.py", b"1"))
    own = sent(bea, ("mine.py", b"1"))
    for reply in (compare(bea, hers, own), compare(bea, own, hers), compare(bea, hers, hers)):
        refused(reply, 404, "not_found", f"'{hers}'")
        assert b"secret-plan" not in reply.body
    absent = compare(bea, own, "0" * 64)
    refused(absent, 404, "not_found", "0" * 64)
    assert absent.json["hint"] == compare(bea, own, hers).json["hint"]
    assert compare(server, hers, own).json["total"] == 2
    refused(compare(server, hers, "0" * 64), 404, "not_found", "0" * 64)


def test_what_is_no_package(ann):
    own = sent(ann, ("mine.py", b"1"))
    refused(compare(ann, "x", own), 400, "invalid", "'x'")
    refused(compare(ann, own, "../" * 3), 400, "invalid", "'../../../'")
    refused(ann.get(f"/v1/packages/{own}/compare"), 400, "invalid", "with")
    refused(compare(ann, own, own, "&limit=0"), 400, "invalid", "limit")


def test_the_files_of_two_runs(ann, tmp_path):
    definition = tmp_path / "pipeline.yaml"
    definition.write_text(DEFINITION.format(name="files"))
    (tmp_path / "fit.py").write_text("print(1)\n")
    (tmp_path / "old.py").write_text("")
    first = run(ann, definition)
    (tmp_path / "fit.py").write_text("print(2)\n")
    (tmp_path / "old.py").unlink()
    (tmp_path / "new.py").write_text("")
    second = run(ann, definition)
    lines = ann.paddle("run", "diff", first, second, check=1).stdout.split("\n\n")
    assert "files of the package\n  differs    fit.py\n  only in B  new.py\n  only in A  old.py" in lines
    diff = json.loads(ann.paddle("run", "diff", first, second, "-o", "json", check=1).stdout)
    (package,) = diff["packages"]
    assert package == {
        "path": "",
        "a": package_of(ann, first),
        "b": package_of(ann, second),
        "files": [
            {"path": "fit.py", "change": "differs"},
            {"path": "new.py", "change": "new"},
            {"path": "old.py", "change": "gone"},
        ],
        "more": 0,
        "why": None,
    }
    assert json.loads(ann.paddle("run", "diff", second, second, "-o", "json", check=0).stdout)["packages"] == []


def test_many_files_and_the_package_of_a_step(ann, tmp_path):
    """A step may have a package of its own. The list of files is bounded."""
    first = sent(ann, ("fit.py", b"1"))
    second = sent(ann, *((f"lib{number:03}.py", b"") for number in range(120)))
    made = []
    for package in (first, second):
        definition = tmp_path / f"{package}.yaml"
        definition.write_text(f"name: steps\nentry_points: {{fit: {{command: 'true', package: {package}}}}}\n")
        made.append(ann.paddle("run", "create", "-f", definition, "--no-package", check=0).stdout.strip())
        ann.paddle("run", "wait", made[-1], timeout=PATIENCE)
    text = ann.paddle("run", "diff", *made, check=1).stdout
    assert "\nfiles of fit.package\n  only in A  fit.py\n  only in B  lib000.py\n" in text
    assert "lib028.py\n  … 91 more files; --all shows them\n" in text and "lib029.py" not in text
    whole = ann.paddle("run", "diff", *made, "--all", check=1).stdout
    assert "lib119.py\n" in whole and "more files" not in whole
    (package,) = json.loads(ann.paddle("run", "diff", *made, "-o", "json", check=1).stdout)["packages"]
    assert package["path"] == "fit" and len(package["files"]) == 100 and package["more"] == 21


def test_a_package_that_was_removed(server, ann, tmp_path):
    """The rest is compared, and it is said why the files are not."""
    definition = tmp_path / "pipeline.yaml"
    definition.write_text(DEFINITION.format(name="removed"))
    (tmp_path / "fit.py").write_text("print(3)\n")
    first = run(ann, definition)
    (tmp_path / "fit.py").write_text("print(4)\n")
    second = run(ann, definition)
    gone = package_of(ann, first)
    (server.state / "packages" / gone).rename(tmp_path / "gone")
    text = ann.paddle("run", "diff", first, second, check=1).stdout
    assert f"files of the package\n  not compared: there is no package '{gone}' of ann\n" in text
