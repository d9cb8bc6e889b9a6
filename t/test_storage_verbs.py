"""`paddle storage ls|du|rm|mv|mkdir`, and the routes below them: as root, as ordinary users, across links, and over the limit."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading

import pytest
from conftest import BIN, Server, wait_for
from people import Person
from test_cli_terminal import Terminal, columns_of
from test_files import HOME, PUBLIC, refused, upload

ROOT_HOME = "/pfs/local/home/root"
ODD = ["中文 名字", 'it\'s "quoted"', "-rf", "a  b", "ünï", "%2e%2e", "*"]


@pytest.fixture
def home(shared_server):
    """The home of root, on the disk, empty."""
    path = shared_server.state / "storage/local/home/root"
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="module")
def ann(shared_server):
    person = Person(shared_server, "ann")
    person.run("true", output="/pfs/local/home/ann/out")  # her home is there then, and hers
    return person


def names(server, *args, **about):
    return server.paddle("storage", "ls", "-o", "name", *args, check=0, **about).stdout.splitlines()


def listed(server, *args):
    return json.loads(server.paddle("storage", "ls", "-o", "json", *args, check=0).stdout)


def held(server, user="root"):
    """{kind: (bytes, files)} as the ledger has it now."""
    (item,) = server.get(f"/v1/storage/usage?user={user}").json["items"]
    return {kind: (amount["bytes"], amount["files"]) for kind, amount in item["kinds"].items()}


def disk_of(path):
    """Blocks and inodes of a tree."""
    found = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(p.lstat().st_blocks * 512 for p in found), len(found)


def move(server, path, to, headers=None, **more):
    return server.post(path, {"op": "move", "to": to, **more}, headers=headers)


# -- looking


def test_ls_shows_kind_size_time_and_name(shared_server, home):
    (home / "b.txt").write_bytes(b"12345")
    (home / "b.txt").chmod(0o640)
    (home / "sub/deep").mkdir(parents=True)
    (home / "sub/x").write_text("x")
    (home / "near").symlink_to("b.txt")
    (home / "lost").symlink_to("nowhere")
    (home / "etc").symlink_to("/etc/passwd")
    os.mkfifo(home / "pipe")
    os.utime(home / "b.txt", (1700000000, 1700000000))
    done = shared_server.paddle("storage", "ls", check=0, env={"TZ": "UTC"})
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["MODE", "SIZE", "CHANGED", "NAME"]
    assert [row.split()[-1] for row in rows] == ["b.txt", "etc", "lost", "near", "pipe", "sub/"]
    assert [row[0] for row in rows] == ["-", "l", "l", "l", "p", "d"]
    assert rows[0].split() == ["-rw-r-----", "5", "B", "2023-11-14", "22:13", "b.txt"]
    assert rows[3].split()[1:3] == ["5", "B"]  # what the link leads to
    assert rows[1].split()[1:3] == ["0", "B"]  # nothing is read behind one that leads out
    assert names(shared_server, "-R", "sub") == [f"{ROOT_HOME}/sub/deep", f"{ROOT_HOME}/sub/x"]
    assert names(shared_server, "sub/x") == [f"{ROOT_HOME}/sub/x"]
    assert [i["name"] for i in listed(shared_server, "sub", "/b.txt")] == ["sub/deep", "sub/x", "/b.txt"]
    about = {item["name"]: item for item in listed(shared_server)}
    assert about["near"]["type"] == "link" and about["near"]["size"] == 5 and not about["near"]["dir"]
    assert about["sub"]["dir"] and about["sub"]["path"] == f"{ROOT_HOME}/sub"
    assert about["b.txt"]["mode"] == "0640" and about["b.txt"]["mtime"] == "2023-11-14T22:13:20.000Z"
    wide = shared_server.paddle("storage", "ls", "-o", "wide", check=0).stdout
    assert f"{ROOT_HOME}/b.txt" in wide
    yaml = shared_server.paddle("storage", "ls", "-o", "yaml", "sub", check=0).stdout
    assert f"path: {ROOT_HOME}/sub/deep" in yaml.replace('"', "").replace("'", "")


def test_an_empty_home_and_paths_that_are_not_there(shared_server, home):
    home.rmdir()
    done = shared_server.paddle("storage", "ls", check=0)
    assert "nothing in your home" in done.stderr
    assert json.loads(shared_server.paddle("storage", "ls", "-o", "json", check=0).stdout) == []
    (total,) = json.loads(shared_server.paddle("storage", "du", "-o", "json", check=0).stdout)
    assert (total["bytes"], total["files"], total["path"]) == (0, 0, ROOT_HOME)
    for verb in ("ls", "du", "rm"):
        done = shared_server.paddle("storage", verb, "not/there", check=1)
        assert f"'{ROOT_HOME}/not/there' does not exist" in done.stderr, done.stderr
        done = shared_server.paddle("storage", verb, "a/../../x", check=2)
        assert "'..'" in done.stderr
        done = shared_server.paddle("storage", verb, "/pfs/moon/home/root/x", check=1)
        assert "'moon'" in done.stderr and "'local'" in done.stderr
        shared_server.paddle("storage", verb, "x", check=4, env={"PADDLE_SERVER": "unix:/nowhere/paddled.sock"})
    shared_server.paddle("storage", "ls", "-o", "wrong", check=2)
    shared_server.paddle("storage", "rm", check=2)
    shared_server.paddle("storage", "mv", "one", check=2)


def test_one_that_is_missing_does_not_hide_the_others(shared_server, home):
    (home / "a").mkdir()
    (home / "a/x").write_text("x")
    done = shared_server.paddle("storage", "ls", "nope", "a", check=1)
    assert "a/x" in done.stdout and "'/pfs/local/home/root/nope' does not exist" in done.stderr


def test_du_counts_what_the_disk_holds(shared_server, home):
    for name, size in (("big/one", 100_000), ("big/below/two", 5000), ("small/three", 1), ("four", 7000)):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"x" * size)
    os.link(home / "four", home / "small/again")  # a second name
    with open(home / "hole", "wb") as file:
        file.truncate(1 << 30)
    (home / "small/link").symlink_to("../big")  # not followed
    items = json.loads(shared_server.paddle("storage", "du", "-o", "json", check=0).stdout)
    assert [item["name"] for item in items] == ["big", "small", ROOT_HOME]
    big, _, total = items
    assert (big["bytes"], big["files"] + big["dirs"]) == disk_of(home / "big")
    assert (big["size"], big["files"], big["dirs"]) == (105_000, 2, 2)
    whole, inodes = disk_of(home)
    twice = (home / "four").stat().st_blocks * 512
    assert (total["bytes"], total["files"] + total["dirs"]) == (whole - twice, inodes - 1)
    assert total["size"] == (1 << 30) + 100_000 + 5000 + 1 + 7000
    (only,) = json.loads(shared_server.paddle("storage", "du", "-s", "-o", "json", check=0).stdout)
    assert {**only, "name": 0} == {**total, "name": 0}
    sums = json.loads(shared_server.paddle("storage", "du", "-s", "-o", "json", "big", "four", check=0).stdout)
    assert [item["name"] for item in sums] == ["big", "four"] and sums[1]["files"] == 1
    table = shared_server.paddle("storage", "du", check=0).stdout.splitlines()
    assert table[0].split() == ["HELD", "FILES", "DIRECTORIES", "NAME"]
    assert table[1].split()[-1] == "big" and table[-1].split()[-1] == ROOT_HOME and "KiB" in table[1]
    shared_server.paddle("storage", "usage", "--count", check=0)
    assert held(shared_server)["homes"] == (total["bytes"], total["files"] + total["dirs"])  # as the limit counts


def test_what_is_too_long_for_one_answer_is_said(shared_server, home, tmp_path):
    (home / "many").mkdir()
    for i in range(100_001):
        os.close(os.open(home / f"many/{i}", os.O_CREAT | os.O_WRONLY))
    done = shared_server.paddle("storage", "ls", "many", check=1)
    assert "not all of '/pfs/local/home/root/many' is shown" in done.stderr and done.stdout.count("\n") == 100_001
    done = shared_server.paddle("download", "many", tmp_path / "back", check=1)
    assert "more entries than the server lists at once" in done.stderr
    (total,) = json.loads(shared_server.paddle("storage", "du", "-s", "-o", "json", "many", check=0).stdout)
    assert total["files"] == 100_001
    shared_server.paddle("storage", "rm", "-r", "many", check=0)


# -- making, moving, removing


def test_mkdir(shared_server, home):
    assert shared_server.paddle("storage", "mkdir", "a", "/b/", check=0).stdout.split() == [
        f"{ROOT_HOME}/a",
        f"{ROOT_HOME}/b",
    ]
    done = shared_server.paddle("storage", "mkdir", "a", check=3)
    assert f"'{ROOT_HOME}/a' exists already" in done.stderr
    done = shared_server.paddle("storage", "mkdir", "x/y", check=1)
    assert f"'{ROOT_HOME}/x/y' cannot be created: there is no directory '{ROOT_HOME}/x'" in done.stderr
    assert "mkdir -p" in done.stderr and not (home / "x").exists()
    shared_server.paddle("storage", "mkdir", "-p", "x/y/z", "a", check=0)
    assert (home / "x/y/z").is_dir()
    (home / "file").write_text("")
    shared_server.paddle("storage", "mkdir", "file", check=3)
    shared_server.paddle("storage", "mkdir", "-p", "file/x", check=1)
    shared_server.paddle("storage", "mkdir", "/", check=3)


def test_rm(shared_server, home):
    for name in ("a", "b", "tree/sub/x", "tree/y", "empty/.keep"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "empty/.keep").unlink()
    (home / "near").symlink_to("tree")
    (home / "lost").symlink_to("/nowhere")
    os.mkfifo(home / "pipe")
    done = shared_server.paddle("storage", "rm", "a", "tree", "empty", "not-there", "near", "lost", "pipe", check=1)
    assert f"removed '{ROOT_HOME}/a'" in done.stderr
    assert f"'{ROOT_HOME}/tree' is a directory" in done.stderr and "rm -r" in done.stderr
    assert f"'{ROOT_HOME}/empty' is a directory" in done.stderr
    assert f"'{ROOT_HOME}/not-there' does not exist" in done.stderr
    assert sorted(p.name for p in home.iterdir()) == ["b", "empty", "tree"]  # the link went, not the tree
    assert (home / "tree/sub/x").exists()
    done = shared_server.paddle("storage", "rm", "-f", "not-there", "b", check=0)
    assert "not-there" not in done.stderr
    done = shared_server.paddle("storage", "rm", "-r", "tree", "empty", check=0)
    assert f"removed '{ROOT_HOME}/tree': 2 files" in done.stderr
    assert list(home.iterdir()) == []
    assert os.listdir(shared_server.state / "storage/local/.upload") == []


@pytest.mark.parametrize(
    "path", ["/", ".", "", ROOT_HOME, ROOT_HOME + "/", "/pfs/local/public", "/pfs/local/home", "/pfs/local", "/pfs"]
)
def test_what_cannot_be_removed(shared_server, home, path):
    (home / "stays").write_text("x")
    for line in (["rm", "-rf", path], ["mv", path, "elsewhere"]):
        done = shared_server.paddle("storage", *line)
        assert done.returncode in (2, 3), (line, done.stderr)
        assert "itself cannot be" in done.stderr or "neither" in done.stderr or "empty" in done.stderr
    assert (home / "stays").exists() and (shared_server.state / "storage/local/public").is_dir()


def test_mv_renames_and_moves_into(shared_server, home):
    for name in ("a", "b", "dir/x"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(name)
    done = shared_server.paddle("storage", "mv", "a", "c", check=0)
    assert done.stdout == f"{ROOT_HOME}/c\n" and f"{ROOT_HOME}/a -> {ROOT_HOME}/c" in done.stderr
    shared_server.paddle("storage", "mv", "c", "b", "dir", check=0)
    assert sorted(p.name for p in (home / "dir").iterdir()) == ["b", "c", "x"]
    shared_server.paddle("storage", "mv", "dir", "renamed", check=0)
    assert (home / "renamed/c").read_text() == "a"
    shared_server.paddle("storage", "mv", "renamed/x", "/", check=0)
    assert (home / "x").read_text() == "dir/x"
    for line, status, parts in [
        (["mv", "nope", "y"], 1, ["'/pfs/local/home/root/nope' does not exist"]),
        (["mv", "x", "y/z"], 1, ["no directory '/pfs/local/home/root/y'", "mkdir -p"]),
        (["mv", "x", "y/"], 1, ["directory '/pfs/local/home/root/y' does not exist"]),
        (["mv", "renamed/b", "x/"], 1, ["is a file"]),
        (["mv", "x", "renamed/b", "y"], 1, ["directory '/pfs/local/home/root/y' does not exist"]),
        (["mv", "renamed", "renamed/in"], 2, ["into itself"]),
        (["mv", "renamed/b", "x"], 3, ["'/pfs/local/home/root/x' exists already", "--force"]),
    ]:
        done = shared_server.paddle("storage", *line)
        assert done.returncode == status, (line, done.returncode, done.stderr)
        assert all(part in done.stderr for part in parts), (line, done.stderr)
    assert (home / "x").read_text() == "dir/x" and (home / "renamed/b").read_text() == "b"
    done = shared_server.paddle("storage", "mv", "--force", "renamed/b", "x", check=0)
    assert (home / "x").read_text() == "b" and "in the place of" in done.stderr
    (home / "one/x").mkdir(parents=True)
    (home / "one/x/kept").write_text("")
    assert shared_server.paddle("storage", "mv", "--force", "x", "one").returncode == 1  # one/x is a directory
    assert (home / "x").exists() and (home / "one/x/kept").exists()


@pytest.mark.parametrize("name", ODD)
def test_odd_names(shared_server, home, name):
    (home / name).mkdir()
    (home / name / name).write_text("x")
    assert names(shared_server, "--", name) == [f"{ROOT_HOME}/{name}/{name}"]
    shared_server.paddle("storage", "mv", "--", f"{name}/{name}", "moved", check=0)
    shared_server.paddle("storage", "mv", "--", "moved", name, check=0)
    assert (home / name / "moved").read_text() == "x"
    shared_server.paddle("storage", "rm", "-r", "--", name, check=0)
    shared_server.paddle("storage", "mkdir", "--", name, check=0)
    assert [p.name for p in home.iterdir()] == [name]


def test_control_characters_reach_no_terminal(shared_server, home):
    evil = "a\x1b]0;owned\x07\x1b[31m\nb\u202ec"
    (home / "d").mkdir()
    (home / "d" / evil).write_text("x" * 200)
    for line in (["ls", "d"], ["ls", "-R"], ["ls", "-o", "name", "d"], ["ls", "-o", "wide", "d"], ["du", "d"]):
        terminal = Terminal(shared_server, "storage", *line)
        assert terminal.end() == 0
        said = terminal.said.decode()
        assert not set("\x1b\x07\u202e") & set(said), said
        assert max(map(columns_of, said.splitlines())) <= 80 or line[-2:] == ["wide", "d"] or "name" in line
    (item,) = listed(shared_server, "d")
    assert item["name"] == evil  # JSON has it as it is
    done = shared_server.paddle("storage", "rm", f"d/{evil}", check=2)
    assert "control character" in done.stderr and "\x1b" not in done.stderr
    shared_server.paddle("storage", "rm", "-r", "d", check=0)  # with its directory it goes
    assert list(home.iterdir()) == []


def test_a_listing_fits_the_terminal(shared_server, home):
    for name in ("x" * 200, "训练" * 40, "short"):
        (home / name).write_text("x")
    terminal = Terminal(shared_server, "storage", "ls")
    assert terminal.end() == 0
    lines = terminal.said.decode().splitlines()
    assert max(map(columns_of, lines)) <= 80 and "NAME" in lines[0] and "…" in terminal.said.decode()
    piped = shared_server.paddle("storage", "ls", check=0).stdout
    assert "x" * 200 in piped and "训练" * 40 in piped and "…" not in piped


# -- questions


def fill(path, count):
    path.mkdir()
    for i in range(count):
        (path / str(i)).write_text("")


@pytest.mark.parametrize(
    "answer, goes", [(b"y\n", True), (b"YES\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)]
)
def test_more_than_100_files_are_asked_about(shared_server, home, answer, goes):
    fill(home / "many", 101)
    terminal = Terminal(shared_server, "storage", "rm", "-r", "many")
    terminal.read(lambda said: said.endswith(b"[y/N] "))
    assert b"'/pfs/local/home/root/many' with 101 files" in terminal.said and (home / "many/100").exists()
    terminal.press(answer)
    assert terminal.end() == (0 if goes else 1)
    assert (home / "many").exists() != goes
    assert goes or b"is not removed" in terminal.said


@pytest.mark.parametrize("count, line", [(100, []), (101, ["--yes"])])
def test_no_question(shared_server, home, count, line):
    fill(home / "many", count)
    terminal = Terminal(shared_server, "storage", "rm", "-r", *line, "many")
    assert terminal.end() == 0 and b"[y/N]" not in terminal.said
    assert not (home / "many").exists()


def test_without_a_terminal_nothing_is_asked(shared_server, home):
    fill(home / "many", 150)
    shared_server.paddle("storage", "rm", "-r", "many", check=0)
    assert not (home / "many").exists()


# -- whose is what


def test_homes_of_others_are_shut(shared_server, home, ann):
    (home / "mine").write_text("mine")
    for line in (
        ["ls", ROOT_HOME],
        ["ls", f"{ROOT_HOME}/mine"],
        ["du", ROOT_HOME],
        ["rm", f"{ROOT_HOME}/mine"],
        ["rm", "-rf", f"{ROOT_HOME}/not-there"],
        ["mkdir", f"{ROOT_HOME}/new"],
        ["mv", f"{ROOT_HOME}/mine", "stolen"],
        ["mv", "out", f"{ROOT_HOME}/planted"],
        ["mkdir", "/pfs/local/public/new"],
        ["mv", "out", "/pfs/local/public/new"],
        ["mv", "out", "/pfs/local/public/"],
    ):
        done = ann.paddle("storage", *line)
        assert done.returncode == 3, (line, done.returncode, done.stderr)
        assert "belongs to 'root'" in done.stderr or "administrators" in done.stderr, done.stderr
    assert [p.name for p in home.iterdir()] == ["mine"] and (ann.disk / "out").is_dir()


def test_in_public_everyone_takes_away_their_own_only(shared_server, ann):
    public = shared_server.state / "storage/local/public"
    bob = Person(shared_server, "bob")
    for person in (ann, bob):
        person.run(
            f"cd $PADDLE_INPUT; umask 0; echo {person.name} > {person.name}.txt; mkdir -p {person.name}/sub; "
            f"echo x > {person.name}/sub/x",
            input="/pfs/local/public",
        )
    bob.run("echo bob > $PADDLE_INPUT/ann/sub/of-bob", input="/pfs/local/public")
    upload(shared_server, f"{PUBLIC}/of-root", b"root")
    assert ann.paddle("storage", "ls", "/pfs/local/public", check=0).stdout.count("\n") >= 6
    for line in (
        ["rm", "/pfs/local/public/bob.txt"],
        ["rm", "-r", "/pfs/local/public/bob"],
        ["rm", "/pfs/local/public/bob/sub/x"],
        ["rm", "/pfs/local/public/of-root"],
        ["mv", "/pfs/local/public/bob.txt", "mine"],
        ["mv", "/pfs/local/public/ann", "mine"],  # a file of bob's is in it
    ):
        done = ann.paddle("storage", *line)
        assert done.returncode == 3 and "belongs to another user" in done.stderr, (line, done.stderr)
    assert (public / "bob/sub/x").exists() and (public / "of-root").exists()
    shared_server.paddle("storage", "usage", "--count", check=0)
    before = held(shared_server, "ann")
    gone = disk_of(public / "ann.txt")
    ann.paddle("storage", "rm", "/pfs/local/public/ann.txt", check=0)
    after = held(shared_server, "ann")
    assert tuple(a - b for a, b in zip(before["public"], after["public"], strict=True)) == gone
    done = ann.paddle("storage", "rm", "-r", "/pfs/local/public/ann", check=3)
    assert "1 entries in it belong to other users" in done.stderr
    assert (public / "ann/sub").stat().st_mode & 0o777 == 0o777  # bob still reaches what is his
    assert (public / "ann/sub/of-bob").read_text() == "bob\n" and not (public / "ann/sub/x").exists()
    bob.paddle("storage", "rm", "/pfs/local/public/ann/sub/of-bob", check=0)
    ann.paddle("storage", "mv", "/pfs/local/public/ann", "from-public", check=0)
    assert (ann.disk / "from-public/sub").is_dir() and not (public / "ann").exists()
    shared_server.paddle("storage", "rm", "-r", "/pfs/local/public/bob", "/pfs/local/public/bob.txt", check=0)
    assert sorted(p.name for p in public.iterdir()) == ["of-root"]


def test_an_administrator_moves_between_homes_and_public(shared_server, home, ann):
    uid, public = ann.disk.stat().st_uid, shared_server.state / "storage/local/public"
    upload(shared_server, f"{PUBLIC}/given/x", b"x" * 5000)
    shared_server.paddle("storage", "usage", "--count", check=0)
    before = held(shared_server, "ann")
    shared_server.paddle("storage", "mv", "/pfs/local/public/given", "/pfs/local/home/ann/", check=0)
    for path in (ann.disk / "given", ann.disk / "given/x"):
        assert path.stat().st_uid == uid
    amount = disk_of(ann.disk / "given")
    now = held(shared_server, "ann")
    assert tuple(b + c for b, c in zip(before["homes"], amount, strict=True)) == now["homes"]
    shared_server.paddle("storage", "mv", "/pfs/local/home/ann/given", "/pfs/local/public/hers", check=0)
    assert (public / "hers/x").stat().st_uid == uid  # it stays hers, and counts to her
    now = held(shared_server, "ann")
    assert now["homes"] == before["homes"]
    assert tuple(b + c for b, c in zip(before["public"], amount, strict=True)) == now["public"]
    shared_server.paddle("storage", "usage", "--count", check=0)
    assert held(shared_server, "ann") == now  # as the survey has it
    (home / "of-root").write_text("r")
    shared_server.paddle("storage", "mv", "of-root", "/pfs/local/home/ann/from-root", check=0)
    assert (ann.disk / "from-root").stat().st_uid == uid
    ann.paddle("storage", "rm", "from-root", "/pfs/local/public/hers/x", check=0)
    shared_server.paddle("storage", "rm", "-r", "/pfs/local/public/hers", check=0)


def test_scopes(shared_server, home):
    (home / "x").write_text("x")
    tokens = {scope: shared_server.post("/v1/tokens", {"scope": scope}).json["token"] for scope in ("read", "submit")}
    for line in (["ls"], ["du"]):
        shared_server.paddle("storage", *line, env={"PADDLE_TOKEN": tokens["read"]}, check=0)
    for line in (["rm", "x"], ["mv", "x", "y"], ["mkdir", "y"]):
        done = shared_server.paddle("storage", *line, env={"PADDLE_TOKEN": tokens["read"]}, check=3)
        assert "scope" in done.stderr
    assert (home / "x").exists()
    for line in (["mv", "x", "y"], ["mkdir", "z"], ["rm", "-r", "y", "z"]):
        shared_server.paddle("storage", *line, env={"PADDLE_TOKEN": tokens["submit"]}, check=0)


def test_the_audit_log_has_them(shared_server, ann):
    (ann.disk / "audited").mkdir()
    shared_server.paddle("storage", "mv", "/pfs/local/home/ann/audited", "/pfs/local/home/ann/audited2", check=0)
    shared_server.paddle("storage", "rm", "-r", "/pfs/local/home/ann/audited2", check=0)
    lines = shared_server.get("/v1/audit?limit=1000").json["items"]
    ours = [line for line in lines if "audited" in json.dumps(line)]
    assert [(line["action"], line["owner"], line["subject"]) for line in ours if "show" not in line["action"]] == [
        ("file create", "ann", "pfs/local/home/ann/audited -> /pfs/local/home/ann/audited2"),
        ("file delete", "ann", "pfs/local/home/ann/audited2"),
    ]


# -- links


def test_links_lead_nowhere(shared_server, ann):
    outside = shared_server.state / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    base = ann.disk / "links"
    base.mkdir()
    (base / "x").write_text("x")
    for name, target in {"out": outside, "root": "../../root", "up": "../../../..", "proc": "/proc/self/root"}.items():
        (base / name).symlink_to(target)
    for name in ("out", "root", "up", "proc"):
        there = f"{ann.home}/links/{name}/secret"
        for reply in (
            shared_server.request("DELETE", there, headers=ann.headers),
            move(shared_server, there, "/pfs/local/home/ann/stolen", headers=ann.headers),
            move(shared_server, f"{ann.home}/links/x", f"/pfs/local/home/ann/links/{name}/y", headers=ann.headers),
            shared_server.get(there + "?count=true", headers=ann.headers),
            shared_server.get(there + "?stat=true", headers=ann.headers),
        ):
            refused(reply, 403, "denied", "link")
        count = shared_server.get(f"{ann.home}/links/{name}?count=true", headers=ann.headers)
        assert count.status == 200 and count.json["items"][0]["files"] == 1  # the link itself
        assert (
            shared_server.get(f"{ann.home}/links/{name}?stat=true", headers=ann.headers).json["items"][0]["type"]
            == "link"
        )
    ann.paddle("storage", "mv", "links/out", "links/moved", check=0)  # the link, not what it leads to
    assert os.readlink(base / "moved") == str(outside)
    ann.paddle("storage", "rm", "-r", "links", check=0)
    assert (outside / "secret").read_text() == "secret" and not base.exists()
    assert (shared_server.state / "paddle.db").exists()


def test_a_link_that_is_exchanged_meanwhile(shared_server, ann):
    """A directory and a link that leads out take turns under one name; nothing is made, moved or removed outside."""
    outside = shared_server.state / "beside"
    outside.mkdir()
    for name in ("victim", "x"):
        (outside / name).write_text("secret")
    base, real, fake = (ann.disk / name for name in ("swap", "swap/real", "swap/fake"))
    base.mkdir()
    real.mkdir()
    fake.symlink_to(outside)
    stop = threading.Event()

    def exchange():
        turn = base / "turn"
        while not stop.is_set():
            with contextlib.suppress(OSError):
                os.rename(real, turn)
                os.rename(fake, real)
                os.rename(real, fake)
                os.rename(turn, real)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        path = f"{ann.home}/swap/real"
        for i in range(150):
            (base / "mine").write_text("mine")
            replies = [
                shared_server.request("DELETE", f"{path}/victim", headers=ann.headers),
                shared_server.request("DELETE", f"{path}/x?recursive=true", headers=ann.headers),
                move(shared_server, f"{path}/x", f"/pfs/local/home/ann/swap/got-{i}", headers=ann.headers),
                move(
                    shared_server,
                    f"{ann.home}/swap/mine",
                    f"/pfs/local/home/ann/swap/real/put-{i}",
                    headers=ann.headers,
                ),
                shared_server.post(f"{path}/made-{i}", {"op": "mkdir", "parents": False}, headers=ann.headers),
                shared_server.get(f"{path}?count=true&each=true", headers=ann.headers),
            ]
            assert all(reply.status < 500 for reply in replies), [reply.body for reply in replies]
    finally:
        stop.set()
        thread.join()
    assert sorted(p.name for p in outside.iterdir()) == ["victim", "x"]
    assert {p.read_text() for p in outside.iterdir()} == {"secret"}
    assert not list(base.glob("got-*"))
    ann.paddle("storage", "rm", "-r", "swap", check=0)


# -- the limit


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "4").start()
    yield server
    server.destroy()


def test_over_the_limit_one_can_still_remove_and_rename(limited):
    eve = Person(limited, "eve")
    eve.run("true", output="/pfs/local/home/eve/out")
    home = "/v1/files/pfs/local/home/eve"
    for name in ("a", "b"):
        upload(limited, f"{home}/{name}", b"x" * 200_000, headers=eve.headers)
    limited.paddle("user", "set", "eve", "--disk", "300Ki", check=0)
    done = eve.paddle("storage", "mkdir", "new", check=3)
    assert "eve" in done.stderr and "of at most" in done.stderr
    eve.paddle("storage", "mv", "a", "a.old", check=0)
    eve.paddle("storage", "mv", "-f", "a.old", "b", check=0)  # which makes room, too
    limited.paddle("storage", "usage", "--count", check=0)
    eve.paddle("storage", "mkdir", "new", check=0)
    assert held(limited, "eve")["homes"] == disk_of(eve.disk)
    eve.paddle("storage", "rm", "b", check=0)
    assert held(limited, "eve")["homes"] == disk_of(eve.disk)  # at once
    upload(limited, f"{home}/c", b"x" * 200_000, headers=eve.headers)


def test_what_is_removed_counts_at_once(limited):
    amy = Person(limited, "amy")
    amy.run(
        "mkdir -p t/a t/b; seq 20000 > t/a/x; ln t/a/x t/b/again; ln t/a/x keep; seq 9 > t/b/y; mv t keep $PADDLE_OUTPUT/",
        output="/pfs/local/home/amy/out",
    )
    limited.paddle("storage", "usage", "--count", check=0)
    before = held(limited, "amy")["homes"]
    kept = disk_of(amy.disk / "out/keep")
    tree = disk_of(amy.disk / "out/t")
    amy.paddle("storage", "rm", "-r", "out/t", check=0)
    now = held(limited, "amy")["homes"]
    # x has a name outside, so that only its names went
    assert now == (before[0] - (tree[0] - 2 * kept[0]), before[1] - (tree[1] - 2))
    limited.paddle("storage", "usage", "--count", check=0)
    assert held(limited, "amy")["homes"] == now


# -- clients that go


def deep(path, width, levels):
    """Many directories and files."""
    path.mkdir()
    for i in range(width):
        (path / f"f{i}").write_text("x")
        if levels:
            deep(path / f"d{i}", width, levels - 1)


def test_a_client_that_goes_in_the_middle_leaves_nothing_behind(limited):
    """The tree is out of sight at one moment; what its removal left over goes with the next survey."""
    kim = Person(limited, "kim")
    kim.run("true", output="/pfs/local/home/kim/out")
    hidden = limited.state / "storage/local/.upload"
    deep(kim.disk / "tree", 6, 4)
    client = subprocess.Popen(
        [BIN / "paddle", "storage", "rm", "-r", "tree"],
        env={**os.environ, "PADDLE_SERVER": limited.url, "PADDLE_TOKEN": kim.token, "HOME": str(limited.state)},
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    wait_for(lambda: not (kim.disk / "tree").exists(), what="the tree's going out of sight")
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert not (kim.disk / "tree").exists()

    def is_swept():
        limited.paddle("storage", "usage", "--count", check=0)
        return not list(hidden.glob("gone.*"))

    wait_for(is_swept, what="the rest's end")
    assert held(limited, "kim")["homes"] == disk_of(kim.disk)


def test_the_routes_refuse_what_they_do_not_know(shared_server, home):
    (home / "x").write_text("x")
    for body in (
        {"op": "move"},
        {"op": "move", "to": 5},
        {"op": "move", "to": ""},
        {"op": "move", "to": "/etc/passwd"},
        {"op": "move", "to": "relative"},
        {"op": "move", "to": f"{ROOT_HOME}/../y"},
        {"op": "move", "to": f"{ROOT_HOME}/a\nb"},
        {"op": "move", "to": f"{ROOT_HOME}/y", "replace": "yes"},
        {"op": "move", "to": f"{ROOT_HOME}/y", "parents": True},
        {"op": "mkdir", "parents": 1},
        {"op": "remove"},
    ):
        reply = shared_server.post(f"{HOME}/x", body)
        assert reply.status == 400 and reply.json["code"] == "invalid", (body, reply.body)
    for query in ("count=maybe", "stat=2", "each=x", "all=."):
        assert shared_server.get(f"{HOME}/x?{query}").status == 400
    refused(move(shared_server, f"{HOME}/x", "/pfs/moon/home/root/x"), 404, "not_found", "'moon'")
    refused(move(shared_server, f"{HOME}/x", ROOT_HOME), 409, "exists", ROOT_HOME)
    refused(move(shared_server, HOME, f"{ROOT_HOME}/y"), 403, "denied", "itself")
    assert [p.name for p in home.iterdir()] == ["x"]


def test_help_and_completion(shared_server):
    for verb in ("ls", "du", "rm", "mv", "mkdir"):
        said = shared_server.paddle("storage", verb, "--help", check=0).stdout
        assert f"paddle storage {verb}" in said and "Examples:" in said
        assert max(map(len, said.splitlines())) <= 80
        assert verb in shared_server.paddle("completion", "bash", check=0).stdout
    said = shared_server.paddle("storage", check=2).stderr
    assert all(f"{verb} " in said for verb in ("ls", "du", "rm", "mv", "mkdir", "usage"))
