"""What a member of a user sees and can do beside its own job: nothing. doc/guide/security.md, "The sandbox of a member"."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import BIN, Server, open_way, server_of_module, wait_for
from people import Person

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a server that is not root runs members as itself")
# a program of Python's that says how a system call went: errno's name, or "done"
CALL = """import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print("done" if libc.syscall(*map(ctypes.c_long, map(int, sys.argv[1:]))) >= 0 else errno.errorcode[ctypes.get_errno()])"""

served = server_of_module("--cpus", "64", "--no-sandbox", "free")


@pytest.fixture(scope="module")
def ann(served):
    return Person(served, "ann")


@pytest.fixture(scope="module")
def bob(served):
    return Person(served, "bob")


@pytest.fixture
def secret_of_bob(served, bob):
    """A job of bob's that runs and has something everywhere: the pid of its shell, as the machine knows it."""
    job = bob.submit(
        "echo bobs >/tmp/of-bob; echo bobs >/dev/shm/of-bob; chmod a+rw /tmp/of-bob /dev/shm/of-bob;"
        "ipcmk -M 100 -p 0666 >/dev/null; echo word=$$; exec sleep 601.5"
    )
    wait_for(lambda: "word=" in served.member_log(job["id"]), what="bob's job to have its secrets")
    yield served.wait(job["id"], "running")
    served.cancel([job["id"]])
    served.wait(job["id"])


def member_pid(served, job):
    """The machine's number of the member's process."""
    return served.get(f"/v1/jobs/{job['id']}").json["members"][0]["pid"]


# -- others


def test_files_of_others(ann, secret_of_bob):
    """/tmp, /var/tmp and /dev/shm are the job's own, and empty."""
    with tempfile.NamedTemporaryFile(dir="/tmp", prefix="of-host-") as tmp, open("/dev/shm/of-host", "w") as shm:
        os.chmod(tmp.name, 0o644)
        said = ann.run("ls -A /var/tmp /dev/shm; ls /tmp; cat /tmp/of-bob /dev/shm/of-bob " + tmp.name + "; true")
        os.unlink(shm.name)
    listed, _, missing = said.partition("cat: ")
    assert "of-" not in listed and missing.count("No such file") == 3, said


def test_processes_of_others(served, ann, secret_of_bob):
    """Neither their number, nor their command lines, nor signals reach out of the namespace."""
    pid = member_pid(served, secret_of_bob)
    assert b"sleep" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    said = ann.run(
        f"cat /proc/*/cmdline | tr '\\0' ' '; echo; ls -d /proc/{pid} /proc/{os.getpid()};"
        f"kill -0 {os.getpid()}; kill -9 {pid}; echo $$; true"
    )
    assert "601.5" not in said and "paddled" not in said and "pytest" not in said, said
    assert said.count("No such file") == 2 and said.count("No such process") == 2
    assert int(said.split()[-1]) < 100
    assert pathlib.Path(f"/proc/{pid}").exists()


def test_memory_of_others(ann, secret_of_bob):
    said = ann.run("ipcs -m; cat /proc/sysvipc/shm")
    assert "666" not in said and len(said.strip().splitlines()) <= 5, said


def test_outsiders_are_not_traced(served, ann, secret_of_bob):
    pid = member_pid(served, secret_of_bob)
    assert ann.run(f"python3 -c '{CALL}' 101 16 {pid} 0 0").split() == ["ESRCH"]  # ptrace(PTRACE_ATTACH)


# -- rights


def test_no_capabilities_ever(ann):
    said = ann.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    rows = dict(line.split(":\t") for line in said.strip().splitlines())
    assert {rows[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert rows["NoNewPrivs"] == "1" and rows["Seccomp"] == "2"


def test_rights_are_given_up_before_members_are_forked(served, ann):
    """Once for all members, by a spawner of theirs; what they need beyond that is in its programs of system calls."""
    assert ann.run("grep Seccomp_filters /proc/self/status").split() == ["Seccomp_filters:", "2"]
    (walled,) = [
        text
        for entry in pathlib.Path("/proc").glob("[0-9]*/status")
        if f"\nPPid:\t{served.agent_pid()}\n" in (text := read(entry))
        and b"walled" in (entry.parent / "cmdline").read_bytes()
        and "Name:\tpaddle-spawner\n" in text
    ]
    assert "\nCapBnd:\t" + "0" * 16 in walled and "\nSeccomp_filters:\t1\n" in walled, walled


# number of x86_64, arguments, answer
CALLS = [
    ("unshare(CLONE_NEWUSER)", "272 268435456", "EPERM"),
    ("unshare(CLONE_NEWNS | CLONE_NEWUSER)", "272 268566528", "EPERM"),
    ("unshare(CLONE_FILES)", "272 1024", "done"),
    ("clone(CLONE_NEWUSER)", "56 268435473 0 0 0 0", "EPERM"),
    ("clone3", "435 0 0", "ENOSYS"),
    ("setns", "308 0 0", "EPERM"),
    ("mount", "165 0 0 0 0 0", "EPERM"),
    ("umount2", "166 0 0", "EPERM"),
    ("pivot_root", "155 0 0", "EPERM"),
    ("open_tree", "428 -100 0 0", "EPERM"),
    ("fsopen", "430 0 0", "EPERM"),
    ("keyctl", "250 0 0", "EPERM"),
    ("add_key", "248 0 0 0 0 0", "EPERM"),
    ("bpf", "321 0 0 0", "EPERM"),
    ("io_uring_setup", "425 1 0", "ENOSYS"),
    ("userfaultfd", "323 1", "ENOSYS"),
    ("kexec_load", "246 0 0 0 0", "EPERM"),
    ("init_module", "175 0 0 0", "EPERM"),
    ("open_by_handle_at", "304 0 0 0", "EPERM"),
    ("syslog", "103 10 0 0", "EPERM"),
    ("getpid of x32", "1073741863", "ENOSYS"),
    ("socket(AF_PACKET, SOCK_RAW)", "41 17 3 0", "EAFNOSUPPORT"),
    ("socket(AF_ALG)", "41 38 5 0", "EAFNOSUPPORT"),
    ("socket(AF_VSOCK)", "41 40 1 0", "EAFNOSUPPORT"),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_CONNECTOR)", "41 16 3 11", "EPROTONOSUPPORT"),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)", "41 16 3 12", "EPROTONOSUPPORT"),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)", "41 16 3 0", "done"),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)", "41 16 3 16", "done"),
    ("socket(AF_INET6, SOCK_STREAM)", "41 10 1 0", "done"),
    ("socket(AF_INET, SOCK_RAW, ICMP)", "41 2 3 1", "EPERM"),
    ("socket(AF_INET, SOCK_STREAM)", "41 2 1 0", "done"),
    ("socketpair(AF_UNIX) to nowhere", "53 1 1 0 0", "EFAULT"),
    ("set_mempolicy(MPOL_DEFAULT)", "238 0 0 0", "done"),
    ("process_vm_readv of no process", "310 32767 0 0 0 0 0", "done"),
    ("personality", "135 4294967295", "done"),
]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the table are this machine's")
def test_system_calls(ann):
    lines = "; ".join(f"python3 -c '{CALL}' {arguments}" for _, arguments, _ in CALLS)
    said = ann.run(lines).split()
    assert [(name, answer) for (name, _, _), answer in zip(CALLS, said, strict=True)] == [
        (name, answer) for name, _, answer in CALLS
    ]


def test_no_way_to_root_of_a_namespace(ann):
    said = ann.run("unshare -Urm mount -t tmpfs none /mnt; unshare -r id -u; echo $?")
    assert said.count("unshare failed: Operation not permitted") == 2, said


def test_what_training_needs_is_there(ann):
    """Shared memory and pools of processes of Python, threads, tracing of one's own children, GPUs' and other devices."""
    script = """
import multiprocessing, multiprocessing.shared_memory, os, signal, tempfile, threading
if __name__ == '__main__':
    block = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 20)
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(abs, range(-3, 3))))
    thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
    block.close(); block.unlink()
    with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name))
    for device in ('/dev/null', '/dev/zero', '/dev/urandom'): open(device, 'rb').close()
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP); os._exit(0)
    os.waitpid(child, 0); libc.ptrace(7, child, 0, 0); print('traced', os.waitpid(child, 0)[1])
"""
    said = ann.run(f"cat >pool.py <<'E'\n{script}\nE\npython3 pool.py").split()
    assert said == ["9", "thread", "/tmp", "traced", "0"]


# -- several members


TRAINERS = [{"name": "trainer", "replicas": 2}]


def test_members_of_a_job_share(served, ann):
    """NCCL, gloo and MPI find each other's processes and shared memory."""
    job = ann.submit(
        "touch /tmp/by-$PADDLE_TRAINER_ID; echo $$ >/dev/shm/pid-$PADDLE_TRAINER_ID;"
        "until [ -s /dev/shm/pid-0 ] && [ -s /dev/shm/pid-1 ]; do sleep 0.01; done;"
        "echo; ls /tmp | grep ^by-; kill -0 $(cat /dev/shm/pid-0) $(cat /dev/shm/pid-1) && echo alive;"
        "touch /dev/shm/saw-$PADDLE_TRAINER_ID;"
        "until [ -e /dev/shm/saw-0 ] && [ -e /dev/shm/saw-1 ]; do sleep 0.01; done",
        roles=TRAINERS,
    )  # fmt: skip
    job = served.wait(job["id"])
    for i in range(2):
        said = served.member_log(job["id"], f"trainer-{i}")
        assert job["state"] == "succeeded" and said.split() == ["by-0", "by-1", "alive"], (job, said)


def test_nothing_is_left_of_a_sandbox(served, ann):
    """Its holder ends with the last keeper; its /tmp goes with the attempt."""
    job = ann.submit("echo >/tmp/left; exec sleep 602.5", roles=TRAINERS)
    served.wait(job["id"], "running")
    assert len(holders(served)) == 1
    served.cancel([job["id"]])
    served.wait(job["id"])
    wait_for(lambda: not holders(served), what="the holder's end")


# -- one member after another


LEAVE = """import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(7, 4096, 0o1666) >= 0, libc.semget(7, 1, 0o1666) >= 0, libc.msgget(7, 0o1666) >= 0)
print(ctypes.CDLL('librt.so.1').mq_open(b'/left', 0o102, 0o666, None) >= 0)
for path in ('/tmp/left', '/var/tmp/left', '/dev/shm/left'): open(path, 'w').close()"""
FIND = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(7, 4096, 0o666), libc.semget(7, 1, 0o666), libc.msgget(7, 0o666))
print(ctypes.CDLL('librt.so.1').mq_open(b'/left', 0))
print(*(os.path.exists(path) for path in ('/tmp/left', '/var/tmp/left', '/dev/shm/left')))"""


def test_a_sandbox_is_used_again_only_as_new(served):
    """A user's next job finds nothing of the one before, and jobs that leave nothing do not cost a sandbox each."""
    dave = Person(served, "dave")
    for _ in range(2):
        assert dave.run(f'python3 -c "{LEAVE}"').split() == ["True"] * 4
        assert dave.run(f'python3 -c "{FIND}"').split() == ["-1"] * 4 + ["False"] * 3
    names = {dave.run("readlink /proc/self/ns/ipc") for _ in range(6)}
    assert len(names) < 6


def test_a_sandbox_never_changes_its_user(served, ann, bob):
    for person, other in ((ann, bob), (bob, ann)):
        assert person.run("readlink /proc/self/ns/pid") != other.run("readlink /proc/self/ns/pid")


# -- on disk


@pytest.fixture(scope="module")
def outside():
    """A server whose state is not below /tmp, so that the /tmp of jobs is on its disk."""
    folder = pathlib.Path(tempfile.mkdtemp(dir="/srv"))
    folder.chmod(0o711)
    server = Server(folder / "state", "--cpus", "64", "--sandbox", "on")
    server.kept = []
    yield server.start()
    server.destroy()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_state_directory_deep_below_tmp(tmp_path):
    """What is made on the way to it, in a /tmp of the job's own, can be passed."""
    open_way(tmp_path)
    (tmp_path / "a").mkdir(mode=0o755)
    server = Server(tmp_path / "a/state", "--cpus", "4", "--sandbox", "on")
    server.kept = []
    server.start()
    try:
        assert Person(server, "ann").run("pwd; ls /tmp").split()[0].startswith(str(server.state))
    finally:
        server.destroy()


def test_tmp_is_on_the_disk_of_the_work_directory(outside):
    """It is the user's there, shut for others, and goes with the job."""
    eve = Person(outside, "eve")
    said = eve.run(
        "echo kept >/tmp/file; stat -c '%u %a %d' /tmp; stat -c %d .; id -u; mkdir -p /tmp/a/b; chmod 0 /tmp/a"
    )
    owner, mode, device, work, uid = said.split()
    assert owner == uid and mode == "700" and device == work
    wait_for(lambda: not list(outside.state.glob("agent/sandboxes/*/tmp/*")), what="the files to be removed")
    job = eve.submit("touch /tmp/mine-$PADDLE_TRAINER_ID; exec sleep 603.5", roles=TRAINERS)
    mine = f"jobs/*/{job['id']}/*/tmp/mine-*"
    wait_for(lambda: len(list(outside.state.glob(mine))) == 2, what="both files in the attempt's directory")
    outside.cancel([job["id"]])
    outside.wait(job["id"])
    wait_for(lambda: not list(outside.state.glob(mine)), what="the attempt's /tmp to be removed")


def test_tmp_counts_as_its_users(outside):
    erin = Person(outside, "erin")
    job = erin.submit("head -c 8388608 /dev/zero >/tmp/big; exec sleep 603.6")
    work = lambda: erin.get("/v1/storage/usage?count=true").json["items"][0]["kinds"]["work"]["bytes"]  # noqa: E731
    wait_for(lambda: work() >= 8 << 20, what="the survey to see /tmp")
    outside.cancel([job["id"]])
    outside.wait(job["id"])
    wait_for(lambda: work() < 8 << 20, what="the survey to miss it")


# what a job does to its /tmp, and how the next one would see it
MODE = "oct(os.stat('/tmp').st_mode)"
CHANGES = {
    "mode": ("os.chmod('/tmp', 0o1777)", MODE),
    "mode, with the time set back": ("os.chmod('/tmp', 0o755); os.utime('/tmp', (1, 1))", MODE),
    "attribute": ("os.setxattr('/tmp', 'user.left', b'word')", "os.listxattr('/tmp')"),
    "access list": (  # another user may list it: version 2, then tag, rights and id of each entry
        "any = 2**32 - 1; os.setxattr('/tmp', 'system.posix_acl_access', struct.pack('<I' + 'HHI' * 5,"
        " 2, 1, 7, any, 2, 5, 12345, 4, 0, any, 16, 5, any, 32, 0, any))",
        f"{MODE}, os.listxattr('/tmp')",
    ),
}


@pytest.fixture(scope="module")
def frank(outside):
    return Person(outside, "frank")


@pytest.mark.parametrize("change", CHANGES)
def test_a_tmp_that_was_opened_is_not_the_next_ones(frank, change):
    program = 'python3 -c "import fcntl, os, struct; {}"'.format
    change, look = program(CHANGES[change][0]), program(f"print({CHANGES[change][1]})")
    fresh = frank.run(look)
    for _ in range(2):
        assert frank.run(f"{change} && {look}") != fresh
        assert frank.run(look) == fresh


def test_flags_of_files_are_not_for_jobs_to_change(frank):
    """By them a file's project can be changed, and with it whose limits it counts against."""
    change = "fcntl.ioctl(os.open('/tmp', 0), 0x40086602, struct.pack('l', 0x80040))"  # FS_IOC_SETFLAGS: no dump
    said = frank.run(f'python3 -c "import fcntl, os, struct; {change}"', state="failed")
    assert "Operation not permitted" in said


def test_a_tmp_that_was_used_and_cleared_is_used_again(frank):
    """What a job has tidied up costs no new sandbox."""
    names = {frank.run("echo >/tmp/a; rm /tmp/a; readlink /proc/self/ns/mnt") for _ in range(6)}
    assert len(names) < 6


# -- deaths


@pytest.mark.parametrize("roles", [None, TRAINERS])
def test_death_of_a_holder_is_told(served, ann, roles):
    job = ann.submit("exec sleep 604.5", **({"roles": roles} if roles else {}))
    served.wait(job["id"], "running")
    pid = member_pid(served, job)
    space = os.readlink(f"/proc/{pid}/ns/pid")
    mine = [holder for holder in all_holders() if os.readlink(f"/proc/{holder}/ns/pid") == space]
    assert len(mine) == 1
    os.kill(mine[0], signal.SIGKILL)
    job = wait_for(
        lambda: (now := served.job(job["id"]))["attempt"] > 1 and now["state"] in ("running", "failed") and now,
        what="another attempt",
    )
    assert not pathlib.Path(f"/proc/{pid}").exists()
    served.cancel([job["id"]])
    served.wait(job["id"])


def test_members_outlive_server_agent_and_spawner(make_server):
    server = make_server("--cpus", "64")
    ann = Person(server, "ann")
    jobs = [
        ann.submit("until [ -e /tmp/go ]; do sleep 0.02; done; echo done", **about)
        for about in ({}, {"roles": TRAINERS})
    ]
    for job in jobs:
        server.wait(job["id"], "running")
    agent = server.agent_pid()
    spawners = [
        int(entry.parent.name)
        for entry in pathlib.Path("/proc").glob("[0-9]*/status")
        if (text := read(entry)).startswith("Name:\tpaddle-spawner\n") and f"\nPPid:\t{agent}\n" in text
    ]
    assert spawners
    for pid in (server.process.pid, agent, *spawners):
        with contextlib.suppress(ProcessLookupError):  # a spawner ends with its agent
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    for job in jobs:
        done = ann.paddle("exec", job["id"], "--", "touch", "/tmp/go")
        assert done.returncode == 0, done.stderr
        assert server.wait(job["id"])["state"] == "succeeded"


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


# -- network


def test_no_network_but_its_own_loopback(served, ann, tmp_path):
    """Members reach each other; a port that one waits for is seen; nothing of the machine is reached."""
    script = (
        "import socket, os, sys\n"
        "here = socket.create_server(('127.0.0.1', int(os.environ['PADDLE_PORT'])))\n"
        "print('devices', open('/proc/net/dev').read().count(':'))\n"
        "print('processes', sum(name.isdigit() and os.stat('/proc/' + name).st_uid != os.getuid() for name in os.listdir('/proc')))\n"
        "try: socket.create_connection(('192.0.2.1', 9), 1)\n"
        "except OSError as error: print(error.errno)\n"
        "here.accept()[0].sendall(b'hello')\n"
        "import signal; signal.pause()"
    )
    trainer = (
        "import socket, os\n"
        "host, port = os.environ['PADDLE_PSERVERS_IP_PORT_LIST'].split(':')\n"
        "print(socket.create_connection((host, int(port))).recv(5))"
    )
    (tmp_path / "ps.py").write_text(script)
    (tmp_path / "trainer.py").write_text(trainer)
    done = ann.paddle(
        "submit", "--ps", "1", "-n", "1", "--network", "none", "--follow", "--name", "alone", "--package-path", tmp_path,
        "--entry-point", "if [ $TRAINING_ROLE = PSERVER ]; then exec python3 ps.py; else exec python3 trainer.py; fi",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("trainer-0 | b'hello'", "pserver-0 | devices 1", "pserver-0 | processes 0", "pserver-0 | 101"):
        assert line in done.stdout, done.stdout
    assert ann.get("/v1/jobs/alone").json["spec"]["network"] == "none"


def test_what_network_may_be(ann):
    reply = ann.ask({"command": ["true"], "network": "some"})
    assert reply.status == 400 and b"network" in reply.body


def test_the_servers_own_jobs_can_do_without_network(served):
    job = served.wait(served.submit(["cat", "/proc/net/dev"], network="none")["id"])
    said = served.member_log(job["id"])
    assert job["state"] == "succeeded" and "lo:" in said and said.count(":") == 1


# udp: connect() asks the rules, and nothing is sent
REACH = """import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit('-', 1)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    for kind in (socket.SOCK_DGRAM,):
        with socket.socket(family, kind) as end:
            error = end.connect_ex((host, int(port)))
            print(target, 'refused' if error == 1 else 'allowed')
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
except PermissionError: print('icmp refused')"""
TARGETS = {
    "192.0.2.1-443": "allowed",
    "192.0.2.1-80": "refused",
    "192.0.3.1-443": "refused",
    "198.51.100.9-80": "allowed",
    "198.51.100.9-443": "allowed",
    "198.51.101.9-443": "refused",
    "::ffff:192.0.2.1-443": "allowed",
    "::ffff:192.0.2.1-80": "refused",
    "2001:db8:1::7-443": "allowed",
    "2001:db8:1::7-80": "refused",
    "2001:db9::7-443": "refused",
    "127.0.0.1-80": "allowed",
    "::1-80": "allowed",
}


def test_egress(make_server):
    server = make_server("--cpus", "8", "--egress", "192.0.2.0/24:443,198.51.100.0/24,[2001:db8::]/32:443")
    ann = Person(server, "ann")
    expected = [word for target, answer in TARGETS.items() for word in (target, answer)] + ["icmp", "refused"]
    assert ann.run(f'python3 -c "{REACH}" ' + " ".join(TARGETS)).split() == expected
    job = ann.submit("exec sleep 605.5")
    server.wait(job["id"], "running")
    done = ann.paddle("exec", job["id"], "--", "python3", "-c", REACH, *TARGETS)
    assert done.stdout.split() == expected
    ann.paddle("cancel", job["id"])


# a source route that begins elsewhere than its end, and a device that leads elsewhere than its address
AROUND = """import socket, struct
def tell(what, send):
    try: send(); print(what, 'sent')
    except OSError as error: print(what, 'refused')
def routed(way, end):
    route = struct.pack('8B', 0, 4, 4, 1, 1, 0, 0, 0) + b''.join(socket.inet_pton(socket.AF_INET6, at) for at in (end, way))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(41, 57, route)
        udp.sendto(b'out', (end, 9))
def by_device(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, 25, name.encode())
        udp.sendto(b'out', ('127.0.0.1', 9))
tell('route', lambda: routed('::1', '::1'))
for _, name in socket.if_nameindex():
    if name != 'lo': tell('device', lambda: by_device(name))
with socket.create_server(('::1', 0), family=socket.AF_INET6) as here, socket.create_connection(here.getsockname()[:2]) as there:
    there.sendall(b'in')
    print(here.accept()[0].recv(2).decode())"""


def test_no_way_around_the_list(make_server):
    server = make_server("--cpus", "8", "--egress", "none")
    said = Person(server, "ann").run(f'python3 -c "{AROUND}"').split()
    assert "sent" not in said and said[:2] == ["route", "refused"] and said[-1] == "in", said


@pytest.mark.parametrize("text", ["example.com", "10.0.0.0/33", "10.0.0.1:0", "[::1", "10.0.0.1:99999", ""])
def test_a_list_that_cannot_be_read_ends_the_start(tmp_path, text):
    done = subprocess.run(
        [BIN / "paddled", "--state", tmp_path, "--listen=none", f"--egress={text}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and f"--egress: '{text}'" in done.stderr, done


# -- who has none


def test_without(served):
    free = Person(served, "free")
    assert "Seccomp:\t0" in free.run("cat /proc/self/status") and int(free.run("echo $$")) != 2
    root = served.wait(served.submit(["readlink", "/proc/self/ns/pid"])["id"])
    assert served.member_log(root["id"]).strip() == os.readlink("/proc/self/ns/pid")


def test_exec_is_in_the_sandbox(served, ann):
    job = ann.submit("echo here >/tmp/inside; exec sleep 606.5")
    served.wait(job["id"], "running")
    done = ann.paddle(
        "exec", job["id"], "--", "sh", "-c",
        "cat /tmp/inside; ls -d /proc/1 || echo hidden; grep -E 'CapBnd|Seccomp:' /proc/self/status; unshare -Ur true; exit 7",
    )  # fmt: skip
    assert done.stdout.split() == ["here", "hidden", "CapBnd:", "0" * 16, "Seccomp:", "2"], done
    assert "Operation not permitted" in done.stderr and done.returncode == 7
    assert ann.paddle("exec", job["id"], "--", "sh", "-c", "kill -TERM $$").returncode == 128 + 15
    ann.paddle("cancel", job["id"])


def all_holders():
    return [
        int(entry.parent.name)
        for entry in pathlib.Path("/proc").glob("[0-9]*/comm")
        if read(entry) == "paddle-holder\n"
    ]


def holders(served):
    """Processes that hold what several members share, of this server's agent."""
    jobs = str(served.state / "jobs")
    return [pid for pid in all_holders() if any(path.startswith(jobs) for path in opened(pid))]


def opened(pid):
    try:
        return [os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []
