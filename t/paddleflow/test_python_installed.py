"""The distribution of python/paddleflow-compat: in the place of the older one, and beside it."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import BIN, PATIENCE, ROOT

from paddleflow.older import PLACE
from paddleflow.test_cli import config

PROGRAM = ROOT / "t/paddleflow/older_program.py"
THEIRS = {
    "paddleflow/__init__.py": "from paddleflow.client import Client\nWHOSE = 'theirs'\n",
    "paddleflow/__main__.py": "def main():\n    print('their command line')\n",
    "paddleflow/client.py": "class Client:\n    pass\n",
}


def run(*words, cwd=None, env=None):
    """What a program prints; without the modules of these tests, unless `env` says otherwise."""
    if env is None:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=cwd, env=env
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def uv(*words):
    return run(ROOT / ".venv/bin/uv", *words, "--offline")


def older_wheel(folder):
    """A stand-in for the wheel of PaddleFlow's client: its name, and files where it has them."""
    files = {
        **THEIRS,
        "PaddleFlow-1.4.7.dist-info/entry_points.txt": "[console_scripts]\npaddleflow = paddleflow.__main__:main\n",
        "PaddleFlow-1.4.7.dist-info/METADATA": "Metadata-Version: 2.1\nName: PaddleFlow\nVersion: 1.4.7\n",
        "PaddleFlow-1.4.7.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(text)}\n"
    files["PaddleFlow-1.4.7.dist-info/RECORD"] = record + "PaddleFlow-1.4.7.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / "PaddleFlow-1.4.7-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Ours, built from copies of the sources, and the older one."""
    base = tmp_path_factory.mktemp("wheels")
    (base / "out").mkdir()
    shutil.copytree(
        ROOT / "python", base / "python", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    )
    for source in ("python", "python/paddleflow-compat"):
        uv(
            "build",
            "--quiet",
            "--wheel",
            "--no-build-isolation",
            "--python",
            sys.executable,
            "--out-dir",
            base / "out",
            base / source,
        )
    older_wheel(base / "out")
    return base / "out"


class Environment:
    """A virtual environment that installs from these wheels only."""

    def __init__(self, path, wheels):
        self.python, self.wheels = path / "bin/python", wheels
        uv("venv", "--quiet", "--python", sys.executable, path)

    def install(self, name):
        uv("pip", "install", "--quiet", "--python", self.python, "--no-index", "--find-links", self.wheels, name)

    def uninstall(self, name):
        uv("pip", "uninstall", "--quiet", "--python", self.python, name)

    def files(self):
        """What the older distribution has installed, with its contents."""
        (packages,) = self.python.parent.parent.glob("lib/python*/site-packages")
        return {name: (packages / name).read_text() for name in THEIRS if (packages / name).exists()}

    def whose(self):
        program = "import paddleflow; print('ours' if hasattr(paddleflow.Client, 'login') else paddleflow.WHOSE)"
        return run(self.python, "-c", program, cwd=self.python.parent).strip()

    def command(self):
        """What the script `paddleflow` of the environment says; None: there is none."""
        script = self.python.parent / "paddleflow"
        return run(script, cwd=self.python.parent).strip() if script.exists() else None


@pytest.fixture
def environment(tmp_path, wheels):
    return Environment(tmp_path / "venv", wheels)


def test_installing_ours_leaves_the_older_one_as_it_is(environment):
    environment.install("PaddleFlow")
    environment.install("paddlecloud-paddleflow")
    assert (environment.whose(), environment.files()) == ("theirs", THEIRS)
    assert environment.command() == "their command line"
    environment.uninstall("paddlecloud-paddleflow")
    assert (environment.whose(), environment.files()) == ("theirs", THEIRS)
    assert environment.command() == "their command line"


def test_the_older_one_is_installed_after_ours_and_goes_again(environment):
    environment.install("paddlecloud-paddleflow")
    assert (environment.whose(), environment.files(), environment.command()) == ("ours", {}, None)
    environment.install("PaddleFlow")
    assert (environment.whose(), environment.files()) == ("theirs", THEIRS)
    assert environment.command() == "their command line"
    environment.uninstall("PaddleFlow")
    assert (environment.whose(), environment.files(), environment.command()) == ("ours", {}, None)


def test_a_program_of_the_older_client_runs_unchanged(environment, flow, tmp_path):
    environment.install("paddlecloud-paddleflow")
    ini, data = config(tmp_path / "own.ini", flow), tmp_path / "data"
    data.mkdir()
    shutil.copy(PROGRAM, tmp_path / "program.py")
    assert run(environment.python, tmp_path / "program.py", ini, data, cwd=tmp_path) == "done\n"


def test_the_command_line_of_an_environment_with_ours_only(environment, tmp_path):
    """The program that is installed on the machine, also behind a script that is a way back to the module; else what to install."""
    environment.install("paddlecloud-paddleflow")
    words, programs = [environment.python, "-m", "paddleflow", "--help"], tmp_path / "programs"
    programs.mkdir()
    left = environment.python.parent / "paddleflow"
    left.write_text(f"#!{environment.python}\nfrom paddleflow.__main__ import main\nmain()\n")
    left.chmod(0o755)
    env = {"PATH": f"{left.parent}:{programs}", "HOME": str(tmp_path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1 and "the command line is a program of its own" in done.stderr
    assert "`make install`" in done.stderr and "Traceback" not in done.stderr
    (programs / "paddleflow").symlink_to(BIN / "paddle")
    assert "flavour" in run(*words, env=env)
    assert "flavour" in run(left, "--help", env=env)


def test_the_command_line_of_the_module(tmp_path):
    """`python -m paddleflow` is the program of that name."""
    (tmp_path / "paddleflow").symlink_to(BIN / "paddle")
    words = [sys.executable, "-m", "paddleflow", "--help"]
    paths = {"PYTHONPATH": f"{PLACE}:{ROOT / 'python'}", "HOME": str(tmp_path)}
    assert "flavour" in run(*words, env={**paths, "PATH": str(tmp_path)}, cwd=tmp_path)
    done = subprocess.run(words, env={**paths, "PATH": ""}, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no program 'paddleflow' on the PATH" in done.stderr
