"""Frank-Wolfe boosting: against other solvers, its own certificate, and brute force."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    ReLUUnitRegressor,
    bounds,
)
from sklearn_ensemble_theory.boosting import CVChoice, losses

from .frank_wolfe_data import labels, problem

VARIANTS = [{}, {"variant": "away"}, {"variant": "pairwise"}, {"variant": "fully_corrective"}]
STEPS = ["open_loop", "line_search", "short"]


def optimum(loss, X, y, weight, radius, fit_intercept=True):
    """The least risk over the ball by another method: positive and negative parts, SLSQP."""
    d = X.shape[1]

    def value(z):
        scores = X @ (z[:d] - z[d : 2 * d]) + z[-1]
        g = weight * loss.gradient(y, scores)
        slope = X.T @ g
        return weight @ loss.value(y, scores), np.concatenate([slope, -slope, [g.sum()]])

    sums = np.concatenate([np.full(2 * d, -1.0), [0.0]])
    found = minimize(
        value,
        np.zeros(2 * d + 1),
        jac=True,
        bounds=[(0, None)] * (2 * d) + [(None, None) if fit_intercept else (0, 0)],
        constraints={"type": "ineq", "fun": lambda z: radius + sums @ z, "jac": lambda z: sums},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert found.success
    return found.fun


# --- columns of X ------------------------------------------------------------------------------


@pytest.mark.parametrize("params", VARIANTS, ids=str)
def test_columns_equal_the_lasso_of_the_same_norm(params):
    X, y, _ = problem()
    for alpha in (0.5, 0.05):
        lasso = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
        radius = np.abs(lasso.coef_).sum()
        n, tol = (5000, 1e-12) if params else (1000, 1e-3)
        model = FrankWolfeRegressor(radius=radius, n_estimators=n, tol=tol, **params).fit(X, y)
        best = np.mean((y - lasso.predict(X)) ** 2) / 2
        if params:
            assert model.stop_reason_ == "tol"
            np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-5)
            assert model.train_scores_[-1] == pytest.approx(best, rel=1e-9)
            assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-4)
        assert model.train_scores_[-1] - best <= model.dual_gap_ + 1e-12
        residual = y - model.predict(X)
        assert model.train_scores_[-1] == pytest.approx(np.mean(residual**2) / 2, rel=1e-9)


@pytest.mark.parametrize("params", VARIANTS, ids=str)
@pytest.mark.parametrize(
    "loss", [losses.SquaredLoss(), losses.HuberLoss(0.5), losses.LogisticLoss()], ids=str
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_certifies_every_round_for_every_loss(params, loss, fit_intercept):
    X, y, weight = problem(n=40, d=8)
    y = labels(y) if loss.margin else y
    radius = 0.8
    best = optimum(loss, X, y, weight, radius, fit_intercept)
    cls = FrankWolfeClassifier if loss.margin else FrankWolfeRegressor
    model = cls(
        radius=radius,
        loss=loss,
        n_estimators=400,
        tol=1e-9,
        fit_intercept=fit_intercept,
        **params,
    ).fit(X, y, sample_weight=weight)
    assert (model.train_scores_ - best <= model.dual_gaps_ + 1e-9).all()
    assert model.train_scores_[-1] >= best - 1e-7
    assert model.train_scores_[-1] - best <= (1e-6 if params else 1e-2)
    assert model.variation_norm_ <= radius
    assert np.abs(model.coef_).sum() <= radius
    assert (np.diff(model.train_scores_) <= 1e-12).all()
    assert (model.intercept_ == 0) == (not fit_intercept)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", [losses.SquaredLoss(), losses.LogisticLoss()], ids=str)
def test_every_step_rule_within_its_bound_and_inside_the_ball(step, loss):
    """F(u_t) - F* <= 8 L C² D²/(t + 2), from the first round on.

    Half of it still holds: the direction D psi - u would have to be a diameter in every round.
    """
    X, y, weight = problem(n=40, d=8)
    y = labels(y) if loss.margin else y
    radius = 1.5
    best = optimum(loss, X, y, weight, radius)
    cls = FrankWolfeClassifier if loss.margin else FrankWolfeRegressor
    model = cls(radius=radius, loss=loss, n_estimators=300, tol=0, step=step)
    model.fit(X, y, sample_weight=weight)
    C2 = np.max(weight @ (X - weight @ X) ** 2)
    t = np.arange(1, model.n_estimators_ + 1)
    right = bounds.frank_wolfe_bound(t, loss.smoothness * C2, radius)
    assert (model.train_scores_[1:] - best <= right / 2).all()
    assert (model.train_scores_ - best <= model.dual_gaps_ + 1e-9).all()
    for rounds in (1, 2, 3, 10, 50):
        model.set_params(n_estimators=rounds).fit(X, y, sample_weight=weight)
        assert np.abs(model.coef_).sum() <= radius * (1 + 1e-12)
        assert model.n_estimators_ == rounds


@pytest.mark.parametrize("estimator", [DecisionStumpRegressor(), ReLUUnitRegressor()], ids=str)
def test_nothing_to_learn_from_weak_learners(estimator):
    X, _, _ = problem(n=40, d=3)
    model = FrankWolfeRegressor(estimator, variant="fully_corrective").fit(X, np.full(40, 3.25))
    assert model.stop_reason_ == "tol"
    assert model.n_estimators_ == 0
    assert model.dual_gap_ == 0
    np.testing.assert_array_equal(model.predict(X), 3.25)


def test_away_steps_converge_where_plain_steps_zigzag():
    X, y, _ = problem()
    gaps = [
        FrankWolfeRegressor(radius=1.0, n_estimators=300, tol=1e-10, **params).fit(X, y).dual_gap_
        for params in VARIANTS
    ]
    assert max(gaps[1:]) < 1e-6 * gaps[0]


def test_weights_are_repetitions_and_sparse_is_dense():
    X, y, _ = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for model in (
        FrankWolfeRegressor(variant="away"),
        FrankWolfeRegressor(loss="huber"),
        FrankWolfeRegressor(DecisionStumpRegressor(), n_estimators=20),
    ):
        weighted = model.fit(X, y, sample_weight=weight).predict(X)
        repeated = model.fit(X[rows], y[rows]).predict(X)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    thin = np.where(np.abs(X) > 1, X, 0.0)
    for params in VARIANTS:
        dense = FrankWolfeRegressor(**params).fit(thin, y)
        sparse = FrankWolfeRegressor(**params).fit(sp.csr_array(thin), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)


@pytest.mark.parametrize("params", VARIANTS[1:], ids=str)
def test_columns_and_targets_at_the_edge(params):
    X, y, _ = problem()
    strange = np.column_stack([X, X[:, 0], np.zeros(60), np.full(60, 0.1)])
    plain = FrankWolfeRegressor(n_estimators=2000, tol=1e-10, **params).fit(X, y)
    model = FrankWolfeRegressor(n_estimators=2000, tol=1e-10, **params).fit(strange, y)
    assert not model.coef_[-2:].any()
    assert model.train_scores_[-1] == pytest.approx(plain.train_scores_[-1], rel=1e-8)
    for target in (np.zeros(60), np.full(60, 3.25)):
        model.fit(strange, target)
        assert model.n_estimators_ == 0
        assert model.dual_gap_ == 0
        np.testing.assert_allclose(model.predict(strange), target, rtol=1e-12)
    # A ball that is no constraint: least squares, strictly inside.
    free = FrankWolfeRegressor(radius=1e3, n_estimators=50_000, tol=1e-9, **params).fit(X, y)
    least = LinearRegression().fit(X, y)
    assert free.variation_norm_ < 1e3
    np.testing.assert_allclose(free.predict(X), least.predict(X), atol=1e-2)
    # y in the span of two columns, on the boundary of the ball.
    model = FrankWolfeRegressor(radius=3.0, n_estimators=5000, tol=1e-14, **params)
    model.fit(X, X[:, 1] - 2 * X[:, 2])
    np.testing.assert_allclose(model.coef_[[1, 2]], [1, -2], atol=1e-4)


def test_any_units():
    X, y, _ = problem()
    plain = FrankWolfeRegressor(variant="away", n_estimators=500).fit(X, y)
    for a, b in [(1e100, 1e-100), (1e-120, 1e120)]:
        scaled = FrankWolfeRegressor(radius=b / a, variant="away", n_estimators=500)
        scaled.fit(a * X, b * y)
        np.testing.assert_allclose(scaled.coef_, b / a * plain.coef_, rtol=1e-6, atol=1e-9 * b / a)
        assert scaled.variation_norm_ <= b / a
    with pytest.raises(ValueError, match="radius"):
        FrankWolfeRegressor(radius=1e200).fit(X, y)
    with pytest.raises(ValueError, match="products overflow"):
        FrankWolfeRegressor(loss="huber").fit(1e200 * X, 1e150 * y)
    with pytest.raises(ValueError, match="outputs of a weak learner are as large"):
        FrankWolfeRegressor(ReLUUnitRegressor("inner_product")).fit(1e160 * X, y)


# --- the radius --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, DecisionStumpRegressor()], ids=str)
def test_the_radius_with_the_least_held_out_risk(estimator):
    X, y, weight = problem()
    radii = [0.3, 4.0, 1.0]
    params = {"n_estimators": 30, "variant": "fully_corrective", "tol": 1e-7}
    model = FrankWolfeRegressor(estimator, radius=CVChoice(radii, cv=3), **params)
    model.fit(X, y, sample_weight=weight)
    results = model.cv_results_
    np.testing.assert_array_equal(results["radius"], sorted(radii))
    for k, radius in enumerate(sorted(radii) if estimator is None else []):
        for fold, (train, held) in enumerate(KFold(3).split(X)):
            single = FrankWolfeRegressor(estimator, radius=radius, **params)
            single.fit(X[train], y[train], sample_weight=weight[train])
            error = (y[held] - single.predict(X[held])) ** 2
            expected = np.average(error, weights=weight[held]) / 2
            assert results[f"split{fold}_score"][k] == pytest.approx(expected, rel=0.02)
    assert model.radius_ == results["radius"][results["mean_score"].argmin()]
    listed = FrankWolfeRegressor(estimator, radius=radii, **params).fit(X, y, sample_weight=weight)
    assert listed.cv_results_.keys() - results.keys() == {"split3_score", "split4_score"}
    final = FrankWolfeRegressor(estimator, radius=model.radius_, **params)
    final.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), final.predict(X))


@pytest.mark.parametrize("cls", [FrankWolfeRegressor, FrankWolfeClassifier])
def test_splits_are_of_the_rows_given_and_an_integer_of_the_rows_kept(cls):
    X, y, _ = problem()
    y = labels(y) if cls is FrankWolfeClassifier else y
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    kept = np.flatnonzero(weight)
    model = cls(radius=CVChoice([0.5, 2.0]), n_estimators=10)

    def risks(cv, X, y, weight):
        results = model.set_params(radius__cv=cv).fit(X, y, sample_weight=weight).cv_results_
        return np.array([results[f"split{k}_score"] for k in range(3)])

    splits = list(KFold(3).split(X))  # names rows up to the last, more than are kept
    given = risks(splits, X, y, weight)
    position = np.full(len(y), -1)
    position[kept] = np.arange(len(kept))
    among_kept = [tuple(position[part][position[part] >= 0] for part in s) for s in splits]
    of_kept = X[kept], y[kept], weight[kept]
    np.testing.assert_allclose(given, risks(among_kept, *of_kept), rtol=1e-12)
    np.testing.assert_allclose(risks(3, X, y, weight), risks(3, *of_kept), rtol=1e-12)


def test_radii_by_default_bracket_the_best():
    X, y, _ = problem(n=100)
    model = FrankWolfeRegressor(radius="cv", variant="away", n_estimators=100).fit(X, y)
    radii = model.cv_results_["radius"]
    assert radii[0] < model.radius_ < radii[-1]
    again = FrankWolfeRegressor(radius=model.radius_, variant="away").fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert model.score(X, y) > 0.8
    classifier = FrankWolfeClassifier(radius="cv", variant="pairwise", n_estimators=30).fit(
        X, labels(y)
    )
    assert classifier.cv_results_["radius"][0] < classifier.radius_
    assert classifier.coef_.shape == (1, X.shape[1])
    assert classifier.intercept_.shape == (1,)


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"variant": "away", "step": "open_loop"}, "variant='away' requires step"),
        (
            {"variant": "pairwise", "estimator": DecisionStumpRegressor()},
            "variant='pairwise' requires estimator=None",
        ),
        ({"loss": losses.AbsoluteLoss()}, "AbsoluteLoss is not differentiable"),
        ({"loss": losses.PoissonLoss(), "step": "short"}, "PoissonLoss has none"),
        ({"radius": [1.0, -1.0]}, "radius must be a list of positive"),
    ],
    ids=str,
)
def test_wrong_combinations_are_named(params, match):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=match):
        FrankWolfeRegressor(**params).fit(X, np.abs(y))


class NoteTaker(RegressorMixin, BaseEstimator):
    """A regressor whose fit needs a note."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.note_ = note
        self.tree_ = DecisionTreeRegressor(max_depth=1).fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_metadata_is_routed_to_the_weak_learner():
    X, y, _ = problem()
    with config_context(enable_metadata_routing=True):
        base = NoteTaker().set_fit_request(note=True, sample_weight=True)
        model = FrankWolfeRegressor(base, n_estimators=3).fit(X, y, note="heard")
        FrankWolfeRegressor(n_estimators=3).fit(X, y)
    assert {member.note_ for member in model.estimators_} == {"heard"}
    with pytest.raises(ValueError, match="note"):
        FrankWolfeRegressor(NoteTaker()).fit(X, y, note="heard")


def test_outputs_that_are_almost_zero_end_the_rounds():
    # One class only: the best intercept leaves gradients of the size of the smallest floats.
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    y = np.repeat([0, 1], 10)
    splits = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    model = FrankWolfeClassifier(
        DecisionStumpRegressor(), loss="exponential", radius=CVChoice(cv=splits), n_estimators=10
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("estimator", [None, DecisionStumpRegressor()])
@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_the_chosen_radius_has_the_unit_of_y(estimator, exponent):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(60)
    one = FrankWolfeRegressor(estimator, radius="cv", n_estimators=10).fit(X, y)
    other = FrankWolfeRegressor(estimator, radius="cv", n_estimators=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.fit(X, np.ldexp(y, exponent))
    assert other.radius_ == pytest.approx(np.ldexp(one.radius_, exponent))
    np.testing.assert_allclose(other.predict(X), np.ldexp(one.predict(X), exponent))


def test_held_out_risks_of_huge_targets():
    """Their sum over the folds overflows, without a warning, and the choice does not change."""
    X, y, _ = problem(n=40, d=3)
    small = FrankWolfeRegressor(radius=[1.0, 2.0]).fit(X, y)
    factor = 2.0**512
    large = FrankWolfeRegressor(radius=[factor, 2.0 * factor]).fit(X, y * factor)
    assert large.radius_ == small.radius_ * factor
    assert large.cv_results_["mean_score"][0] == np.inf
