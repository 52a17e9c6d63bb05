"""The measurements of `speed.py`: each side of a case in its own process, in alternation."""

import contextlib
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import cases

EXTRAS = {
    **dict.fromkeys(("lightgbm", "xgboost", "interpret", "sklearnex"), "benchmark"),
    "dask": "dask",
    "matplotlib": "plot",
}
# A process uses as many threads of BLAS and OpenMP as the case, or the command line, says.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

# --- in the process of one side ---------------------------------------------------------------


def serve(requests, answer, subject, case, side, params):
    """Warm up, then answer "run" and "quality" until the requests end.

    Without a warm-up, the seconds of this first run answer the first "run". "run" is answered by
    the seconds of one run, on the clock and of processors, "quality" by a number. `requests` are
    lines of text; `answer(kind, value)` sends a line of JSON back.
    """
    try:
        case = cases.load(subject)[case]
        side = case.side(side)
        data = cases.call(case.data, **params)

        def run():
            prepared = cases.call(side.setup, data, **params)
            children = children_cpu_seconds()
            cpu, start = time.process_time(), time.perf_counter()
            result = cases.call(side.run, prepared, data, **params)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            return seconds, cpu + children_cpu_seconds() - children, result

        cases.call(side.setup, data, **params)  # the memory of imports is not counted
        reset_peak()
        before = memory("current")
        *seconds, result = run()
        after = memory("peak")
        known = None if side.warm_up else seconds
        answer("ready", None if before is None else max(after - before, 0))
        for request in requests:
            if request.strip() == "run":
                if known is None:
                    result = None  # freed before the time is measured
                    *known, result = run()
                answer("seconds", known)
                known = None
            else:
                quality = side.quality and cases.call(side.quality, result, data, **params)
                answer("quality", None if quality is None else float(quality))
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in EXTRAS:
            answer("missing", f"{library} is not installed (extra: {EXTRAS[library]})")
        else:
            answer("failed", traceback.format_exc())
    except Exception:
        answer("failed", traceback.format_exc())


def main():
    """Communicate with `Worker`, which started this file, over standard input and output."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # output of a library must not be mixed with the answers

        def answer(kind, value):
            print(json.dumps([kind, value]), file=answers, flush=True)

        serve(sys.stdin, answer, **json.loads(sys.argv[1]))


def reset_peak():
    """Reset the peak memory of this process (Linux; elsewhere it counts from the start)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def process_statuses():
    """The status of every process on Linux, by process number; empty on other systems."""
    statuses = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it may have ended
            lines = path.read_text(errors="replace").splitlines()
            statuses[path.parent.name] = {
                key: value.strip() for key, value in (line.split(":", 1) for line in lines)
            }
    return statuses


def family(statuses):
    """The numbers of this process and of its running descendants."""
    members = [str(os.getpid())]
    for pid in members:  # grows during the loop
        members += [child for child, status in statuses.items() if status["PPid"] == pid]
    return members


def memory(kind):
    """Resident bytes, "current" or "peak"; None where the system does not provide them.

    On Linux the worker processes that the side itself started are counted in.
    """
    field = {"current": "VmRSS", "peak": "VmHWM"}[kind]
    statuses = process_statuses()
    if str(os.getpid()) in statuses:
        sizes = [statuses[pid].get(field, "0 kB") for pid in family(statuses)]
        return 1024 * sum(int(size.split()[0]) for size in sizes)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def children_cpu_seconds():
    """Processor time so far of the running processes started by this one (Linux; else 0)."""
    total = 0.0
    for pid in family(process_statuses())[1:]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


# --- in the main process ----------------------------------------------------------------------


class Failed(Exception):
    """A side raised an error, or its process ended."""


class Missing(Exception):
    """A side's optional library is not installed."""


class Worker:
    """The process of one side, used by `ask`; a context manager, at whose end it stops."""

    def __init__(self, subject, case, side, params):
        self.name = side
        job = {"subject": subject, "case": case.name, "side": side, "params": params}
        self.process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(params["threads"]))},
        )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()  # the end of its requests
        self.process.stdout.close()
        self.process.wait()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"its process ended (exit status {self.process.wait()})")
        kind, value = json.loads(line)
        if kind == "missing":
            raise Missing(value)
        if kind == "failed":
            raise Failed(value)
        return value

    def ask(self, request):
        with contextlib.suppress(BrokenPipeError):
            print(request, file=self.process.stdin, flush=True)
        return self.answer()


def measure(subject, case, params, runs, report):
    """One setting of a case: the time, memory and quality of each side.

    Gives side -> {"seconds": [...], "cpu_seconds": [...], "quality": ..., "memory": bytes} for
    the sides that came through, {"missing": ...} or {"failed": ...} for the others.
    """
    record, asked = {}, []
    with contextlib.ExitStack() as stack:

        def attempt(worker, take):
            try:
                take(worker)
            except (Failed, Missing) as error:
                record[worker.name] = {type(error).__name__.lower(): str(error)}
                return False
            return True

        def warm_up(worker):
            report(f"{worker.name}: warming up")
            record[worker.name] = {"memory": worker.answer(), "seconds": [], "cpu_seconds": []}

        def run(worker):
            kept = record[worker.name]
            report(f"{worker.name}: run {len(kept['seconds']) + 1} of {runs}")
            seconds, cpu_seconds = worker.ask("run")
            kept["seconds"].append(seconds)
            kept["cpu_seconds"].append(cpu_seconds)

        def judge(worker):
            record[worker.name]["quality"] = worker.ask("quality")

        for side in case.sides:  # one after the other, so that warm-ups do not overlap
            worker = stack.enter_context(Worker(subject, case, side, params))
            if attempt(worker, warm_up):
                asked.append(worker)
        for request in [run] * runs + [judge]:
            asked = [worker for worker in asked if attempt(worker, request)]
    report("")
    return record


if __name__ == "__main__":
    main()
