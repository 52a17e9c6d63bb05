"""AdaBoost of Dask collections: the model of the same rows in memory, bit for bit in any chunks."""

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import AdaBoostClassifier
from sklearn_ensemble_theory.erm import DecisionStumpClassifier, DecisionStumpRegressor
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

Callback = pytest.importorskip("dask.callbacks").Callback

CHUNKS = ((100,) * 12, (1, 0, 900, 299), (1200,))
FITTED = ("estimator_weights_", "estimator_errors_", "edges_", "training_error_bounds_", "_reaches")
VARIANTS = ("discrete", "mh", "real", "gentle")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(K, seed=0, n=1200):
    """Columns of few values: stumps that know every value are those of the bins."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 4)).astype(float)
    score = X[:, 0] + 0.7 * X[:, 1] - X[:, 2] * (X[:, 3] > 5) + 2 * rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, np.arange(1, K) / K))
    return X, y, rng.integers(0, 4, n).astype(float)


def lazily(model, chunks, X, y, weight=None):
    given = (a if a is None else da.from_array(a, (chunks, *a.shape[1:])) for a in (X, y, weight))
    return model.fit(*given)


def assert_same_bits(model, other):
    for name in (*FITTED, "classes_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for one, two in zip(model.estimators_, other.estimators_, strict=True):
        assert vars(one).keys() == vars(two).keys()
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, vars(two)[name])


def assert_same_model(model, expected, X):
    assert (model.variant_, model.stop_reason_) == (expected.variant_, expected.stop_reason_)
    for name in FITTED:
        np.testing.assert_allclose(
            getattr(model, name), getattr(expected, name), rtol=0, atol=1e-10
        )
    for one, two in zip(model.estimators_, expected.estimators_, strict=True):
        assert type(one) is type(two)
        for name, value in vars(two).items():
            if isinstance(value, float | np.ndarray) and name != "classes_":
                np.testing.assert_allclose(vars(one)[name], value, rtol=1e-10, atol=1e-10)
            else:
                np.testing.assert_array_equal(vars(one)[name], value)
    for found, known in zip(
        model.staged_decision_function(X), expected.staged_decision_function(X)
    ):
        np.testing.assert_allclose(found, known, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("K", [2, 3])
def test_model_in_memory_and_same_bits_in_any_chunks(K, variant, weighted):
    X, y, weight = rows(K)
    weight = weight if weighted else None
    models = [
        lazily(AdaBoostClassifier(n_estimators=8, variant=variant), chunks, X, y, weight)
        for chunks in CHUNKS
    ]
    assert_same_bits(models[0], models[1])
    assert_same_bits(models[0], models[2])
    expected = AdaBoostClassifier(n_estimators=8, variant=variant).fit(X, y, weight)
    assert_same_model(models[0], expected, X)


@pytest.mark.parametrize("K", [2, 3])
def test_bins_are_those_in_memory(K):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1200, 3)).astype(np.float32)
    y = np.digitize(X[:, 0] + np.sin(3 * X[:, 1]), [-0.5, 0.5][: K - 1])
    stump = DecisionStumpClassifier(max_bins=9)
    model = lazily(AdaBoostClassifier(stump, n_estimators=20), CHUNKS[1], X, y)
    assert_same_model(model, AdaBoostClassifier(stump, n_estimators=20).fit(X, y), X)


def test_many_bins_take_codes_of_two_bytes():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 600, (1200, 2)).astype(float)
    y = np.where((X[:, 0] > 250) & (X[:, 1] > 111), "yes", "no")
    stump = DecisionStumpRegressor(max_bins=1000)
    model = AdaBoostClassifier(stump, n_estimators=5, variant="real")
    lazily(model, CHUNKS[1], X, y)
    expected = AdaBoostClassifier(stump, n_estimators=5, variant="real").fit(X, y)
    assert_same_model(model, expected, X)


def test_classes_that_chunks_lack_and_data_frames_of_unknown_lengths():
    X, y, _ = rows(3)
    order = np.argsort(y, kind="stable")  # each chunk has one class or two
    X, labels = X[order], np.array(["high", "low", "middle"])[y[order]]
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy, target = dd.from_pandas(frame, npartitions=5), dd.from_pandas(pd.Series(labels), 5)
    keep = lazy["a"] > 0
    model = AdaBoostClassifier(n_estimators=6).fit(lazy[keep], target[keep])
    kept = X[:, 0] > 0
    expected = AdaBoostClassifier(n_estimators=6).fit(frame[kept], labels[kept])
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert list(model.feature_names_in_) == list("abcd")
    assert_same_model(model, expected, frame)
    lazy_labels = model.predict(lazy)
    assert isinstance(lazy_labels, da.Array)
    np.testing.assert_array_equal(lazy_labels.compute(), expected.predict(frame))


def test_dtypes_that_differ_between_chunks():
    X, y, _ = rows(2)
    halves = [da.from_array(part, chunks=(300, 4)) for part in (X[:600].astype("f4"), X[600:])]
    mixed = da.concatenate([halves[0].map_blocks(np.asarray, dtype=float), halves[1]])
    model = AdaBoostClassifier(n_estimators=4).fit(mixed, da.from_array(y, chunks=300))
    assert_same_model(model, AdaBoostClassifier(n_estimators=4).fit(X, y), X)


STOPS = {
    "perfect at once": ([0, 1, 2, 3] * 2, [0, 0, 1, 1] * 2, None, "perfect"),
    "one class": ([0, 1, 2, 3] * 2, [5] * 8, None, "perfect"),
    "no edge at once": ([0, 0, 1, 1] * 2, [0, 1, 0, 1] * 2, None, "no edge"),
    "no edge later": ([0] * 4 + [1] * 4, [0, 0, 0, 1, 1, 1, 1, 0], None, "no edge"),
    "hardly an error": ([0, 1, 2, 3, 0], [0, 0, 1, 1, 1], [1, 2, 3, 4, 1e-14], "n_estimators"),
    "an error below all floats": (
        [0, 1, 2, 3, 0],
        [0, 0, 1, 1, 1],
        [1.0, 2, 3, 4, 1e-100],
        "n_estimators",
    ),
}


@pytest.mark.parametrize("variant", ["discrete", "real", "gentle"])
@pytest.mark.parametrize("kind", STOPS)
def test_ends_as_in_memory(kind, variant):
    x, y, weight, reason = STOPS[kind]
    X, y = np.array(x, dtype=float)[:, None], np.array(y)
    weight = None if weight is None else np.array(weight)
    model = AdaBoostClassifier(n_estimators=3, variant=variant)
    expected = AdaBoostClassifier(n_estimators=3, variant=variant).fit(X, y, weight)
    lazily(model, (2, 0, len(y) - 2), X, y, weight)
    if variant == "discrete":
        assert model.stop_reason_ == reason
    assert_same_model(model, expected, X)


def unread(block):
    if len(block):
        raise AssertionError("rows were read")
    return block


class MyStump(DecisionStumpClassifier):
    pass


REFUSED = {
    "estimator: BinnedTreeClassifier": {"estimator": BinnedTreeClassifier(max_depth=1)},
    "estimator: MyStump": {"estimator": MyStump()},
    "resample": {"resample": True},
}


@pytest.mark.parametrize("message", REFUSED)
def test_parameters_that_need_all_rows_are_refused_before_any_is_read(message):
    X = da.zeros((20, 2), chunks=10).map_blocks(unread, dtype=float)
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier(**REFUSED[message]).fit(X, da.zeros(20, chunks=10, dtype=int))


def test_targets_that_are_no_classes_are_refused():
    X, y, _ = rows(2)
    with pytest.raises(ValueError, match=r"label type"):
        lazily(AdaBoostClassifier(), CHUNKS[0], X, y + 0.5 * X[:, 0] / 7)


class OddCallback:
    pass


def test_callbacks_are_refused_before_any_row_is_read():
    X = da.zeros((20, 2), chunks=10).map_blocks(unread, dtype=float)
    model = AdaBoostClassifier()
    model._skl_callbacks = [OddCallback()]
    with pytest.raises(ValueError, match="Callbacks"):
        model.fit(X, da.zeros(20, chunks=10, dtype=int))


def test_rows_are_read_twice_and_a_round_is_a_task_for_each_chunk_and_one_more():
    X, y, _ = rows(2)
    n_read, tasks = [], []

    def read(block):
        n_read.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(300, 4)).map_blocks(read, dtype=float, meta=X[:0])
    lazy_y = da.from_array(y, chunks=300)
    n_read.clear()
    counts = []
    for n_rounds in (3, 5, 7):
        tasks.clear()
        with Callback(pretask=lambda key, *_: tasks.append(key)):
            AdaBoostClassifier(n_estimators=n_rounds).fit(lazy, lazy_y)
        counts.append(len(tasks))
    assert sum(n_read) == 3 * 2 * len(X)
    n_chunks = 4
    assert max(np.diff(counts)) <= 2 * (n_chunks + 1)


def test_missing_values_are_refused_with_their_chunk_and_predicted_where_trees_take_them():
    X, y, _ = rows(2, n=200)
    X[::7, 0] = np.nan
    lazy = da.from_array(X, chunks=(50, X.shape[1]))
    with pytest.raises(ValueError, match=r"NaN.*\(in chunk "):
        AdaBoostClassifier().fit(lazy, da.from_array(y, chunks=50))
    model = AdaBoostClassifier(BinnedTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(lazy).compute(), model.predict_proba(X))
