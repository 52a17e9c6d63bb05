"""Progress of a long fit, for `verbose`: a line now and then on standard error."""

import sys
import time


class Progress:
    """Counts finished parts of a fit; `verbose=1` speaks every few seconds, 2 at every part."""

    def __init__(self, name, total, verbose, unit="members", every=2.0):
        self.name, self.total, self.unit = name, total, unit
        self.verbose = int(verbose)
        self.every = every
        self.done = 0
        self.start = self.last = time.monotonic()

    def advance(self, note=""):
        self.done += 1
        if not self.verbose:
            return
        now = time.monotonic()
        finished = self.done == self.total
        if not finished and self.verbose < 2 and now - self.last < self.every:
            return
        self.last = now
        elapsed = now - self.start
        left = elapsed / self.done * (self.total - self.done)
        times = f"{elapsed:.1f} s" if finished else f"{elapsed:.1f} s, about {left:.1f} s left"
        note = f", {note}" if note else ""
        print(
            f"{self.name}: {self.done}/{self.total} {self.unit}, {times}{note}",
            file=sys.stderr,
            flush=True,
        )
