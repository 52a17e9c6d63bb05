"""Quantiles, prediction intervals and prediction sets against their definitions."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.bounds import jackknife_plus_coverage_bound
from sklearn_ensemble_theory.ensembles import _leave_one_out_ranks, _quantiles
from sklearn_ensemble_theory.ensembles._ensemble import outside_masks
from sklearn_ensemble_theory.ensembles._leave_one_out_ranks import LookedUpSums, order_statistics
from sklearn_ensemble_theory.ensembles._quantiles import rows_of_leaves
from sklearn_ensemble_theory.ensembles._training_rows import OutsideMasks
from sklearn_ensemble_theory.inspection import forget_training_rows, proximity

from ..conformal import conformal_rank

LEVELS = (0.9, 0.0, 0.25, 0.5, 1.0)


def weights_by_definition(model, X_train, X):
    """w_i(x) by loops over the members and the queries."""
    weights = np.zeros((len(X), len(X_train)))
    for seed, tree, columns in zip(
        model.ensemble_.seeds, model.estimators_, model.estimators_features_
    ):
        _, rows, v = model.ensemble_.draws.draw(seed)
        of_rows = tree.apply(X_train[rows][:, columns].astype(np.float32))
        for j, leaf in enumerate(tree.apply(X[:, columns].astype(np.float32))):
            inside = of_rows == leaf
            weights[j, rows[inside]] += v[inside] / v[inside].sum() / len(model)
    return weights


def quantiles_by_definition(weights, y, levels):
    found = np.empty((len(weights), len(levels)))
    order = np.argsort(y, kind="stable")
    for j, w in enumerate(weights):
        used = order[w[order] > 0]
        reached = np.cumsum(w[used])
        for k, level in enumerate(levels):
            found[j, k] = y[used[np.flatnonzero(reached >= level - 1e-12)[0]]]
    return found


ENSEMBLES = {
    "full trees": RandomForestRegressor(12, random_state=0),
    "binned": RandomForestRegressor(12, max_bins=20, min_samples_leaf=4, random_state=0),
    "shallow": RandomForestRegressor(7, max_depth=2, bootstrap="bayesian", random_state=0),
    "stump": BaggingRegressor(DecisionTreeRegressor(max_depth=1), 5, random_state=0),
    "features": BaggingRegressor(ExtraTreeRegressor(), 9, max_features=3, random_state=0),
    "subsamples": BaggingRegressor(n_estimators=9, bootstrap=False, max_samples=0.4),
    "bernoulli": BaggingRegressor(n_estimators=9, bootstrap="bernoulli", random_state=0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_those_of_the_definition(regression, name, weighted):
    X, y = regression
    y = np.round(y)  # with ties
    weight = np.random.default_rng(0).integers(0, 4, len(y)) * 0.7 if weighted else None
    model = ENSEMBLES[name]
    if weighted and model.bootstrap is False:
        pytest.skip("draws without replacement recommend bootstrap=True with weights")
    model.fit(X, y, sample_weight=weight)
    new = make_friedman1(40, random_state=1)[0]
    weights = weights_by_definition(model, X, new)
    leaf_rows = rows_of_leaves(model.ensemble_, "weights")
    in_order = leaf_rows.weights(leaf_rows.finder.leaves(new.astype(np.float32))).toarray()
    np.testing.assert_allclose(in_order, weights[:, np.argsort(y, kind="stable")], atol=1e-12)
    # The mean of the distribution is the prediction.
    np.testing.assert_allclose(weights @ y, model.predict(new), rtol=1e-10)
    expected = quantiles_by_definition(weights, y, LEVELS)
    np.testing.assert_array_equal(model.predict_quantiles(new, LEVELS), expected)
    np.testing.assert_array_equal(model.predict_quantiles(new, 0.5), expected[:, 3])


def test_quantiles_of_large_leaves(regression):
    X, y = regression
    model = RandomForestRegressor(20, min_samples_leaf=30, random_state=0).fit(X, y)
    expected = quantiles_by_definition(weights_by_definition(model, X, X), y, LEVELS)
    np.testing.assert_array_equal(model.predict_quantiles(X, LEVELS), expected)


@pytest.mark.parametrize("honest", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_quantile_intervals_from_draws_that_are_made_once(regression, honest, grouped, monkeypatch):
    """The members outside of rows as by further draws; leaves of training rows kept or found."""
    X, y = regression
    groups = np.arange(len(y)) // 3 if grouped else None
    model = RandomForestRegressor(15, min_samples_leaf=2, honesty=honest, random_state=0)
    found = model.fit(X, y, groups=groups).predict_interval(X, 0.5, method="quantile")
    by_leaves = outside_masks(model.ensemble_, None).bits
    monkeypatch.setattr(_quantiles, "KEPT_LEAVES", 0)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(outside_masks(again.ensemble_, None).bits, by_leaves)
    np.testing.assert_array_equal(again.predict_interval(X, 0.5, method="quantile"), found)


def test_quantiles_of_sparse_rows_and_a_pickle(regression):
    X, y = regression
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    found = model.predict_quantiles(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_quantiles(X), found)
    sparse = RandomForestRegressor(10, random_state=0).fit(sp.csr_array(X), y)
    expected = quantiles_by_definition(weights_by_definition(sparse, X, X), y, LEVELS)
    np.testing.assert_array_equal(sparse.predict_quantiles(sp.csr_array(X), LEVELS), expected)


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7),
    reason="trees of scikit-learn 1.6 send missing values to leaves without training rows",
)
def test_quantiles_of_missing_values(regression):
    X, y = regression
    missing = X.copy()
    missing[::3, 2] = np.nan
    model = RandomForestRegressor(10, random_state=0).fit(missing, y)
    expected = quantiles_by_definition(weights_by_definition(model, missing, missing), y, LEVELS)
    np.testing.assert_array_equal(model.predict_quantiles(missing, LEVELS), expected)


def test_the_training_rows_are_a_copy(regression):
    X, y = (a.copy() for a in regression)
    for rows in (X, X.astype(np.float32)):
        targets = y.copy()
        model = RandomForestRegressor(10, random_state=0).fit(rows, targets)
        before = model.predict_interval(X), RandomForestRegressor(10, random_state=0)
        expected = before[1].fit(rows, targets).predict_quantiles(X)
        rows[:], targets[:] = 0, 0
        np.testing.assert_array_equal(model.predict_interval(regression[0]), before[0])
        np.testing.assert_array_equal(model.predict_quantiles(regression[0]), expected)
        X = regression[0].copy()


def jackknife_plus_by_definition(model, X_train, y_train, X, alpha):
    n = len(y_train)
    outside = np.ones((n, len(model)), dtype=bool)
    for b, rows in enumerate(model.estimators_samples_):
        outside[rows, b] = False
    at_rows = np.column_stack([tree.predict(X_train) for tree in model.estimators_])
    at_new = np.column_stack([tree.predict(X) for tree in model.estimators_])
    residual, ends = np.empty(n), np.empty((len(X), n))
    for i in range(n):
        members = outside[i]
        residual[i] = abs(y_train[i] - at_rows[i, members].mean()) if members.any() else np.inf
        ends[:, i] = at_new[:, members].mean(axis=1) if members.any() else 0.0
    low, high = int(np.floor(alpha * (n + 1) + 1e-9)), conformal_rank(n, 1 - alpha)
    lower = np.sort(ends - residual, axis=1)[:, low - 1] if low else np.full(len(X), -np.inf)
    upper = np.sort(ends + residual, axis=1)[:, high - 1] if high <= n else np.full(len(X), np.inf)
    return np.column_stack([lower, upper]), residual


@pytest.mark.parametrize(("scale", "oob_score"), [(1.0, False), (1e150, True), (1e-150, True)])
def test_intervals_are_those_of_the_definition(regression, scale, oob_score):
    X, y = regression
    new = make_friedman1(30, random_state=1)[0]
    model = RandomForestRegressor(40, oob_score=oob_score, random_state=0).fit(X, y * scale)
    for alpha in (0.1, 0.35, 0.01, 0.005):
        expected, residual = jackknife_plus_by_definition(model, X, y * scale, new, alpha)
        if alpha == 0.005:  # 120 rows
            with pytest.warns(UserWarning, match="needs at least 199 held-out rows, and there are"):
                found = model.predict_interval(new, coverage=1 - alpha)
            np.testing.assert_array_equal(found, expected)
            break
        found = model.predict_interval(new, coverage=1 - alpha)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        rank = conformal_rank(len(y), 1 - alpha)
        width = np.sort(residual)[rank - 1] if rank <= len(y) else np.inf
        mean = model.predict(new)
        found = model.predict_interval(new, 1 - alpha, method="conformal")
        np.testing.assert_allclose(found, np.column_stack([mean - width, mean + width]))


def test_intervals_of_members_that_are_no_trees(regression):
    X, y = regression
    model = BaggingRegressor(LinearRegression(), 30, oob_score=True, random_state=0).fit(X, y)
    expected, _ = jackknife_plus_by_definition(model, X, y, X[:9], 0.2)
    np.testing.assert_allclose(model.predict_interval(X[:9], 0.8), expected)
    without = BaggingRegressor(LinearRegression(), 30, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fit with oob_score=True"):
        without.predict_interval(X)
    with pytest.raises(ValueError, match="members that are trees, got LinearRegression"):
        model.predict_quantiles(X)


@pytest.mark.parametrize("by_tables", [True, False])
@pytest.mark.parametrize("kind", ["normal", "ties", "constant", "some unknown"])
def test_order_statistics_in_blocks(kind, by_tables, monkeypatch):
    """Sums from tables where they decide, and products always."""
    rng = np.random.default_rng(0)
    n, B, q = 700, 30, 45
    draws = [np.unique(rng.integers(0, n, n)) for _ in range(B)]
    predictions, residuals = rng.standard_normal((q, B)), np.abs(rng.standard_normal(n))
    if kind == "ties":
        predictions, residuals = np.round(predictions), np.round(residuals)
    elif kind == "constant":
        predictions, residuals = np.full((q, B), 0.1), np.zeros(n)
    elif kind == "some unknown":
        draws = [np.union1d(rows, [0, 3, 5]) for rows in draws]
    masks = OutsideMasks(n, draws)
    mask = np.ones((n, B))
    for b, rows in enumerate(draws):
        mask[rows, b] = 0
    np.testing.assert_array_equal(masks.numbers(slice(None)), mask)
    counts = mask.sum(axis=1)
    means = predictions @ (mask / np.maximum(counts, 1)[:, None]).T
    residual = np.where(counts > 0, residuals, np.inf)
    monkeypatch.setattr(_leave_one_out_ranks, "MULTIPLIED", 20 * n)
    if not by_tables:
        monkeypatch.setattr(LookedUpSums, "is_worth_it", False)
    for largest in (_leave_one_out_ranks.MASK, 100 * B):
        monkeypatch.setattr(_leave_one_out_ranks, "MASK", largest)
        for rank in (1, 350, 630, 700):
            high = np.sort(means + residual, axis=1)[:, rank - 1]
            low = np.sort(means - residual, axis=1)[:, n - rank]
            found = order_statistics(masks, predictions, residuals, rank)
            np.testing.assert_allclose(found, (high, low), atol=1e-12)


@pytest.mark.parametrize("kind", ["alike", "different", "ties", "unequal counts"])
def test_order_statistics_of_many_queries_from_tables(kind, monkeypatch):
    """Queries in several blocks; where they differ, some are outside of the bands expected."""
    rng = np.random.default_rng(1)
    n, B, q, rank = 2_000, 61, 300, 1_800
    sizes = rng.integers(1, n, B) if kind == "unequal counts" else np.full(B, n)
    draws = [np.unique(rng.integers(0, n, size)) for size in sizes]
    masks = OutsideMasks(n, draws)
    predictions = rng.standard_normal((q, B)) + 100
    residuals = np.abs(rng.standard_normal(n))
    if kind == "different":
        predictions *= np.exp(2 * rng.standard_normal((q, 1)))
    elif kind == "ties":
        residuals = np.round(100 * residuals) / 100
        predictions[:, 5:] = 3.0
    searches = []
    search = LookedUpSums._ends_in
    monkeypatch.setattr(
        LookedUpSums, "_ends_in", lambda *args: searches.append(search(*args)) or searches[-1]
    )
    found = order_statistics(masks, predictions, residuals, rank)
    means = predictions @ (masks.numbers(slice(None)) / masks.counts[:, None]).T
    high = np.sort(means + residuals, axis=1)[:, rank - 1]
    low = np.sort(means - residuals, axis=1)[:, n - rank]
    np.testing.assert_allclose(found, (high, low), rtol=1e-12)
    if kind == "different":
        assert any(result is None for result in searches)
    assert sum(result is not None for result in searches) == 3


def heteroscedastic(n, rng):
    X = rng.random((n, 5))
    return X, 3 * X[:, 0] + (0.2 + 2 * X[:, 1]) * rng.standard_normal(n)


def friedman(n, rng):
    X, y = make_friedman1(n, 5, noise=1.0, random_state=rng.integers(2**31))
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("data", [friedman, heteroscedastic])
def test_coverage_over_fresh_data_sets(data):
    rng, alpha, covered = np.random.default_rng(0), 0.2, {"jackknife+": [], "conformal": []}
    for r in range(40):
        X, y = data(45, rng)
        new, target = data(60, rng)
        model = RandomForestRegressor(30, min_samples_leaf=2, oob_score=True, random_state=r)
        model.fit(X, y)
        for method, shares in covered.items():
            low, high = model.predict_interval(new, 1 - alpha, method=method).T
            shares.append(np.mean((low <= target) & (target <= high)))
    for shares in covered.values():
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        assert np.mean(shares) >= jackknife_plus_coverage_bound(1 - alpha)
        # About 1 - alpha: no shorter, and not much longer than needed.
        assert 1 - alpha - 2 * error <= np.mean(shares) <= 1 - alpha + 0.08


def test_quantiles_adapt_to_the_noise():
    rng = np.random.default_rng(0)
    X, y = heteroscedastic(2_000, rng)
    new, target = heteroscedastic(1_000, rng)
    model = RandomForestRegressor(100, min_samples_leaf=10, random_state=0).fit(X, y)
    low, high = model.predict_quantiles(new, [0.05, 0.95]).T
    covered, loud = (low <= target) & (target <= high), new[:, 1] > 0.7
    assert covered[~loud].mean() >= 0.9  # leaves of quiet rows also contain louder ones
    assert 0.8 <= covered[loud].mean() <= 0.96
    wide = (high - low)[new[:, 1] > 0.9].mean() / (high - low)[new[:, 1] < 0.1].mean()
    assert wide > 2


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_sets_are_those_of_the_definition(classification, voting):
    X, codes = classification
    y = np.array(["x", "y", "z"])[codes]
    for oob_score in (True, False):
        model = RandomForestClassifier(
            40, voting=voting, min_samples_leaf=3, oob_score=oob_score, random_state=0
        ).fit(X, y)
        known = RandomForestClassifier(
            40, voting=voting, min_samples_leaf=3, oob_score=True, random_state=0
        ).fit(X, y)
        own = known.oob_decision_function_[np.arange(len(y)), codes]
        for coverage in (0.5, 0.9, 0.97):
            limit = np.sort(1 - own)[conformal_rank(len(y), coverage) - 1]
            expected = 1 - model.predict_proba(X) <= limit + 1e-12
            found = model.predict_set(X, coverage)
            assert found.dtype == bool
            np.testing.assert_array_equal(found, expected)
        with pytest.warns(UserWarning, match="needs at least 999 .* the sets have all classes"):
            assert model.predict_set(X, 0.999).all()


def test_coverage_of_sets():
    X, y = load_iris(return_X_y=True)
    rng, shares = np.random.default_rng(0), []
    noisy = np.where(rng.random(150) < 0.3, rng.integers(0, 3, 150), y)
    for r in range(16):
        order = rng.permutation(150)
        train, test = order[:80], order[80:]
        model = RandomForestClassifier(30, min_samples_leaf=3, random_state=r)
        found = model.fit(X[train], noisy[train]).predict_set(X[test], 0.8)
        shares.append(found[np.arange(70), noisy[test]].mean())
    error = np.std(shares, ddof=1) / 4
    assert 0.8 - 2 * error <= np.mean(shares) <= 0.88


def test_rows_of_weight_zero_do_not_count(regression):
    X, y = regression
    weight = np.ones(len(y))
    weight[:40] = 0
    model = RandomForestRegressor(30, oob_score=True, random_state=0)
    model.fit(X, y, sample_weight=weight)
    residual = np.abs(y - model.oob_prediction_)[40:]
    half = np.diff(model.predict_interval(X, 0.8, "conformal"))[:, 0] / 2
    np.testing.assert_allclose(half, np.sort(residual)[conformal_rank(80, 0.8) - 1])


def test_proximities_of_all_rows_do_not_change_the_intervals(regression):
    """Nor the other way round: one is of all training rows, the other of those of some weight."""
    X, y = regression
    weight = np.arange(len(y)) % 3 > 0
    forest = RandomForestRegressor(30, random_state=0).fit(X, y, sample_weight=weight)
    values = X[:, 0] > 0.5, X[:5, 0] > 0.5
    expected = [forest.predict_interval(X[:5], by=by) for by in (None, values)]
    near = proximity(forest, method="out_of_bag").toarray()
    other = RandomForestRegressor(30, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(proximity(other, method="out_of_bag").toarray(), near)
    for by, ends in zip((None, values), expected):
        np.testing.assert_array_equal(other.predict_interval(X[:5], by=by), ends)


def test_errors_name_the_parameter_or_the_property(regression, classification):
    X, y = regression
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    for wrong in (0, 1, 1.5, "a", None, True):
        with pytest.raises(ValueError, match="coverage must be"):
            model.predict_interval(X, wrong)
    for wrong in (-0.1, 1.1, [], [[0.5]], "a", [0.5, np.nan], None):
        with pytest.raises(ValueError, match="quantiles must be"):
            model.predict_quantiles(X, wrong)
    with pytest.raises(ValueError, match="method must be one of"):
        model.predict_interval(X, method="bootstrap")
    several = RandomForestRegressor(5).fit(X, np.column_stack([y, y]))
    for method in (several.predict_interval, several.predict_quantiles):
        with pytest.raises(ValueError, match="requires a single output; y had 2"):
            method(X)
    for bootstrap in (False, "bayesian"):
        with pytest.raises(ValueError, match="require rows that are not drawn for every member"):
            RandomForestRegressor(5, bootstrap=bootstrap).fit(X, y).predict_interval(X)
    forgotten = forget_training_rows(model)
    assert model.predict_interval(X).shape == (len(X), 2)  # it is a copy
    loaded = pickle.loads(pickle.dumps(forgotten))
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    for method in (forgotten.predict_interval, forgotten.predict_quantiles):
        with pytest.raises(ValueError, match=r"requires? the training rows, which were removed"):
            method(X)
    X, y = classification
    weighted = RandomForestClassifier(50, class_weight="balanced", random_state=0).fit(X, y)
    assert weighted.predict_set(X).any(axis=1).mean() > 0.8
    with pytest.raises(ValueError, match="coverage must be"):
        BaggingClassifier().fit(X, y).predict_set(X, 2)
    with pytest.raises(ValueError, match="coverage must be"):
        jackknife_plus_coverage_bound(0)
    assert jackknife_plus_coverage_bound(0.3) == 0


@pytest.mark.parametrize("method", ["jackknife+", "conformal", "normalized", "quantile"])
def test_rows_with_weights_of_their_own_are_covered(method):
    """Weights of the fit, here for rows of less noise, leave rows exchangeable."""
    shares = []
    for r in range(20):
        rng = np.random.default_rng(r)
        X = rng.random((500, 2))
        noise = 0.2 + X[:, 0]
        y = 3 * X[:, 1] + noise * rng.standard_normal(500)
        forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=r)
        forest.fit(X[:200], y[:200], sample_weight=noise[:200] ** -2)
        low, high = forest.predict_interval(X[200:], 0.8, method=method).T
        shares.append(np.mean((low <= y[200:]) & (y[200:] <= high)))
    # Rows of large weight are outside of few members, whose means vary more than those at new rows.
    assert 0.78 < np.mean(shares) < 0.86
