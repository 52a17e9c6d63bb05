"""Rounds of the best feature in closed form, against a loop that refits every feature on rows."""

import pickle

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.smoothing import Discrepancy, TimeCriterion


def make_data(n=40, seed=0):
    """Two smooth effects, one of two values, and nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    X[:, 2] = rng.integers(0, 2, n)
    y = 2 + np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, y, rng.uniform(-1.3, 1.3, size=(15, 4))


def best(learner=None, **params):
    params = {"learning_rate": 0.1, "time": 3.0, **params}
    return LinearL2BoostingRegressor(learner, variant="best_feature", **params)


def loop(matrices, y, w, rate, n_rounds, start):
    """The algorithm on rows: `matrices` are pairs (at the rows, at other points) of smoothers.

    The fits after each round at both, and the features chosen.
    """
    fitted, elsewhere = np.full(len(y), start), np.full(len(matrices[0][1]), start)
    path, others, chosen = [fitted], [elsewhere], []
    for _ in range(n_rounds):
        left = y - fitted
        falls = np.array([w @ left**2 - w @ (left - S @ left) ** 2 for S, _ in matrices])
        # The first of those that are equally good, such as several that interpolate few rows.
        chosen.append(int(np.argmax(falls >= falls.max() * (1 - 1e-10))))
        S, outside = matrices[chosen[-1]]
        fitted, elsewhere = (
            fitted + rate * S @ (y - fitted),
            elsewhere + rate * outside @ (y - fitted),
        )
        path.append(fitted)
        others.append(elsewhere)
    return np.array(path).T, np.array(others).T, chosen


def smoothers(learner, X, w, new):
    """Each feature's spline, refitted on its own."""
    fitted = [clone(learner).fit(X[:, [j]], X[:, 0], sample_weight=w) for j in range(X.shape[1])]
    return [
        (model.smoother_matrix(), model.smoother_matrix(new[:, [j]]))
        for j, model in enumerate(fitted)
    ]


LEARNERS = {
    "df": SmoothingSplineRegressor(df=4),
    "penalty": SmoothingSplineRegressor(penalty=0.5),
    "order 1": SmoothingSplineRegressor(df=3, order=1),
    "lines": SmoothingSplineRegressor(df=2),
    "few knots": SmoothingSplineRegressor(df=4, max_knots=8),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("init", "rate"), [("mean", 0.1), ("zero", 0.3), ("mean", 1.0)])
def test_rounds_equal_the_loop_that_refits_every_feature(name, init, rate):
    X, y, new = make_data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    m = 12 if name == "lines" else 40  # lines are soon fitted, and then rounding errors choose
    start = np.average(y, weights=w) if init == "mean" else 0.0
    rows, points, chosen = loop(smoothers(LEARNERS[name], X, w, new), y, w, rate, m, start)
    model = best(LEARNERS[name], init=init, learning_rate=rate, time=m * rate).fit(X, y, w)
    assert model.n_estimators_ == m
    np.testing.assert_array_equal(model.selected_features_, chosen)
    times = rate * np.arange(m + 1)
    np.testing.assert_allclose(model.predict_path(X, times), rows, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict_path(new, times), points, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict(new), points[:, -1], rtol=0, atol=1e-10)
    errors = w @ (y[:, None] - rows) ** 2 / w.sum()
    np.testing.assert_allclose(model.training_error(times), errors, rtol=1e-10)
    if init == "mean":
        falls = np.bincount(chosen, -np.diff(errors), minlength=4)
        np.testing.assert_allclose(model.feature_importances_, falls / falls.sum(), atol=1e-8)


@pytest.mark.parametrize("init", ["mean", "zero"])
def test_degrees_of_freedom_and_criteria(init):
    """The trace of the operator is that of a product of matrices, given the features chosen."""
    X, y, new = make_data()
    n, rate, m = len(y), 0.2, 30
    times = rate * np.arange(m + 1)
    learner = LEARNERS["df"]
    model = best(learner, init=init, learning_rate=rate, time=m * rate).fit(X, y)
    matrices = smoothers(learner, X, np.ones(n), new)
    left = np.eye(n) - (1 / n if init == "mean" else 0.0)
    df = [n - np.trace(left)]
    for j in model.selected_features_:
        left = left - rate * matrices[j][0] @ left
        df.append(n - np.trace(left))
    np.testing.assert_allclose(model.degrees_of_freedom(times), df, rtol=1e-9)
    np.testing.assert_allclose(model.degrees_of_freedom([1.0]), df[5], rtol=1e-9)
    by_gcv = clone(model).set_params(time=TimeCriterion("gcv", times=times)).fit(X, y)
    expected = model.training_error(times) / (1 - np.array(df) / n) ** 2
    np.testing.assert_allclose(by_gcv.cv_results_["mean_score"], expected, rtol=1e-9)
    assert by_gcv.time_ == times[np.argmin(expected)]
    error = model.training_error(times)
    by_bic = clone(model).set_params(time=TimeCriterion("bic", times=times)).fit(X, y)
    bic = np.log(error) + np.log(n) / n * np.array(df)  # up to the unit of y
    gap = by_bic.cv_results_["mean_score"] - bic
    np.testing.assert_allclose(gap, gap[0], rtol=1e-9)
    reached = clone(model).set_params(time=Discrepancy(error[7] ** 0.5 * 1.0001))
    assert reached.set_params(time__times=times).fit(X, y).time_ == times[7]


def refitted(x, w, at, basis, df):
    """A spline with these knots on these rows, by normal equations: (S, its rows at `at`)."""
    if len(np.unique(x)) == 1:
        mean = w / w.sum()
        return np.tile(mean, (len(x), 1)), np.tile(mean, (len(at), 1))
    B, D = basis.design(x).toarray(), basis.penalty_root()
    G, R = B.T @ (w[:, None] * B), D.T @ D

    def inverse(log_penalty):
        return np.linalg.pinv(G + np.exp(log_penalty) * R, rcond=1e-13, hermitian=True)

    if len(np.unique(x)) > df:
        penalty = brentq(lambda a: np.trace(inverse(a) @ G) - df, -25, 25, xtol=1e-13)
        coefficients = inverse(penalty) @ (w[:, None] * B).T
    else:  # the smoothest function through the mean of y at each value
        W, N = np.sqrt(w)[:, None], null_space(B, rcond=1e-10)
        coefficients = np.linalg.pinv(W * B, rcond=1e-10) @ np.diag(W[:, 0])
        coefficients = coefficients - N @ np.linalg.pinv(N.T @ R @ N) @ N.T @ R @ coefficients
    return B @ coefficients, basis.design(at) @ coefficients


draws = np.random.default_rng(3)
SPLITS = {
    "folds": KFold(3),
    "later rows": TimeSeriesSplit(3),
    "few to train": TimeSeriesSplit(2, max_train_size=3, test_size=5),
    "some rows": ShuffleSplit(2, train_size=0.5, test_size=0.2, random_state=0),
    "repeated rows": [(draws.integers(36, size=36), draws.integers(36, size=20)) for _ in range(2)],
    "rows of both": [(np.arange(36), np.arange(9)), (np.arange(5, 36), np.arange(12))],
}


@pytest.mark.parametrize("init", ["mean", "zero"])
@pytest.mark.parametrize("max_knots", [12, 200])
@pytest.mark.parametrize("cv", SPLITS)
def test_cross_validation_by_sums_equals_refits_to_the_splits(init, max_knots, cv):
    X, y, _ = make_data(n=36)
    X[:12, 2], X[12:, 2] = np.arange(12) % 2, 1.0  # constant where the first fold is left out
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    rate, m, df = 0.2, 25, 4
    errors = np.zeros(m + 1)
    learner = SmoothingSplineRegressor(df=df, max_knots=max_knots)
    bases = clone(learner).fit(X, y)._design.bases  # the knots are those of all rows
    tested, splits = 0.0, SPLITS[cv]
    for train, test in splits.split(X) if hasattr(splits, "split") else splits:
        tested += w[test].sum()
        matrices = [
            refitted(x[train], w[train], x[test], basis, df) for x, basis in zip(X.T, bases)
        ]
        start = np.average(y[train], weights=w[train]) if init == "mean" else 0.0
        _, held, _ = loop(matrices, y[train], w[train], rate, m, start)
        errors += w[test] @ (y[test, None] - held) ** 2
    times = rate * np.arange(m + 1)
    model = best(
        learner,
        init=init,
        learning_rate=rate,
        time=CVChoice(times, cv=splits),
    ).fit(X, y, w)
    np.testing.assert_allclose(model.cv_results_["mean_score"], errors / tested, rtol=1e-7)
    assert model.time_ == times[np.argmin(errors)]


@pytest.mark.parametrize("time", [4.0, "gcv", "cv"])
def test_weights_are_repeated_rows_and_weight_zero_is_no_row(time):
    X, y, new = make_data(n=40)
    w = np.random.default_rng(0).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), w)
    kept = np.flatnonzero(w)
    folds = np.arange(40) % 4
    splits = [(kept[folds[kept] != k], kept[folds[kept] == k]) for k in range(4)]
    copies = [
        (np.flatnonzero(folds[rows] != k), np.flatnonzero(folds[rows] == k)) for k in range(4)
    ]
    one = best(time=CVChoice(cv=splits) if time == "cv" else time).fit(X, y, sample_weight=w)
    other = best(time=CVChoice(cv=copies) if time == "cv" else time).fit(X[rows], y[rows])
    np.testing.assert_array_equal(one.selected_features_, other.selected_features_)
    assert hasattr(one, "cv_results_") == isinstance(time, str)
    if isinstance(time, str):
        found, wanted = one.cv_results_["mean_score"], other.cv_results_["mean_score"]
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
    np.testing.assert_allclose(one.predict(new), other.predict(new), rtol=1e-8)


# An average of splines over few subsets of the rows.
@pytest.mark.filterwarnings("ignore:Boosting .* is unstable:UserWarning")
def test_terms_are_centred_and_sum_to_the_prediction():
    X, y, new = make_data(n=30)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    Y = np.column_stack([y, y**2])
    spline = SmoothingSplineRegressor(df=4)
    kernel = KernelRidge(kernel="rbf", alpha=0.3)
    models = [
        spline,
        best(),
        best(init="zero"),
        LinearL2BoostingRegressor(spline, time=2.0),
        LinearL2BoostingRegressor(spline, time=2.0, init="zero"),
        LinearL2BoostingRegressor(spline, variant="random_feature", time=2.0),
        LinearL2BoostingRegressor(
            spline, variant="random_feature", time=2.0, learning_rate=0.2, random_state=0
        ),
        LinearL2BoostingRegressor(
            spline,
            variant="random_feature",
            time=2.0,
            subsample=0.9,
            n_subsamples=2,
            random_state=0,
        ),
        LinearL2BoostingRegressor(kernel, variant="random_feature", time=2.0),
        LinearL2BoostingRegressor(
            kernel,
            variant="random_feature",
            time=2.0,
            learning_rate=0.2,
            random_state=0,
            init="zero",
        ),
    ]
    for model in models:
        fitted = clone(model).fit(X, y, sample_weight=w)
        terms = fitted.predict_terms(new)
        assert terms.shape == new.shape
        np.testing.assert_allclose(fitted.intercept_ + terms.sum(axis=1), fitted.predict(new))
        np.testing.assert_allclose(w @ fitted.predict_terms(X), 0.0, atol=1e-9 * w.sum())
    two = spline.fit(X, Y, sample_weight=w)
    terms = two.predict_terms(new)
    assert terms.shape == (15, 4, 2)
    np.testing.assert_allclose(two.intercept_ + terms.sum(axis=1), two.predict(new))
    np.testing.assert_allclose(terms[:, :, 0], clone(spline).fit(X, y, w).predict_terms(new))
    with pytest.raises(AttributeError, match="additive"):
        LinearL2BoostingRegressor(Ridge(), time=1.0).fit(X, y).predict_terms(new)


def test_few_of_many_features_are_selected():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 40))
    f = 2 * np.sin(3 * X[:, 0]) + 3 * X[:, 1] ** 2
    times = 0.1 * np.arange(200)
    model = best(LEARNERS["few knots"], time=CVChoice(times)).fit(
        X, f + 0.3 * rng.standard_normal(150)
    )
    assert set(model.selected_features_[:10]) == {0, 1}
    assert model.feature_importances_[:2].sum() > 0.95
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    new = rng.uniform(-1, 1, size=(500, 40))
    truth = 2 * np.sin(3 * new[:, 0]) + 3 * new[:, 1] ** 2
    assert np.mean((model.predict(new) - truth) ** 2) < 0.05 * np.var(truth)
    unused = np.setdiff1d(np.arange(40), model.selected_features_)
    assert len(unused)
    assert not model.predict_terms(new)[:, unused].any()


def test_edge_cases():
    X, y, new = make_data()
    for time in (2.0, "gcv", "bic", "cv"):
        flat = best(time=time).fit(X, np.full(40, 4.0))
        np.testing.assert_allclose(flat.predict(new), 4.0)
        assert len(flat.selected_features_) == 0
        np.testing.assert_array_equal(flat.feature_importances_, 0.0)
    # Nothing is left after one round: a line, fitted exactly.
    line = best(LEARNERS["lines"], learning_rate=1.0, time=5.0).fit(X, 3 * X[:, 1] - 1)
    np.testing.assert_array_equal(line.selected_features_, [1])
    np.testing.assert_allclose(line.predict(new), 3 * new[:, 1] - 1)
    np.testing.assert_allclose(line.degrees_of_freedom([0, 1, 4]), [1, 2, 2])
    # Copies of a feature: the first one; columns that are constant: never.
    padded = np.column_stack([np.ones(40), X, X[:, 0]])
    model, one = best().fit(padded, y), best().fit(X, y)
    np.testing.assert_array_equal(model.selected_features_, one.selected_features_ + 1)
    constant = best(time=1.0).fit(np.ones((40, 2)), y)
    np.testing.assert_allclose(constant.predict(new[:, :2]), y.mean())
    # Numbers of 1e150 and 1e-150.
    for scale in (1e150, 1e-150):
        scaled = best().fit(X * scale, y * scale)
        np.testing.assert_allclose(scaled.predict(new * scale), one.predict(new) * scale, 1e-7)
    with np.errstate(all="raise"):
        again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(new), one.predict(new))
    np.testing.assert_array_equal(again.degrees_of_freedom([1, 3]), one.degrees_of_freedom([1, 3]))
    # A second fit with other parameters leaves nothing of the first.
    refit = one.set_params(variant="random_feature", learning_rate=0.0).fit(X, y)
    assert not hasattr(refit, "selected_features_")
    assert not hasattr(refit, "feature_importances_")


def test_refusals():
    X, y, new = make_data()
    w = np.r_[np.ones(39), 2.0]
    with pytest.raises(ValueError, match="learning_rate > 0"):
        best(learning_rate=0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"subsample must be 1, got 0\.5"):
        best(subsample=0.5).fit(X, y)
    with pytest.raises(ValueError, match="time='loo' is not available"):
        best(time="loo").fit(X, y)
    with pytest.raises(ValueError, match=r"needs SmoothingSplineRegressor .* got Ridge"):
        best(Ridge()).fit(X, y, w)
    with pytest.raises(ValueError, match="Set df or penalty to a number"):
        best(SmoothingSplineRegressor()).fit(X, y)
    model = best().fit(X, y)
    assert model.is_stable_
    assert len(model.eigenvalues_) == 0
    for ask in (model.training_error, model.degrees_of_freedom):
        with pytest.raises(ValueError, match="only 30 rounds were run"):
            ask([3.1])
    with pytest.raises(ValueError, match="times must be at most 3"):
        model.predict_path(new, [0.5, 50.0])
    with pytest.raises(ValueError, match="not linear in y"):
        model.bias_variance(lambda X: X[:, 0], 0.3, [1.0])
    with pytest.raises(AttributeError, match="variant='best_feature' only"):
        LinearL2BoostingRegressor(time=1.0).fit(X, y).selected_features_  # noqa: B018


def test_displays():
    pytest.importorskip("matplotlib").use("Agg")
    from sklearn_ensemble_theory.inspection import (
        BoostingPathDisplay,
        LocalExplanationDisplay,
        ShapeFunctionDisplay,
        SmootherSpectrumDisplay,
    )

    X, y, _ = make_data()
    model = best(time=CVChoice([0, 1, 2])).fit(X, y)
    display = BoostingPathDisplay.from_estimator(model, X, y)
    assert display.times.max() == pytest.approx(2.0)
    np.testing.assert_allclose(display.errors["training"], display.errors["test"])
    display = LocalExplanationDisplay.from_estimator(model, X[:1])
    assert sum(display.contributions) == pytest.approx(model.predict_terms(X[:1]).sum())
    with pytest.raises(TypeError, match="does not have shape_functions_"):
        ShapeFunctionDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="There are no eigenvalues"):
        SmootherSpectrumDisplay.from_estimator(model)


@parametrize_with_checks([best(LEARNERS["few knots"], time=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
