"""The usual mistakes, as a table: what is typed, the exit status, words that must appear. What must never appear is the same for
all: hashes, tracebacks, words of the program's inside. Each is tried in a pipe, at a terminal of 80 columns, and with a name in
Chinese in the place of NAME. A row says nothing of the rest of a message, so that its words may become better."""

import os
import re
import subprocess
from typing import NamedTuple

import pytest
from conftest import BIN, PATIENCE, Server
from test_cli_terminal import ESCAPES, Terminal

NAMES = {"latin": "digits", "chinese": "数字识别"}
NEVER = [
    r"[0-9a-f]{32}",  # a hash
    r"Traceback|File \"",
    r"\(null\)|\(nil\)|%s|\\0|\b0x[0-9a-f]{4}",
    r"[A-Z]+_[A-Z_]*ERR|ERR_|errno|GError|assert|SIG[A-Z]{3,}",
    r"\b(HTTP|http) ?(status )?[45]\d\d",
    r"json_|sqlite|libcurl|curl|uv pip",
    r"\b1 (jobs|GPUs|cores|members|files|packages|queues|users|seconds|minutes)\b",
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]",
]


class Mistake(NamedTuple):
    line: str  # after `paddle`, divided at blanks; NAME is a name in either script
    status: int
    says: list  # words of the message
    files: dict = {}  # noqa: RUF012 - beside train.py, in the directory where it is typed
    env: dict = {}  # noqa: RUF012
    who: str = "root"


def M(line, status, *says, **about):
    return Mistake(line, status, list(says), **about)


VERBS = [
    M("lst", 2, "no verb 'lst'", "paddle list"),
    M("submitt -- python train.py", 2, "'submitt'", "paddle submit"),
    M("sumbit -- python train.py", 2, "'sumbit'", "paddle submit"),
    M("ls", 2, "'ls'", "paddle list"),
    M("ps", 2, "'ps'", "paddle list"),
    M("jobs", 2, "'jobs'", "paddle list"),
    M("squeue", 2, "'squeue'", "paddle list"),
    M("sbatch train.sh", 2, "'sbatch'", "paddle submit"),
    M("scancel done", 2, "'scancel'", "paddle cancel"),
    M("run python train.py", 2, "'run'", "paddle submit"),
    M("run steps.yaml", 2, "paddle run create -f FILE"),
    M("run start -f steps.yaml", 2, "'paddle run create'"),
    M("runs", 2, "'paddle run list'"),
    M("pipeline run steps.yaml", 2, "'paddle run create'"),
    M("pipeline validate steps.yaml", 2, "'paddle pipeline lint'"),
    M("kill runner", 2, "'kill'", "paddle cancel"),
    M("stop runner", 2, "'stop'", "paddle cancel"),
    M("rm done", 2, "'rm'", "paddle delete"),
    M("describe done", 2, "'describe'", "paddle status"),
    M("get done", 2, "'get'", "paddle status"),
    M("log done", 2, "'log'", "paddle logs"),
    M("tail done", 2, "'tail'", "paddle logs"),
    M("NAME", 2, "NAME", "paddle help"),
    M("help submitt", 2, "'submitt'", "paddle submit"),
    M("help NAME", 2, "NAME"),
    M("queue ls", 2, "'queue ls'", "paddle queue list"),
    M("queue delte vision", 2, "'queue delte'", "paddle queue delete"),
    M("queue NAME", 2, "NAME", "paddle help queue"),
    M("user rm eve", 2, "'user rm'", "paddle user delete"),
    M("token delete x", 2, "'token delete'", "paddle token revoke"),
    M("storage list", 2, "'storage list'", "paddle storage ls"),
    M("secret", 2, "needs one more word", "secret set"),
]
OPTIONS = [
    M("list --stat failed", 2, "--stat"),
    M("list --state happy", 2, "'happy'", "succeeded"),
    M("list --limit many", 2, "--limit", "'many'"),
    M("list --queue nowhere", 1, "'nowhere'", "paddle queue list"),
    M("list -o xml", 2, "'xml'", "json"),
    M("pipeline lint -o xml p.yaml", 2, "'xml'", "Forms are table, json and yaml."),
    M("run diff -o name a b", 2, "'name'", "'paddle run diff'", "Forms are table, json and yaml."),
    M("results done -o xml", 2, "'xml'", "table, wide, csv, json, yaml and name"),
    M("status", 2, "JOB"),
    M("status done broken", 2, "'broken'"),
    M("logs done broken", 2, "'broken'"),
    M("logs --tail x done", 2, "--tail", "'x'"),
    M("logs --member worker-9 done", 1, "worker-9", "worker-0"),
    M("logs --attempt 9 done", 1, "9", "attempt"),
    M("wait", 2, "JOB"),
    M("wait --timeout 1s waiter", 1, "job 'waiter' is still queued", "paddle wait waiter"),
    M("wait --timeout soon waiter", 2, "--timeout", "'soon'"),
    M("cancel", 2, "JOB"),
    M("delete", 2, "--older-than"),
    M("delete runner", 1, "'runner'", "cancel"),
    M("delete --yes done", 2, "--yes", "--older-than"),
    M("delete --older-than 30", 2, "--older-than", "30", "30d"),
    M("exec runner", 2, "-- COMMAND"),
    M("exec done -- ls", 1, "'done'"),
    M("events --since x", 2, "--since", "'x'"),
    M("upload train.py", 2, "REMOTE"),
    M("download model", 2, "LOCAL"),
    M("completion tcsh", 2, "'tcsh'", "bash"),
    M("up NAME", 2, "NAME"),
    M("top NAME", 2, "NAME"),
    M("version NAME", 2, "NAME"),
    M("set runner", 2, "--priority"),
    M("logs done --since yesterday", 2, "--since", "'yesterday'", "10m"),
    M("nodes NAME", 2, "NAME"),
    M("attach done", 1, "'done'", "paddle logs done"),
    M("port-forward done", 2, "PORT"),
    M("port-forward done 6006", 1, "'done'", "paddle status done"),
    M("port-forward runner NAME", 2, "NAME", "LOCAL:PORT"),
    M("port-forward runner 99999", 2, "'99999'", "65535"),
    M("doctor -o xml", 2, "'xml'", "json"),
]
SUBMISSIONS = [
    M("submit", 2, "command", "paddle submit -- python train.py"),
    M("submit --", 2, "command"),
    M("submit --gpu 1 -- python train.py", 2, "--gpu", "--gpus"),
    M("submit --cpus 1 -- python train.py", 2, "--cpus", "--cpu"),
    M("submit --mem 1Gi -- python train.py", 2, "--mem", "--memory"),
    M("submit --time 5m -- python train.py", 2, "--time", "--time-limit"),
    M("submit --nodes 2 -- python train.py", 2, "--nodes"),
    M("submit -N 2 -- python train.py", 2, "-N"),
    M("submit -n two -- python train.py", 2, "'two'"),
    M("submit -n 0 -- python train.py", 2, "'0'", "1 to 10000"),
    M("submit -n -1 -- python train.py", 2, "'-1'"),
    M("submit --ps two -- python train.py", 2, "'two'"),
    M("submit --cpu lots -- python train.py", 2, "--cpu", "'lots'"),
    M("submit --cpu NAME -- python train.py", 2, "--cpu", "NAME"),
    M("submit --memory 2GB -- python train.py", 2, "--memory", "'2GB'", "4Gi"),
    M("submit --memory 4 -- python train.py", 2, "4 bytes", "4Gi"),
    M("submit -- python train.py", 2, "4 bytes", "4Gi", files={"paddle.yaml": "roles: [{name: worker, memory: 4}]\n"}),
    M("submit --memory much -- python train.py", 2, "--memory", "'much'"),
    M("submit --gpus half -- python train.py", 2, "--gpus", "'half'"),
    M("submit --gpus 1 -- python train.py", 3, "1 GPU", "none"),
    M("submit --cpu 64 -- python train.py", 3, "64", "2"),
    M("submit --memory 900Gi -- python train.py", 3, "900", "4"),
    M("submit -n 400 --cpu 1 -- python train.py", 3, "400", "2"),
    M("submit --time-limit 5 -- python train.py", 2, "--time-limit", "5s", "5m"),
    M("submit --time-limit soon -- python train.py", 2, "'soon'", "90s"),
    M("submit --time-limit -5m -- python train.py", 2, "'-5m'"),
    M("submit --retries many -- python train.py", 2, "--retries", "'many'"),
    M("submit --priority urgent -- python train.py", 2, "'urgent'", "very-high"),
    M("submit --queue nowhere -- python train.py", 3, "'nowhere'", "paddle queue list"),
    M("submit --cluster nowhere -- python train.py", 3, "'nowhere'", "paddle queue list"),
    M("submit --framework NAME -- python train.py", 2, "--framework", "NAME", "paddle-collective"),
    M("submit --name Big -- python train.py", 2, "'Big'", "a-z"),
    M("submit --name my_job -- python train.py", 2, "'my_job'", "a-z"),
    M("submit --name runner -- python train.py", 3, "'runner'"),
    M("submit --after nowhere -- python train.py", 3, "'nowhere'"),
    M("submit --after ok: -- python train.py", 2, "after"),
    M("submit --array x -- python train.py", 2, "array", "'x'"),
    M("submit --array 5-1 -- python train.py", 2, "array", "'5-1'", "runs backwards", "1-5"),
    M("submit --array 0,7-3:2 -- python train.py", 2, "array", "'7-3:2'", "runs backwards", "3-7"),
    M("submit --array 0-9:0 -- python train.py", 2, "array", "0-9:0"),
    M("submit --sweep lr -- python train.py", 2, "--sweep", "'lr'", "VALUE"),
    M("submit --sweep 1x=NAME -- python train.py", 2, "'1x'"),
    M("submit --sweep lr=1,2 --array 0-3 -- python train.py", 2, "--sweep", "--array"),
    M("submit --start-timeout 5 -- python train.py", 2, "--start-timeout", "5m"),
    M("submit python train.py --follow", 0, "warning", "'--follow'", "before the command"),
    M("submit --output /tmp/NAME -- python train.py", 0, "warning", "/tmp/NAME", "storage"),
    M("submit --array 0-9%0 -- python train.py", 2, "array", "0"),
    M("submit --env LEARNING-RATE=1 -- python train.py", 2, "--env", "LEARNING-RATE"),
    M("submit --env NAME -- python train.py", 2, "--env", "NAME"),
    M("submit --env-file NAME -- python train.py", 2, "--env-file", "NAME", "No such file"),
    M("submit --secret nowhere -- python train.py", 3, "'nowhere'", "paddle secret set nowhere"),
    M("submit --setup= -- python train.py", 2, "setup", "empty"),
    M("submit --setup=./NAME.sh -- python train.py", 2, "NAME.sh", "not in the package", "--force"),
    M(
        "submit -f j.yaml",
        2,
        "j.yaml, line 2",
        "setup",
        files={"j.yaml": "command: [python, train.py]\nsetup: [make]\n"},
    ),
    M("submit -f j.yaml", 2, "setup", "control character", files={"j.yaml": 'command: x\nsetup: "a\\eb"\n'}),
    M("submit --input NAME -- python train.py", 3, "NAME", "does not exist"),
    M("submit --output ../x -- python train.py", 2, "output", "'..'"),
    M("submit --package-path NAME -- python train.py", 2, "--package-path", "NAME", "does not exist"),
    M("submit --package-path train.py -- python train.py", 2, "train.py", "not a directory"),
    M("submit --package-path / -- python train.py", 2, "'/'", "--no-package"),
    M("submit -f NAME.yaml", 2, "NAME.yaml", "No such file"),
    M("submit -o xml -- python train.py", 2, "'xml'"),
    M("submit --server -- python train.py", 2, "--"),
    M("job submit --job-name=a", 2, "--entry-point"),
    M("job submit --entry-point=true", 2, "--job-name"),
    M("train --package-path=.", 2, "--job-name"),
    M("submit --follow --dry-run -- python train.py", 2, "--follow", "--dry-run"),
]
PROGRAMS = [
    M("submit -- pyhton train.py", 2, "'pyhton'", "'python'", "--force"),
    M("submit -- python trian.py", 2, "'trian.py'", "train.py", "--force"),
    M("submit -- python NAME.py", 2, "NAME.py", "--force"),
    M("submit trian.py", 2, "'trian.py'"),
    M("submit -- ./train.py", 2, "'./train.py'", "chmod +x"),
    M("submit -- ./NAME.sh", 2, "NAME.sh"),
    M("submit -- python train.py", 2, "'train.py'", ".paddleignore", files={".paddleignore": "*.py\n"}),
    M("submit -- sh NAME/run.sh", 2, "NAME/run.sh"),
    M(
        "submit -- python train.py",
        2,
        "requirements.txt",
        "line 2",
        files={"requirements.txt": "numpy\n-r NAME.txt\n"},
    ),
]
REQUIREMENTS = [
    M(
        f"submit {mode} -- python train.py".replace("  ", " "),
        2,
        "requirements.txt",
        "line 2",
        "numpy==1.2",
        files={"requirements.txt": "six\nnumpy=1.2\n"},
    )
    for mode in ("", "--plan", "--dry-run")
]
JOB_FILES = [
    M(
        "submit -f j.yaml",
        2,
        "j.yaml, line 2",
        "trainers",
        "'command'",
        "replicas",
        files={"j.yaml": "command: [python, train.py]\ntrainers: 0\n"},
    ),
    M(
        "submit",
        2,
        "paddle.yaml",
        "numpy=1.2",
        "'numpy==1.2'",
        files={"paddle.yaml": "command: [python, train.py]\nrequirements: |\n  six\n  numpy=1.2\n"},
    ),
    M(
        "submit -- python train.py",
        2,
        "pyproject.toml",
        "numpy=1.2",
        "'numpy==1.2'",
        files={"pyproject.toml": "[project]\nname = 'p'\ndependencies = ['numpy=1.2']\n"},
    ),
    M("init", 2, "paddle.yaml", "--force", files={"paddle.yaml": "command: [python, train.py]\n"}),
    M("submit", 2, "paddle.yaml", "line 2", files={"paddle.yaml": "command: [python, train.py]\n\tname: x\n"}),
    M("submit -f j.yaml", 2, "j.yaml", "'nmae'", "name", files={"j.yaml": "command: [python, train.py]\nnmae: x\n"}),
    M("submit -f j.yaml", 2, "j.yaml", "field: value", files={"j.yaml": "NAME"}),
    M("submit -f j.yaml", 2, "j.yaml", files={"j.yaml": ""}),
    M("submit -f j.yaml", 2, "NAME", files={"j.yaml": "command: [python, train.py]\nNAME: x\n"}),
    M("submit -f j.yaml", 2, "retries", "NAME", files={"j.yaml": "command: [python, train.py]\nretries: NAME\n"}),
    M("submit -f j.yaml", 2, "j.yaml", "twice", files={"j.yaml": "command: [a]\ncommand: [b]\n"}),
]
OBJECTS = [
    M("status nowhere", 1, "no job 'nowhere'", "paddle list"),
    M("status NAME/x", 2, "NAME/x", "a-z"),
    M("logs nowhere", 1, "no job 'nowhere'"),
    M("cancel nowhere", 1, "no job 'nowhere'"),
    M("status done[3]", 1, "'done'"),
    M("status NAME.x[1]", 2, "NAME.x[1]", "a-z"),
    M("results nowhere", 1, "no job 'nowhere'"),
    M("wait nowhere", 1, "no job 'nowhere'"),
    M("explain nowhere", 1, "no job 'nowhere'"),
    M("hold done", 1, "'done'", "succeeded"),
    M("requeue done", 1, "'done'"),
    M("queue show nowhere", 1, "'nowhere'", "paddle queue list"),
    M("queue create Vision", 2, "'Vision'", "a-z"),
    M("queue create NAME/x", 2, "NAME/x", "a-z"),
    M("queue create q --min cpu", 2, "--min", "cpu=4"),
    M("queue create q --min cpu=NAME", 2, "NAME"),
    M("queue create q --min cpu=1000", 2, "1000", "2"),
    M("queue create q --max cpu=1 --min cpu=2", 2, "min", "max"),
    M("queue create q --cluster nowhere", 1, "'nowhere'"),
    M("queue delete nowhere", 1, "'nowhere'"),
    M("queue delete default", 1, "'default'"),
    M("user create NAME/x", 2, "NAME/x"),
    M("user create ann", 3, "'ann'"),
    M("user delete root", 1, "'root'"),
    M("user delete nowhere", 1, "'nowhere'", "paddle user list"),
    M("grant create ann nowhere", 1, "'nowhere'"),
    M("grant create nowhere default", 1, "'nowhere'"),
    M("token revoke nowhere", 1, "'nowhere'", "paddle token list"),
    M("token create --expires never", 2, "--expires", "'never'"),
    M("secret set NAME/x", 2, "NAME/x"),
    M("secret delete nowhere", 1, "'nowhere'", "paddle secret list"),
    M("cluster create k --type Foo", 2, "'Foo'", "Kubernetes"),
    M("cluster create k --type Kubernetes --kubeconfig NAME", 2, "--kubeconfig", "NAME", "No such file"),
    M("cluster show nowhere", 1, "'nowhere'"),
    M("flavour show nowhere", 1, "'nowhere'"),
    M("fs show nowhere", 1, "'nowhere'", "paddle fs list"),
    M("fs create sets ./sets", 2, "'./sets' is not an absolute path", "/data/sets"),
    M("fs create sets /root/sets", 2, "not below /root", "/srv/data"),
    M("fs create sets local:///data/sets", 2, "The directory /data/sets is local://data/sets."),
    M("fs create a/b /data", 2, "'a/b'", "Use 1 to 63 letters"),
    M("fs create sets", 2, "URL"),
    M("fs create far s3://bucket", 2, "accessKey", "cannot connect to file systems of kind s3 yet"),
    M("submit --mount /data/sets:/data -- python train.py", 2, "'/data/sets' is a directory", "paddle fs create"),
    M("submit --mount ./sets:/data -- python train.py", 2, "'./sets' is a directory", "paddle upload"),
    M("submit --mount sets:/data -- python train.py", 3, "no file system 'sets'", "paddle fs list", "home/sets"),
    M("fs delete home", 1, "built in"),
]
FILES = [
    M("upload NAME.csv data", 2, "NAME.csv", "does not exist"),
    M("download NAME .", 1, "NAME", "does not exist", "paddle storage ls"),
    M("storage ls NAME", 1, "NAME", "does not exist"),
    M("storage rm NAME", 1, "NAME", "does not exist"),
    M("storage mv NAME x", 1, "NAME", "does not exist"),
    M("storage mkdir ../NAME", 2, "NAME", ".."),
    M("sim NAME.jsonl --room room.yaml", 2, "room.yaml"),
    M("sched replay NAME", 2, "NAME", "No such file"),
]
SERVERS = [
    M("list", 4, "127.0.0.1:1", env={"PADDLE_SERVER": "http://127.0.0.1:1"}),
    M("list", 4, "/no/such.sock", env={"PADDLE_SERVER": "unix:/no/such.sock"}),
    M("list", 2, "'ftp://x'", env={"PADDLE_SERVER": "ftp://x"}),
    M("list", 3, "token", env={"PADDLE_TOKEN": "pt-NAME"}),
    M("list --server NAME", 2, "NAME"),
    M("login", 2, "Unix socket"),
    M("queue create q", 3, "only administrators", "'ann'", who="ann"),
    M("user list", 3, "only administrators", "'ann'", who="ann"),
    M("list --all", 3, "'ann'", "own jobs", who="ann"),
    M("status runner", 1, "no job 'runner'", who="ann"),
    M("cluster delete default-cluster", 3, "only administrators", who="ann"),
]


def P(keys, *says):
    """A step with these keys, as someone who knows another system writes it."""
    text = f"name: p\ndocker_env: i\nentry_points:\n  a:\n    parameters: {{n: 3}}\n{keys}"
    return M("pipeline lint steps.yaml", 1, *says, files={"steps.yaml": text})


PIPELINES = [
    P("    script: x\n", "'script'", "Did you mean 'command'?"),
    P("    depends_on: b\n", "'depends_on'", "Did you mean 'deps'?"),
    P("    when: x\n", "'when'", "Did you mean 'condition'?"),
    P("    gpus: 1\n", "'gpus'", "PF_JOB_FLAVOUR"),
    P("    colour: red\n", "'colour'", "Possible keys", "loop_argument"),
    P("    condition: '{{n}} = 3'\n", "'=' is not an operator", "Write '=='"),
    P("    condition: '{{n}} > 3 and {{n}} < 5'\n", "'and' is not an operator", "Write '&&'"),
    P("\tcommand: x\n", "steps.yaml:6:1", "a tab is not allowed", "spaces"),
    P("    command: {{n}}\n", "steps.yaml:6:15", "in quotes"),
    P("    command: x\n    deps: [b]\n", "names separated by commas, not a list"),
    M("run create", 2, "the pipeline is missing", "paddle run create -f FILE"),
    M("run create steps.yaml", 2, "'steps.yaml'"),
    M("run create -f train.py", 2, "train.py describes no pipeline", "paddle submit -- python train.py"),
    M("run create steps", 1, "no stored pipeline 'steps'", "paddle pipeline list"),
    M("run show nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("run show nowhere picture.svg", 2, "'picture.svg' is one word too many", "needs --svg"),
    M("run show nowhere --svg -o json", 2, "--svg cannot be combined with -o json"),
    M("run show nowhere --svg picture", 2, "'picture' is not the name of a picture", "ends in .svg"),
    M("pipeline show --svg x.svg steps.yaml", 2, "'steps.yaml' is not the name of a picture", "as the last word"),
    M(
        "pipeline show steps.yaml --svg nowhere/x.svg",
        1,
        "cannot create 'nowhere/x.svg'",
        files={"steps.yaml": "name: p\nentry_points: {a: {command: x}}\n"},
    ),
    M("run create -f steps.yaml -p a.n 3", 2, "--parameter: 'a.n'", "Write -p a.n=3."),
    M("run diff nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("run stop nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("run retry nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("run logs nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("run list --state done", 2, "'done'", "succeeded"),
    M("pipeline show nowhere", 1, "no stored pipeline 'nowhere'", "paddle pipeline list"),
    M("schedule create nightly steps", 2, "CRONTAB"),
    M("schedule create nightly steps @daily", 1, "no stored pipeline 'steps'", "paddle pipeline list"),
    M("schedule create nightly steps @daily --start soon", 2, "--start", "soon"),
    M("schedule create nightly steps @daily --end 2020-01-01T00:00", 2, "--end 2020-01-01T00:00 is not in the future"),
    M("schedule create nightly steps every 10m", 2, "the crontab is one word", "nightly steps '@every 10m'"),
    M("schedule show nowhere", 1, "no schedule 'nowhere'", "paddle schedule list"),
    M("artifact list --run nowhere", 1, "no run 'nowhere'", "paddle run list"),
    M("artifact list --fs nowhere", 1, "no file system 'nowhere'", "paddle fs list"),
    M("cache list --fs nowhere", 1, "no file system 'nowhere'", "paddle fs list"),
]
MISTAKES = [
    *VERBS,
    *PIPELINES,
    *OPTIONS,
    *SUBMISSIONS,
    *PROGRAMS,
    *REQUIREMENTS,
    *JOB_FILES,
    *OBJECTS,
    *FILES,
    *SERVERS,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A machine of 2 cores where one job has ended well, one badly, one runs and one waits."""
    server = Server(tmp_path_factory.mktemp("state"), "--cpus", "2", "--memory", "4Gi", "--gpus", "0").start()
    server.submit("true", name="done")
    server.submit("echo \"KeyError: 'lr'\" >&2; exit 1", name="broken")
    server.submit("sleep 6000", name="runner", roles=[{"name": "worker", "cpu": "2"}])
    server.submit("true", name="waiter", roles=[{"name": "worker", "cpu": "2"}])
    for job in ("done", "broken"):
        server.wait(job)
    server.wait("runner", {"running"})
    yield server
    server.cancel(["runner", "waiter"])
    server.destroy()


def in_pipe(line, directory, env):
    done = subprocess.run(
        [BIN / "paddle", *line],
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def at_terminal(line, directory, env):
    terminal = Terminal(None, *line, width=80, cwd=directory, env=env)
    status = terminal.end()
    return status, ESCAPES.sub("", terminal.said.decode()).replace("\r", "")


WAYS = {"pipe": (in_pipe, "latin"), "terminal": (at_terminal, "latin"), "chinese": (in_pipe, "chinese")}


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: re.sub(r"[^\w.-]+", "-", row.line)[:60])
def test_a_mistake_is_explained(server, ann, tmp_path, row):
    for way, (run, script) in WAYS.items():
        name = NAMES[script]
        directory = tmp_path / way / name
        directory.mkdir(parents=True)
        for path, text in {"train.py": "print('trained')\n", **row.files}.items():
            (directory / path).write_text(text.replace("NAME", name))
        token = {"PADDLE_TOKEN": ann.token} if row.who == "ann" else {}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PADDLE")}
        about = {key: value.replace("NAME", name) for key, value in row.env.items()}
        env = {**clean, "PADDLE_SERVER": server.url, "LANG": "C.UTF-8", "HOME": str(tmp_path), **token, **about}
        status, said = run(row.line.replace("NAME", name).split(), directory, env)
        assert status == row.status, f"{way}: status {status}\n{said}"
        for word in row.says:
            assert word.replace("NAME", name) in said, f"{way}: {word!r} is not in\n{said}"
        for pattern in NEVER:
            assert not re.search(pattern, said), f"{way}: {pattern!r} is in\n{said!r}"
