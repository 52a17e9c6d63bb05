"""Teams of threads: results in order, exceptions, teams at once, forks."""

import multiprocessing
import sys
import threading
import time

import numpy as np
import pytest

from sklearn_ensemble_theory._threads import ThreadTeam, row_chunks, shares


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_arguments(n_threads):
    team = ThreadTeam(n_threads)
    for n_tasks in (0, 1, 2, 50):
        tasks = [(k, 3) for k in range(n_tasks)]
        assert team.run(pow, tasks) == [k**3 for k in range(n_tasks)]


def test_several_threads_are_at_work_at_once():
    barrier = threading.Barrier(3)
    assert sorted(ThreadTeam(3).run(barrier.wait, [(20,)] * 3)) == [0, 1, 2]


def test_the_first_exception_in_order_is_raised_and_the_team_goes_on():
    def fails(k):
        time.sleep(0.001 * (5 - k))
        if k % 2:
            raise ValueError(f"task {k}")
        return k

    team = ThreadTeam(4)
    with pytest.raises(ValueError, match="task 1"):
        team.run(fails, [(k,) for k in range(5)])
    assert team.run(fails, [(0,), (2,)]) == [0, 2]


def test_teams_of_several_threads_and_teams_inside_teams():
    def outer(k):
        return sum(ThreadTeam(3).run(pow, [(k, j) for j in range(4)]))

    expected = [sum(k**j for j in range(4)) for k in range(20)]
    found = [None] * 3

    def call(place):
        found[place] = ThreadTeam(2).run(outer, [(k,) for k in range(20)])

    callers = [threading.Thread(target=call, args=(place,)) for place in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [expected] * 3


def _power_in_a_child(results):
    results.put(ThreadTeam(2).run(pow, [(k, 2) for k in range(5)]))


@pytest.mark.skipif(sys.platform != "linux", reason="fork is not safe elsewhere")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    ThreadTeam(2).run(pow, [(2, 2)] * 4)  # the parent has helpers
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=_power_in_a_child, args=(results,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert results.get() == [0, 1, 4, 9, 16]


def test_the_number_of_jobs_of_an_estimator():
    assert ThreadTeam.of(None).n_threads == 1
    assert ThreadTeam.of(3).n_threads == 3
    assert ThreadTeam.of(-1).n_threads >= 1


@pytest.mark.parametrize(("n", "n_parts"), [(0, 3), (1, 3), (7, 3), (12, 4)])
def test_shares_cover_everything_once(n, n_parts):
    parts = shares(n, n_parts)
    assert len(parts) <= n_parts
    assert np.concatenate([np.arange(*part) for part in parts]).tolist() == list(range(n))
    assert max(np.diff(parts)) - min(np.diff(parts)) <= 1


def test_chunks_have_a_fixed_size():
    assert row_chunks(0) == []
    assert row_chunks(2**17) == [(0, 2**17)]
    chunks = row_chunks(2**17 + 2)
    assert chunks == [(0, 32768), (32768, 65537), (65537, 98305), (98305, 131074)]
