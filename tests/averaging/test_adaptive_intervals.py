"""Intervals whose width follows x, single ends and groups of rows, against their definitions."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn_ensemble_theory.inspection import forget_training_rows

METHODS = ("jackknife+", "conformal", "normalized", "quantile")
ADAPTIVE = ("normalized", "quantile")
SIDES = ("both", "lower", "upper")


def noisy(n, seed, p=3):
    """Features of few values, so that bins are no coarser than exact cuts; noise by x."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, p)).astype(float)
    return X, X[:, 0] + (0.2 + X[:, 1]) * rng.standard_normal(n)


def limit_of(scores, coverage, groups=None):
    """The smallest score up to which the shares of the scores reach the coverage."""
    n = len(scores)
    if groups is None:
        shares = np.full(n, 1 / (n + 1))
    else:
        names = np.unique(groups)
        shares = np.array([1 / ((len(names) + 1) * np.sum(groups == g)) for g in groups])
    order = np.argsort(scores)
    reached = np.cumsum(shares[order]) >= coverage - 1e-9
    return scores[order][np.argmax(reached)] if reached.any() else np.inf


def by_definition(model, X, y, new, coverage, method, side, values=None, groups=None):
    """The ends, by loops over rows and members and scikit-learn's trees."""
    n, alpha, columns = len(y), 1 - coverage, model.estimators_features_
    draws = [model.ensemble_.draws.draw(seed)[1:] for seed in model.ensemble_.seeds]
    outside = np.ones((n, len(draws)), dtype=bool)
    for b, (rows, _) in enumerate(draws):
        outside[rows, b] = False
        if groups is not None:
            assert not set(groups[rows]) & set(groups[outside[:, b]])
    trees = list(zip(model.estimators_, columns))
    at_rows = np.column_stack([tree.predict(X[:, c]) for tree, c in trees])
    at_new = np.column_stack([tree.predict(new[:, c]) for tree, c in trees])
    mu = np.array([at_rows[i, outside[i]].mean() for i in range(n)])
    low = high = mu
    new_low = new_high = at_new.mean(axis=1)
    scale, new_scale = np.ones(n), np.ones(len(new))
    if method == "normalized":
        residual = np.abs(y - mu)
        at_rows, at_points = [], []
        for rows, weights in draws[:50]:
            tree = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
            tree.fit(X[rows], residual[rows], sample_weight=weights)
            at_rows.append(tree.predict(X))
            at_points.append(tree.predict(new))
        used, least = outside[:, :50], 0.01 * residual.mean()
        scale = [np.mean(np.array(at_rows)[used[i], i]) for i in range(n)]
        scale = np.maximum(scale, least)
        new_scale = np.maximum(np.mean(at_points, axis=0), least)
    if method == "quantile":
        levels = {"both": (alpha / 2, 1 - alpha / 2), "lower": (alpha, alpha)}
        levels = levels.get(side, (coverage, coverage))
        leaves = [
            np.column_stack([tree.apply(rows[:, c].astype(np.float32)) for tree, c in trees])
            for rows in (X, new)
        ]
        low, high = np.transpose(
            [quantiles(draws, leaves[0], y, leaves[0][i], outside[i], levels) for i in range(n)]
        )
        every = np.ones(len(draws), dtype=bool)
        new_low, new_high = np.transpose(
            [quantiles(draws, leaves[0], y, own, every, levels) for own in leaves[1]]
        )
    below, above = (low - y) / scale, (y - high) / scale
    if side == "both":
        below = above = np.maximum(below, above)
    ends = np.empty((len(new), 2))
    for j in range(len(new)):
        own = np.arange(n) if values is None else np.flatnonzero(values[0] == values[1][j])
        of_groups = None if groups is None else groups[own]
        if method == "jackknife+":
            without = np.array([at_new[j, outside[i]].mean() for i in own])
            ends[j, 0] = -limit_of(below[own] - without, coverage, of_groups)
            ends[j, 1] = limit_of(above[own] + without, coverage, of_groups)
        else:
            ends[j, 0] = new_low[j] - new_scale[j] * limit_of(below[own], coverage, of_groups)
            ends[j, 1] = new_high[j] + new_scale[j] * limit_of(above[own], coverage, of_groups)
    if side != "both":
        ends[:, 1 if side == "lower" else 0] = np.inf if side == "lower" else -np.inf
    return np.sort(ends, axis=1)


def quantiles(draws, leaves, y, own, used, levels):
    """Of the targets in the leaves `own` of the used trees; NaN without any."""
    if not used.any():
        return np.full(2, np.nan)
    weights = np.zeros(len(y))
    for b in np.flatnonzero(used):
        rows, v = draws[b]
        inside = leaves[rows, b] == own[b]
        weights[rows[inside]] += v[inside] / v[inside].sum()
    order = np.argsort(y, kind="stable")
    order = order[weights[order] > 0]
    reached = np.cumsum(weights[order]) / weights.sum()
    return [y[order[np.argmax(reached >= level - 1e-12)]] for level in levels]


# --- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", METHODS)
def test_intervals_are_those_of_the_definition(method, side):
    X, y = noisy(200, 0)
    new = noisy(20, 1)[0]
    model = RandomForestRegressor(30, min_samples_leaf=2, random_state=0).fit(X, y)
    for coverage in (0.5, 0.9):
        expected = by_definition(model, X, y, new, coverage, method, side)
        found = model.predict_interval(new, coverage, method, side)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    expected = by_definition(model, X, y, new, 0.999, method, side)
    with pytest.warns(UserWarning, match="needs at least 999 held-out rows, and there are 200"):
        found = model.predict_interval(new, 0.999, method, side)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("side", ["both", "upper"])
@pytest.mark.parametrize("method", METHODS)
def test_groups_of_rows_have_residuals_of_their_own(method, side):
    X, y = noisy(200, 2)
    new = noisy(12, 3)[0]
    model = ExtraTreesRegressor(12, max_samples=0.7, bootstrap=False, random_state=0).fit(X, y)
    values = X[:, 1] > 2, new[:, 1] > 2
    expected = by_definition(model, X, y, new, 0.85, method, side, values)
    for by in (values, lambda rows: rows[:, 1] > 2):
        found = model.predict_interval(new, 0.85, method, side, by=by)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    names = tuple(np.where(each, "loud", "quiet") for each in values)
    np.testing.assert_array_equal(model.predict_interval(new, 0.85, method, side, by=names), found)
    expected = by_definition(model, X, y, new, 0.85, method, side, (X[:, 2], new[:, 2]))
    found = model.predict_interval(new, 0.85, method, side, by=2)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_the_fit_are_left_out_together(method):
    X, y = noisy(150, 4)
    new, groups = noisy(8, 5)[0], np.random.default_rng(0).integers(0, 40, 150)
    model = RandomForestRegressor(15, min_samples_leaf=2, random_state=0).fit(X, y, groups=groups)
    values = groups % 2, np.arange(8) % 2
    for side, given in (("both", None), ("lower", None), ("both", values)):
        expected = by_definition(model, X, y, new, 0.8, method, side, given, groups)
        found = model.predict_interval(new, 0.8, method, side, by=given)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_members_on_some_of_the_features_and_rows_of_weight_zero():
    X, y = noisy(150, 6)
    new, weight = noisy(8, 7)[0], np.ones(150)
    weight[::5] = 0
    kept = weight > 0
    trees = DecisionTreeRegressor(min_samples_leaf=3)
    model = BaggingRegressor(trees, 12, max_features=2, random_state=0)
    weighted = model.fit(X, y, sample_weight=weight)
    values = X[:, 0] > 2, new[:, 0] > 2
    for method in METHODS:
        found = weighted.predict_interval(new, 0.8, method, by=values)
        # Other targets of these rows are not noticed.
        other = BaggingRegressor(trees, 12, max_features=2, random_state=0)
        other.fit(X, np.where(kept, y, 1e6), sample_weight=weight)
        again = other.predict_interval(new, 0.8, method, by=values)
        np.testing.assert_allclose(again, found, rtol=1e-9)


# --- properties -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_units_of_y(method):
    X, y = noisy(200, 8)
    new = noisy(9, 9)[0]
    one = RandomForestRegressor(20, min_samples_leaf=3, random_state=0).fit(X, y)
    expected = one.predict_interval(new, 0.8, method)
    for exponent in (-900, -8, 60, 900):
        model = RandomForestRegressor(20, min_samples_leaf=3, random_state=0)
        model.fit(X, np.ldexp(y, exponent))
        found = np.ldexp(model.predict_interval(new, 0.8, method), -exponent)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    moved = RandomForestRegressor(20, min_samples_leaf=3, random_state=0).fit(X, -y)
    turned = -moved.predict_interval(new, 0.8, method)[:, ::-1]
    np.testing.assert_allclose(turned, expected, rtol=0.2, atol=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_a_later_call_a_copy_and_a_longer_fit(method):
    X, y = noisy(150, 10)
    model = RandomForestRegressor(20, random_state=0, warm_start=True).fit(X, y)
    first = model.predict_interval(X, 0.8, method)
    np.testing.assert_array_equal(model.predict_interval(X, 0.8, method), first)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_interval(X, 0.8, method), first)
    model.set_params(n_estimators=40).fit(X, y)
    whole = RandomForestRegressor(40, random_state=0).fit(X, y)
    found = model.predict_interval(X, 0.8, method)
    np.testing.assert_array_equal(found, whole.predict_interval(X, 0.8, method))
    np.testing.assert_array_equal(
        whole.set_params(n_jobs=2).predict_interval(X, 0.8, method, by=0),
        model.predict_interval(X, 0.8, method, by=0),
    )


@pytest.mark.parametrize("method", METHODS)
def test_exact_predictions_have_points_as_intervals(method):
    X = np.repeat(np.arange(10.0), 30)[:, None]
    model = RandomForestRegressor(20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = model.fit(X, X[:, 0]).predict_interval(X[::30], 0.9, method)
        np.testing.assert_allclose(exact, X[::30] * [1, 1], atol=1e-12)
        constant = model.fit(X, np.full(300, 7.0)).predict_interval(X[::30], 0.9, method)
        np.testing.assert_array_equal(constant, np.full((10, 2), 7.0))
        # One row is off: of the others nothing changes, and no score is infinite.
        y = X[:, 0].copy()
        y[17] = 4
        ends = model.fit(X, y).predict_interval(X[::30], 0.9, method)
        assert np.isfinite(ends).all()
        np.testing.assert_allclose(ends[1:], X[30::30] * [1, 1], atol=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_few_rows_and_few_members(method):
    X, y = noisy(30, 11)
    single = RandomForestRegressor(1, random_state=0).fit(X, y)
    ends = single.predict_interval(X, 0.2, method)  # a third of the rows is out of bag
    assert np.isfinite(ends).all()
    with pytest.warns(UserWarning, match="needs predictions of 28 of the 30 held-out rows by mem"):
        assert np.isinf(single.predict_interval(X, 0.9, method)).all()
    tiny = RandomForestRegressor(2, random_state=0).fit(X[:1], y[:1])
    with pytest.warns(
        UserWarning, match="needs predictions of 1 of the 1 held-out rows by members"
    ):
        assert np.isinf(tiny.predict_interval(X, 0.5, method)).all()
    low, high = single.predict_interval(X, 0.2, method, "lower").T
    assert np.isfinite(low).all()
    assert np.isposinf(high).all()


def test_missing_values_and_categories():
    pd = pytest.importorskip("pandas")
    X, y = noisy(300, 12)
    X[::7, 0] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = pd.Categorical.from_codes(X[:, 1].astype(int), list("uvwxyz"))
    forest = RandomForestRegressor(
        20, categorical_features="from_dtype", min_samples_leaf=5, random_state=0
    ).fit(frame, np.nan_to_num(y))
    for method in METHODS:
        ends = forest.predict_interval(frame, 0.8, method, by="b")
        codes = X[:, 1].astype(int)
        again = forest.predict_interval(frame, 0.8, method, by=(codes, codes))
        np.testing.assert_array_equal(ends, again)
        if method in ADAPTIVE:
            width = np.diff(forest.predict_interval(frame, 0.8, method))[:, 0]
            assert width[codes == 5].mean() > 2 * width[codes == 0].mean()
        # Missing values are a value of their own.
        assert np.isfinite(forest.predict_interval(frame, 0.8, method, by="a")).all()


# --- coverage -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_coverage_where_the_noise_is_large_and_where_it_is_small():
    rng, found = np.random.default_rng(0), {}
    for r in range(8):
        X, new = rng.random((800, 3)), rng.random((600, 3))
        y, target = (
            3 * rows[:, 0] + (0.2 + 2 * rows[:, 1]) * rng.standard_normal(len(rows))
            for rows in (X, new)
        )
        model = RandomForestRegressor(50, min_samples_leaf=5, random_state=r).fit(X, y)
        third = (3 * new[:, 1]).astype(int)
        for method in METHODS:
            for side in SIDES:
                low, high = model.predict_interval(new, 0.9, method, side).T
                inside = (low <= target) & (target <= high)
                of_thirds = [inside[third == k].mean() for k in range(3)]
                width = np.mean(high - low) if side == "both" else np.nan
                found.setdefault((method, side), []).append([*of_thirds, inside.mean(), width])
        low, high = model.predict_interval(new, 0.9, by=lambda rows: (3 * rows[:, 1]) // 1).T
        inside = (low <= target) & (target <= high)
        of_thirds = [inside[third == k].mean() for k in range(3)]
        found.setdefault("by", []).append([*of_thirds, inside.mean(), np.mean(high - low)])
    found = {key: np.mean(value, axis=0) for key, value in found.items()}
    for value in found.values():
        assert 0.88 <= value[3] <= 0.93
    for side in SIDES:
        assert (np.abs(found["normalized", side][:3] - 0.9) < 0.03).all()
    assert (np.abs(found["by"][:3] - 0.9) < 0.03).all()
    of_default, of_quantiles = found["jackknife+", "both"], found["quantile", "both"]
    assert of_default[0] > 0.97
    assert of_default[2] < 0.83
    assert of_quantiles[2] > of_default[2] + 0.04
    assert found["normalized", "both"][4] < 0.93 * of_default[4]


# --- errors ---------------------------------------------------------------------------------------


def test_errors_name_the_parameter_and_what_to_change():
    X, y = noisy(100, 13)
    forest = RandomForestRegressor(8, random_state=0).fit(X, y)
    for wrong in ("left", None, 1, True):
        with pytest.raises(ValueError, match="side must be one of"):
            forest.predict_interval(X, side=wrong)
    for wrong, message in (
        (7, "by has the index 7, but X has 3 features"),
        (1.5, r"by has 1\.5, which is no feature"),
        ("a", "by has names, but X has no feature names"),
        (X[:, 0], "by must be a feature, a function, or a tuple of two arrays"),
        ((y,), "by must be a feature, a function, or a tuple of two arrays"),
        ((y[:9], y), r"for each of the 100 training rows; got the shape \(9,\)"),
        ((y, y[:9]), r"for each of the 100 rows of X; got the shape \(9,\)"),
        (lambda rows: rows, r"for each of the 100 training rows; got the shape \(100, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            forest.predict_interval(X, by=wrong)
    values = np.arange(100) < 15, np.arange(100) < 50
    few = r"at least 19 held-out rows, and there are 15: the intervals of the value True of by are"
    with pytest.warns(UserWarning, match=few):
        ends = forest.predict_interval(X, 0.95, by=values)
    assert np.isinf(ends[values[1]]).all()
    assert np.isfinite(ends[~values[1]]).all()
    three = np.array([*"aabcc", *"d" * 95])
    with pytest.warns(UserWarning, match="the value a of by and of 2 other values are infinite"):
        ends = forest.predict_interval(X, 0.9, by=(three, three))
    assert np.isfinite(ends).all(axis=1).sum() == 95
    assert np.isfinite(forest.predict_interval(X, 0.9, by=values)).all()
    grouped = RandomForestRegressor(8, random_state=0).fit(X, y, groups=np.arange(100) // 2)
    with pytest.warns(UserWarning, match="at least 9 groups of held-out rows, and there are 8"):
        assert np.isinf(grouped.predict_interval(X, 0.9, by=values)[values[1]]).all()
    sparse = RandomForestRegressor(8, random_state=0).fit(sp.csr_array(X), y)
    assert np.isfinite(sparse.predict_interval(sp.csr_array(X), 0.8, "quantile")).all()
    with pytest.raises(ValueError, match="method='normalized' requires dense X"):
        sparse.predict_interval(sp.csr_array(X), 0.8, "normalized")
    lines = BaggingRegressor(LinearRegression(), 25, oob_score=True, random_state=0).fit(X, y)
    assert np.isfinite(lines.predict_interval(X, 0.8, by=(y > 0, y > 0))).all()
    for options, instead in (
        ({"method": "normalized"}, "use members that are trees"),
        ({"by": 0}, "give a tuple of two arrays"),
    ):
        with pytest.raises(ValueError, match=f"are trees only, got LinearRegression; {instead}"):
            lines.predict_interval(X, **options)
    with pytest.raises(
        ValueError, match="method='quantile' requires members that are trees, got Lin"
    ):
        lines.predict_interval(X, method="quantile")
    forest = forget_training_rows(forest)
    for method in ADAPTIVE:
        with pytest.raises(ValueError, match="the training rows, which were removed"):
            forest.predict_interval(X, method=method)
