"""Other processes: the same bits, Ctrl-C in the middle of a fit, and workers that are killed."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ..estimators import estimator_classes
from .test_determinism import PARALLEL, digests

REPOSITORY = Path(__file__).parents[2]
needs_sessions = pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups of POSIX")


def found_in_another_process(seed):
    """What `signalled_fits` prints, with another hash seed; nothing of its session may be left."""
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.reliability.signalled_fits", str(seed)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = program.communicate(timeout=90)
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


@pytest.mark.slow
@needs_sessions
def test_another_process_with_another_hash_seed_and_signals():
    """In one test, because processes take seconds to start.

    The order of sets and of names does not matter, nor that other processes fit the members: the
    same bits. One process, threads and processes that a signal meets at a random moment: stopped at
    once, nothing lost, the next fit is right.
    """
    try:
        found = found_in_another_process(0)
    except subprocess.TimeoutExpired:  # of joblib, rarely: see docs/reliability.md
        found = found_in_another_process(1)
    expected = digests(estimator_classes())
    assert found["digests"] == expected
    assert found["by_processes"] == {cls.__name__: expected[cls.__name__] for cls in PARALLEL}
    *interrupted, killed, interrupted_pool = found["trials"]
    interrupted.append(interrupted_pool)
    assert all(trial["right"] for trial in found["trials"]), found["trials"]
    assert all(trial["threads"] == 0 for trial in interrupted), interrupted
    stopped = [trial for trial in interrupted if trial["error"] is not None]
    assert len(stopped) >= len(interrupted) / 2
    assert {trial["error"] for trial in stopped} == {"KeyboardInterrupt"}
    delays = np.array([trial["delay"] for trial in stopped])
    assert np.median(delays) < 0.5
    assert delays.max() < 5  # on a machine that does other work
    assert killed["error"] in (None, "TerminatedWorkerError")
