"""The contract of `Blocks`, for every engine, and an engine of some fifty lines that fulfils it."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingRegressor,
    DivideAndConquerRegressor,
    GradientBoostingRegressor,
    HistogramRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
    RandomForestRegressor,
    SketchedLinearRegression,
)
from sklearn_ensemble_theory.boosting import CVRounds

from .local_blocks import LocalBlocks
from .surroundings import (
    BatchBlocks,
    DaskBlocks,
    applied,
    first_of,
    fit_blocks,
    in_tree_order,
    second_of,
    split_arguments,
    tree_sum,
)


class Place:
    """A thread with objects of its own, as a worker: only bytes go to it and come back."""

    def __init__(self):
        self.thread, self.kept = ThreadPoolExecutor(1), {}

    def send(self, *message):
        return self.thread.submit(self._run, pickle.dumps(message))

    def _run(self, message):
        function, shared, keys, new, keeps = pickle.loads(message)
        found = applied(function, shared, *(self.kept[key] for key in keys))
        if keeps == "pairs":
            self.kept[new], found = first_of(found), second_of(found)
        elif keeps:
            self.kept[new], found = found, None
        return pickle.dumps(found)


class PlacedBlocks:
    """An engine: each block is an object of one place, by its key, and functions go there."""

    numbers = count()

    def __init__(self, places, keys):
        self.places, self.keys = places, keys

    @classmethod
    def of(cls, objects, places):
        keys = [next(cls.numbers) for _ in objects]
        for key, one, place in zip(keys, objects, places, strict=True):
            place.kept[key] = one
        return cls(places, keys)

    def _run(self, function, args, keeps=None):
        """The new blocks, and what came back."""
        parts, shared = split_arguments(args, PlacedBlocks)
        keys, new = zip(*(each.keys for each in (self, *parts)), strict=True), []
        waiting = []
        for place, own in zip(self.places, keys, strict=True):
            new.append(next(self.numbers))
            waiting.append(place.send(function, shared, own, new[-1], keeps))
        found = [pickle.loads(future.result()) for future in waiting]
        return PlacedBlocks(self.places, new), found

    def __len__(self):
        return len(self.keys)

    def grouped(self):
        return self

    def map(self, function, *args):
        return self._run(function, args, "results")[0]

    lazily = map  # which may keep what it need not keep

    def step(self, function, *args):
        blocks, values = self._run(function, args, "pairs")
        return blocks, tree_sum(values)

    def each(self, function, *args):
        return self._run(function, args)[1]

    def sum(self, function, *args):
        return tree_sum(self.each(function, *args))

    def repeated(self, value):
        return PlacedBlocks.of([value] * len(self), self.places)

    def taken(self, numbers):
        return PlacedBlocks([self.places[n] for n in numbers], [self.keys[n] for n in numbers])


def placed(objects):
    places = [Place() for _ in range(3)]
    return PlacedBlocks.of(objects, [places[n % 3] for n in range(len(objects))])


def of_dask(objects):
    dask = pytest.importorskip("dask")
    return DaskBlocks([dask.delayed(one) for one in objects], kept=False)


@pytest.fixture
def one_thread():
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


ENGINES = {"local": LocalBlocks, "batches": BatchBlocks, "places": placed, "Dask": of_dask}


@pytest.fixture(params=ENGINES)
def blocks_of(request):
    if request.param == "Dask":
        request.getfixturevalue("one_thread")
    return ENGINES[request.param]


def text_of(block, *others):
    return " ".join(map(str, (block, *others)))


def in_two(block, other, n):
    return block * n, str(other)


def total_of(block, others):
    return block + sum(others)


# --- what each method promises --------------------------------------------------------------------


def test_functions_get_the_block_then_other_blocks_of_its_number_then_what_all_share(blocks_of):
    blocks = blocks_of([1, 2, 3])
    assert len(blocks) == 3
    others = blocks.map(text_of, "and")
    assert blocks.each(text_of, others, "all") == ["1 1 and all", "2 2 and all", "3 3 and all"]
    assert blocks.sum(text_of, others, ".") == "1 1 and .2 2 and .3 3 and ."
    assert blocks.lazily(text_of, "lazily").each(str.upper) == ["1 LAZILY", "2 LAZILY", "3 LAZILY"]
    assert blocks.taken([0, 2]).each(text_of) == ["1", "3"]
    assert blocks.grouped().sum(text_of) == "123"


def test_a_step_keeps_the_first_of_each_pair_and_adds_the_second(blocks_of):
    blocks = blocks_of([1, 2, 3])
    doubled, total = blocks.step(in_two, blocks, 2)
    assert total == "123"
    doubled, total = doubled.step(in_two, blocks, 10)  # which has kept pairs, perhaps
    assert total == "123"
    assert doubled.map(text_of).each(str) == ["20", "40", "60"]


def test_functions_are_not_called_for_chunks_without_rows(blocks_of):
    blocks = blocks_of([None, 1, None])
    assert blocks.each(text_of) == [None, "1", None]
    assert blocks.map(text_of).sum(str) == "1"
    assert blocks_of([None, None]).sum(text_of) is None
    new, total = blocks.step(in_two, blocks, 3)
    assert total == "1"
    assert new.each(text_of) == [None, "3", None]


def test_one_object_is_there_for_all_blocks(blocks_of):
    blocks = blocks_of([1, 2])
    assert blocks.each(total_of, blocks.repeated([10, 20])) == [31, 32]


@pytest.mark.parametrize("n", [1, 8, 9, 70, 600])
def test_sums_are_added_in_one_order(blocks_of, n):
    values = [None if i % 5 == 4 else 0.1 * (i + 1) ** 3 for i in range(n)]
    parts = {i: value for i, value in enumerate(values) if value is not None}
    assert blocks_of(values).sum(float) == in_tree_order(parts, n)


# --- estimators ask for nothing else --------------------------------------------------------------

N = 300
MODELS = {
    "L2-boosting": L2BoostingRegressor(CVRounds(max_estimators=50)),
    "pairs": L2BoostingRegressor(10, max_bins=16, interactions=1),
    "LogitBoost": LogitBoostClassifier(20, learning_rate=0.5),
    "AdaBoost": AdaBoostClassifier(n_estimators=5),
    "gradient boosting": GradientBoostingRegressor(n_estimators=3, max_depth=2),
    "gradient boosting by folds": GradientBoostingRegressor(
        n_estimators=CVRounds(2, max_estimators=3), max_depth=2
    ),
    "pursuit": MatchingPursuitRegressor(2),
    "sketches": SketchedLinearRegression(3, random_state=0, n_refinements=1),
    "histogram": HistogramRegressor(3),
    "blocks": DivideAndConquerRegressor(LinearRegression(), n_blocks=5),
    "bags": BaggingRegressor(LinearRegression(), n_estimators=7, random_state=0),
    "forest of all rows": RandomForestRegressor(4, bootstrap="poisson", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_engine_of_some_fifty_lines_fits_the_same_models(name, one_thread, monkeypatch):
    # Nodes of a forest are searched by sums, and gathered.
    monkeypatch.setattr("sklearn_ensemble_theory.averaging._forest_blocks.SMALL_ROWS", 50)
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(N)
    model = MODELS[name]
    if is_classifier(model):
        y = y > 0.5
    expected = clone(model).fit(da.from_array(X, chunks=(60, 3)), da.from_array(y, chunks=60))
    given = [(i, X[60 * i : 60 * (i + 1)], y[60 * i : 60 * (i + 1)], None) for i in range(5)]
    found = clone(model)
    fit_blocks(found, placed(given), X[:0], False)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
