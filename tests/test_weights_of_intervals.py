"""Intervals and sets after weights of the fit: each row counts once, whatever its weight."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.ensembles._intervals import conformal_rank

from .estimators import estimator_classes, make

REGRESSORS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=3, min_weight_fraction_leaf=0.1, random_state=0)),
]
CLASSIFIERS = [
    ("line", LogisticRegression()),
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
]
BOOSTED = {"n_estimators": 10, "learning_rate": 0.3, "min_samples_leaf": 1, "random_state": 0}
SUMS = {"learning_rate": 0.3, "held_out": "cv"}


def rows_with_noise(n, rng):
    X = rng.random((n, 2))
    noise = 0.2 + X[:, 0]
    return X, 3 * X[:, 1] + noise * rng.standard_normal(n), noise**-2


def models(splits):
    """Each family with the same folds."""
    rounds = CVRounds(splits, max_estimators=40)
    return {
        "stack": StackingRegressor(REGRESSORS, "simplex", cv=splits, held_out="cv"),
        "stack of classes": StackingClassifier(CLASSIFIERS, "simplex", cv=splits, held_out="cv"),
        "vote": VotingRegressor(REGRESSORS, held_out=splits),
        "vote of classes": VotingClassifier(CLASSIFIERS, voting="soft", held_out=splits),
        "boosting": GradientBoostingRegressor(held_out=splits, **BOOSTED),
        "boosting of classes": GradientBoostingClassifier(held_out=splits, **BOOSTED),
        "squares": L2BoostingRegressor(rounds, **SUMS),
        "counts": AdditiveBoostingRegressor(rounds, loss="poisson", **SUMS),
        "classes": LogitBoostClassifier(rounds, **SUMS),
    }


@pytest.mark.parametrize("name", models(2))
def test_whole_weights_are_copies_that_belong_together(name):
    """A row and its copies are one group, which counts once and is left out as a whole."""
    rng = np.random.default_rng(0)
    X, y, _ = rows_with_noise(90, rng)
    X = np.round(X, 1)  # so few values that a column has the same bins with and without copies
    weight = rng.integers(1, 4, 90)
    copies = np.repeat(np.arange(90), weight)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    of_copies = [tuple(np.flatnonzero(np.isin(copies, part)) for part in s) for s in splits]
    weighted, repeated = models(splits)[name], models(of_copies)[name]
    y = np.abs(y) if name == "counts" else y
    y = (y > 1.5).astype(int) if is_classifier(weighted) else y
    weighted.fit(X, y, sample_weight=weight.astype(float))
    repeated.fit(X[copies], y[copies], groups=copies)
    new = rng.random((20, 2))
    if is_classifier(weighted):
        for method in ("lac", "aps"):
            found, expected = (m.predict_set(new, 0.8, method=method) for m in (weighted, repeated))
            np.testing.assert_array_equal(found, expected)
        return
    found, expected = (m.predict_interval(new, 0.8) for m in (weighted, repeated))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_cv_plus_of_weighted_fits_by_loops():
    rng = np.random.default_rng(1)
    X, y, weight = rows_with_noise(80, rng)
    X = np.round(X, 1)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    vote = VotingRegressor(REGRESSORS, held_out=splits).fit(X, y, sample_weight=weight)
    boosting = GradientBoostingRegressor(held_out=splits, **BOOSTED)
    boosting.fit(X, y, sample_weight=weight)
    new = rng.random((15, 2))
    held = np.empty(80)
    ends = np.empty((2, 15, 80))
    for train, test in splits:
        parts = [m.fit(X[train], y[train], weight[train]) for _, m in clone(vote).estimators]
        held[test] = np.mean([m.predict(X[test]) for m in parts], axis=0)
        one = clone(boosting).set_params(held_out=None)
        one.fit(X[train], y[train], sample_weight=weight[train])
        size = np.abs(y[test] - one.predict(X[test]))
        ends[0][:, test] = one.predict(new)[:, None] - size
        ends[1][:, test] = one.predict(new)[:, None] + size
    rank = conformal_rank(80, 0.8)
    half = np.sort(np.abs(y - held))[rank - 1]
    np.testing.assert_allclose(
        vote.predict_interval(new, 0.8), vote.predict(new)[:, None] + [-half, half]
    )
    expected = np.sort(ends[0], axis=1)[:, -rank], np.sort(ends[1], axis=1)[:, rank - 1]
    np.testing.assert_allclose(boosting.predict_interval(new, 0.8), np.transpose(expected))


def test_coverage_after_weights():
    """Rows of less noise have more weight; new rows are drawn as the training rows are."""
    shares, by_weight = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, weight = rows_with_noise(500, rng)
        own, new = slice(120), slice(120, None)
        row = []
        for model in (
            StackingRegressor(REGRESSORS, "simplex", held_out="cv"),
            VotingRegressor(REGRESSORS, held_out=5),
            GradientBoostingRegressor(held_out=5, **BOOSTED),
            L2BoostingRegressor(CVRounds(max_estimators=40), **SUMS),
            BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=5), 50, random_state=0),
            RandomForestRegressor(50, min_samples_leaf=5, random_state=0),
        ):
            model.fit(X[own], y[own], sample_weight=weight[own])
            low, high = model.predict_interval(X[new], 0.8).T
            row.append(np.mean((low <= y[new]) & (y[new] <= high)))
        shares.append(row)
        # Residuals that count by their weight are those of a population of less noise.
        size = np.abs(y[own] - 3 * X[own, 1])
        order = np.argsort(size)
        place = np.searchsorted(np.cumsum(weight[own][order]), 0.8 * weight[own].sum())
        by_weight.append(np.mean(np.abs(y[new] - 3 * X[new, 1]) <= size[order][place]))
    mean = np.mean(shares, axis=0)
    assert (mean > 0.77).all()
    assert (mean[:4] < 0.84).all()
    assert (mean[4:] < 0.87).all()  # rows of large weight are outside of few members
    assert np.mean(by_weight) < 0.65


def test_coverage_of_sets_after_weights_of_classes():
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, _ = rows_with_noise(500, rng)
        codes = (y > 2.5).astype(int)
        weight = np.where(codes == 1, 4.0, 1.0)
        own, new = slice(150), slice(150, None)
        row = []
        for model in (
            StackingClassifier(CLASSIFIERS, "simplex", held_out="cv"),
            VotingClassifier(CLASSIFIERS, voting="soft", held_out=5),
            GradientBoostingClassifier(held_out=5, **BOOSTED),
            LogitBoostClassifier(CVRounds(max_estimators=40), **SUMS),
        ):
            model.fit(X[own], codes[own], sample_weight=weight[own])
            sets = model.predict_set(X[new], 0.8, method="aps", randomized=True, random_state=seed)
            row.append(sets[np.arange(350), codes[new]].mean())
        shares.append(row)
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.8, atol=0.035)


METHODS = {
    "standard_error": (),
    "confidence_interval": (),
    "predict_interval": (),
    "predict_quantiles": ([0.1, 0.9],),
    "predict_distribution": (),
    "predict_set": (),
}


@pytest.mark.filterwarnings("ignore:Monte Carlo noise")
@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)
def test_what_a_fit_says_of_its_uncertainty_it_says_after_weights(cls):
    rng = np.random.default_rng(0)
    X, weight = rng.random((120, 3)), rng.integers(1, 4, 120).astype(float)
    y = X[:, 0] + 0.1 * rng.random(120)
    known = inspect.signature(cls).parameters
    options = {"bootstrap": True, "n_estimators": 20} if "oob_score" in known else {}
    if "held_out" in known:
        by_cv = "cv" in known or "smoothing_rounds" in known
        options = {"held_out": "cv" if by_cv else 3}
    model = make(cls, **options)
    y = (y > 0.5).astype(int) if is_classifier(model) else y
    model.fit(X, y)
    methods = [name for name in METHODS if hasattr(model, name)]
    model.fit(X, y, weight)
    for name in methods:
        found = getattr(model, name)(X[:5], *METHODS[name])
        if name != "predict_distribution":
            assert not np.isnan(np.asarray(found, dtype=float)).any()
