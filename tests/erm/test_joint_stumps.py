"""Stumps that minimise a risk jointly over split and values: against every threshold tried."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory._learners import ClassTask, JointTask, LeastSquaresTask, prepare_rounds
from sklearn_ensemble_theory._roots import root_of_increasing
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting.losses import as_loss
from sklearn_ensemble_theory.erm._stumps.joint import Cells, JointSearch, Maxima, RowFalls
from sklearn_ensemble_theory.erm._stumps.split_search import ColumnIndex


class Squared:
    """The squared loss as a user writes it: nothing but a value and a gradient."""

    def value(self, y, u):
        return 0.5 * (y - u) ** 2

    def gradient(self, y, u):
        return u - y


LOSSES = [
    as_loss(Squared()),
    losses.SquaredLoss(),
    losses.AbsoluteLoss(),
    losses.HuberLoss(delta=0.5),
    losses.QuantileLoss(quantile=0.8),
    losses.PoissonLoss(),
    losses.LogisticLoss(),
    losses.ExponentialLoss(),
    losses.HingeLoss(),
]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda x: repr(x).split("(")[0])


def problem(loss, seed, n=None, p=3):
    """X, y, u, weights of sum 1; rounded features have ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 90)) if n is None else n
    X = rng.standard_normal((n, p)).round(seed % 4)
    f = X[:, 0] + rng.standard_normal(n)
    y = f
    if loss.margin:
        y = np.where(f > 0, 1.0, -1.0)
    elif type(loss) is losses.PoissonLoss:
        y = rng.poisson(np.exp(np.clip(f, -3, 2))).astype(float)
    w = rng.uniform(0.5, 1, n)
    return X, y, rng.standard_normal(n) * (seed % 3), w / w.sum()


def joint(X, y, u, w, loss, max_bins=None):
    task = JointTask(EmpiricalRisk(loss, y))
    rounds = prepare_rounds(DecisionStumpRegressor(max_bins), X, w, task)
    member, outputs = rounds.best(None, w, u)
    np.testing.assert_array_equal(member.predict(X), outputs)
    return member, outputs


def thresholds(X):
    for j, column in enumerate(X.T):
        values = np.unique(column)
        for low, high in pairwise(values):
            yield j, 0.5 * low + 0.5 * high


def least_risk(y, u, w, loss):
    """min_b of the risk of some rows, by a search that knows no derivative."""

    def risk(b):
        return w @ loss.value(y, u + b)

    found = minimize_scalar(risk, bounds=(-40, 40), method="bounded", options={"xatol": 1e-10})
    start = np.linspace(-12, 12, 97)
    at = start[np.argmin([risk(b) for b in start])]
    close = minimize_scalar(risk, bounds=(at - 0.3, at + 0.3), method="bounded")
    return min(found.fun, close.fun, risk(found.x))


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("seed", range(6))
def test_joint_minimum_is_the_least_over_all_thresholds(loss, seed):
    X, y, u, w = problem(loss, seed)
    _, outputs = joint(X, y, u, w, loss)
    sides = [X[:, j] <= t for j, t in thresholds(X)]
    best = min(sum(least_risk(y[s], u[s], w[s], loss) for s in (side, ~side)) for side in sides)
    reached = w @ loss.value(y, u + outputs)
    assert reached <= best + 1e-7 * max(1, abs(best))
    # Pure sides have no minimum: the search may stop 1e-8 of the slope short of the infimum.
    assert reached >= best - 1e-6 * max(1, abs(best))


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("max_bins", [None, 7])
def test_joint_minimum_by_the_line_search_of_the_loss(loss, max_bins):
    """The same threshold and values as exact line searches on both sides of each threshold."""
    for seed in range(20, 26):
        X, y, u, w = problem(loss, seed, n=150)
        member, outputs = joint(X, y, u, w, loss, max_bins)
        candidates = list(thresholds(X))
        if max_bins is not None:
            edges = ColumnIndex(X, max_bins, w).edges
            candidates = [(j, t) for j, column in enumerate(edges) for t in column]
        risks = []
        for j, t in candidates:
            side = (X[:, j] > t).astype(int)
            b = loss.line_search(y, u, np.ones(len(y)), w, side, 2)
            risks.append(w @ loss.value(y, u + b[side]))
        assert w @ loss.value(y, u + outputs) == pytest.approx(min(risks), rel=1e-9, abs=1e-12)
        if type(loss) in (losses.LogisticLoss, losses.HuberLoss, losses.PoissonLoss):
            assert (member.feature_, member.threshold_) == candidates[int(np.argmin(risks))]


@pytest.mark.parametrize("n", [200, 5000])
def test_joint_minimum_of_the_squared_loss_is_least_squares(n):
    for seed in range(3):
        X, y, u, w = problem(LOSSES[0], seed, n, p=5)
        plain = prepare_rounds(DecisionStumpRegressor(), X, w, LeastSquaresTask())
        expected, _ = plain.best(y - u, w)
        for loss in (as_loss(Squared()), losses.SquaredLoss()):
            member, _ = joint(X, y, u, w, loss)
            assert (member.feature_, member.threshold_) == (expected.feature_, expected.threshold_)
            assert member.left_value_ == pytest.approx(expected.left_value_, rel=1e-9)
            assert member.right_value_ == pytest.approx(expected.right_value_, rel=1e-9)


@pytest.mark.parametrize("n", [200, 5000])
def test_joint_minimum_of_the_exponential_loss_is_closed(n):
    """2 (sqrt(W+ W-) left + sqrt(W+ W-) right), the confidence-rated stump of real AdaBoost."""
    loss = losses.ExponentialLoss()
    for seed in range(3):
        X, y, u, w = problem(loss, seed, n, p=5)
        member, outputs = joint(X, y, u, w, loss)
        mass = w * np.exp(-y * u)
        task = ClassTask((y > 0).astype(int), np.array([-1, 1]), "log_odds")
        closed, _ = prepare_rounds(DecisionStumpRegressor(), X, w, task).best(None, mass)
        assert (member.feature_, member.threshold_) == (closed.feature_, closed.threshold_)
        left = X[:, member.feature_] <= member.threshold_
        masses = [[mass[side & (y == s)].sum() for s in (-1, 1)] for side in (left, ~left)]
        expected = 2 * sum(np.sqrt(minus * plus) for minus, plus in masses)
        assert w @ loss.value(y, u + outputs) == pytest.approx(expected, rel=1e-9)
        if min(masses[0]) > 0:
            assert member.left_value_ == pytest.approx(0.5 * np.log(masses[0][1] / masses[0][0]))


@each_loss
def test_weights_are_equivalent_to_repeated_rows(loss):
    for seed in range(5):
        X, y, u, _ = problem(loss, seed, n=40)
        w = np.random.default_rng(seed).integers(1, 4, 40)
        once, _ = joint(X, y, u, w / w.sum(), loss)
        rows = np.repeat(np.arange(40), w)
        often, _ = joint(X[rows], y[rows], u[rows], np.full(len(rows), 1 / len(rows)), loss)
        assert (once.feature_, once.threshold_) == (often.feature_, often.threshold_)
        assert once.left_value_ == pytest.approx(often.left_value_, rel=1e-7, abs=1e-9)


def test_ties_go_to_the_first_feature_and_the_lowest_threshold():
    x = np.array([0.0, 1, 2, 3, 4, 5])
    y = np.array([-1.0, -1, 1, 1, -1, -1])  # both cuts leave 2 rows alone
    X = np.column_stack([np.zeros(6), x, x, -x])
    for loss in (losses.LogisticLoss(), losses.ExponentialLoss()):
        member, _ = joint(X, y, np.zeros(6), np.full(6, 1 / 6), loss)
        assert (member.feature_, member.threshold_) == (1, 1.5)


def test_separated_classes_get_finite_values():
    x = np.arange(10.0)[:, None]
    y = np.repeat([-1.0, 1.0], 5)
    for loss in (losses.LogisticLoss(), losses.ExponentialLoss()):
        member, _ = joint(x, y, np.zeros(10), np.full(10, 0.1), loss)
        assert member.threshold_ == 4.5
        assert 10 < member.right_value_ < 100
        assert member.left_value_ == pytest.approx(-member.right_value_)


def test_a_constant_stump_where_no_threshold_is_better():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30, 2)), np.full(30, 1 / 30)
    loss = losses.LogisticLoss()
    member, outputs = joint(X, np.ones(30), np.zeros(30), w, loss)  # one class
    assert member.threshold_ == np.inf
    assert (outputs > 10).all()
    member, _ = joint(np.ones((30, 2)), np.where(X[:, 0] > 0, 1.0, -1.0), np.zeros(30), w, loss)
    assert member.threshold_ == np.inf
    y = rng.standard_normal(30)
    member, outputs = joint(X, y, y.copy(), w, losses.HuberLoss())  # nothing is left to gain
    assert member.threshold_ == np.inf
    assert (outputs == 0).all()


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_targets_of_any_size(scale):
    X, y, u, w = problem(LOSSES[0], 5, n=100)
    plain, _ = joint(X, y, u, w, losses.HuberLoss(delta=0.5))
    scaled, _ = joint(X, scale * y, scale * u, w, losses.HuberLoss(delta=0.5 * scale))
    assert (scaled.feature_, scaled.threshold_) == (plain.feature_, plain.threshold_)
    assert scaled.left_value_ == pytest.approx(scale * plain.left_value_, rel=1e-6)


@pytest.mark.slow
@each_loss
def test_no_threshold_exceeds_the_bound_of_its_cell(loss):
    """The inequality of the module's docstring, at every threshold and for every cell."""
    for seed in range(4):
        X, y, u, w = problem(loss, seed, n=96)
        index, rows = ColumnIndex(X, search_bins=6), RowFalls(loss, y, u, w)
        cells = Cells(index, rows)
        left, right = cells.sides()
        bounds, _ = cells.bounds(left, right)
        for j in range(index.p):
            for c in range(6):
                for k in range(index.starts[j, c], index.starts[j, c + 1]):
                    side = np.ones(96, dtype=int)
                    side[index.order[j, : k + 1]] = 0
                    b = loss.line_search(y, u, np.ones(96), w, side, 2)
                    fall = rows.at(b[side])[0].sum()
                    assert fall <= bounds[j, c] + 1e-9
                    if k + 1 == index.starts[j, c + 1]:  # at the edge both bounds are known
                        low = left.lower[j, c + 1] + right.lower[j, c + 1]
                        high = left.upper[j, c + 1] + right.upper[j, c + 1]
                        assert low - 1e-9 <= fall + 1e-7
                        assert fall <= high + 1e-9


def test_tangents_enclose_the_maximum():
    grid = np.array([-2.0, -1, 0, 1, 2])
    centre = np.linspace(-3, 3, 61)
    f = -np.cosh(grid[:, None] - centre)
    slopes = -np.sinh(grid[:, None] - centre)
    found = Maxima.on_grid(grid, f, slopes)
    inside = np.abs(centre) <= 2
    assert (found.lower[inside] <= -1).all()
    assert (found.upper[inside] >= -1 - 1e-12).all()
    np.testing.assert_array_equal(found.lower[~inside], found.upper[~inside])  # ends of the grid
    before = found.upper - found.lower
    found.insert(0.5, -np.cosh(0.5 - centre), -np.sinh(0.5 - centre))
    assert (found.upper - found.lower <= before + 1e-12).all()
    assert (found.upper[inside] >= -1 - 1e-12).all()


def test_few_thresholds_are_solved_exactly(monkeypatch):
    """The bounds leave a handful of 50,000 thresholds."""
    X, y, u, w = problem(losses.LogisticLoss(), 3, n=5000, p=10)
    solved = []
    plain = JointSearch._solve
    monkeypatch.setattr(JointSearch, "_solve", lambda *a: solved.append(1) or plain(*a))
    joint(X, y, u, w, losses.LogisticLoss())
    assert 1 <= len(solved) <= 20


def test_root_between_known_ends():
    centre = np.array([-3.0, 0.0, 1e-5, 7.0])

    def slope(b):
        return np.arctan(b - centre)

    found = root_of_increasing(slope, 4, bracket=(centre - 2, centre + 1))
    np.testing.assert_allclose(found, centre, atol=1e-11)
    # Both ends on one side of the root: the nearer one.
    found = root_of_increasing(slope, 4, bracket=(centre + 1, centre + 2))
    np.testing.assert_array_equal(found, centre + 1)
    found = root_of_increasing(slope, 4, bracket=(centre - 2, centre - 1))
    np.testing.assert_array_equal(found, centre - 1)


# --- through gradient boosting -------------------------------------------------------------------


@pytest.mark.slow
def test_joint_step_is_forward_stagewise_additive_modelling():
    """Each round of the public estimator minimises over split and values at the scores so far."""
    loss = losses.LogisticLoss()
    X, y, *_ = problem(loss, 3, n=120)
    model = GradientBoostingClassifier(
        DecisionStumpRegressor(), step="joint", learning_rate=1.0, init="zero", n_estimators=6
    ).fit(X, y)
    np.testing.assert_array_equal(model.steps_, 1.0)
    u, w = np.zeros(120), np.full(120, 1 / 120)
    for member, risk in zip(model.estimators_[:, 0], model.train_scores_):
        risks = []
        for j, t in thresholds(X):
            side = (X[:, j] > t).astype(int)
            b = loss.line_search(y, u, np.ones(120), w, side, 2)
            risks.append(w @ loss.value(y, u + b[side]))
        assert risk == pytest.approx(min(risks), rel=1e-10)
        u = u + member.predict(X)
    searched = GradientBoostingClassifier(
        DecisionStumpRegressor(), step="line_search", learning_rate=1.0, init="zero"
    )
    searched.set_params(n_estimators=1).fit(X, y)
    assert model.train_scores_[0] < searched.train_scores_[0]


def test_joint_step_of_the_squared_loss_is_boosting_of_residuals():
    X, y, *_ = problem(LOSSES[0], 7, n=200)
    settings = {"learning_rate": 0.5, "n_estimators": 10}
    stump = DecisionStumpRegressor()
    both = GradientBoostingRegressor(stump, step="joint", **settings).fit(X, y)
    plain = GradientBoostingRegressor(stump, step="fixed", **settings).fit(X, y)
    np.testing.assert_allclose(both.predict(X), plain.predict(X), rtol=1e-10)
    own = GradientBoostingRegressor(stump, step="joint", loss=Squared(), **settings).fit(X, y)
    np.testing.assert_allclose(own.predict(X), plain.predict(X), rtol=1e-7)


def test_joint_stumps_follow_a_loss_that_changes():
    """Huber's delta is that of the round, for the split and for its values."""
    X, y, *_ = problem(LOSSES[0], 7, n=200)
    y = 10 * y
    model = GradientBoostingRegressor(
        DecisionStumpRegressor(), step="joint", loss="huber", learning_rate=1.0, n_estimators=1
    ).fit(X, y)
    u = np.full(len(y), model.initial_scores_)
    loss, psi = model.loss_.adapted(y, u), model.estimators_[0, 0].predict(X)
    assert loss.delta > 2
    values = loss.line_search(
        y, u, np.ones(len(y)), np.ones(len(y)), (psi > psi.min()).astype(np.intp), 2
    )
    np.testing.assert_allclose(np.unique(psi), values, rtol=1e-9)


def test_joint_step_refuses_what_it_cannot_do():
    X, y, *_ = problem(LOSSES[0], 7, n=60)
    with pytest.raises(ValueError, match="Ridge has no search"):
        GradientBoostingRegressor(Ridge(), step="joint").fit(X, y)
    with pytest.raises(ValueError, match=r"step='joint' requires subsample=1\.0"):
        GradientBoostingRegressor(DecisionStumpRegressor(), step="joint", subsample=0.5).fit(X, y)
    with pytest.raises(ValueError, match="step='joint' requires a loss with one score"):
        GradientBoostingClassifier(DecisionStumpRegressor(), step="joint").fit(X, np.arange(60) % 3)
