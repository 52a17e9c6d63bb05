"""The compiled steps over a ball: against steps written out, and against their certificate."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from sklearn_ensemble_theory import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_ensemble_theory._native.balls import direction_of
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._conditional_gradients import (
    SolverOptions,
    conditional_gradients,
)
from sklearn_ensemble_theory.boosting._norm_balls import (
    BallPlan,
    ColumnSolver,
    Problem,
    ProfiledRisk,
)

from .frank_wolfe_data import labels, problem

VARIANTS = ["plain", "away", "pairwise"]


def solver(loss, X, y, weight, fit_intercept, *options):
    plan = BallPlan(loss, None, SolverOptions(*options), fit_intercept, weight is not None, None)
    return ColumnSolver(plan, Problem(X, y, weight))


def slow_quadratic(X, y, weight, radius, variant, n_rounds):
    """The definition, with vertices in a list and everything computed anew in each round."""
    X, y = X - weight @ X, y - weight @ y
    d = X.shape[1]
    vertices = radius * np.vstack([np.eye(d), -np.eye(d), np.zeros(d)])
    beta, gaps, risks = np.zeros(d), [], []
    for _ in range(n_rounds):
        residual = y - X @ beta
        slope = X.T @ (weight * residual)
        merit = vertices @ slope
        # Of vertices that tie the first one.
        best = vertices[(merit >= merit.max() * (1 - 1e-9)).argmax()]
        gaps.append(merit.max() - slope @ beta)
        risks.append(weight @ residual**2 / 2)
        if gaps[-1] < 1e-9:
            break
        # The point as a mean of vertices: signs do not mix, and 0 has the rest.
        share = np.concatenate([np.maximum(beta, 0), np.maximum(-beta, 0)]) / radius
        share = np.append(share, 1 - share.sum())
        active = np.flatnonzero(share > 1e-13)
        worst = active[merit[active].argmin()]
        if share[-1] > 1e-13 and merit[worst] > -1e-9 * merit.max():
            worst = len(share) - 1
        direction, longest = best - beta, 1.0
        if beta.any() and variant == "pairwise":
            direction, longest = best - vertices[worst], share[worst]
        elif (
            beta.any()
            and variant == "away"
            and slope @ (beta - vertices[worst]) > gaps[-1] * (1 + 1e-9)
        ):
            direction, longest = beta - vertices[worst], share[worst] / (1 - share[worst])
        along = X @ direction
        step = min((slope @ direction) / (weight @ along**2), longest)
        beta = beta + step * direction
        beta[np.abs(beta) < 1e-14 * radius] = 0.0
    return beta, np.array(gaps), np.array(risks)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("radius", [0.3, 2.0, 30.0])
def test_steps_on_the_gram_matrix_are_those_of_the_definition(variant, radius):
    X, y, weight = problem(n=50, d=12)
    beta, gaps, risks = slow_quadratic(X, y, weight, radius, variant, 12)
    model = FrankWolfeRegressor(radius=radius, variant=variant, n_estimators=12, tol=1e-9)
    model.fit(X, y, sample_weight=weight)
    n = min(len(model.dual_gaps_), len(gaps))
    np.testing.assert_allclose(model.dual_gaps_[:n], gaps[:n], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.train_scores_[:n], risks[:n], rtol=1e-10)
    np.testing.assert_allclose(model.coef_, beta, atol=1e-10 if len(gaps) == 12 else 1e-8)


SMOOTH = [
    losses.LogisticLoss(),
    losses.ExponentialLoss(),
    losses.PoissonLoss(),
    losses.BinomialLoss(),
]


@pytest.mark.parametrize("error", [-1e-15, 0.0, 1e-15])
def test_rounding_does_not_choose_between_opposite_atoms(error):
    """Where c'beta is 0, towards an atom is as good as away from its opposite."""
    c, beta = np.array([2.0, 3.0 * (1 + error)]), np.array([0.3, -0.2])
    gap = c[1] - c @ beta
    step = direction_of(c, beta, 1.0, 1, gap, 1)
    assert step == (1.0, (1,), (1.0,), 1.0, gap)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("variant", [*VARIANTS, "fully_corrective"])
@pytest.mark.parametrize("weighted", [True, False])
def test_compiled_steps_are_those_of_python(loss, fit_intercept, variant, weighted):
    """The methods of the loss, which serve losses without compiled loops, take the same path."""
    X, y, weight = problem(n=45, d=7)
    y = labels(y) if loss.margin else np.abs(y).round() if "Poisson" in str(loss) else (y > 2) * 1.0
    n_rounds = 3 if variant == "fully_corrective" else 12
    given = loss, X, y, weight if weighted else None, fit_intercept
    found = []
    for is_compiled in (True, False):
        for step in ("line_search", "short", "open_loop"):
            if step == "short" and not np.isfinite(loss.smoothness):
                continue
            if step == "open_loop" and variant in ("away", "pairwise"):
                continue
            made = solver(*given, step, variant, n_rounds, 1e-5)
            assert made.ball.steps is not None
            if not is_compiled:
                made.ball.steps = None
            found.append(made.solve(0.7))
    half = len(found) // 2
    for compiled, python in zip(found[:half], found[half:]):
        assert compiled.stop_reason == python.stop_reason
        np.testing.assert_allclose(compiled.coef, python.coef, atol=1e-10)
        np.testing.assert_allclose(compiled.gaps, python.gaps, atol=1e-10)
        np.testing.assert_allclose(compiled.risks, python.risks, rtol=1e-10)
        assert compiled.intercept == pytest.approx(python.intercept, abs=1e-10)


def test_the_first_steps_of_classes_by_root_finders():
    """One step after the other, with the best intercept and the best length by SciPy."""
    X, y, weight = problem(n=60, d=5)
    y, radius = labels(y), 3.0
    model = FrankWolfeClassifier(radius=radius, n_estimators=6, tol=0).fit(X, y, weight)

    def at(scores):
        def risk(b):
            return weight @ np.logaddexp(0.0, -y * (scores + b))

        def slope(b):
            return weight @ (y / (1 + np.exp(y * (scores + b))))

        b = brentq(slope, -50, 50, xtol=1e-14)
        return risk(b), b, weight * y / (1 + np.exp(y * (scores + b)))

    beta = np.zeros(5)
    for t in range(6):
        risk, _, gradient = at(X @ beta)
        c = X.T @ gradient
        k = np.abs(c).argmax()
        assert model.train_scores_[t] == pytest.approx(risk, rel=1e-12)
        assert model.dual_gaps_[t] == pytest.approx(radius * abs(c[k]) - c @ beta, abs=1e-10)
        end = np.zeros(5)
        end[k] = radius * np.sign(c[k])
        along = end - beta

        def value(s, beta=beta, along=along):
            return at(X @ (beta + s * along))[0]

        def slope(s, beta=beta, along=along):
            return (X @ along) @ at(X @ (beta + s * along))[2]

        step = minimize_scalar(value, bounds=(0, 1), method="bounded").x
        low, high = max(step - 1e-2, 0.0), min(step + 1e-2, 1.0)
        step = brentq(slope, low, high, xtol=1e-14) if slope(low) * slope(high) < 0 else step
        beta = beta + step * (end - beta)
    np.testing.assert_allclose(model.coef_[0], beta, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("variant", [*VARIANTS, "fully_corrective"])
def test_steps_that_newtons_method_cannot_make_are_made_by_python(intercept, variant):
    """Far scores, where second derivatives are nearly 0: the gap still bounds the excess."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1.0, 30.0, 1.0, 300.0]
    y = np.round(np.exp(np.clip(X[:, 0] + 0.01 * X[:, 3], -4, 4)))
    loss, radius = losses.PoissonLoss(), 40.0
    many = FrankWolfeRegressor(
        loss=loss, radius=radius, n_estimators=300, variant="pairwise", fit_intercept=intercept
    ).fit(X, y)
    n = 5 if variant == "fully_corrective" else 30
    model = FrankWolfeRegressor(
        loss=loss, radius=radius, n_estimators=n, variant=variant, fit_intercept=intercept
    ).fit(X, y)
    assert np.all(model.train_scores_ - many.train_scores_[-1] <= model.dual_gaps_ + 1e-9)
    assert (np.diff(model.train_scores_) <= 1e-9).all()
    scores = X @ model.coef_ + model.intercept_
    assert model.train_scores_[-1] == pytest.approx(np.mean(loss.value(y, scores)), rel=1e-9)


@pytest.mark.parametrize("variant", [*VARIANTS, "fully_corrective"])
def test_steps_go_on_from_a_start_that_newtons_method_cannot_reach(variant):
    """The best intercept is farther than 30 steps: of a far start, and of 0 with one class."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((40, 3)), np.full(40, 1 / 40)
    y, beta = rng.poisson(1.0, 40).astype(float), np.array([25.0, 5.0, 0.0])
    given = solver(losses.PoissonLoss(), X, y, weight, True, "line_search", variant, 0, 0.0)
    path = conditional_gradients(given.ball, 40.0, beta, given.options)
    psi = (X - X.mean(axis=0)) / given.scale
    scores = psi @ beta + given.risk.intercept
    c = psi.T @ (y - np.exp(scores)) / 40
    assert path.gaps == pytest.approx(40 * np.abs(c).max() - c @ beta, rel=1e-8)
    assert path.risks == pytest.approx(np.mean(losses.PoissonLoss().value(y, scores)), rel=1e-8)
    one = FrankWolfeClassifier(variant=variant, tol=0).fit(X, y > 0, sample_weight=y > 0)
    risk = np.mean(np.log1p(np.exp(-one.decision_function(X[y > 0]))))
    assert risk <= 1e-30
    assert one.train_scores_[-1] == pytest.approx(risk, rel=1e-9)


@pytest.mark.parametrize("variant", [*VARIANTS, "fully_corrective"])
@pytest.mark.parametrize("loss", [losses.SquaredLoss(), losses.LogisticLoss()], ids=str)
def test_single_steps_are_the_same_path(variant, loss):
    """Of callbacks, one call of the loop a step; also beyond the steps that are kept at first."""
    X, y, weight = problem(n=40, d=9)
    y = labels(y) if loss.margin else y
    n_rounds = 3 if variant == "fully_corrective" else 450
    given = loss, X, y, weight, True, "line_search", variant, n_rounds, 0.0
    whole, single = solver(*given), solver(*given)
    path = conditional_gradients(whole.ball, 2.0, np.zeros(9), whole.options)
    seen = []

    def end_round(gap, so_far):
        seen.append(so_far())
        return False

    steps = conditional_gradients(single.ball, 2.0, np.zeros(9), single.options, end_round)
    for one, other in zip(path, steps):
        np.testing.assert_array_equal(one, other)
    assert len(seen) == len(path.gaps) - 1
    for k, part in enumerate(seen):
        np.testing.assert_array_equal(part.gaps, path.gaps[: k + 2])
    ended = conditional_gradients(single.ball, 2.0, np.zeros(9), single.options, lambda *_: True)
    assert (ended.stop_reason, len(ended.gaps)) == ("callback", 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_long_paths_with_rows_of_the_gram_matrix_as_they_are_needed(variant):
    """More columns than rows are computed at a time, and more steps than between two refreshes."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 400))
    y = X[:, :10].sum(axis=1) + rng.standard_normal(80)
    model = FrankWolfeRegressor(radius=6.0, variant=variant, n_estimators=1700, tol=0).fit(X, y)
    residual = y - model.predict(X)
    slope = (X - X.mean(axis=0)).T @ residual / 80
    gap = 6.0 * np.abs(slope).max() - slope @ model.coef_
    assert model.train_scores_[-1] == pytest.approx(np.mean(residual**2) / 2, rel=1e-10)
    assert model.dual_gap_ == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize("start", [0.0, 40.0, -40.0])
@pytest.mark.parametrize("spread", [1.0, 50.0, 300.0])
def test_the_best_intercept_of_counts_is_found_however_far_it_is(spread, start):
    rng = np.random.default_rng(0)
    y, u, weight = rng.poisson(2.0, 20).astype(float), spread * rng.standard_normal(20), 0.05
    risk = ProfiledRisk(losses.PoissonLoss(), y, np.full(20, weight))
    risk.intercept = start
    state = risk.at(u)
    # The sums of counts and of means are equal.
    best = np.log(y.sum()) - np.logaddexp.reduce(u)
    assert risk.intercept == pytest.approx(best, rel=1e-12)
    assert abs(weight * state.target.sum()) < 1e-12
