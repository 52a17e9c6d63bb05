"""Votes and stacks of Dask collections: those in memory, with the same folds."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import PredefinedSplit

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    MatchingPursuitRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.combining import BestMember, WeightedMean
from tests.local_blocks import hashed_folds

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

LENGTHS = (1, 0, 200, 199)
REGRESSORS = [
    ("deep", GradientBoostingRegressor(n_estimators=3, random_state=0)),
    ("fast", GradientBoostingRegressor(n_estimators=5, learning_rate=0.5, random_state=0)),
    ("linear", MatchingPursuitRegressor(1)),
]
CLASSIFIERS = [
    ("trees", GradientBoostingClassifier(n_estimators=3, random_state=0)),
    ("few", GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0)),
    ("stumps", AdaBoostClassifier(n_estimators=4)),
]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n_classes=0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)).round(1)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(400)
    if n_classes:
        y = np.array(["z", "a", "m"])[np.digitize(y, [-0.5, 0.8][: n_classes - 1])]
    return X, y, rng.integers(0, 3, 400) * 1.0


def lazily(*arrays, lengths=LENGTHS):
    return [da.from_array(one, chunks=(lengths, *one.shape[1:])) for one in arrays]


def assert_same_predictions(model, expected, X):
    names = ["predict", "transform", "predict_proba"]
    for name in [name for name in names if hasattr(expected, name)]:
        found, known = (getattr(each, name)(X) for each in (model, expected))
        if known.dtype.kind == "U":
            np.testing.assert_array_equal(found, known)
        else:
            np.testing.assert_allclose(found, known, rtol=0, atol=1e-10)
    assert list(model.get_feature_names_out()) == list(expected.get_feature_names_out())
    assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        VotingRegressor(REGRESSORS),
        VotingRegressor(REGRESSORS, weights=[1, 2, 0.5]),
        VotingClassifier(CLASSIFIERS, weights=[1, 1, 1.5]),
        VotingClassifier(CLASSIFIERS, voting="soft"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_votes_are_those_of_memory(model, weighted):
    X, y, weight = rows(3 if isinstance(model, VotingClassifier) else 0)
    weights = (weight,) if weighted else ()
    expected = clone(model).fit(X, y, *weights)
    model = clone(model).fit(*lazily(X, y, *weights))
    assert_same_predictions(model, expected, X)
    lazy = model.predict(lazily(X)[0])
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))
    assert list(model.named_estimators_) == list(expected.named_estimators_)


RULES = [
    (0, ["nnls", "simplex", "l1", "l2", "uniform", "best", BestMember("absolute_error")]),
    (2, ["nnls", WeightedMean("l2", positive=False), "uniform", "best", BestMember("hinge")]),
    (3, ["l1", WeightedMean("simplex", loss="squared_error"), "simplex", "best"]),
    (2, ["simplex", WeightedMean("l2", loss="log_loss", radius=0.5)]),
]
RULES = [(n_classes, rule, True) for n_classes, rules in RULES for rule in rules]
RULES += [(0, "nnls", False), (2, "best", False), (3, "l2", False)]


@pytest.mark.parametrize(("n_classes", "rule", "weighted"), RULES, ids=str)
def test_stacks_are_those_of_memory_with_the_same_folds(n_classes, rule, weighted):
    X, y, weight = rows(n_classes)
    kept = weight > 0 if weighted else np.ones(len(y), dtype=bool)
    kind = StackingClassifier if n_classes else StackingRegressor
    members = CLASSIFIERS if n_classes else REGRESSORS
    folds = PredefinedSplit(hashed_folds(kept.sum(), 3))
    expected = kind(members, rule, cv=folds)
    expected.fit(X[kept], y[kept], weight[kept] if weighted else None)
    model = kind(members, rule, cv=3).fit(*lazily(X, y, *((weight,) if weighted else ())))
    assert_same_predictions(model, expected, X)
    np.testing.assert_allclose(
        model.estimator_weights_, expected.estimator_weights_, rtol=0, atol=1e-9
    )
    assert model.cv_results_.keys() == expected.cv_results_.keys()
    for name, values in expected.cv_results_.items():
        if name == "name":
            assert list(model.cv_results_[name]) == list(values)
        else:
            np.testing.assert_allclose(model.cv_results_[name], values, rtol=1e-9, atol=1e-12)
    assert hasattr(model, "kkt_violation_") == hasattr(expected, "kkt_violation_")
    if hasattr(model, "kkt_violation_"):
        assert model.kkt_violation_ < 1e-9
    if rule == "best":
        assert model.error_bound() == pytest.approx(expected.error_bound(), rel=1e-9)


def test_other_chunks_change_no_weight():
    X, y, weight = rows()
    models = [
        StackingRegressor(REGRESSORS, "nnls").fit(*lazily(X, y, weight, lengths=lengths))
        for lengths in (LENGTHS, (40,) * 10, (400,))
    ]
    for each in models[1:]:
        np.testing.assert_allclose(
            each.estimator_weights_, models[0].estimator_weights_, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(each.predict(X), models[0].predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-160, 1e140])
def test_targets_of_any_size(unit):
    X, y, _ = rows()
    model = StackingRegressor(REGRESSORS, "simplex")
    expected = clone(model).fit(*lazily(X, y)).estimator_weights_
    found = model.fit(*lazily(X, y * unit)).estimator_weights_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_frames_of_unknown_lengths_with_categories_in_a_stack_of_a_vote():
    X, y, weight = rows()
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        kind=pd.Categorical(np.where(y > 0, "x", "w")), y=y, weight=weight
    )
    lazy = dd.from_pandas(frame, npartitions=4)
    lazy, frame = lazy[lazy["a"] > -1], frame[frame["a"] > -1]
    options = {"max_iter": 3, "early_stopping": False, "random_state": 0}
    trees = HistGradientBoostingRegressor(**options)
    vote = VotingRegressor([("few", trees), ("small", clone(trees).set_params(max_leaf_nodes=3))])
    kept, names = frame[frame["weight"] > 0], [*"abc", "kind"]
    folds = PredefinedSplit(hashed_folds(len(kept), 5))
    members = [("vote", vote), ("trees", trees)]
    expected = StackingRegressor(members, "nnls", cv=folds)
    expected.fit(kept[names], kept["y"], kept["weight"])
    model = StackingRegressor(members, "nnls").fit(lazy[names], lazy["y"], lazy["weight"])
    found = model.predict(lazy[names]).compute()
    np.testing.assert_allclose(found, expected.predict(frame[names]), rtol=0, atol=1e-9)
    assert list(model.feature_names_in_) == names


@pytest.mark.parametrize(
    ("model", "kind", "text"),
    [
        (
            VotingRegressor([("a", REGRESSORS[0][1]), ("b", Ridge())]),
            TypeError,
            "member 'b', Ridge",
        ),
        (VotingRegressor(REGRESSORS, held_out=3), ValueError, "held_out=3"),
        (VotingClassifier(CLASSIFIERS, held_out="prefit"), ValueError, "held_out='prefit'"),
        (VotingClassifier(CLASSIFIERS, weights="tandem"), ValueError, "weights='tandem'"),
        (StackingRegressor(REGRESSORS), ValueError, 'final_estimator=None.*"best"'),
        (StackingRegressor(REGRESSORS, Ridge()), ValueError, "final_estimator=Ridge"),
        (StackingRegressor(REGRESSORS, "greedy"), ValueError, "GreedySelection.*Dask"),
        (StackingRegressor(REGRESSORS, BestMember("r2")), ValueError, "BestMember.*Dask"),
        (
            StackingClassifier(CLASSIFIERS, WeightedMean(loss="hinge")),
            ValueError,
            "loss='hinge'.*Dask.*squared error",
        ),
        (StackingRegressor(REGRESSORS, "nnls", cv="prefit"), ValueError, "cv must be an integer"),
        (StackingRegressor(REGRESSORS, "nnls", held_out="cv"), ValueError, "held_out='cv'"),
        (StackingRegressor(REGRESSORS, "nnls", reuse_fits=True), ValueError, "reuse_fits=True"),
        (StackingRegressor([("a", Ridge())], "nnls"), TypeError, "'a', Ridge, needs all rows"),
        (
            StackingRegressor(REGRESSORS, WeightedMean(prior_rows=2)),
            ValueError,
            r"prior_rows=2.*Dask",
        ),
    ],
    ids=str,
)
def test_what_needs_all_rows_is_refused_before_they_are_read(model, kind, text):
    X, y, _ = rows(3 if hasattr(model, "predict_proba") else 0)

    def refuse(block):
        assert not len(block), "rows were read"
        return block

    X, y = lazily(X, y)
    X = X.map_blocks(refuse, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(kind, match=text):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


def test_errors_name_the_member_and_the_split_and_leave_the_model():
    X, y, _ = rows(2)
    model = StackingClassifier(CLASSIFIERS, "nnls").fit(*lazily(X, y))
    expected = model.predict(X)
    rare = np.where(np.arange(len(y)) == 7, "rare", "usual")
    with pytest.raises(ValueError, match=r"'trees' failed in split \d of cv: y has 1 class"):
        model.fit(*lazily(X, rare))
    odd = X.copy()
    odd[399, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*in chunk 3 of the rows"):
        model.fit(*lazily(odd, y))
    with pytest.raises(ValueError, match=r"in chunk 2 of the rows"):
        model.fit(*lazily(X, np.where(np.arange(len(y)) == 9, np.nan, 1.0)))
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("kind", [VotingRegressor, StackingRegressor])
def test_members_get_weights_that_they_request(kind):
    X, y, weight = rows()
    one, two = MatchingPursuitRegressor(1), MatchingPursuitRegressor(2)
    model = kind([("one", one), ("two", two)], *([] if kind is VotingRegressor else ["nnls"]))
    expected = clone(model).fit(*lazily(X, y, weight))
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            model.fit(*lazily(X, y, weight))
        one.set_fit_request(sample_weight=True)
        two.set_fit_request(sample_weight=False)
        with pytest.raises(ValueError, match="'two' does not request sample_weight"):
            model.fit(*lazily(X, y, weight))
        two.set_fit_request(sample_weight=True)
        model.fit(*lazily(X, y, weight))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
