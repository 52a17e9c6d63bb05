"""Draws of groups of rows: their law, out-of-bag rows, standard errors and intervals."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.ensembles._intervals import weighted_ranks
from sklearn_ensemble_theory.ensembles._jackknife import jackknife_variance
from sklearn_ensemble_theory.inspection import (
    oob_permutation_importances,
    unbiased_feature_importances,
)

FORESTS = [
    RandomForestRegressor,
    RandomForestClassifier,
    ExtraTreesRegressor,
    ExtraTreesClassifier,
]
ALL = [BaggingRegressor, BaggingClassifier, *FORESTS]
SCHEMES_OF_GROUPS = [(True, None), (False, 0.5), ("bernoulli", 0.5), ("poisson", None)]


class Mean(RegressorMixin, BaseEstimator):
    """The weighted mean of y, without checks: members for simulations."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class LeastSquares(Mean):
    """Weighted least squares with an intercept."""

    def fit(self, X, y, sample_weight=None):
        root = np.sqrt(np.ones(len(y)) if sample_weight is None else sample_weight)
        Z = np.column_stack([np.ones(len(y)), X])
        self.coef_ = np.linalg.lstsq(Z * root[:, None], y * root, rcond=None)[0]
        return self

    def predict(self, X):
        return self.coef_[0] + X @ self.coef_[1:]


def patients(seed, sizes, noise=0.5):
    """Rows with an effect of their group, in any order: X, y, labels of the groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(groups)
    X = rng.standard_normal((len(groups), 2)) + rng.standard_normal((len(sizes), 2))[groups]
    y = rng.standard_normal(len(sizes))[groups] + noise * rng.standard_normal(len(groups))
    return X, y, np.array([f"patient {g}" for g in groups])


SIZES = np.tile([1, 2, 3, 6], 10)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(("bootstrap", "max_samples"), SCHEMES_OF_GROUPS)
def test_groups_are_drawn_whole_and_are_out_of_bag_whole(cls, bootstrap, max_samples):
    X, y, groups = patients(0, SIZES)
    y = (y > 0).astype(int)
    params = {"bootstrap": bootstrap, "max_samples": max_samples, "oob_score": True}
    model = cls(n_estimators=3, **params, random_state=0)
    with pytest.warns(UserWarning, match="do not have OOB"):
        model.fit(X, y, groups=groups)
    codes = np.unique(groups, return_inverse=True)[1]
    total = np.zeros(len(y))
    for rows in model.estimators_samples_:
        counts = np.bincount(rows, minlength=len(y))
        of_groups = np.zeros(len(SIZES))
        of_groups[codes] = counts
        np.testing.assert_array_equal(counts, of_groups[codes])
        if bootstrap is True:
            assert of_groups.sum() == len(SIZES)
        if bootstrap is False:
            assert of_groups.sum() == len(SIZES) / 2
            assert of_groups.max() == 1
        total += counts == 0
    np.testing.assert_array_equal(
        np.isnan(getattr(model, "oob_decision_function_", getattr(model, "oob_prediction_", None)))
        .reshape(len(y), -1)
        .any(axis=1),
        total == 0,
    )


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_each_row_as_its_own_group_is_a_fit_without_groups():
    X, y, _ = patients(0, SIZES)
    for bootstrap in (True, False, "bernoulli", "bayesian"):
        params = {"n_estimators": 8, "bootstrap": bootstrap, "max_samples": 0.7, "random_state": 0}
        grouped = BaggingRegressor(**params).fit(X, y, groups=np.arange(len(y)))
        plain = BaggingRegressor(**params).fit(X, y)
        np.testing.assert_array_equal(grouped.predict(X), plain.predict(X))
        if bootstrap != "bayesian":
            a, b = grouped.predict_interval(X[:5], 0.8), plain.predict_interval(X[:5], 0.8)
            np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(
            jackknife_variance(grouped.ensemble_, X)[0],
            jackknife_variance(plain.ensemble_, X)[0],
            rtol=1e-9,
        )


def test_the_model_does_not_depend_on_the_number_of_jobs_or_the_route_of_learners():
    X, y, groups = patients(1, SIZES)
    fits = [
        RandomForestRegressor(10, n_jobs=n_jobs, random_state=0, oob_score=True, max_bins=255)
        .fit(X, y, groups=groups)
        .oob_prediction_
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*fits)
    # A learner without weights gets the rows repeated, one with weights gets counts.
    nearest = BaggingRegressor(KNeighborsRegressor(3), 5, random_state=0).fit(X, y, groups=groups)
    assert sorted(nearest.estimators_samples_[0]) == sorted(
        BaggingRegressor(Ridge(), 5, random_state=0).fit(X, y, groups=groups).estimators_samples_[0]
    )


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_integer_weights_are_repeated_rows_of_the_same_group():
    X, y, groups = patients(2, SIZES)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for bootstrap, max_samples in [(True, None), (False, 0.5), ("bayesian", None)]:
        bag = BaggingRegressor(
            LinearRegression(), 20, bootstrap=bootstrap, max_samples=max_samples, random_state=0
        )
        weighted = bag.fit(X, y, weight, groups).predict(X)
        error = bag.standard_error(X[:3])
        repeated = bag.fit(X[rows], y[rows], groups=groups[rows])
        np.testing.assert_allclose(weighted, repeated.predict(X), rtol=1e-9)
        np.testing.assert_allclose(error, repeated.standard_error(X[:3]), rtol=1e-7)


def test_a_row_of_weight_zero_is_out_of_bag_with_its_group_only():
    X, y, groups = patients(3, SIZES)
    weight = np.ones(len(y))
    lost = np.flatnonzero(groups == "patient 3")[:2]
    weight[lost] = 0
    bag = BaggingRegressor(n_estimators=40, oob_score=True, random_state=0)
    bag.fit(X, y, weight, groups)
    other = np.flatnonzero((groups == "patient 3") & (weight > 0))[0]
    drawn = np.array([other in rows for rows in bag.estimators_samples_])
    assert not any(np.isin(lost, rows).any() for rows in bag.estimators_samples_)
    outside = [tree for tree, inside in zip(bag.estimators_, drawn) if not inside]
    expected = np.mean([tree.predict(X[lost]) for tree in outside], axis=0)
    np.testing.assert_allclose(bag.oob_prediction_[lost], expected)


def test_score_is_honest_where_the_rows_of_a_group_are_near_copies():
    def near_copies(seed):
        X, y, groups = patients(seed, np.full(40, 6), noise=0.1)
        centre = {g: X[groups == g].mean(axis=0) for g in np.unique(groups)}
        return np.array([centre[g] for g in groups]) + 0.01 * X, y, groups

    (X, y, groups), (X_new, y_new, _) = near_copies(0), near_copies(1)
    forest = RandomForestRegressor(60, oob_score=True, random_state=0)
    by_rows = forest.fit(X, y).oob_score_
    by_groups = forest.fit(X, y, groups=groups).oob_score_
    fresh = forest.score(X_new, y_new)  # y does not depend on X at all
    assert by_rows > 0.9
    assert fresh < 0.1
    assert by_groups < 0.1
    # Importances by out-of-bag rows are as honest.
    honest = unbiased_feature_importances(forest)
    assert np.abs(honest).max() < 0.3 * unbiased_feature_importances(forest.fit(X, y)).max()


# Standard errors


def closed_form(sizes, noise=0.5):
    """The standard deviation of the mean of y over data sets of such groups."""
    n = sizes.sum()
    return np.sqrt((np.sum(sizes**2.0) + n * noise**2) / n**2)


def test_standard_error_of_the_mean_against_its_closed_form_over_fresh_groups():
    sizes, of_rows = np.tile([2, 3, 4, 5], 10), []
    squares = {"infinitesimal": [], "jackknife": []}
    for seed in range(20):
        X, y, groups = patients(seed, sizes)
        bag = BaggingRegressor(Mean(), 60, random_state=seed).fit(X, y, groups=groups)
        for method, found in squares.items():
            found.append(jackknife_variance(bag.ensemble_, X[:1], method)[0])
        of_rows.append(y.var() / len(y))
    true = closed_form(sizes)
    for found in squares.values():
        assert np.sqrt(np.mean(found)) == pytest.approx(true, rel=0.15)
    assert np.sqrt(np.mean(of_rows)) < 0.6 * true  # what rows drawn by themselves would give


def test_standard_error_of_a_linear_model_against_its_closed_form():
    """Least squares with y = effect of the group + noise: V = (X'X)^-1 X' Cov(y) X (X'X)^-1."""
    sizes = np.full(60, 4)
    X, _, groups = patients(0, sizes)
    codes = np.unique(groups, return_inverse=True)[1]
    Z = np.column_stack([np.ones(len(X)), X])
    hat = np.linalg.pinv(Z)
    covariance = hat @ (0.25 * np.eye(len(X)) + (codes[:, None] == codes)) @ hat.T
    point = np.array([1.0, 1.0, -1.0])
    rng, squares = np.random.default_rng(1), []
    for seed in range(12):
        y = rng.standard_normal(60)[codes] + 0.5 * rng.standard_normal(len(X))
        bag = BaggingRegressor(LeastSquares(), 60, random_state=seed)
        bag.fit(X, y, groups=codes)
        squares.append(jackknife_variance(bag.ensemble_, point[None, 1:])[0])
    assert np.sqrt(np.mean(squares)) == pytest.approx(np.sqrt(point @ covariance @ point), rel=0.15)


def test_standard_error_of_the_importances_is_that_of_groups():
    """Against the formula for a mean of clusters, on values written out by hand."""
    X, y, groups = patients(5, SIZES)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y, groups=groups)
    scheme, codes = forest.ensemble_.draws.scheme, np.unique(groups, return_inverse=True)[1]
    rows = np.arange(3, len(y))
    found = scheme.error_of_mean(np.stack([y[rows], 2 * y[rows]]), rows)
    residuals = y[rows] - y[rows].mean()
    by_group = [residuals[codes[rows] == g].sum() for g in np.unique(codes[rows])]
    G = len(by_group)
    expected = np.sqrt(G / (G - 1) * np.sum(np.square(by_group))) / len(rows)
    np.testing.assert_allclose(found, [expected, 2 * expected])
    assert (oob_permutation_importances(forest, random_state=0).standard_error > 0).all()


# Intervals


def test_weighted_ranks_by_hand():
    values = np.array([[3.0, 1.0, 2.0, np.inf]])
    shares = np.array([0.3, 0.3, 0.1, 0.1])
    for level, expected in [(0.3, 1.0), (0.31, 2.0), (0.4, 2.0), (0.7, 3.0), (0.71, np.inf)]:
        assert weighted_ranks(values, shares, level)[0] == expected
    assert weighted_ranks(values, shares, 0.81)[0] == np.inf


@pytest.mark.parametrize("weighted", [False, True])
def test_jackknife_plus_leaves_out_groups_as_loops_do(weighted):
    X, y, groups = patients(6, SIZES)
    weight = np.ones(len(y))
    if weighted:
        weight[::7] = 0
    forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=0)
    forest.fit(X, y, weight if weighted else None, groups=groups)
    kept = weight > 0
    points, coverage = X[:4] + 0.1, 0.8
    samples = [set(rows) for rows in forest.estimators_samples_]
    low, high, shares = [], [], []
    names = np.unique(groups[kept])
    for g in names:
        rows = np.flatnonzero((groups == g) & kept)
        outside = [t for t, s in zip(forest.estimators_, samples) if rows[0] not in s]
        residuals = np.abs(y[rows] - np.mean([t.predict(X[rows]) for t in outside], axis=0))
        at_points = np.mean([t.predict(points) for t in outside], axis=0)
        for r in residuals:
            low.append(at_points - r)
            high.append(at_points + r)
            shares.append(1 / (len(rows) * (len(names) + 1)))
    low, high, shares = np.array(low), np.array(high), np.array(shares)
    found = forest.predict_interval(points, coverage)
    for j in range(len(points)):
        up = np.argsort(high[:, j])
        assert found[j, 1] == pytest.approx(
            high[up[np.searchsorted(np.cumsum(shares[up]), coverage - 1e-9)], j]
        )
        down = np.argsort(-low[:, j])
        assert found[j, 0] == pytest.approx(
            low[down[np.searchsorted(np.cumsum(shares[down]), coverage - 1e-9)], j]
        )
    with pytest.warns(UserWarning, match="at least 99 groups of held-out rows, and there are"):
        assert np.isinf(forest.predict_interval(points, 0.99)).all()
    conformal = forest.predict_interval(points, coverage, method="conformal")
    assert np.isfinite(conformal).all()


def test_intervals_cover_rows_of_new_groups():
    hit_groups, hit_rows = [], []
    for seed in range(4):
        X, y, groups = patients(seed, np.full(30, 8), noise=0.2)
        X_new, y_new, _ = patients(100 + seed, np.full(60, 1), noise=0.2)
        bag = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 30, random_state=0)
        ends = bag.fit(X, y, groups=groups).predict_interval(X_new, 0.8)
        hit_groups.append(np.mean((ends[:, 0] <= y_new) & (y_new <= ends[:, 1])))
        ends = bag.fit(X, y).predict_interval(X_new, 0.8)
        hit_rows.append(np.mean((ends[:, 0] <= y_new) & (y_new <= ends[:, 1])))
    assert np.mean(hit_groups) > 0.74
    assert np.mean(hit_groups) > np.mean(hit_rows)


def test_prediction_sets_of_new_groups():
    X, y, groups = patients(0, SIZES)
    forest = RandomForestClassifier(40, random_state=0).fit(X, y > 0, groups=groups)
    assert forest.predict_set(X, 0.9).sum() >= forest.predict_set(X, 0.5).sum()
    with pytest.warns(UserWarning, match="at least 99 groups of held-out rows, and there are 40"):
        assert forest.predict_set(X, 0.99).all()


# Interface


def test_groups_in_pipelines_and_searches():
    X, y, groups = patients(0, SIZES)
    plain = make_pipeline(StandardScaler(), BaggingRegressor(Ridge(), 5, random_state=0))
    plain.fit(X, y, baggingregressor__groups=groups)
    with config_context(enable_metadata_routing=True):
        bag = BaggingRegressor(Ridge(), 5, random_state=0).set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), bag)
        search = GridSearchCV(
            pipeline, {"baggingregressor__max_samples": [0.5, None]}, cv=GroupKFold(3)
        )
        search.fit(X, y, groups=groups)
        chosen = search.best_estimator_[-1]
        assert chosen.ensemble_.draws.scheme.n_units == len(SIZES)
        pipeline.fit(X, y, groups=groups)
        np.testing.assert_allclose(pipeline.predict(X), plain.predict(X))
        # A member that draws groups itself gets those of its rows.
        inner = BaggingRegressor(Ridge(), 4, random_state=0).set_fit_request(groups=True)
        outer = BaggingRegressor(inner, 3, random_state=0).fit(X, y, groups=groups)
        for member, rows in zip(outer.estimators_, outer.estimators_samples_):
            assert member.ensemble_.draws.scheme.n_units == len(np.unique(groups[rows]))
        # Without the request the splitter has the groups, and the fit has not.
        search = GridSearchCV(BaggingRegressor(), {}, cv=GroupKFold(3)).fit(X, y, groups=groups)
        assert search.best_estimator_.ensemble_.draws.scheme.n_units == len(X)


def test_warm_start_continues_the_same_groups_only():
    X, y, groups = patients(0, SIZES)
    grown = BaggingRegressor(n_estimators=4, warm_start=True, oob_score=False, random_state=0)
    grown.fit(X, y, groups=groups).set_params(n_estimators=9).fit(X, y, groups=groups)
    at_once = BaggingRegressor(n_estimators=9, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_array_equal(grown.predict(X), at_once.predict(X))
    for other in (None, groups[::-1]):
        with pytest.raises(ValueError, match="groups must be the same as in the previous fit"):
            grown.set_params(n_estimators=12).fit(X, y, groups=other)


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (np.zeros(130), "at least 2 groups"),
        (np.zeros((120, 2)), "one dimension"),
        (np.arange(5), "groups must have a label for each row"),
        (np.where(np.arange(120) % 2, 1.0, np.nan), "missing values"),
        (np.array([None, "a"] * 60, dtype=object), "missing values"),
        (np.array([1, "a"] * 60, dtype=object), "can be compared"),
    ],
)
def test_groups_that_are_none(groups, match):
    X, y, _ = patients(0, SIZES)
    groups = np.zeros(len(y)) if match == "at least 2 groups" else groups
    with pytest.raises(ValueError, match=match):
        RandomForestRegressor().fit(X, y, groups=groups)


def test_what_groups_cannot_be_combined_with():
    X, y, groups = patients(0, SIZES)
    with pytest.raises(ValueError, match="groups cannot be used with bootstrap='moving_block'"):
        BaggingRegressor(bootstrap="moving_block").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="every tree is fitted to all rows"):
        ExtraTreesRegressor().fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"the 40 groups are drawn .* max_samples=41 must be <="):
        BaggingRegressor(bootstrap=False, max_samples=41).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="does not accept sample_weight"):
        BaggingRegressor(KNeighborsRegressor()).fit(X, y, np.ones(len(y)), groups)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        BaggingRegressor().fit(X, y, np.zeros(len(y)), groups)
    with pytest.warns(UserWarning, match="number of groups is 40 results in a low number"):
        BaggingRegressor(n_estimators=2, max_samples=0.1).fit(X, y, groups=groups)
