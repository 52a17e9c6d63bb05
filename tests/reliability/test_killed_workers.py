"""A worker process that is killed in the middle of a task: an error, and nothing is lost."""

import ast
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from .killed_workers import IN_PROCESSES

REPOSITORY = Path(__file__).parents[2]
SECONDS = 60  # of which most is the start of the program; a trial takes less than one

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forked workers")


class Program:
    """`killed_workers`, which answers names of estimators."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.reliability.killed_workers"],
            cwd=REPOSITORY,
            # Threads of BLAS would not be there after a fork.
            env={
                **os.environ,
                "SKLEARN_ENSEMBLE_THEORY_NUMBA": "0",
                **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("answer "):
                self.answers.put(ast.literal_eval(line.removeprefix("answer ")))
        self.answers.put(None)  # the program has ended

    def ask(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=SECONDS)

    def end(self):
        with suppress(BrokenPipeError):
            self.process.stdin.close()  # it ends, and removes what its workers shared
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.reader.join(10)
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="module")
def programs():
    """The program that answers, in a list: it is started when it is first asked."""
    started = []
    yield started
    for program in started:
        program.end()


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PROCESSES)
def test_a_worker_is_killed_within_its_task(name, programs):
    if not programs:
        programs.append(Program())
    try:
        found = programs[0].ask(name)
    except (queue.Empty, OSError):
        found = None
    if found is None:
        programs.pop().end()  # the others have a program of their own
        pytest.fail(f"{name} hangs where a worker is killed, or its process ended")
    assert found == {"error": "TerminatedWorkerError", "killed": True, "kept": True, "right": True}
