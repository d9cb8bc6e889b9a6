"""How busy the machine's cores are over time, sampled from /proc/stat (proc(5)): the share of time that is neither idle nor
waiting for a disk, of all programs on the machine."""

import bisect
import pathlib
import threading
import time

PERIOD = 1.0  # seconds between two samples


def parse(text):
    """(busy, all) clock ticks of all cores since the machine started, from the first line of /proc/stat."""
    user, nice, system, idle, wait, irq, softirq, steal = map(int, text.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + wait


def read():
    return parse(pathlib.Path("/proc/stat").read_text(encoding="ascii"))


class Cores:
    """Samples in the background from its making on, for as long as the program runs."""

    def __init__(self):
        self.samples = [(time.time(), *read())]
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while True:
            time.sleep(PERIOD)
            self.samples.append((time.time(), *read()))

    def busy(self, start, end):
        """The busy share, 0 to 1, between two times of the clock (seconds since 1970); None if no sample lies between."""
        return busy_share(self.samples, start, end)


def busy_share(samples, start, end):
    times = [sample[0] for sample in samples]
    first, last = bisect.bisect_left(times, start), bisect.bisect_right(times, end) - 1
    if last <= first:
        return None
    _, busy, total = (b - a for a, b in zip(samples[first], samples[last], strict=True))
    return busy / total if total else None
