"""What `paddle run` prints of a run: each thing once, also of large loops, and the reason of what did not run."""

from conftest import server_of_module
from screen import Screen
from test_runs import finish

server = server_of_module("--cpus", "64")


def create(server, directory, text, *words, status=0):
    """Runs it with --follow; its id, and what was printed behind that."""
    (directory / "pipeline.yaml").write_text(text)
    done = server.paddle("run", "create", "-f", "pipeline.yaml", "--no-package", "--follow", *words, cwd=directory)
    assert done.returncode == status, done
    run, _, lines = done.stdout.partition("\n")
    return run, lines


def shown(server, run):
    return server.paddle("run", "show", run, check=0).stdout


def test_results_that_a_retry_keeps_are_one_line(server, tmp_path):
    go = tmp_path / "go"
    fit = f"  fit: {{loop_argument: [1, 2, 3, 4, 5], command: 'test {{{{PF_LOOP_ARGUMENT}}}} != 5 || test -e {go}'}}\n"
    text = f"name: many\nfailure_options: {{strategy: continue}}\nentry_points:\n{fit}  one: {{command: 'true'}}\n"
    run, _ = create(server, tmp_path, text, status=1)
    go.touch()
    done = server.paddle("run", "retry", run, "--follow", check=0)
    lines = done.stdout.splitlines()
    assert [line for line in lines if "kept" in line] == [
        f"fit: 4 items kept from run {run}",
        f"one: kept from run {run}",
    ], lines
    assert "5 of 5 succeeded; 4 kept" in shown(server, lines[0])


def test_results_of_the_cache_are_one_line(server, tmp_path):
    """Of a loop that is shown whole, and of a long one."""
    for count in (4, 30):
        text = f"""name: reused{count}
cache: {{enable: true}}
entry_points:
  fit: {{loop_argument: {list(range(count))}, command: "echo {{{{PF_LOOP_ARGUMENT}}}}"}}
"""
        create(server, tmp_path, text)
        run, lines = create(server, tmp_path, text)
        reused = [line for line in lines.splitlines() if line.startswith("fit")]
        assert sum(int(line.split()[1]) for line in reused if "from the cache" in line) >= count - 4, lines
        assert len(reused) < count, lines
        assert f"{count} of {count} succeeded; {count} from the cache" in shown(server, run)


def test_a_long_reason_is_printed_once(server, tmp_path):
    text = "name: broken\nentry_points:\n  load: {command: 'echo %s >&2; exit 3'}\n" % ("no such table " * 10)
    run, lines = create(server, tmp_path, text, status=1)
    assert lines.count("exited with") == lines.count("last line") == 1, lines
    assert f"broken ({run}): failed" in lines and "step 'load' failed (see above)" in lines
    tree = shown(server, run)
    assert tree.count("exited with") == 1 and "see above" in tree, tree
    assert "load: no such table" in server.paddle("run", "list", "--name", "broken", check=0).stdout


def test_what_was_skipped_says_why(server, tmp_path):
    text = """name: skips
disabled: off,loop
entry_points:
  off: {command: 'true'}
  loop: {command: 'true', loop_argument: [1, 2]}
  none: {command: 'true', loop_argument: []}
  never: {command: 'true', condition: "1 > 2"}
"""
    run, lines = create(server, tmp_path, text)
    tree = shown(server, run)
    for step, why in {
        "off": "disabled",
        "loop": "disabled",
        "none": "its loop has no items",
        "never": "its condition is false",
    }.items():
        assert f"{step}: skipped: {why}\n" in lines, lines
        (row,) = [line for line in tree.splitlines() if f"─ {step} " in line]
        assert row.split(maxsplit=3)[2:] == ["skipped", why], tree


def test_a_list_without_a_run_says_what_was_looked_for(server):
    done = server.paddle("run", "list", "--name", "li", check=0)
    assert "no runs named 'li'" in done.stdout + done.stderr
    done = server.paddle("run", "list", "--state", "terminated", check=0)
    assert "no such runs" in done.stdout + done.stderr


def test_a_list_of_runs_fits_a_terminal(server, tmp_path):
    """The user is left out first, which is oneself; times are short."""
    text = "name: narrow-list\nentry_points:\n  load: {command: 'echo no network >&2; exit 3'}\n"
    run, _ = create(server, tmp_path, text, status=1)
    finish(server, run, "failed")
    screen = Screen(server, "run", "list", "--name", "narrow-list", size=(80, 24))
    seen = screen.until("load: no network")
    assert screen.process.wait(60) == 0
    text = screen.seen.decode()
    assert "CREATED" in text and "TIME" in text and "USER" not in text, (seen, text)
