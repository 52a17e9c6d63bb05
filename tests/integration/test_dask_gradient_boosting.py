"""Gradient boosting of Dask collections: the model of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting.steps import NewtonStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor
from tests.boosting.gradient_boosting_data import assert_same_rounds
from tests.local_blocks import hashed_folds

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

CHUNKS = {"even": (250,) * 4, "uneven": (1, 0, 700, 299)}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n=1000):
    """Rows with missing values in the last ones only."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    X[n // 2 :, 1][rng.random(n - n // 2) < 0.3] = np.nan
    return X, signal + 0.3 * rng.standard_normal(n)


def lazily(chunks, *arrays):
    cut = [
        None if a is None else da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:]))
        for a in arrays
    ]
    return cut


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie", "binomial"])
def test_regression_in_memory(chunks, weights, loss):
    X, y = rows()
    y = y if loss == "squared_error" else np.exp(y)
    y = y.round() if loss in ("poisson", "tweedie") else y
    y = np.minimum(y, 4) / 4 if loss == "binomial" else y
    rng = np.random.default_rng(1)
    kinds = {"none": None, "whole": rng.integers(0, 3, len(y)) * 1.0, "real": rng.random(len(y))}
    weight = kinds[weights]
    model = GradientBoostingRegressor(loss=loss, n_estimators=5, max_bins=32, random_state=0)
    expected = GradientBoostingRegressor(**model.get_params()).fit(X, y, weight)
    X_lazy, y_lazy, weight_lazy = lazily(chunks, X, y, weight)
    assert_same_rounds(model.fit(X_lazy, y_lazy, weight_lazy), expected)
    lazy = model.predict(X_lazy)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), expected.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_of_which_chunks_miss_some(chunks, n_classes, weighted):
    X, y = rows()
    names = np.array(["b", "a", "c"])
    labels = names[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    labels[:250] = "a"
    weight = np.random.default_rng(1).integers(1, 3, len(y)) * 1.0 if weighted else None
    model = GradientBoostingClassifier(n_estimators=4, max_bins=32, random_state=0)
    expected = GradientBoostingClassifier(**model.get_params()).fit(X, labels, weight)
    X_lazy, y_lazy, weight_lazy = lazily(chunks, X, labels, weight)
    assert_same_rounds(model.fit(X_lazy, y_lazy, weight_lazy), expected)
    assert model.classes_.tolist() == sorted(names[:n_classes])
    proba = model.predict_proba(X_lazy).compute()
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        model.init_.predict_proba(X[:1]), expected.init_.predict_proba(X[:1]), atol=1e-12
    )


def test_data_frames_of_unknown_lengths():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy = dd.from_pandas(frame, npartitions=3)
    target = dd.from_pandas(pd.Series(y > 0), npartitions=3)
    model = GradientBoostingClassifier(n_estimators=3, max_bins=32, random_state=0)
    expected = GradientBoostingClassifier(**model.get_params()).fit(frame, y > 0)
    assert_same_rounds(model.fit(lazy, target), expected)
    assert list(model.feature_names_in_) == list("abcd")
    arrays = lazy.to_dask_array(), target.to_dask_array()
    assert_same_rounds(GradientBoostingClassifier(**model.get_params()).fit(*arrays), expected)


@pytest.mark.parametrize("prediction", ["refit", "mean"])
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_rounds_by_cross_validation(kind, prediction):
    """Of arrays, and of data frames of unknown lengths; folds are a hash of the row's number."""
    X, y = rows()
    y = y > 0 if kind is GradientBoostingClassifier else y
    weight = np.random.default_rng(1).integers(1, 3, len(y)) * 1.0
    rounds = CVRounds(3, max_estimators=15, prediction=prediction)
    model = kind(n_estimators=rounds, random_state=0, max_bins=32)
    fold = hashed_folds(len(y), 3)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    X = np.nan_to_num(X).round(1).clip(-1, 1)  # all parts have the same values
    expected = clone(model).set_params(n_estimators__cv=splits).fit(X, y, weight)
    frame, target = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame({"y": y, "w": weight})
    lazy = dd.from_pandas(frame, npartitions=3)
    columns = dd.from_pandas(target, npartitions=3)
    for given in (lazily("uneven", X, y, weight), (lazy, columns["y"], columns["w"])):
        assert model.fit(*given).n_estimators_ == expected.n_estimators_
        scores, others = model.cv_results_["mean_score"], expected.cv_results_["mean_score"]
        np.testing.assert_allclose(scores, others, rtol=1e-10)
        assert_same_rounds(model, expected)
    with pytest.raises(TypeError, match="takes no groups with Dask collections"):
        model.fit(*lazily("even", X, y), groups=np.arange(len(y)))
    with pytest.raises(ValueError, match="cv must be an integer of at least 2 for rows in chunks"):
        model.set_params(n_estimators__cv=KFold(3)).fit(*lazily("even", X, y))
    assert len(model.cv_results_["mean_score"]) <= 15  # of the last fit that has succeeded


def test_constraints_by_name():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy, target = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    cst = {"monotonic_cst": {"a": 1, "b": -1}, "interaction_cst": [["a", "b"], ["c", "d"]]}
    model = GradientBoostingRegressor(n_estimators=3, max_bins=32, random_state=0, **cst)
    expected = GradientBoostingRegressor(**model.get_params()).fit(frame, y)
    assert_same_rounds(model.fit(lazy, target), expected)
    for wrong, message in [
        ({"monotonic_cst": {"z": 1}}, "monotonic_cst has the name 'z'"),
        ({"interaction_cst": [[7]]}, "interaction_cst has the index 7"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.set_params(**wrong).fit(lazy, target)
        model.set_params(**cst)
    labels = target.map_partitions(lambda part: (part * 2).round().clip(-1, 1).astype(int))
    with pytest.raises(ValueError, match="two classes only"):
        GradientBoostingClassifier(monotonic_cst={"a": 1}).fit(lazy, labels)


def test_converted_to_scikit_learn():
    X, y = rows()
    X = np.nan_to_num(X).astype(np.float32)
    model = GradientBoostingRegressor(n_estimators=4, random_state=0)
    model.fit(*lazily("even", X, y))
    np.testing.assert_allclose(export.sklearn(model).predict(X), model.predict(X), rtol=1e-10)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"scoring": "r2", "n_iter_no_change": 3},
        {"held_out": 5},
        {"n_estimators": CVRounds(scoring="r2")},
        {"n_estimators": CVRounds([([0, 1], [2, 3])])},
        {"step": "line_search"},
        {"step": NewtonStep(line_search=True)},
        {"ccp_alpha": 0.1},
        {"max_bins": None},
        {"max_depth": None},
        {"max_depth": 9},
        {"max_leaf_nodes": 1000},
        {"estimator": BinnedTreeRegressor(min_weight_leaf=2.0)},
        {"estimator": BinnedTreeRegressor(features_per_tree=2)},
        {"loss": "huber"},
        {"init": GradientBoostingRegressor()},
        {"estimator": GradientBoostingRegressor()},
    ],
    ids=lambda p: "-".join(p),
)
def test_what_needs_all_rows_is_refused_by_name(parameters):
    lazy = da.zeros((10, 3), chunks=5), da.zeros(10, chunks=5)
    model = GradientBoostingRegressor(**parameters)
    name = {"n_estimators": "scoring|cv must be"}.get(*[next(iter(parameters))] * 2)
    with pytest.raises(ValueError, match=name):
        model.fit(*lazy)
    assert not hasattr(model, "estimators_")


def test_errors_of_the_rows():
    X, y = lazily("even", *rows())
    with pytest.raises(ValueError, match="1 class"):
        GradientBoostingClassifier().fit(X, y * 0 > 1)
    with pytest.raises(ValueError, match="non-negative"):
        GradientBoostingRegressor(loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match="squared"):
        GradientBoostingRegressor().fit(X, y * 1e200)
    with pytest.raises(TypeError, match="monitor"):
        GradientBoostingRegressor().fit(X, y, monitor=print)


def test_columns_that_only_double_precision_tells_apart():
    X, y = rows()
    X = np.column_stack([1.7e9 + np.arange(len(X)) // 7, X])
    y = y + 3 * np.sin(np.arange(len(X)) / 70)
    expected = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(*lazily("even", X, y))
    assert_same_rounds(model, expected)
    assert model.estimators_[0, 0].tree_.wide.tolist() == [0]
    np.testing.assert_allclose(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("by_dtype", [True, False])
def test_data_frames_with_categories(by_dtype):
    """By dtype and by name, as in memory."""
    X, y = rows(600)
    text = np.array([*"abcdefgh"])[np.random.default_rng(0).integers(0, 8, 600)]
    frame = pd.DataFrame({"kind": text, "x": X[:, 0]})
    frame["kind"] = frame["kind"].astype("category" if by_dtype else object)
    y = pd.Series(y + 2.0 * np.isin(text, [*"adg"]))
    given = {} if by_dtype else {"categorical_features": ["kind"]}
    model = GradientBoostingRegressor(n_estimators=5, random_state=0, **given)
    expected = GradientBoostingRegressor(**model.get_params()).fit(frame, y)
    lazy = dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=3)
    model.fit(*lazy)
    assert_same_rounds(model, expected)
    assert model.categories_[0].tolist() == [*"abcdefgh"]
    np.testing.assert_allclose(model.predict(lazy[0]).compute(), expected.predict(frame))
    # Nothing of the encoder is left after a fit to numbers.
    model.set_params(categorical_features=None).fit(lazy[0].assign(kind=1.0), lazy[1])
    assert model.categories_ == [None, None]


@pytest.mark.parametrize("way", ["one_tree", "separate"])
def test_several_targets_are_refused_by_name(way):
    X, y = rows()
    X, Y = lazily("even", X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y has 2 columns, and only one is fitted from Dask"):
        GradientBoostingRegressor(multi_output=way).fit(X, Y)


def test_offsets_are_of_rows_in_memory():
    X, y = rows(100)
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y, offset=y)
    lazy = da.from_array(X, chunks=(50, -1))
    with pytest.raises(ValueError, match="offset is of rows in memory"):
        model.predict(lazy, y)
    np.testing.assert_array_equal(model.predict(lazy, offset=0).compute(), model.predict(X, 0))
    with pytest.warns(UserWarning, match="was fitted with an offset"):
        model.predict(lazy)


def validation(of_classes=False):
    rng = np.random.default_rng(7)
    X, y = rows(300)
    return X, y > 0.2 if of_classes else y, rng.integers(0, 3, 300) * 1.0


FOLLOWED = {
    "histories": GradientBoostingRegressor(n_estimators=8, random_state=0, learning_rate=1.0),
    "best": GradientBoostingRegressor(n_iter_no_change=3, random_state=0, learning_rate=1.0),
    "histogram": HistGradientBoostingRegressor(learning_rate=1.0, n_iter_no_change=2),
    "classes": HistGradientBoostingClassifier(learning_rate=1.0, early_stopping=True),
}


@pytest.mark.parametrize("chunked", [True, False], ids=["chunks", "memory"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", ""])
@pytest.mark.parametrize("name", FOLLOWED)
def test_validation_rows(name, weighted, chunked):
    """The rounds, where they end and the histories are those of memory."""
    model, of_classes = clone(FOLLOWED[name]), name == "classes"
    X, y = rows()
    y = y > 0.2 if of_classes else y
    others = dict(zip(("X_val", "y_val", "sample_weight_val"), validation(of_classes)))
    if not weighted:
        del others["sample_weight_val"]
    expected = clone(model).fit(X, y, **others)
    if chunked:
        cut = {"X_val": (100, 0, 200), "y_val": (100, 0, 200), "sample_weight_val": (100, 0, 200)}
        for key, one in others.items():
            others[key] = da.from_array(one, chunks=(cut[key], *one.shape[1:]))
    assert_same_rounds(model.fit(*lazily("uneven", X, y), **others), expected)
    for attribute in ("validation_scores_", "validation_score_", "train_score_"):
        if hasattr(expected, attribute):
            pair = [getattr(one, attribute) for one in (model, expected)]
            np.testing.assert_allclose(*pair, rtol=1e-10)
    assert model.stop_reason_ == expected.stop_reason_
    assert name == "histories" or len(model.estimators_) < 100


def test_validation_rows_that_do_not_fit():
    X, y = rows()
    X_val, y_val, _ = validation()
    lazy, model = lazily("even", X, y), GradientBoostingRegressor(n_estimators=2)
    with pytest.raises(ValueError, match="X_val is provided, but y_val was not provided"):
        model.fit(*lazy, X_val=X_val)
    with pytest.raises(ValueError, match="X_val: X has 2 features"):
        model.fit(*lazy, X_val=X_val[:, :2], y_val=y_val)
    with pytest.raises(ValueError, match=r"X_val and y_val: .*NaN"):
        model.fit(*lazy, X_val=X_val, y_val=y_val * np.nan)
    with pytest.raises(ValueError, match='cannot be used with n_estimators="cv"'):
        GradientBoostingRegressor(n_estimators="cv").fit(*lazy, X_val=X_val, y_val=y_val)
    classes = lazy[0], lazy[1] > 0
    with pytest.raises(ValueError, match="y_val has classes that are not in y"):
        GradientBoostingClassifier().fit(*classes, X_val=X_val, y_val=np.arange(300) % 3)
    never = HistGradientBoostingRegressor(early_stopping=False)
    with pytest.raises(ValueError, match="early_stopping is False"):
        never.fit(*lazy, X_val=X_val, y_val=y_val)
    with pytest.raises(TypeError, match="takes no offset_val with Dask collections"):
        model.fit(*lazy, X_val=X_val, y_val=y_val, offset_val=y_val)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frames = dd.from_pandas(frame, npartitions=2), dd.from_pandas(pd.Series(y), npartitions=2)
    with pytest.raises(ValueError, match="X_val: The feature names should match"):
        model.fit(*frames, X_val=frame[list("abdc")], y_val=y)
    assert not hasattr(model, "estimators_")
