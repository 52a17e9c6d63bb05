"""The optimal weights, against general optimisers and certificates."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize, nnls

from sklearn_ensemble_theory.combining._aggregation import (
    AbsoluteRisk,
    ExponentialRisk,
    HingeRisk,
    LogisticRisk,
    LogRisk,
    MixtureRows,
    SquaredRisk,
    best_mixture,
    greedy_weights,
    least_absolute_weights,
    least_squares_gap,
    least_squares_weights,
    nonnegative_least_squares,
    residual_factor,
)


def problem(seed, n=200, k=6, spread=0.5):
    """Candidates that differ by `spread` from a common signal."""
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(n)
    P = signal[:, None] + spread * rng.standard_normal((n, k))
    weight = rng.random(n)
    return P, signal + 0.3 * rng.standard_normal(n), weight / weight.sum()


def probabilities(seed, n=150, k=4, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    scores = (
        rng.standard_normal((n, k, n_classes))
        + np.arange(k)[:, None] / 2 * np.eye(n_classes)[y][:, None]
    )
    P = np.exp(scores)
    weight = rng.random(n)
    return P / P.sum(axis=2, keepdims=True), y, weight / weight.sum()


def optimum(objective, gradient, k, rule, radius=1.0, positive=True):
    """The weights by SLSQP, from several points."""
    low = -np.inf if rule in ("l1", "l2") and not positive else 0.0
    constraints = {
        "nnls": [],
        "simplex": [{"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like}],
        "l1": [{"type": "ineq", "fun": lambda v: radius - v.sum(), "jac": lambda v: -np.ones(k)}],
        "l2": [{"type": "ineq", "fun": lambda v: radius**2 - v @ v, "jac": lambda v: -2 * v}],
    }[rule]
    found = [
        minimize(
            objective,
            start,
            jac=gradient,
            bounds=[(low, None)] * k,
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 500},
        )
        for start in (np.full(k, 1 / k), np.eye(k)[0], np.eye(k)[-1])
    ]
    return min(found, key=lambda r: r.fun).x


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", SquaredRisk.rules)
@pytest.mark.parametrize("radius", [0.5, 1.0])
@pytest.mark.parametrize("positive", [True, False])
def test_squared_error_against_a_general_solver(seed, rule, radius, positive):
    if rule == "l1" and not positive:
        pytest.skip("not smooth: the test of signs below")
    P, y, weight = problem(seed)
    G, b = P.T @ (weight[:, None] * P), P.T @ (weight * y)
    v = least_squares_weights(residual_factor(P, y, weight), rule, radius, positive)
    expected = optimum(
        lambda u: u @ G @ u - 2 * b @ u, lambda u: 2 * (G @ u - b), 6, rule, radius, positive
    )
    np.testing.assert_allclose(v, expected, atol=2e-7)  # SLSQP's accuracy
    # The exact optimum on the set of columns in use, where their signs are known.
    used = v != 0
    if rule == "nnls":
        exact = np.linalg.solve(G[np.ix_(used, used)], b[used])
        np.testing.assert_allclose(v[used], exact, atol=1e-10)
    if rule == "simplex":
        m = used.sum()
        system = np.block([[G[np.ix_(used, used)], np.ones((m, 1))], [np.ones((1, m)), 0.0]])
        exact = np.linalg.solve(system, np.append(b[used], 1.0))[:m]
        np.testing.assert_allclose(v[used], exact, atol=1e-10)
    if rule == "l2":
        assert np.linalg.norm(v) <= radius * (1 + 1e-12)


def by_enumeration(P, y, weight, rule, radius, positive):
    """The exact weights: the best feasible stationary point over all sets of columns and signs."""
    k = P.shape[1]
    columns = P if positive else np.hstack([P, -P])
    G, b = columns.T @ (weight[:, None] * columns), columns.T @ (weight * y)
    value = lambda v: v @ G @ v - 2 * b @ v  # noqa: E731
    found = [np.zeros(len(b))] if rule != "simplex" else []
    for size in range(1, k + 1):
        for used in map(list, combinations(range(len(b)), size)):
            if len({j % k for j in used}) < size:
                continue
            H, c, u = G[np.ix_(used, used)], b[used], np.ones(size)
            free, slope = np.linalg.solve(H, c), np.linalg.solve(H, u)
            on_face = free - slope * (u @ free - radius) / (u @ slope)
            if rule == "nnls":
                candidates = [free]
            elif rule == "l1":
                candidates = [free, on_face] if u @ free <= radius else [on_face]
            elif rule == "simplex":
                candidates = [on_face]
            elif np.linalg.norm(free) <= radius:
                candidates = [free]
            else:  # the multiplier of the sphere
                ridge = lambda t: np.linalg.solve(H + t * np.eye(size), c)  # noqa: E731, B023
                t = brentq(lambda t: np.linalg.norm(ridge(t)) - radius, 0, 1e6, xtol=1e-15)  # noqa: B023
                candidates = [ridge(t)]
            for v in candidates:
                if v.min() >= 0:
                    whole = np.zeros(len(b))
                    whole[used] = v
                    found.append(whole)
    best = min(found, key=value)
    return best if positive else best[:k] - best[k:]


@pytest.mark.parametrize("radius", [0.5, 1.0])
@pytest.mark.parametrize(
    ("rule", "positive"),
    [("nnls", True), ("simplex", True), *((r, p) for r in ("l1", "l2") for p in (True, False))],
)
def test_squared_error_by_enumeration_of_the_faces(rule, radius, positive):
    P, y, weight = problem(4, k=4)
    P[:, 1] *= -1
    radius = 1.0 if rule == "simplex" else radius
    v = least_squares_weights(residual_factor(P, y, weight), rule, radius, positive)
    expected = by_enumeration(P, y, weight, rule, radius, positive)
    np.testing.assert_allclose(v, expected, atol=1e-8)


def test_l1_ball_with_signs():
    """Against the linear program in v+ and v- at the gradient: the Frank-Wolfe gap is 0."""
    P, y, weight = problem(0)
    P[:, 0] *= -1
    for radius in (0.3, 1.0, 3.0):
        v, gap = SquaredRisk(P, y, weight).solve("l1", radius, False)
        assert np.abs(v).sum() <= radius * (1 + 1e-12)
        assert gap <= 1e-13
    assert v[0] < 0


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("rule", SquaredRisk.rules)
def test_certificate_for_nearly_collinear_candidates(spread, rule):
    P, y, weight = problem(1, n=500, k=20, spread=spread)
    for scale in (1.0, 1e150, 1e-150):
        risk = SquaredRisk(P * scale, y * scale, weight)
        v, gap = risk.solve(rule, 1.0, True)
        assert gap <= 1e-8
        if rule in ("simplex", "nnls"):
            best = (weight @ risk.candidate_losses()).min()
            assert weight @ risk.losses((risk.predictions @ v)[:, None])[:, 0] <= best * (1 + 1e-12)


def test_gap_bounds_the_distance_to_the_minimum():
    P, y, weight = problem(2)
    risk = SquaredRisk(P, y, weight)
    best, _ = risk.solve("simplex", 1.0, True)
    factor = residual_factor(P, y, weight)
    value = lambda v: weight @ (y - P @ v) ** 2  # noqa: E731
    rng = np.random.default_rng(0)
    for v in rng.dirichlet(np.ones(6), 20):
        gap = least_squares_gap(factor, v, "simplex", 1.0, True) * (weight @ y**2)
        assert value(v) - value(best) <= gap * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_least_squares_against_scipy(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((30, 12)), rng.standard_normal(30)
    A[:, 3] = A[:, 4]  # two identical columns
    A[:, 5] = 0.0
    v = nonnegative_least_squares(A, b)
    _, norm = nnls(A, b)
    assert np.linalg.norm(A @ v - b) == pytest.approx(norm, rel=1e-12)
    assert v.min() >= 0
    assert v[5] == 0
    assert min(v[3], v[4]) == 0
    # All-zero weights are an answer.
    assert not nonnegative_least_squares(np.ones((4, 2)), -np.ones(4)).any()


def test_factor_in_pieces():
    P, y, weight = problem(0, n=20_000, k=3)
    factor = residual_factor(P, y, weight)
    columns = np.sqrt(weight)[:, None] * np.column_stack([y[:, None] - P, y])
    np.testing.assert_allclose(factor.T @ factor, columns.T @ columns, rtol=1e-12)
    assert residual_factor(P[:2], y[:2], weight[:2]).shape == (4, 4)


@pytest.mark.parametrize("seed", range(3))
def test_log_loss_against_a_general_solver(seed):
    P, y, weight = probabilities(seed)
    own = P[np.arange(len(y)), :, y]
    v, gap = LogRisk(P, y, weight).solve("simplex", 1.0, True)
    expected = optimum(
        lambda u: -weight @ np.log(np.maximum(own @ u, 1e-12)),
        lambda u: -own.T @ (weight / np.maximum(own @ u, 1e-12)),
        4,
        "simplex",
    )
    np.testing.assert_allclose(v, expected, atol=1e-6)
    assert gap <= 1e-10
    assert v.sum() == pytest.approx(1, abs=1e-14)
    # The bound on the distance, at another point.
    u = np.full(4, 0.25)
    bound = (own.T @ (weight / (own @ u))).max() - 1
    assert weight @ np.log((own @ v) / (own @ u)) <= bound


def test_log_loss_where_candidates_are_certain_and_wrong():
    own = np.array([[1.0, 1e-16], [1e-16, 1.0], [0.5, 0.4]])
    v, gap = best_mixture(MixtureRows(own, np.full(3, 1 / 3)))
    assert gap <= 1e-10
    assert 0.4 < v[0] < 0.6
    same = np.repeat(own[:, :1], 3, axis=1)
    v, gap = best_mixture(MixtureRows(same, np.full(3, 1 / 3)))
    assert gap <= 1e-10


@pytest.mark.parametrize("rule", ["nnls", "simplex", "l1"])
@pytest.mark.parametrize("positive", [True, False])
def test_absolute_error_against_the_primal_program(rule, positive):
    P, y, weight = problem(0, n=60, k=4)
    v, gap = least_absolute_weights(P, y, weight, rule, 0.8, positive)
    columns = np.hstack([P, -P]) if rule == "l1" and not positive else P
    k, n = columns.shape[1], len(y)
    ones = np.append(np.ones(k), np.zeros(2 * n))[None]
    primal = linprog(
        np.concatenate([np.zeros(k), weight, weight]),
        A_eq=np.vstack(
            [np.hstack([columns, np.eye(n), -np.eye(n)]), *([ones] if rule == "simplex" else [])]
        ),
        b_eq=np.append(y, [1.0] if rule == "simplex" else []),
        A_ub=ones if rule == "l1" else None,
        b_ub=[0.8] if rule == "l1" else None,
    )
    assert weight @ np.abs(y - P @ v) == pytest.approx(primal.fun, rel=1e-9)
    assert gap <= 1e-10


MARGIN_RISKS = [LogisticRisk, ExponentialRisk, HingeRisk]
SETS = [
    ("nnls", 1.0, True),
    ("simplex", 1.0, True),
    *((rule, r, positive) for rule in ("l1", "l2") for r in (0.5, 4) for positive in (True, False)),
]


def margins_of(P, y, weight):
    """A row for each row and class against the others; one for two classes."""
    K = P.shape[2]
    columns = [1] if K == 2 else range(K)
    rows = [np.where(y == k, 1.0, -1.0)[:, None] * (2 * P[:, :, k] - 1) for k in columns]
    return np.vstack(rows), np.tile(weight, len(rows))


def hinge_optimum(M, weight, rule, radius, positive):
    """The smallest hinge risk by a linear program, or by SLSQP on the same variables."""
    n, k = M.shape
    if rule == "l2":
        start = np.append(np.full(k, 0.1), 1 - M @ np.full(k, 0.1) + 1e-3)
        found = minimize(
            lambda x: weight @ x[k:],
            np.append(start[:k], np.maximum(start[k:], 0)),
            jac=lambda x: np.append(np.zeros(k), weight),
            bounds=[(0 if positive else None, None)] * k + [(0, None)] * n,
            constraints=[
                {
                    "type": "ineq",
                    "fun": lambda x: M @ x[:k] + x[k:] - 1,
                    "jac": lambda x: np.hstack([M, np.eye(n)]),
                },
                {"type": "ineq", "fun": lambda x: radius**2 - x[:k] @ x[:k]},
            ],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return found.fun
    signed = np.hstack([M, -M]) if rule == "l1" and not positive else M
    k = signed.shape[1]
    ones = np.append(np.ones(k), np.zeros(n))[None]
    above = [np.hstack([-signed, -np.eye(n)])] + ([ones] if rule == "l1" else [])
    return linprog(
        np.append(np.zeros(k), weight),
        A_ub=np.vstack(above),
        b_ub=np.append(-np.ones(n), [radius] if rule == "l1" else []),
        A_eq=ones if rule == "simplex" else None,
        b_eq=[1.0] if rule == "simplex" else None,
    ).fun


@pytest.mark.parametrize("make", MARGIN_RISKS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("rule", "radius", "positive"), SETS)
def test_functions_of_the_margin_against_general_solvers(make, n_classes, rule, radius, positive):
    P, y, weight = probabilities(1, n=40, k=4, n_classes=n_classes)
    y[:6] = (y[:6] + 1) % n_classes  # the classes are not separated
    risk = make(P, y, weight)
    v, gap = risk.solve(rule, radius, positive)
    M, mass = margins_of(P, y, weight)
    phi = make.phi

    def value(u):
        return mass @ phi.value(M @ u)

    assert gap <= 1e-9
    mixed = np.tensordot(risk.predictions, v, (1, 0))[:, None]
    assert value(v) == pytest.approx(float(weight @ risk.losses(mixed)[:, 0]))
    if make is HingeRisk:
        least = hinge_optimum(M, mass, rule, radius, positive)
    else:
        # The l1 ball of both signs: non-negative weights of the columns and their negatives.
        signed = rule == "l1" and not positive
        C = np.hstack([M, -M]) if signed else M
        u = optimum(
            lambda u: mass @ phi.value(C @ u),
            lambda u: C.T @ (mass * phi.slope(C @ u)),
            C.shape[1],
            rule,
            radius,
            positive or signed,
        )
        u = u[:4] - u[4:] if signed else u
        least = value(u)
        np.testing.assert_allclose(v, u, atol=1e-4 * (1 + np.abs(u).max()))
    assert value(v) == pytest.approx(least, rel=1e-6)
    # In the set.
    assert v.min() >= 0 or not positive
    assert rule != "simplex" or v.sum() == pytest.approx(1)
    if rule in ("l1", "l2"):
        assert np.linalg.norm(v, int(rule[1])) <= radius * (1 + 1e-9)


@pytest.mark.parametrize("make", MARGIN_RISKS)
def test_members_that_separate_the_classes(make):
    """No finite weights are best for the smooth losses; the hinge is 0 from some on."""
    P, y, weight = probabilities(0, n=30, k=3, n_classes=2)
    P[:, 2] = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    risk = make(P, y, weight)
    v, gap = risk.solve("nnls", 1.0, True)
    assert np.isfinite(v).all()
    assert gap <= 1e-9
    assert weight @ risk.losses((risk.predictions @ v)[:, None])[:, 0] <= 1e-9


def test_nearly_collinear_members_and_few_rows():
    P, y, weight = probabilities(2, n=60, k=4, n_classes=2)
    P[:, 1] = P[:, 0] + 1e-9 * (P[:, 2] - P[:, 0])
    for make in MARGIN_RISKS:
        for rule, radius, positive in SETS:
            for rows in (slice(None), slice(2)):
                risk = make(P[rows], y[rows], weight[rows])
                assert risk.solve(rule, radius, positive)[1] <= 1e-8


@pytest.mark.parametrize("make", MARGIN_RISKS)
def test_largest_losses_of_probabilities(make):
    for K in (2, 4):
        rng = np.random.default_rng(0)
        P = np.concatenate([np.eye(K), rng.dirichlet(np.ones(K), 50)])[None]
        risk = make(P, np.zeros(1, dtype=int), np.ones(1))
        assert risk.candidate_losses().max() == pytest.approx(make.largest_loss(K))


def test_log_loss_in_the_other_sets():
    """The probabilities do not depend on the length of the weights."""
    P, y, weight = probabilities(1)
    risk = LogRisk(P, y, weight)
    v, gap = risk.solve("simplex", 1.0, True)
    for rule, radius, length in [("nnls", 1, 1), ("l1", 0.5, 0.5), ("l1", 3, 1)]:
        other, bound = risk.solve(rule, radius, True)
        np.testing.assert_allclose(other, length * v)
        assert bound == gap
    assert np.linalg.norm(risk.solve("l2", 0.1, True)[0]) == pytest.approx(0.1)


@pytest.mark.parametrize("make", [SquaredRisk, AbsoluteRisk])
def test_greedy_selection_by_brute_force(make):
    P, y, weight = problem(3, k=5)
    risk = make(P, y, weight)
    loss = np.square if make is SquaredRisk else np.abs
    chosen, best, kept = [], np.inf, None
    for _ in range(8):
        values = [weight @ loss(y - P[:, [*chosen, j]].mean(axis=1)) for j in range(5)]
        chosen.append(int(np.argmin(values)))
        if min(values) < best:
            best, kept = min(values), list(chosen)
    found = greedy_weights(risk, None, n_selections=8, n_bags=1, rng=np.random.RandomState(0))
    np.testing.assert_allclose(found, np.bincount(kept, minlength=5) / len(kept))
    bagged = greedy_weights(risk, None, n_selections=8, n_bags=7, rng=np.random.RandomState(0))
    assert bagged.sum() == pytest.approx(1)


def test_brier_score_of_classes_is_a_row_for_each_class():
    P, y, weight = probabilities(0)
    v, gap = SquaredRisk(P, y, weight).solve("nnls", 1.0, True)
    target = np.eye(3)[y]
    A = (np.sqrt(weight)[:, None, None] * P).swapaxes(1, 2).reshape(-1, 4)
    b = (np.sqrt(weight)[:, None] * target).ravel()
    np.testing.assert_allclose(v, nnls(A, b)[0], atol=1e-12)
    assert gap <= 1e-13
