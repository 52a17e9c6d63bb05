"""The radius of a ball by held-out risks: two routes, units, warm starts, and what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import BallConstrainedClassifier
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.bounds import surrogate_risk
from sklearn_ensemble_theory.erm._ball.balls import L1Ball, L2Ball
from sklearn_ensemble_theory.erm._ball.problem import BallProblem
from sklearn_ensemble_theory.erm._ball.solvers import solve_in_ball

RADII = [0.1, 0.3, 1.0, 3.0, 10.0]


def sample(n=90, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(1, 2, p)
    return X, np.where(X[:, 0] - X[:, 1] + rng.standard_normal(n) > 0.4, 1, -1)


def held_out_score(model, X, y):
    return -surrogate_risk(model.loss, y, model.decision_function(X))


@pytest.mark.parametrize(
    "params",
    [
        {"loss": loss, "norm": norm}
        for loss in ("logistic", "hinge", "exponential")
        for norm in ("l1", "l2")
    ]
    + [{"kernel": "rbf", "gamma": 0.3}, {"fit_intercept": False}, {"solver": "gd", "max_iter": 50}],
    ids=str,
)
def test_choice_is_that_of_a_grid_search(params):
    X, y = sample()
    cv = StratifiedKFold(3)
    model = BallConstrainedClassifier(CVChoice(RADII, cv=cv), tol=1e-9, **params).fit(X, y)
    search = GridSearchCV(
        BallConstrainedClassifier(tol=1e-9, **params),
        {"radius": RADII},
        scoring=held_out_score,
        cv=cv,
    ).fit(X, y)
    assert model.radius_ == search.best_params_["radius"]
    found, expected = model.cv_results_, search.cv_results_
    np.testing.assert_array_equal(found["radius"], RADII)
    for fold in range(3):
        np.testing.assert_allclose(
            found[f"split{fold}_score"], -expected[f"split{fold}_test_score"], rtol=2e-4
        )
    np.testing.assert_allclose(found["mean_score"], -expected["mean_test_score"], rtol=2e-4)
    # The fit to all rows is the one of this radius.
    other = search.best_estimator_
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    assert model.dual_gap_ == other.dual_gap_


def test_several_classes_have_one_radius():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = BallConstrainedClassifier(RADII).fit(X, y)
    means = []
    for radius in RADII:
        risks = []
        for train, held in StratifiedKFold(5).split(X, y):
            part = BallConstrainedClassifier(radius).fit(X[train], y[train])
            scores = part.decision_function(X[held])
            signs = np.where(y[held][:, None] == np.arange(3), 1.0, -1.0)
            risks.append(np.logaddexp(0, -signs * scores).mean())
        means.append(np.mean(risks))
    np.testing.assert_allclose(model.cv_results_["mean_score"], means, rtol=1e-4)
    assert model.radius_ == RADII[int(np.argmin(means))]


@pytest.mark.parametrize("scale", [2.0**5, 2.0**-40, 2.0**200, 2.0**-200])
def test_usual_candidates_have_the_units_of_the_features(scale):
    X, y = sample()
    for norm in ("l1", "l2"):
        one = BallConstrainedClassifier("cv", norm=norm).fit(X, y)
        other = BallConstrainedClassifier("cv", norm=norm).fit(scale * X, y)
        assert len(one.cv_results_["radius"]) == 16
        np.testing.assert_allclose(
            other.cv_results_["radius"] * scale, one.cv_results_["radius"], rtol=1e-12
        )
        assert other.radius_ * scale == pytest.approx(one.radius_, rel=1e-12)
        # The best candidate is inside of the range.
        assert one.cv_results_["radius"][0] < one.radius_ < one.cv_results_["radius"][-1]


def test_weights_are_repeated_rows():
    X, y = sample(60)
    weight = np.random.default_rng(1).integers(0, 3, 60)
    copies = np.repeat(np.arange(60), weight)
    kept = np.flatnonzero(weight)
    splits = list(StratifiedKFold(3).split(X, y))
    as_copies = [
        tuple(np.flatnonzero(np.isin(copies, np.intersect1d(kept, part))) for part in split)
        for split in splits
    ]
    one = BallConstrainedClassifier(CVChoice(RADII, cv=splits)).fit(X, y, weight)
    other = BallConstrainedClassifier(CVChoice(RADII, cv=as_copies)).fit(X[copies], y[copies])
    np.testing.assert_allclose(
        one.cv_results_["mean_score"], other.cv_results_["mean_score"], rtol=1e-5
    )
    assert one.radius_ == other.radius_


@pytest.mark.parametrize("ball", [L1Ball, L2Ball])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_solution_in_a_smaller_ball_is_a_start(ball, loss):
    X, y = sample(300, 250)
    weight = np.full(300, 1 / 300)
    small, large = (
        BallProblem(X, y, weight, MARGIN_FUNCTIONS[loss], ball(r), fit_intercept=True)
        for r in (0.5, 0.6)
    )
    cold = solve_in_ball(large, 1e-8, 10_000)
    warm = solve_in_ball(large, 1e-8, 10_000, solve_in_ball(small, 1e-8, 10_000))
    assert cold.converged
    assert warm.converged
    assert warm.n_iter < cold.n_iter
    m = [y * large.scores(at.beta, at.intercept) for at in (cold, warm)]
    risks = [float(weight @ large.phi.value(each)) for each in m]
    assert abs(risks[0] - risks[1]) <= max(cold.gap, warm.gap)


def test_what_needs_a_given_radius():
    X, y = sample()
    model = BallConstrainedClassifier(RADII, solver="sgd", random_state=0).fit(X, y)
    for name, message in (("partial_fit", "must be a number"), ("error_bound", "set radius to")):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as error:
            getattr(model, name)
        assert message in str(error.value.__cause__)
    for values in ([], [-1.0], ["a"], [np.inf], [[1.0, 2.0], [3.0, 4.0]]):
        with pytest.raises(ValueError, match="radius must be a list of positive numbers"):
            BallConstrainedClassifier(values).fit(X, y)
    one_class = [(np.flatnonzero(y == 1), np.flatnonzero(y == -1))]
    match = "Split 0 of radius__cv trains on no row of the class -1, which has"
    with pytest.raises(ValueError, match=match):
        BallConstrainedClassifier(CVChoice(RADII, cv=one_class)).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e6])
def test_columns_without_a_slope_have_the_usual_radii(fit_intercept, factor):
    """Sums of rounding errors are no slope."""
    y = np.arange(60) % 2
    model = BallConstrainedClassifier("cv", fit_intercept=fit_intercept, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        radii = model.fit(np.full((60, 2), 0.1 * factor), y).cv_results_["radius"]
    np.testing.assert_allclose(radii, np.geomspace(1 / 8, 64, 16))


def test_a_given_radius_forgets_the_choice():
    X, y = sample()
    model = BallConstrainedClassifier("cv").fit(X, y)
    model.set_params(radius=2.0).fit(X, y)
    assert model.radius_ == 2.0
    assert not hasattr(model, "cv_results_")
    assert model.error_bound() > 0
