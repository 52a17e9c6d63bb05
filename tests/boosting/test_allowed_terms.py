"""`exclude` against fits without the columns, and against all pairs one by one."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._additive.additive_plan import allowed_terms

from ..local_blocks import rows_in_blocks
from .test_additive_edits import rows

X, Y, CLASSES = rows()
NEW = rows(n=60, seed=1)[0]
FAST = {"learning_rate": 0.1, "max_bins": 10}
REGRESSOR = L2BoostingRegressor(50, **FAST)
NAMES = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize("exclude", [None, ["a"], [("a", "b"), ("d", "c"), 4], ["b", ("a", "d")]])
def test_terms_by_their_definition(exclude):
    found = allowed_terms(exclude, Features(5, NAMES))

    def names(given):
        given = [NAMES[one] if isinstance(one, int) else one for one in given]
        mains = {one for one in given if isinstance(one, str)}
        return mains, {frozenset(one) for one in given if not isinstance(one, str)}

    without, without_pairs = names(exclude or [])
    fitted = {*NAMES} - without
    assert {NAMES[j] for j in np.flatnonzero(found.features)} == fitted
    allowed = []
    for i, j in combinations(range(5), 2):
        pair = frozenset((NAMES[i], NAMES[j]))
        if not pair & without and pair not in without_pairs:
            allowed.append((i, j))
    assert found.pairs() == allowed
    assert found.n_pairs() == len(allowed)
    assert [pair for pair in combinations(range(5), 2) if found.allows(pair)] == allowed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["x"], "has the name 'x', which is no feature of X"),
        ([0, 7], "has the index 7, but X has 4 features"),
        ([-1], "has the index -1"),
        ([1.5], "has 1.5, which is no feature"),
        ([True], "has True, which is no feature"),
        ([("a", "x")], "has the name 'x'"),
        (["b", ("a",)], r"\[1\] must be a feature or a pair of two; got \('a',\)"),
        ([("a", "a")], r"\[0\] must be a feature or a pair"),
        ([("a", "b", "c")], r"\[0\] must be a feature or a pair"),
        ("a", "must be"),
        (3, "must be"),
    ],
)
def test_what_is_no_term(given, message):
    for model in (L2BoostingRegressor(5), LogitBoostClassifier(5)):
        with pytest.raises((ValueError, TypeError), match=f"exclude.*{message}"):
            model.set_params(exclude=given).fit(X, CLASSES)
        assert not hasattr(model, "shape_functions_")


def test_names_without_a_frame():
    with pytest.raises(ValueError, match="exclude has names, but X has no feature names"):
        L2BoostingRegressor(5, exclude=["a"]).fit(X[["a", "b"]].to_numpy(), Y)


MODELS = {
    "a number of rounds": REGRESSOR,
    "smoothing rounds": L2BoostingRegressor(CVRounds(max_estimators=60), **FAST),
    "given smoothing rounds": L2BoostingRegressor(20, smoothing_rounds=5, **FAST),
    "pairs": L2BoostingRegressor(30, interactions=2, **FAST),
    "significant pairs": L2BoostingRegressor(30, interactions="auto", **FAST),
    "pairs by features": L2BoostingRegressor(30, interactions=0.5, **FAST),
    "constraints": L2BoostingRegressor(30, monotonic_cst={"c": 1}, interactions=1, **FAST),
    "absolute error": AdditiveBoostingRegressor(
        loss="absolute_error", n_estimators=20, interactions=1, **FAST
    ),
    "two classes": LogitBoostClassifier(20, interactions=1, **FAST),
    "three classes": LogitBoostClassifier(CVRounds(max_estimators=30), interactions=1, **FAST),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["a", "b", "kind"])
def test_excluded_features_are_as_if_they_were_not_there(kind, name):
    model = MODELS[kind]
    y = Y
    if isinstance(model, LogitBoostClassifier):
        y = CLASSES if kind == "three classes" else CLASSES > 0
    rest = [each for each in X.columns if each != name]
    without = model.fit(X[rest], y)
    expected = without._scores(NEW[rest])
    terms = [name for name, size in zip(without.term_names_, without.term_importances_) if size]
    found = clone(model).set_params(exclude=[name]).fit(X, y)
    np.testing.assert_array_equal(found._scores(NEW), expected)
    sizes = zip(found.term_names_, found.term_importances_)
    assert [term for term, size in sizes if size] == terms
    j = list(X.columns).index(name)
    assert found.term_names_[j] == name
    assert found.shape_functions_[j][1].shape[0] == 1
    assert not found.missing_bins_[j]
    assert found.categories_[j] is None


def test_refined_bins():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (10_000, 3))
    y = np.sign(X[:, 0]) + X[:, 1] + 3 * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    model = L2BoostingRegressor(CVRounds(3, max_estimators=20), learning_rate=0.1)
    without = model.fit(X[:, :2], y).predict(X[:100, :2])
    edges = model.bin_edges_
    model = model.set_params(exclude=[2]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X[:100]), without)
    assert all(np.array_equal(a, b) for a, b in zip(model.bin_edges_[:2], edges))
    assert len(model.bin_edges_[2]) == 0


def test_excluded_pairs_are_not_looked_for():
    model = L2BoostingRegressor(30, interactions=1, **FAST).fit(X, Y)
    assert model.term_names_[4:] == ["a & b"]
    second = model.set_params(exclude=[("b", "a")]).fit(X, Y).term_names_[4:]
    assert second
    assert second != ["a & b"]
    assert model.set_params(interactions=99).fit(X, Y).term_names_[4:] != []
    assert len(model.term_names_) == 4 + 5
    # a list of pairs is shortened
    pairs = [("a", "b"), ("b", "c"), ("c", "kind")]
    model = L2BoostingRegressor(30, interactions=pairs, exclude=["kind", (0, 1)], **FAST)
    assert model.fit(X, Y).term_names_[4:] == ["b & c"]


def test_nothing_is_left():
    for model in (L2BoostingRegressor(5), L2BoostingRegressor("cv")):
        model.set_params(exclude=list(X.columns)).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), Y.mean())
        assert not model.feature_importances_.any()
    model = LogitBoostClassifier(5, exclude=list(X.columns), interactions=2).fit(X, CLASSES)
    shares = np.bincount(CLASSES) / len(CLASSES)
    np.testing.assert_allclose(model.predict_proba(NEW), np.tile(shares, (len(NEW), 1)), rtol=1e-3)


def test_chunks():
    for model, y, more in (
        (REGRESSOR, Y, {}),
        (LogitBoostClassifier(20, **FAST), CLASSES, {"classes": [0, 1, 2]}),
    ):
        found, without = (clone(model) for _ in range(2))
        found.set_params(exclude=["b", "kind"])
        for part in (slice(150), slice(150, None)):
            found.partial_fit(X[part], y[part], **more)
            without.partial_fit(X[["a", "c"]][part], y[part], **more)
        np.testing.assert_array_equal(found._scores(NEW), without._scores(NEW[["a", "c"]]))
        with pytest.raises(ValueError, match="exclude and include must leave out the same"):
            found.set_params(exclude=["b"]).partial_fit(X, y)


@pytest.mark.parametrize("interactions", [0, 1])
def test_rows_in_blocks(interactions):
    values, cuts = X[["a", "b", "c"]].to_numpy(), [100, 180]
    for model, y in (
        (L2BoostingRegressor(20, interactions=interactions, **FAST), Y),
        (LogitBoostClassifier(10, interactions=interactions, **FAST), CLASSES > 0),
    ):
        is_classifier = isinstance(model, LogitBoostClassifier)
        found, without = (clone(model) for _ in range(2))
        found.set_params(exclude=[1])
        for one, columns in ((found, [0, 1, 2]), (without, [0, 2])):
            one.n_features_in_ = len(columns)
            given = values[:, columns]
            one._fit_chunks(rows_in_blocks(given, y, cuts=cuts, is_classifier=is_classifier))
        new = NEW[["a", "b", "c"]].to_numpy()
        np.testing.assert_allclose(found._scores(new), without._scores(new[:, [0, 2]]))
        assert len(found.term_names_) == 3 + interactions
