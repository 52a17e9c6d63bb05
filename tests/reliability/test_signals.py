"""Ctrl-C in the middle of a fit, and worker processes that are killed."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]
needs_sessions = pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups of POSIX")


def trials(seed):
    """What `signalled_fits` prints; nothing of its session may be left."""
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.reliability.signalled_fits", str(seed)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = program.communicate(timeout=120)
        assert program.returncode == 0, errors[-2000:]
        assert not _alive_after(program.pid, 5.0), "a process is left"
    finally:
        if _is_alive(program.pid):
            os.killpg(program.pid, 9)
    return ast.literal_eval(output.splitlines()[-1])


def _is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _alive_after(group, seconds):
    end = time.monotonic() + seconds
    while _is_alive(group) and time.monotonic() < end:
        time.sleep(0.05)
    return _is_alive(group)


@needs_sessions
def test_interrupts_and_a_killed_worker_at_random_moments():
    """One process, threads and processes: stopped at once, nothing lost, the next fit is right."""
    *found, killed = trials(0)
    assert all(trial["right"] for trial in [*found, killed]), [*found, killed]
    assert all(trial["threads"] == 0 for trial in found), found
    stopped = [trial for trial in found if trial["error"] is not None]
    assert len(stopped) >= len(found) / 2
    assert {trial["error"] for trial in stopped} == {"KeyboardInterrupt"}
    delays = np.array([trial["delay"] for trial in stopped])
    assert np.median(delays) < 0.5
    assert delays.max() < 5  # on a machine that does other work
    assert killed["error"] in (None, "TerminatedWorkerError")
