"""Methods of fitted models, and scores, for Dask collections: chunk by chunk, as in memory."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score

from sklearn_ensemble_theory import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    HistogramRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomProjectionRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..estimators import estimator_classes, make

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 90
LENGTHS = (20, 0, 70)
FOREST = {"n_estimators": 20, "random_state": 0}
MEMBERS = [("a", Ridge()), ("b", BinnedTreeRegressor(max_depth=2))]
CLASSIFIERS = [("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))]


def rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((N, 3)), columns=list("abc"))
    y = frame["a"] + rng.standard_normal(N) / 2
    return frame, y.to_numpy(), np.digitize(y, norm.ppf([0.4, 0.7], scale=1.1))


def collections(frame):
    """The rows as an array and as a data frame of Dask."""
    array = da.from_array(frame.to_numpy(), chunks=(LENGTHS, 1))
    return array, dd.from_pandas(frame, npartitions=4)


CASES = {
    "forest": (
        RandomForestRegressor(**FOREST),
        ("apply", "predict_interval", "predict_quantiles", "standard_error"),
    ),
    "forest of classes": (
        RandomForestClassifier(**FOREST),
        ("apply", "predict_set", "standard_error"),
    ),
    "bagging": (BaggingClassifier(**FOREST), ("predict_set", "standard_error")),
    "boosting": (
        GradientBoostingRegressor(n_estimators=5, held_out=3),
        ("apply", "confidence_interval", "predict_interval", "predict_quantiles", "standard_error"),
    ),
    "boosting of three classes": (
        GradientBoostingClassifier(n_estimators=5, held_out=3),
        ("apply", "confidence_interval", "predict_set", "standard_error"),
    ),
    "boosting on bins": (HistGradientBoostingRegressor(max_iter=5), ("apply",)),
    "additive": (L2BoostingRegressor(5, held_out=3), ("predict_interval", "predict_terms")),
    "additive of three classes": (
        LogitBoostClassifier(5, held_out=3),
        ("predict_set", "predict_terms"),
    ),
    "histogram": (HistogramRegressor(), ("apply",)),
    "tree": (BinnedTreeRegressor(max_depth=3), ("apply",)),
    "stack": (StackingRegressor(MEMBERS, held_out="cv"), ("predict_interval", "transform")),
    "vote": (VotingRegressor(MEMBERS, held_out=3), ("predict_interval", "transform")),
    "vote of classes": (
        VotingClassifier(CLASSIFIERS, voting="soft", held_out=3),
        ("predict_set", "transform"),
    ),
    "vote of labels": (VotingClassifier(CLASSIFIERS), ("transform",)),
}


@pytest.mark.filterwarnings("ignore:Monte Carlo noise")
@pytest.mark.parametrize("case", CASES)
def test_methods_are_lazy_and_those_of_memory(case):
    model, names = CASES[case]
    frame, y, labels = rows()
    target = labels if is_classifier(model) else y
    in_array, in_frame = collections(frame)
    for X, lazy in ((frame.to_numpy(), in_array), (frame, in_frame)):
        model.fit(X, target)
        for name in names:
            expected, found = getattr(model, name)(X), getattr(model, name)(lazy)
            assert isinstance(found, da.Array)
            assert (found.ndim, found.dtype) == (expected.ndim, expected.dtype)
            assert found.shape[1:] == expected.shape[1:]
            # Products of matrices, in linear members, depend on the number of rows.
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-12)
            if lazy is in_array:  # one chunk alone, whatever the others are
                assert found.chunks[0] == LENGTHS
                own = found.blocks[2].compute()
                np.testing.assert_allclose(own, expected[20:], rtol=1e-12, atol=1e-12)


def test_no_row_is_read_before_the_result_is_computed():
    frame, y, _ = rows()
    X = frame.to_numpy()
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(30, 3)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    model = RandomForestRegressor(**FOREST).fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        found = [model.apply(lazy), model.predict_interval(lazy), model.standard_error(lazy)]
        assert not reads
        found[0].blocks[1].compute()
    assert reads == [30]


@pytest.mark.parametrize("name", ["predict", "predict_quantiles", "apply"])
@pytest.mark.parametrize("filtered", [False, True])
def test_data_frames_of_delayed_objects(name, filtered):
    frame, y, _ = rows()
    parts = [frame[:50], frame[50:50], frame[50:]]
    lazy = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0])
    if filtered:
        frame, lazy = frame[frame["a"] > 0], lazy[lazy["a"] > 0]
    model = RandomForestRegressor(**FOREST).fit(rows()[0], y)
    args = ([0.2, 0.8],) if name == "predict_quantiles" else ()
    found = getattr(model, name)(lazy, *args)
    expected = getattr(model, name)(frame, *args)
    np.testing.assert_array_equal(found.compute(), expected)
    both = dask.compute(found + 1, found.sum(axis=0))
    np.testing.assert_array_equal(both[0], expected + 1)
    np.testing.assert_allclose(both[1], expected.sum(axis=0))


def test_arguments_and_what_has_a_value_for_each_row():
    frame, y, _ = rows()
    X = frame.to_numpy()
    lazy, _ = collections(frame)
    forest = RandomForestRegressor(**FOREST).fit(X, y)
    for params in ({"coverage": 0.5, "side": "upper"}, {"by": 1}, {"method": "normalized"}):
        if params.get("by"):
            params = {"by": lambda rows: rows[:, 1] > 0, "coverage": 0.5}
        found = forest.predict_interval(lazy, **params).compute()
        np.testing.assert_array_equal(found, forest.predict_interval(X, **params))
    assert forest.predict_quantiles(lazy, 0.5).shape == (N,)
    strata = (X[:, 1] > 0, X[:, 1] > 0)
    for args in ((0.5, "jackknife+", "both", strata), ()):
        with pytest.raises(ValueError, match=r"by is of rows in memory.*chunk by chunk"):
            forest.predict_interval(lazy, *args, **({} if args else {"by": strata}))
    model = GradientBoostingRegressor(n_estimators=3, held_out=3).fit(X, y, offset=np.ones(N))
    with pytest.raises(ValueError, match="offset is of rows in memory"):
        model.predict_interval(lazy, offset=np.ones(N))
    found = model.predict_interval(lazy, offset=1.0).compute()
    np.testing.assert_array_equal(found, model.predict_interval(X, offset=np.ones(N)))


def test_probabilities_of_several_outputs_are_a_list_of_lazy_arrays():
    frame, _, labels = rows()
    y = np.column_stack([labels, labels > 0])
    forest = RandomForestClassifier(**FOREST).fit(frame, y)
    for lazy in collections(frame)[1:]:
        for name in ("predict_proba", "predict_log_proba"):
            found, expected = getattr(forest, name)(lazy), getattr(forest, name)(frame)
            assert len(found) == 2
            for one, other in zip(found, expected):
                assert isinstance(one, da.Array)
                np.testing.assert_array_equal(one.compute(), other)
        np.testing.assert_array_equal(forest.predict(lazy).compute(), forest.predict(frame))
        target = dd.from_pandas(pd.DataFrame(y.astype(int)), npartitions=4)
        assert forest.score(lazy, target) == pytest.approx(forest.score(frame, y), abs=1e-15)


def test_rows_as_the_second_axis_are_refused():
    frame, _, labels = rows()
    vote = VotingClassifier(CLASSIFIERS, voting="soft", flatten_transform=False)
    with pytest.raises(ValueError, match="flatten_transform=True"):
        vote.fit(frame, labels).transform(collections(frame)[1])


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)
def test_scores_are_those_of_memory(cls):
    frame, y, _ = rows()
    if cls.__name__ == "SmoothingSplineRegressor":
        frame = frame[["a"]]
    model = make(cls)
    X, y = frame.to_numpy(), (y > 0).astype(int) if is_classifier(model) else y
    model.fit(X, y)
    weight = np.arange(N) % 4 + 0.5
    lazy = [da.from_array(one, chunks=(LENGTHS, *one.shape[1:])) for one in (X, y, weight)]
    assert model.score(*lazy[:2]) == pytest.approx(model.score(X, y), rel=1e-12, abs=1e-12)
    expected = model.score(X, y, weight)
    assert model.score(*lazy) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert model.score(*lazy[:2], weight) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_scores_of_data_frames_read_them_once():
    frame, y, labels = rows()
    table = frame.assign(y=y, label=labels, weight=np.arange(N) % 3)
    reads = []

    def read(part):
        reads.append(len(part))
        return part

    lazy = dd.from_pandas(table, npartitions=4)
    lazy = lazy.map_partitions(read, meta=lazy._meta)
    predicted = L2BoostingRegressor(20).fit(frame, y)
    classified = LogitBoostClassifier(20).fit(frame, labels)
    with dask.config.set(scheduler="synchronous"):
        found = predicted.score(lazy[list("abc")], lazy["y"], lazy["weight"])
        assert sum(reads) == N
        other = classified.score(lazy[list("abc")], lazy["label"])
    expected = r2_score(y, predicted.predict(frame), sample_weight=table["weight"])
    assert found == pytest.approx(expected, rel=1e-12)
    assert other == pytest.approx(accuracy_score(labels, classified.predict(frame)), abs=1e-15)


@pytest.mark.parametrize("unit", [1.0, 1e-170, 1e200])
def test_r2_by_chunks_in_any_unit_and_far_from_zero(unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    y = unit * (1e6 + X @ [[1.0, 0.0], [1.0, 2.0]] + rng.standard_normal((N, 2)))
    model = RandomForestRegressor(**FOREST).fit(X, y)
    lazy = [da.from_array(one, chunks=(LENGTHS, 2)) for one in (X, y)]
    found, expected = model.score(*lazy), model.score(X, y)
    assert 0.5 < expected < 1
    # Rounding: numbers of size 10^6 beside a spread of 1.
    assert found == pytest.approx(expected, abs=1e-8)


def test_targets_without_spread_and_single_rows():
    X, one = np.arange(8.0).reshape(-1, 1), da.ones(8, chunks=4)
    lazy = da.from_array(X, chunks=(4, 1))
    model = HistogramRegressor().fit(X, np.ones(8))
    assert model.score(lazy, one) == 1.0
    assert model.score(lazy, one + 1) == 0.0
    with pytest.warns(UserWarning, match="fewer than two rows"):
        assert np.isnan(model.score(lazy[:1], one[:1]))


def test_what_a_score_cannot_read_names_the_chunk():
    frame, y, _ = rows()
    lazy, _ = collections(frame)
    model = ExtraTreesRegressor(**FOREST).fit(frame.to_numpy(), y)
    target = da.from_array(np.where(np.arange(N) == 50, np.nan, y), chunks=(LENGTHS,))
    with pytest.raises(ValueError, match=r"y contains NaN.*in chunk 2"):
        model.score(lazy, target)
    with pytest.raises(ValueError, match=r"must be cut|X has 90 rows, but y has 60"):
        model.score(lazy, target[:60])
    with pytest.raises(ValueError, match="no rows of positive weight"):
        model.score(lazy, target, da.zeros(N, chunks=(LENGTHS,)))
    with pytest.raises(ValueError, match="offset is of rows in memory"):
        GradientBoostingRegressor(n_estimators=2).fit(frame, y).score(lazy, y, offset=np.ones(N))


@pytest.mark.parametrize("name", ["predict", "predict_interval", "confidence_interval", "apply"])
def test_errors_of_lazy_results_name_the_chunk(name):
    frame, y, labels = rows()
    boosting = GradientBoostingClassifier(n_estimators=2, held_out=3)
    forest = RandomForestRegressor(**FOREST, max_bins=None)
    model = boosting if name == "confidence_interval" else forest
    model.fit(frame, labels if model is boosting else y)
    frame.loc[70, "a"] = np.inf
    lazy = dd.from_pandas(frame, npartitions=3)
    number = next(k for k in range(3) if len(lazy.partitions[k].query("a > 1e9")))
    found = getattr(model, name)(lazy)
    with pytest.raises(ValueError, match=rf"infinity.*in chunk {number} of the rows"):
        found.compute()
    model.fit(frame.fillna(0).clip(-9, 9).to_numpy(), labels if model is boosting else y)
    in_array = da.from_array(frame.to_numpy(), chunks=(LENGTHS, 3))
    with pytest.raises(ValueError, match=r"infinity.*in chunk 2 of the rows"):
        getattr(model, name)(in_array).compute()


def test_draws_of_projections_read_rows_in_memory():
    frame, _, _ = rows()
    with pytest.raises(TypeError, match=r"Dask collection; call .compute"):
        RandomProjectionRegressor().expected_projection(collections(frame)[0])


def test_staged_predictions_and_distributions_need_rows_in_memory():
    frame, y, _ = rows()
    lazy, _ = collections(frame)
    model = GradientBoostingRegressor(n_estimators=3, held_out=3).fit(frame.to_numpy(), y)
    with pytest.raises(TypeError, match="in memory"):
        next(iter(model.staged_predict(lazy)))
    with pytest.raises(TypeError, match="in memory"):
        model.predict_distribution(lazy)
