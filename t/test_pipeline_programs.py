"""Programs in Python in the place of definitions: `paddle pipeline lint|show|render|create` and `paddle run create -f FILE.py`."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from conftest import BIN, PATIENCE, ROOT, server_of_module, wait_for

SDK = {"PYTHONPATH": str(ROOT / "python"), "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
LINE = ROOT / "examples/pipelines/line.py"
HEAD = "from paddlecloud.pipeline import ContainerStep, Pipeline, step\n"
PLAIN = """
@Pipeline(name="plain", docker_env="none")
def plain(count=2):
    for number in range(count):
        ContainerStep(f"s{number}", command=f"echo {number}")
"""

server = server_of_module("--cpus", "64")


def write(folder, text, name="p.py"):
    (folder / name).write_text(textwrap.dedent(text))
    return folder / name


def shown(folder, word="p.py", verb="show", env=None, check=None):
    """`paddle pipeline show` of a program, without a server."""
    done = subprocess.run(
        [BIN / "paddle", "pipeline", verb, word],
        cwd=folder,
        env={**os.environ, **SDK, "HOME": str(folder), "PADDLE_SERVER": "unix:/nowhere", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert check in (None, done.returncode), done.stdout + done.stderr
    return done


def refused(folder, text, word="p.py", with_word=False, **options):
    """The message about a program, after `paddle: `, and all of standard error."""
    write(folder, text + "# a pipeline\n" * with_word)
    done = shown(folder, word, check=2, **options)
    assert done.stdout == ""
    return done.stderr.split("paddle: ")[-1], done.stderr


# -- without a server


def test_the_verbs_that_need_no_server(tmp_path):
    """As with the definition that the program makes. What it prints is no part of it, and its own files stay as they are."""
    write(tmp_path, HEAD + "import os\nprint('loading', __name__)\nos.system('echo below')\n" + PLAIN)
    done = shown(tmp_path, check=0)
    assert done.stdout == "plain\n├─ s0\n└─ s1\n" and sorted(done.stderr.split()) == ["below", "loading", "p"]
    assert shown(tmp_path, verb="lint", check=0).stdout == "p.py: valid (2 steps)\n"
    assert "command: echo 1\n" in shown(tmp_path, verb="render", check=0).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["p.py"]


def test_modules_beside_the_program(tmp_path):
    """As if Python had started it, from any directory, also if its name is not one of a module."""
    write(tmp_path, "WORD = 'beside'\n", "other.py")
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", "raise SystemExit('of the current directory')\n", "random.py")
    write(tmp_path, HEAD + "import other\n" + PLAIN.replace('"plain"', "other.WORD"), "a-b.py")
    assert shown(tmp_path / "in", "../a-b.py", check=0).stdout.startswith("beside\n")


def test_which_pipeline(tmp_path):
    """One that was made counts in the place of its function; of several, one is chosen by its name."""
    two = HEAD + PLAIN + PLAIN.replace("plain", "other")
    says, _ = refused(tmp_path, two)
    assert says == "p.py has 2 pipelines\nChoose one of them: p.py:other, p.py:plain\n"
    assert shown(tmp_path, "p.py:other", check=0).stdout.startswith("other\n")
    assert refused(tmp_path, two, "p.py:third")[0] == "p.py has no pipeline 'third'\nIt has other, plain\n"
    write(tmp_path, HEAD + PLAIN + "made = again = plain(1)\n")
    assert shown(tmp_path, check=0).stdout == "plain\n└─ s0\n"
    write(tmp_path, HEAD + PLAIN, "q.py")
    write(tmp_path, "from q import plain  # its pipeline\n")
    assert shown(tmp_path, check=0).stdout.startswith("plain\n")  # the only one, though of another module
    write(tmp_path, HEAD + "from q import plain\n" + PLAIN.replace("plain", "other"))
    assert shown(tmp_path, check=0).stdout.startswith("other\n")
    assert shown(tmp_path, "p.py:plain", check=0).stdout.startswith("plain\n")


def test_no_pipeline(tmp_path):
    says, all_ = refused(tmp_path, "print('trains')\n")
    assert says.startswith("p.py describes no pipeline: it does not contain this word\n") and "trains" not in all_
    says, _ = refused(tmp_path, "print('a pipeline')\n")
    assert says.startswith("p.py has no pipeline\nDescribe one with @Pipeline(name=...)")
    says, _ = refused(tmp_path, HEAD + PLAIN.replace("count=2", "count, rate, word='x'"))
    assert says == (
        "p.py: the pipeline 'plain' needs values for count, rate\nGive default values in `def plain(count=..., "
        "rate=...)`, or make the pipeline in the program: `pipeline = plain(count=..., rate=...)`.\n"
    )


def test_errors_of_the_program(tmp_path):
    """With the place in the program. Of others than those of a description there are the last lines of the traceback."""
    chain = "f0 = lambda: {}['x\033']\n" + "".join(f"f{i + 1} = lambda: f{i}()\n" for i in range(9)) + "f9()\n"
    says, all_ = refused(tmp_path, chain, with_word=True)
    assert says == "p.py:1: KeyError: 'x\\x1b'\nCorrect the program; nothing was run.\n"
    assert all_.count("p.py") == 6 and "f4()" not in all_ and "load.py" not in all_  # five lines of the traceback
    says, all_ = refused(tmp_path, "x = 1\ny = (\n", with_word=True)
    assert says == "p.py:2: SyntaxError: '(' was never closed\nCorrect the program; nothing was run.\n"
    assert all_ == "paddle: " + says
    says, all_ = refused(tmp_path, HEAD + PLAIN.replace('f"s{number}"', '"a_b"'))
    assert says.startswith("p.py:6: 'a_b' is not a name of a step") and all_ == "paddle: " + says
    says, _ = refused(tmp_path, "import nowhere_at_all\n", with_word=True)
    assert says.startswith("p.py:1: ModuleNotFoundError: No module named 'nowhere_at_all'\n")
    says, _ = refused(tmp_path, "import argparse\nargparse.ArgumentParser().parse_args(['x'])\n", with_word=True)
    assert "the program ended itself (SystemExit: 2) before its pipeline was known\nPut the code that runs" in says
    says, _ = refused(tmp_path, "import os\nos._exit(9)\n", with_word=True)
    assert says == "p.py: Python ended with status 9 before the pipeline was known\n"
    assert "'none.py'" in shown(tmp_path, "none.py", check=2).stderr


def test_errors_of_the_definition_have_no_lines(tmp_path):
    """Lines of a text that the user has not written would be those of another file."""
    write(tmp_path, HEAD + PLAIN.replace("command=", "condition='x =~ \\'(\\'', command="))
    path = "entry_points.s0.condition: the regular expression '(' has '(' without ')' (PE-19)"
    assert shown(tmp_path, check=2).stderr.startswith(f"paddle: p.py: {path}\n")
    assert shown(tmp_path, verb="lint", check=1).stdout.startswith(f"p.py: {path}\n")


@pytest.mark.parametrize("call", ["run()", "create()", "update()"])
def test_a_program_that_runs_its_pipeline(tmp_path, call):
    """It would run twice. Below the test of the name it is right, as it is for the older module."""
    says, _ = refused(tmp_path, HEAD + PLAIN + f"plain().{call}\n")
    assert f"the program calls {call} while `paddle` reads its pipeline; put this line below `if __name__" in says
    older = HEAD.replace("paddlecloud", "paddleflow").replace(", step", "") + PLAIN
    paths = {"PYTHONPATH": f"{ROOT}/python/paddleflow-compat/paddlecloud_paddleflow:{ROOT}/python"}
    says, _ = refused(tmp_path, older + f"plain().{call.replace('update(', 'update(1')}\n", env=paths)
    assert says.startswith("p.py:7: the program calls ")
    write(tmp_path, older + f'if __name__ == "__main__":\n    plain().{call}\n')
    assert shown(tmp_path, env=paths, check=0).stdout.startswith("plain\n")


def test_python_without_the_module(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    write(tmp_path, HEAD + PLAIN)
    assert "no python3 in PATH" in shown(tmp_path, env={"PATH": str(folder)}, check=2).stderr
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    done = shown(tmp_path, env={"PATH": str(folder), "PYTHONPATH": ""}, check=2)
    assert f"p.py needs the module paddlecloud, which '{folder}/python3' does not have\n" in done.stderr


def test_an_interrupt_ends_the_program(tmp_path):
    """Ctrl-C, which a terminal sends to both; and an end of `paddle` alone, which takes the program with it."""
    write(tmp_path, "import os, time  # a pipeline\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(1000)\n")
    for kill in (lambda pid: os.killpg(pid, signal.SIGINT), lambda pid: os.kill(pid, signal.SIGKILL)):
        process = subprocess.Popen(
            [BIN / "paddle", "pipeline", "show", "p.py"],
            cwd=tmp_path,
            env={**os.environ, **SDK},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), PATIENCE, "the program")
        child = int((tmp_path / "pid").read_text())
        kill(process.pid)
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode < 0 and said == b""
        wait_for(lambda child=child: not os.path.exists(f"/proc/{child}"), PATIENCE, "the end of the program")
        (tmp_path / "pid").unlink()


# -- runs


def follow(server, *words):
    done = server.paddle("run", "create", *words, "--follow", env=SDK, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    run = done.stdout.split()[0]
    return run, server.paddle("run", "logs", run).stdout


def test_a_run_of_the_program_of_the_guide(server):
    """Only its functions are sent; parameters are those of any run."""
    run, said = follow(server, "-f", LINE, "-p", "rounds=200")
    assert "best rate: 0.01" in said and "published with a loss of 0.000000" in said
    request = server.get(f"/v1/runs/{run}/definition").json["request"]
    assert "package" not in request and request["parameters"] == {"rounds": "200"}
    run, said = follow(server, LINE, "-p", "rounds=1")
    assert "published" not in said


def test_commands_begin_in_the_directory_of_the_program(server, tmp_path):
    """Functions do so only in that of --package-path."""
    (tmp_path / "word.txt").write_text("beside")
    write(
        tmp_path,
        HEAD
        + """
import os

@step
def see():
    print("function", os.path.exists("word.txt"))

@Pipeline(name="both", docker_env="none")
def both():
    see()
    ContainerStep("command", command="echo command $(cat word.txt)")
""",
    )
    _, said = follow(server, "-f", tmp_path / "p.py")
    assert "function False" in said and "command beside" in said
    _, said = follow(server, "-f", tmp_path / "p.py", "--package-path", tmp_path)
    assert "function True" in said and "command beside" in said
    other = write(tmp_path, "import os\nos.chdir('/')\n" + (tmp_path / "p.py").read_text(), "q.py")
    done = server.paddle(
        *("run", "create", other.name, "--package-path", ".", "--follow"), cwd=tmp_path, env=SDK, timeout=2 * PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr  # also if the program goes elsewhere
    assert "function True" in server.paddle("run", "logs", done.stdout.split()[0]).stdout
    done = server.paddle("run", "create", tmp_path / "p.py", "--package-path", tmp_path / "none", env=SDK)
    assert (done.returncode, done.stderr.split("\n")[0]) == (
        2, f"paddle: --package-path: '{tmp_path}/none' does not exist",
    )  # fmt: skip


def test_a_stored_program(server):
    """The functions are sent when it is stored, and each version has its own."""
    done = server.paddle("pipeline", "create", LINE, env=SDK, check=0)
    assert done.stdout == "line@1\n"
    assert server.paddle("pipeline", "update", "line", LINE, env=SDK, check=0).stdout == "line@2\n"
    assert "published" in follow(server, "line@1")[1]


def test_the_server_that_the_command_has_found(server, tmp_path):
    """Also by an option, which the program does not see; errors of the server are those of any request."""
    bare = {**SDK, "PADDLE_SERVER": "", "PADDLE_HOME": str(tmp_path)}
    done = server.paddle("run", "create", LINE, "--server", server.url, env=bare, check=0)
    assert server.paddle("run", "wait", done.stdout.split()[0], timeout=PATIENCE).returncode == 0
    done = server.paddle("run", "create", LINE, "--server", "unix:/nowhere/socket", env=bare, check=4)
    assert "/nowhere/socket" in done.stderr and "Traceback" not in done.stderr
