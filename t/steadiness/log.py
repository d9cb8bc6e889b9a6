"""The record of a run: each line of output and each stop, with the seconds since the beginning."""

import threading
import time


class Log:
    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.file, self.lock = path, open(path, "w"), threading.Lock()  # noqa: SIM115 - closed by close()
        self.start = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def now(self):
        return time.monotonic() - self.start

    def write(self, line):
        """Returns the time that the line got."""
        with self.lock:
            now = self.now()
            self.file.write(f"{now:8.2f}  {line}\n")
            self.file.flush()
        return now
