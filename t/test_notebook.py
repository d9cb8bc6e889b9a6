"""Functions of a notebook's cells as jobs: what travels with them, what is refused, and a real Jupyter kernel."""

import itertools
import linecache
import subprocess
import sys
import textwrap

import nbclient
import nbformat
import paddlecloud
import pytest
from conftest import BIN, PATIENCE, ROOT
from paddlecloud import notebook

numbers = itertools.count(1)


def run_cells(*cells):
    """The names after these cells, whose text is known as IPython makes it known."""
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    for cell in map(textwrap.dedent, cells):
        file = f"<ipython-input-{next(numbers)}-test>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        exec(compile(cell, file, "exec"), names)
    return names


def output_of(text, cwd):
    done = subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + text
    return done.stdout.strip()


@pytest.mark.parametrize(
    "cells, says",
    [
        (["import math, os.path as way", "def main():\n    print(math.floor(2.5), way.join('a', 'b'))"], "2 a/b"),
        (["from math import floor as down, pi", "def main():\n    print(down(pi))"], "3"),
        (["import xml.etree.ElementTree", "def main():\n    print(xml.etree.ElementTree.fromstring('<a/>').tag)"], "a"),
        (
            ["RATE, NAMES = 0.5, {'a': [1, (2,), {3}], b'x': None}", "def main():\n    print(RATE, NAMES['a'], NAMES[b'x'])"],
            "0.5 [1, (2,), {3}] None",
        ),
        (["LARGE, PLACE = float('inf'), __import__('pathlib').Path('a/b')", "def main():\n    print(LARGE, PLACE.name)"], "inf b"),
        (
            ["def even(n):\n    return n == 0 or odd(n - 1)", "def odd(n):\n    return n != 0 and even(n - 1)",
             "def main():\n    print(even(10), [even(n) for n in (1, 2)])"],
            "True [False, True]",
        ),
        (
            ["import functools",
             "def twice(f):\n    @functools.wraps(f)\n    def run(*a):\n        return 2 * f(*a)\n    return run",
             "FIRST = 3", "@twice\ndef three(n=FIRST):\n    return n", "def main():\n    print(three())"],
            "6",
        ),
        (
            ["import dataclasses\nfrom typing import Optional",
             "@dataclasses.dataclass\nclass Point:\n    x: int\n    y: Optional[int] = None",
             "class Above(Point):\n    def up(self):\n        return self.x + 1", "def main():\n    print(Above(1).up(), Point(1))"],
            "2 Point(x=1, y=None)",
        ),
        (["data = object()", "def main():\n    data = [1]\n    print(data)"], "[1]"),  # its own, not the session's
        (["from __future__ import annotations\ndef main(x: NotThere = 1):\n    print(x)"], "1"),
        (["A = 1", "def main():\n    print(A)", "A = 2"], "2"),
        (["def main():\n    print('old')", "def main():\n    print('new')"], "new"),
        (["COUNT = 1", "def main():\n    global COUNT\n    COUNT += 1\n    print(COUNT)"], "2"),
        (["nan = float('nan')", "def main():\n    class Here:\n        value = nan\n    print(Here.value)"], "nan"),
    ],
)  # fmt: skip
def test_what_a_function_names_travels_with_it(cells, says, tmp_path):
    assert output_of(notebook.program_of(run_cells(*cells)["main"]), tmp_path) == says


@pytest.mark.parametrize(
    "cells, says",
    [
        (["data = object()", "def main():\n    print(data)"], ["'main'", "'data', a object", "inside 'main'"]),
        (["data = [1, [object()]]", "def main():\n    print(data)"], ["'data', a list"]),
        (["text = 'x' * 100000", "def main():\n    print(text)"], ["'text'", "100002 characters", "file"]),
        (["def helper():\n    return later", "def main():\n    helper()"], ["'helper'", "'later'", "not defined"]),
        (["def around():\n    x = 1\n    def main():\n        return x\n    return main", "main = around()"], ["'x'"]),
        (["main = lambda: 1"], ["lambda"]),
        (["main = print"], ["def"]),
        (["def main(rate):\n    pass"], ["default values"]),
        (["def get_ipython():\n    pass", "def main():\n    get_ipython().system('ls')"], ["! or %", "subprocess"]),
    ],
)
def test_what_cannot_travel_is_named(cells, says):
    with pytest.raises(ValueError) as error:
        notebook.program_of(run_cells(*cells)["main"])
    assert [word for word in says if word not in str(error.value)] == [], error.value


def test_without_source_it_is_refused():
    names = {"__name__": "__main__"}
    exec("def main(): pass", names)
    with pytest.raises(ValueError, match="source of 'main' is not known"):
        notebook.program_of(names["main"])


def test_the_same_cells_make_the_same_text():
    """The text is part of the package's name: what is there already is not sent again."""
    cells = ["import os, sys", "WORDS = {'b', 'a', 'c'}", "def main():\n    print(WORDS, os, sys)"]
    assert notebook.program_of(run_cells(*cells)["main"]) == notebook.program_of(run_cells(*cells)["main"])


def test_a_shown_job_is_short_and_escaped():
    job = paddlecloud.Job("id1", "<b>", "u", "failed", "plain", reason="<script>alert(1)</script>" + "x" * 500)
    assert len(repr(job)) < 200 and "id1" in repr(job) and "failed" in repr(job)
    assert "<script>" not in job._repr_html_() and "<b>" not in job._repr_html_()
    assert "&lt;script&gt;" in job._repr_html_()


def test_a_shown_run_is_escaped():
    """Its name and message are others' words. Without the server there is no picture."""
    run = paddlecloud.Run("id1", "<b>", "u", "failed", message="<script>alert(1)</script>")
    shown = run._repr_html_()
    assert "<script>" not in shown and "<b>" not in shown and "&lt;script&gt;" in shown and run._repr_svg_() is None


def run_notebook(server, directory, *cells):
    """The outputs of the cells, run by a real kernel in `directory`: by cell a list of {mime type or "stdout": text}."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells])
    setting = (
        f"import os, sys; os.environ['PADDLE_SERVER'] = {server.url!r}; sys.path.insert(0, {str(ROOT / 'python')!r})"
    )
    book.cells.insert(0, nbformat.v4.new_code_cell(setting))
    nbclient.NotebookClient(
        book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(directory)}}
    ).execute()
    shown = []
    for cell in book.cells[1:]:
        made = {}
        for output in cell.outputs:
            made.update(output.get("data", {}))
            if output.output_type == "stream":
                made[output.name] = made.get(output.name, "") + output.text
        shown.append(made)
    return shown


def test_a_notebook_submits_a_function(shared_server, tmp_path):
    (tmp_path / "helper.py").write_text("WORD = 'beside'\n")
    shown = run_notebook(
        shared_server,
        tmp_path,
        "import os\nimport helper\nimport paddlecloud as pc",
        "RATE = 0.5\n\ndef line(n):\n    return f'{n} {RATE} {helper.WORD}'",
        """
        def main():
            assert pc.job.on_platform()
            print(line(os.environ["PADDLE_TRAINER_ID"]), flush=True)
            with open(os.path.join(os.environ["PADDLE_OUTPUT"], "model.txt"), "w") as file:
                file.write("learned")

        job = pc.dist.train(main, job_name="from-notebook", trainers=2, output="from-notebook", env={"A": 1})
        """,
        "job",
        "job.wait(); print(job.state, sorted(line.text for line in job.logs()))",
        "job.download('model'); print(open('model/model.txt').read())",
        "print([event.kind for event in job.events()][-1], job.refresh() is job, job.status())",
    )
    assert "from-notebook" in shown[3]["text/html"] and "<Job from-notebook" in shown[3]["text/plain"]
    assert shown[4]["stdout"] == "succeeded ['0 0.5 beside', '1 0.5 beside']\n"
    assert shown[5]["stdout"] == "learned\n"
    assert shown[6]["stdout"] == "job.succeeded True succeeded\n"


def test_functions_of_a_notebook_as_steps(shared_server, tmp_path):
    """A pipeline and its run are shown as pictures; a cell that runs again gives another source."""
    shown = run_notebook(
        shared_server,
        tmp_path,
        f"os.environ['PADDLE_PROGRAM'] = {str(BIN / 'paddle')!r}\nfrom paddlecloud.pipeline import Pipeline, loop, step",
        "FACTOR = 2\n\n@step\ndef scale(n: int) -> int:\n    return FACTOR * n",
        "@step\ndef show(values: list):\n    print(values)",
        "@Pipeline(name='cells')\ndef cells():\n    for n in loop([1, 2]):\n        made = scale(n)\n    show(made)",
        "cells()",
        "run = cells().run().wait()\nrun",
        "FACTOR = 10\n\nagain = cells().run().wait()",
        "print([line.text for one in (run, again) for line in one.logs('show')])",
    )
    assert "<title>scale" in shown[4]["text/html"] and "<svg" in shown[4]["text/html"]
    assert "succeeded" in shown[5]["text/html"] and "<svg" in shown[5]["text/html"]
    assert shown[7]["stdout"] == "['[2, 4]', '[10, 20]']\n"


def test_a_notebook_in_the_home_directory_sends_the_function_alone(shared_server, tmp_path):
    (tmp_path / "private").write_text("x")
    shown = run_notebook(
        shared_server,
        tmp_path,
        f"os.environ['HOME'] = {str(tmp_path)!r}\nimport paddlecloud as pc",
        "def main():\n    import os\n    print([name for name in os.listdir() if name != 'paddlecloud'])",
        "print(pc.dist.train(main, job_name='at-home').wait().state, [line.text for line in pc.Client().logs('at-home')])",
    )
    assert shown[2]["stdout"] == "succeeded [\"['main_from_session.py']\"]\n"
    assert "only the function" in shown[2]["stderr"]


def test_what_cannot_travel_is_said_in_the_notebook(shared_server, tmp_path):
    shown = run_notebook(
        shared_server,
        tmp_path,
        "import paddlecloud as pc\ndata = object()",
        "def main():\n    print(data)",
        "try:\n    pc.dist.train(main)\nexcept ValueError as error:\n    print(error)",
    )
    assert "'main' uses 'data', a object" in shown[2]["stdout"]
