"""Tables of coverage: their own rows, for one data set, without those of other packages."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.mark.slow
def test_sets(script, monkeypatch, capsys):
    sets = script("sets")
    own = {key: run for key, run in sets.sides().items() if not key[0].startswith("MAPIE")}
    monkeypatch.setattr(sets, "sides", lambda: own)
    assert sets.main(["--sets", "1", "--rows", "300"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 12
    assert all(0.8 < float(row[38:46]) < 1 for row in rows)


@pytest.mark.slow
def test_series(script, monkeypatch, capsys):
    series = script("series")
    own = {name: run for name, run in series.SIDES.items() if "MAPIE" not in name}
    monkeypatch.setattr(series, "SIDES", own)
    assert series.main(["--series", "1"]) == 0
    table = {row[:22].strip(): row[22:].split() for row in capsys.readouterr().out.splitlines()}
    assert float(table["enbpi"][2]) > 0.8 > float(table["enbpi, no updates"][2])


@pytest.mark.slow
def test_stacks(script, monkeypatch, capsys):
    stacks = script("stacks")
    own = {name: side for name, side in stacks.SIDES.items() if "MAPIE" not in name}
    monkeypatch.setattr(stacks, "SIDES", own)
    assert stacks.main(["--data-sets", "2", "--sizes", "60"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 8
    assert all(0.7 < float(row.split()[-4]) <= 1 for row in rows)
