"""The shares of threads: the model at its ends, and a small run."""

import pytest


@pytest.fixture
def threads(module):
    return module("threads")


def test_the_model_of_threads(threads):
    assert threads.expected(2.0, 1_000_000, 1, 1e12) == 1
    # Where memory is fast, the serial part and the lists of tasks remain.
    fixed = threads.N_ROUNDS * (threads.SERIAL + threads.LISTS * threads.A_LIST)
    assert 2.0 * threads.expected(2.0, 1_000_000, 10**6, 1e15) == pytest.approx(fixed, abs=1e-4)
    # Where it is slow, threads add nothing to it.
    slow = [threads.expected(2.0, 1_000_000, k, 3.2e10) for k in (8, 64)]
    assert slow[0] == slow[1] > 0.5


def test_numbers_of_threads_take_turns(threads, capsys, monkeypatch):
    options = ["threads.py", "--rows", "200", "--threads", "2", "--runs", "1"]
    monkeypatch.setattr("sys.argv", options)
    for name, value in (("COPIED", 1000), ("N_TREES", 2), ("N_ROUNDS", 2)):
        monkeypatch.setattr(threads, name, value)
    threads.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 4 * 2
    assert [line.split()[-1] for line in lines[2::2]] == ["1.00"] * 4
