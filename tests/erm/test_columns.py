"""Single columns as weak learners: gradient boosting over a finite dictionary."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone

from sklearn_ensemble_theory import (
    BestColumnRegressor,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MatchingPursuitRegressor,
    bounds,
)
from sklearn_ensemble_theory.boosting.losses import (
    HuberLoss,
    LogisticLoss,
    PoissonLoss,
    SquaredLoss,
)

from ..surroundings import LeastSquaresTask, SignTask, prepare_rounds

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(),
    "huber": HuberLoss(0.5),
    "poisson": PoissonLoss(),
}
SMOOTH = ["logistic", "squared", "huber"]


def make_data(loss, n=60, d=8, seed=0):
    """Rows with targets from the model of the loss; columns of different sizes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 1.5, d)
    score = X[:, 0] - 0.7 * X[:, -1]
    if loss == "logistic":
        return X, np.where(rng.random(n) < expit(score), 1.0, -1.0)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * score)).astype(float)
    return X, score + 0.3 * rng.standard_normal(n)


def boosted(loss, X, y, n_rounds, **params):
    params = {"init": "zero", "learning_rate": 1.0, "n_estimators": n_rounds, **params}
    criterion = params.pop("criterion", "inner_product")
    estimator = BestColumnRegressor(criterion, fit_intercept=False)
    if loss == "logistic":
        return GradientBoostingClassifier(estimator, **params).fit(X, y)
    return GradientBoostingRegressor(estimator, loss=LOSSES[loss], **params).fit(X, y)


def coefficients(model):
    """After 0, 1, ... rounds: shape (n_rounds + 1, d)."""
    out = np.zeros((len(model.estimators_) + 1, model.n_features_in_))
    for t, (step, member) in enumerate(zip(model.steps_.ravel(), model.estimators_.ravel())):
        out[t + 1] = out[t]
        out[t + 1, member.feature_] += step * member.coef_
    return out


def risk_of(loss, y, scores):
    return float(np.mean(LOSSES[loss].value(y, scores)))


def smallest_risk(loss, X, y):
    """By SciPy: the coefficients and the risk."""
    one = LOSSES[loss]
    found = minimize(
        lambda b: np.mean(one.value(y, X @ b)),
        np.zeros(X.shape[1]),
        jac=lambda b: X.T @ one.gradient(y, X @ b) / len(y),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    return found.x, found.fun


@pytest.mark.parametrize("loss", SMOOTH)
def test_greedy_algorithm_of_the_source(loss):
    """[Bach, eq. (10.9)] written out."""
    X, y = make_data(loss)
    one, n = LOSSES[loss], len(y)
    L, C = one.smoothness / n, np.sqrt((X**2).sum(axis=0).max())
    u, path = np.zeros(n), []
    for _ in range(40):
        gradient = one.gradient(y, u) / n
        j = np.argmax(np.abs(X.T @ gradient))
        psi = -np.sign(X[:, j] @ gradient) * X[:, j]
        u = u - (gradient @ psi) * psi / (L * C**2)
        path.append(u)
    model = boosted(loss, X, y, 40, step="smooth")
    np.testing.assert_allclose(X @ coefficients(model)[1:].T, np.array(path).T, atol=1e-10)
    risks = [risk_of(loss, y, u) for u in path]
    np.testing.assert_allclose(model.train_scores_, risks, rtol=1e-10)
    scores = model.decision_function(X) if loss == "logistic" else model.predict(X)
    np.testing.assert_allclose(scores, u, atol=1e-10)


@pytest.mark.parametrize("loss", SMOOTH)
def test_proposition_10_1_for_the_fitted_model(loss):
    X, y = make_data(loss, n=30, d=6)
    model = boosted(loss, X, y, 200, step="smooth")
    t = np.arange(1, 201)
    curvature = LOSSES[loss].smoothness * np.mean(X**2, axis=0).max()
    start = risk_of(loss, y, np.zeros(30))
    best, risk = smallest_risk(loss, X, y)
    for b in (best, 0.5 * best, np.eye(6)[0]):
        value = risk_of(loss, y, X @ b)
        gamma = bounds.gauge(X, X @ b).value
        assert gamma == pytest.approx(np.abs(b).sum())  # the columns are independent
        right = bounds.greedy_boosting_bound(t, curvature, gamma, start - value)
        assert (model.train_scores_ - value <= right).all()
    norms = np.abs(coefficients(model)[1:]).sum(axis=1)
    right = bounds.greedy_boosting_gauge_bound(t, curvature, start - model.train_scores_)
    assert (norms <= right * (1 + 1e-9)).all()
    assert model.train_scores_[-1] >= risk - 1e-9


@pytest.mark.parametrize("criterion", ["squared_error", "inner_product"])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_rounds_reach_the_minimum(loss, criterion):
    X, y = make_data(loss)
    model = boosted(loss, X, y, 250, criterion=criterion, step="line_search")
    best, risk = smallest_risk(loss, X, y)
    assert model.train_scores_[-1] == pytest.approx(risk, abs=1e-6)
    np.testing.assert_allclose(coefficients(model)[-1], best, atol=0.01)


def test_line_search_written_out():
    """Poisson regression: the column by the inner product, its step by SciPy."""
    X, y = make_data("poisson")
    u = np.zeros(len(y))
    model = boosted("poisson", X, y, 5, step="line_search")
    for b, member in zip(model.steps_.ravel(), model.estimators_.ravel()):
        products = X.T @ (y - np.exp(u))
        j = np.argmax(np.abs(products))
        found = minimize(lambda s, u=u, j=j: risk_of("poisson", y, u + s * X[:, j]), 0.0)
        assert member.feature_ == j
        assert b * member.coef_ == pytest.approx(found.x[0], abs=1e-4)
        u = u + b * member.coef_ * X[:, j]


def test_squared_loss_is_matching_pursuit():
    X, y = make_data("squared")
    X = X + np.arange(8.0)
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for intercept in (False, True):
        rounds = GradientBoostingRegressor(
            BestColumnRegressor(fit_intercept=intercept),
            init=None if intercept else "zero",
            learning_rate=0.3,
            n_estimators=30,
        ).fit(X, y, sample_weight=w)
        pursuit = MatchingPursuitRegressor(30, learning_rate=0.3, fit_intercept=intercept)
        pursuit.fit(X, y, sample_weight=w)
        np.testing.assert_allclose(coefficients(rounds), pursuit.coef_path_, atol=1e-10)
        np.testing.assert_allclose(rounds.predict(X), pursuit.predict(X), atol=1e-10)


def test_frank_wolfe_over_columns_as_a_weak_learner():
    X, y = make_data("squared")
    params = {"radius": 1.0, "fit_intercept": False, "n_estimators": 30}
    columns = FrankWolfeRegressor(**params).fit(X, y)
    column = BestColumnRegressor("inner_product", fit_intercept=False)
    learner = FrankWolfeRegressor(column, **params).fit(X, y)
    np.testing.assert_allclose(learner.predict(X), columns.predict(X), atol=1e-8)
    assert learner.is_exact_


@pytest.mark.parametrize("criterion", ["squared_error", "inner_product"])
def test_best_column_by_brute_force(criterion):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y, w = rng.standard_normal((15, 6)), rng.standard_normal(15), rng.random(15)
        X *= 10.0 ** rng.integers(-3, 4, 6)
        model = BestColumnRegressor(criterion, fit_intercept=False).fit(X, y, sample_weight=w)
        products = np.array([w @ (x * y) for x in X.T])
        squares = np.array([w @ x**2 for x in X.T])
        if criterion == "squared_error":
            j = np.argmin(w @ y**2 - products**2 / squares)
            coef = products[j] / squares[j]
        else:
            j = np.argmax(np.abs(products))
            coef = np.sign(products[j])
        assert model.feature_ == j
        assert model.coef_ == pytest.approx(coef)
        np.testing.assert_allclose(model.predict(X), coef * X[:, j])
        # With an intercept: the same for centred columns, and targets for the least squares.
        means = np.average(X, axis=0, weights=w)
        mean = np.average(y, weights=w) if criterion == "squared_error" else 0.0
        centred = clone(model).fit(X - means, y - mean, sample_weight=w)
        both = BestColumnRegressor(criterion).fit(X, y, sample_weight=w)
        assert both.feature_ == centred.feature_
        np.testing.assert_allclose(both.predict(X), mean + centred.predict(X - means), atol=1e-12)


def test_rounds_equal_fits():
    X, y = make_data("squared")
    w = np.random.default_rng(0).random(len(y))
    w /= w.sum()
    for criterion in ("squared_error", "inner_product"):
        learner = BestColumnRegressor(criterion, fit_intercept=False)
        rounds = prepare_rounds(learner, X, w, LeastSquaresTask())
        member, outputs = rounds.best(y, w)
        fitted = learner.fit(X, y, sample_weight=w)
        assert (member.feature_, member.coef_) == (fitted.feature_, fitted.coef_)
        np.testing.assert_allclose(outputs, fitted.predict(X))
        assert rounds.is_exact
        assert rounds.has_scale == (criterion == "inner_product")
    assert rounds.outputs_bound == pytest.approx(np.sqrt((w @ X**2).max()))
    assert prepare_rounds(learner, X, w, SignTask()) is None
    assert prepare_rounds(learner, sp.csr_matrix(X), w, LeastSquaresTask()) is None
    assert prepare_rounds(BestColumnRegressor(), X, w, LeastSquaresTask()).outputs_bound is None


def test_edge_cases():
    zero = BestColumnRegressor().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert (zero.feature_, zero.coef_, zero.intercept_) == (0, 0.0, 2.0)
    constant = BestColumnRegressor().fit([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]], [1.0, 1.0, 4.0])
    assert constant.feature_ == 1
    nothing = BestColumnRegressor(fit_intercept=False).fit([[1.0], [2.0]], [0.0, 0.0])
    assert nothing.coef_ == 0
    for size in (1e-300, 1e300):
        big = BestColumnRegressor().fit([[size], [2 * size]], [size, 2 * size])
        assert big.coef_ == pytest.approx(1)
    with pytest.raises(ValueError, match="coefficient overflows"):
        BestColumnRegressor().fit([[1e-300], [2e-300]], [1e300, 2e300])
    with pytest.raises(ValueError, match="'criterion' parameter"):
        BestColumnRegressor("other").fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="finite smoothness"):
        boosted("poisson", *make_data("poisson"), 3, step="smooth")
