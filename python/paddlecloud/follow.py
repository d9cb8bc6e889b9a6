"""What Run.follow() prints: the states of the steps of a run, the lines that they write, and pauses.

the log of the run ──▶ a thread ──▶ queue ──┐
                                            ├──▶ the caller's thread prints
how the run is, every 0.2 to 2 s ───────────┘
"""

import datetime
import functools
import queue
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set, TextIO, Tuple, Union

if TYPE_CHECKING:
    from .client import LogLine
    from .runs import Node, Run

LOOK_MIN, LOOK_MAX = 0.2, 2.0  # seconds between two looks at the run
HOLD = 1.0  # seconds in which the last lines of a step arrive; the server looks for them every 0.5 s
STEPS_MAX = 1000  # of a run with more nodes there are no states of single steps,
COUNTS_PAUSE = 10.0  # but how many are in which state, after so many seconds
HEARD_MAX = 200  # steps of which the first line leads to a look at once
LINES_MAX = 1000  # lines that wait to be printed


def follow(run: "Run") -> None:
    """Prints until the run has ended, and brings it up to date."""
    states = _States(run)
    heard: Set[str] = set()  # steps
    print(f"{run.name} ({run.id})", flush=True)
    with _Lines(run) as lines:
        while not lines.ended:
            line = lines.next(states.due())
            if line is None:
                states.go_on()
                continue
            if line.step not in heard and len(heard) < HEARD_MAX:
                heard.add(line.step)
                states.look()
                states.print_held(line.step)
            print(f"{source_of(line)} | {line.text}", flush=True)
    run.wait()
    states.look()
    states.print_held()
    states.print_end()


def source_of(line: "LogLine") -> str:
    """Whose line it is: "train-3", or "train-3/worker-1", "train-3/environment". The member of most steps is worker-0."""
    return line.step if line.member == "worker-0" else f"{line.step}/{line.member}"


def duration(ms: int) -> str:
    """As `paddle` writes it: 5 ms, 3.2 s, 2m 30s, 1h 05m."""
    whole = ms // 1000
    if ms < 1000:
        return f"{max(ms, 0)} ms"
    if whole < 60:
        return f"{ms / 1000:.1f} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def _took(begun: Optional[str], ended: Optional[str]) -> Optional[str]:
    """Between two times in RFC 3339; None if one of them is not known."""
    if not begun or not ended:
        return None
    return duration((_time_of(ended) - _time_of(begun)) // datetime.timedelta(milliseconds=1))


def _time_of(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")


class _Lines:
    """The lines of a run as they come. Leaving it lets the thread end, at the latest with the next line or the end of the run."""

    def __init__(self, run: "Run") -> None:
        self._queue: queue.Queue[Union[LogLine, BaseException, None]] = queue.Queue(LINES_MAX)
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(run._owner()._twin(), run.id), daemon=True)
        self.ended = False

    def __enter__(self) -> "_Lines":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._left.set()

    def _read(self, client: Any, run: str) -> None:
        last: Optional[BaseException] = None
        try:
            for line in client.run_logs(run, follow=True):
                if not self._put(line):
                    return
        except BaseException as error:  # it is raised where lines are taken
            last = error
        self._put(last)

    def _put(self, item: "Union[LogLine, BaseException, None]") -> bool:
        """Waits until the queue has room for the item. False if the reader has left meanwhile."""
        while not self._left.is_set():
            try:
                self._queue.put(item, timeout=1.0)
                return True
            except queue.Full:
                continue
        return False

    def next(self, due: float) -> "Optional[LogLine]":
        """The next line; None at the time `due` (monotonic), and at the end of the log. Raises what ended the log early."""
        left = due - time.monotonic()
        if left <= 0:
            return None
        try:
            item = self._queue.get(timeout=left)
        except queue.Empty:
            return None
        if isinstance(item, BaseException):
            raise item
        self.ended = item is None
        return item


class _Held(NamedTuple):
    """A line that waits until `due` (monotonic): `ends` is the path of the step that ends by it."""

    text: str
    file: TextIO
    ends: Optional[str]
    due: float


class _States:
    """What was printed of the states of a run. The end of a step waits for HOLD, as the step's last lines come by another way; what was
    seen after it waits, too."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._look_due, self._pause = 0.0, LOOK_MIN  # of the next look, monotonic
        self._known: Dict[int, str] = {}  # states of nodes
        self._counts: Optional[Dict[str, int]] = None
        self._counts_due = 0.0  # of the next counts, monotonic; 0: there were none
        self._counts_held = False  # it was too early for those that were seen last
        self._pauses: List[Tuple[str, str]] = []
        self._missed = 0
        self._held: List[_Held] = []

    def due(self) -> float:
        """When something is to be done (monotonic)."""
        return min([self._look_due, *(held.due for held in self._held[:1])])

    def go_on(self) -> None:
        """Does what is due."""
        while self._held and self._held[0].due <= time.monotonic():
            self._print(self._held.pop(0))
        if self._look_due <= time.monotonic():
            self.look()

    def look(self) -> None:
        """Asks how the run is."""
        owner, run = self._run._owner(), self._run
        owner._patiently(functools.partial(run.refresh))
        news = run.nodes_in != self._counts
        self._counts = run.nodes_in
        if news or (self._counts_held and run.is_final):
            self._look_at_steps()
        self._look_at_pauses()
        self._pause = LOOK_MIN if news else min(self._pause * 1.5, LOOK_MAX)
        self._look_due = time.monotonic() + self._pause

    def print_held(self, before: Optional[str] = None) -> None:
        """Prints what waits, up to the end of the step `before`."""
        while self._held and (before is None or self._held[0].ends != before):
            self._print(self._held.pop(0))

    @staticmethod
    def _print(held: _Held) -> None:
        print(held.text, file=held.file, flush=True)

    def print_end(self) -> None:
        """The state of the run, and why."""
        run = self._run
        took = _took(run.created_at, run.finished_at)
        after, why = f" after {took}" if took else "", f": {run.message}" if run.message else ""
        print(f"{run.name} ({run.id}): {run.state}{after}{why}", flush=True)

    def _say(self, text: str, file: Optional[TextIO] = None, ends: Optional[str] = None) -> None:
        """Prints it, or lets it wait if a step `ends` by it, or something waits."""
        held = _Held(text, file or sys.stdout, ends, time.monotonic() + (HOLD if ends else 0.0))
        if ends or self._held:
            self._held.append(held)
        else:
            self._print(held)

    def _look_at_steps(self) -> None:
        nodes, more = self._run._owner()._first_nodes(self._run.id, STEPS_MAX)
        if more:
            self._say_counts()
            return
        for node in nodes:
            if node.type == "step" and self._known.get(node.node) != node.state:
                self._known[node.node] = node.state
                goes_on = node.state in ("running", "stopping") or node.run is not None
                self._say(_said_of(node), ends=None if goes_on else node.path)

    def _say_counts(self) -> None:
        self._counts_held = time.monotonic() < self._counts_due and not self._run.is_final
        if self._counts_held:
            return
        if not self._counts_due:
            self._say(f"there are more than {STEPS_MAX} steps: how many are in which state follows", sys.stderr)
        self._counts_due = time.monotonic() + COUNTS_PAUSE
        counts = ", ".join(f"{count} {state}" for state, count in self._run.nodes_in.items() if count)
        self._say(f"{self._run.name}: {counts}")

    def _look_at_pauses(self) -> None:
        run = self._run
        for step, at, reason in run.missed_breakpoints[self._missed :]:
            self._say(f"{step}: no pause {at} it: {reason}")
        self._missed = len(run.missed_breakpoints)
        if run.pauses == self._pauses:
            return
        self._pauses = run.pauses
        for step, at in run.pauses:
            self._say(f"{step}: paused {at} it")
        if run.pauses:
            goes_on = f"`paddle run continue {run.id}` goes on, `paddle run step {run.id}` with a single step"
            self._say(f"the run is paused: {goes_on}", sys.stderr)


def _said_of(node: "Node") -> str:
    """The line about the state of a step."""
    if node.run is not None and not node.raw.get("cached"):
        return f"{node.path}: kept from run {node.run}"
    took = _took(node.started_at, node.finished_at)
    return f"{node.path}: {node.state}{f' ({took})' if took else ''}{f': {node.message}' if node.message else ''}"
