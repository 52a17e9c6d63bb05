"""LPBoost: its optimum by a certificate and by one linear programme over all stumps."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import DecisionStumpClassifier, LPBoostClassifier
from sklearn_ensemble_theory.boosting._reweighting import lp_simplex
from sklearn_ensemble_theory.boosting._reweighting.lp_simplex import EdgeProgramme, by_highs


def drawn(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).round(1)
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n) > 0.6, 1, -1)
    weight = rng.uniform(0.5, 2, n)
    return X, y, weight / weight.sum()


def all_stumps(X):
    """The outputs of every stump, both signs and the constants."""
    halves = [np.ones(len(X))]
    for column in X.T:
        halves += [np.where(column <= cut, 1.0, -1.0) for cut in np.unique(column)[:-1]]
    return np.array([sign * half for half in halves for sign in (1, -1)])


def soft_margin(margins, weight, nu):
    """max rho - sum w xi / nu over votes of these members, as a programme of its own."""
    k, n = margins.shape
    found = linprog(
        np.r_[np.zeros(k), -1.0, weight / nu],
        A_ub=np.c_[-margins.T, np.ones(n), -np.eye(n)],
        b_ub=np.zeros(n),
        A_eq=[np.r_[np.ones(k), 0.0, np.zeros(n)]],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)] + [(0, None)] * n,
    )
    return -found.fun


def soft_margin_of(f, y, weight, nu):
    """The same of one vote f: the best rho is one of its margins."""
    z = y * f
    return max(rho - weight @ np.maximum(rho - z, 0) / nu for rho in z)


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_all_stumps_at_once(nu, seed):
    X, y, weight = drawn(seed)
    model = LPBoostClassifier(nu=nu, tol=1e-8).fit(X, y, sample_weight=weight)
    assert model.stop_reason_ == "optimal"
    best = soft_margin(all_stumps(X) * y, weight, nu)
    assert model.soft_margin_ == pytest.approx(best, abs=1e-7)
    # The vote itself has that soft margin, and coefficients of a mean.
    f = model.decision_function(X)
    assert soft_margin_of(f, y, weight, nu) == pytest.approx(best, abs=1e-6)
    assert model.steps_.min() >= 0
    assert model.steps_.sum() == pytest.approx(1)
    members = np.array([member.predict(X) for member in model.estimators_])
    np.testing.assert_allclose(f, model.steps_ @ members, atol=1e-12)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_certificate_of_duality(nu):
    """In every round: twice the edge of the best stump bounds the optimum from above."""
    X, y, weight = drawn(5)
    margins = all_stumps(X) * y
    model = LPBoostClassifier(nu=nu, tol=1e-8).fit(X, y, sample_weight=weight)
    assert (2 * model.edges_ >= model.soft_margin_ - 1e-7).all()
    assert (np.diff(model.train_scores_) <= 1e-7).all()  # the restricted optimum only rises
    # A dual solution from the stages: weights under which no stump has a larger edge.
    f = model.decision_function(X)
    rho = max(y * f, key=lambda r: r - weight @ np.maximum(r - y * f, 0) / nu)
    on, below = np.abs(y * f - rho) < 1e-7, y * f < rho - 1e-7
    free = linprog(
        np.r_[np.zeros(on.sum()), 1.0],
        A_ub=np.c_[margins[:, on], -np.ones(len(margins))],
        b_ub=-margins[:, below] @ weight[below] / nu,
        A_eq=[np.r_[np.ones(on.sum()), 0.0]],
        b_eq=[1 - weight[below].sum() / nu],
        bounds=[(0, cap) for cap in weight[on] / nu] + [(None, None)],
    )
    assert free.fun == pytest.approx(model.soft_margin_, abs=1e-7)
    assert weight[below].sum() <= nu + 1e-9  # at most this share is below rho


def test_stages_are_the_models_of_fewer_rounds():
    X, y, weight = drawn(1, n=120)
    model = LPBoostClassifier(nu=0.1).fit(X, y, sample_weight=weight)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_estimators_ > 5
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    for t in (1, 3, 5):
        few = LPBoostClassifier(nu=0.1, n_estimators=t)
        with warnings.catch_warnings():  # too few rounds for a positive margin
            warnings.simplefilter("ignore")
            few.fit(X, y, sample_weight=weight)
        assert few.stop_reason_ == "n_estimators"
        np.testing.assert_array_equal(few.decision_function(X), stages[t - 1])
        expected = soft_margin_of(stages[t - 1], y, weight, 0.1)
        assert few.soft_margin_ == pytest.approx(expected, abs=1e-6)


def test_clones_of_any_classifier():
    X, y, weight = drawn(2, n=200)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = LPBoostClassifier(tree, nu=0.1, n_estimators=40, random_state=0).fit(X, y, weight)
    stump = LPBoostClassifier(DecisionStumpClassifier(), nu=0.1).fit(X, y, weight)
    assert model.soft_margin_ > stump.soft_margin_
    margins = y * np.array([member.predict(X) for member in model.estimators_])
    assert model.soft_margin_ == pytest.approx(soft_margin(margins, weight, 0.1), abs=1e-7)


def test_nothing_to_boost():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="Soft margin -1: rows may tie. Raise nu"):
        model = LPBoostClassifier().fit(X, y)
    # The member that is kept is wrong for half of the weight, all that nu = 1/2 looks at.
    assert (model.stop_reason_, model.soft_margin_) == ("no edge", -1.0)
    assert (
        soft_margin_of(model.decision_function(X), np.array([-1, 1, -1, 1]), np.full(4, 0.25), 0.5)
        == -1
    )
    np.testing.assert_array_equal(model.predict(X), model.predict(X[:1])[0])


def programmes(kind, seed, n=60, n_members=25):
    """Votes of members one after the other, with the groups of rows that they treat alike."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 5, n) * np.ones(n)
    if kind == "equal weights":
        weight[:] = 1.0
    elif kind == "unequal weights":
        weight = np.exp(3 * rng.standard_normal(n))
    weight /= weight.sum()
    group, A = np.zeros(n, dtype=int), np.empty((0, 1))
    for t in range(n_members):
        votes = np.where(rng.random(n) < 0.55, 1, -1)
        if kind == "few patterns":
            votes = np.where(rng.random(4) < 0.5, 1, -1)[np.arange(n) % 4]
        elif kind == "copies" and t % 3 == 2:
            votes = np.where(A[-1] > 0, 1, -1)[group]
        code = 2 * group + (votes > 0)
        kept, group = np.unique(code, return_inverse=True)
        A = np.vstack([A[:, kept // 2], 2.0 * (kept % 2) - 1.0])
        yield kept // 2, 2.0 * (kept % 2) - 1.0, np.bincount(group, weight), A


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("nu", [1e-300, 0.05, 0.5, 0.9, 1 - 1e-12])
@pytest.mark.parametrize(
    "kind", ["equal weights", "counts", "unequal weights", "few patterns", "copies"]
)
def test_pivots_from_the_last_solution(kind, nu, seed, monkeypatch):
    """The programme after each member, against HiGHS from nothing and the bound of duality."""
    monkeypatch.setattr(lp_simplex, "by_highs", None)  # no basis is spoilt by rounding
    programme = EdgeProgramme()
    for parent, votes, weight, A in programmes(kind, seed):
        cap = weight / nu
        found = programme.add(parent, votes, cap)
        expected = by_highs(A, np.minimum(cap, 1.0))
        assert found.edge == pytest.approx(expected.edge, abs=1e-7)  # HiGHS's own tolerance
        # Weights and coefficients are feasible, and no more than rounding is between their bounds.
        assert found.mass.sum() == pytest.approx(1.0, abs=1e-12)
        assert (found.mass >= 0).all()
        assert (found.mass <= np.minimum(cap, 1.0) + 1e-9).all()
        assert found.alphas.sum() == pytest.approx(1.0)
        assert (found.alphas >= 0).all()
        assert found.edge == pytest.approx((A @ found.mass).max(), abs=1e-12)
        margins = found.alphas @ A
        soft = soft_margin_of(margins, 1.0, weight, nu)
        assert found.edge - 1e-9 <= soft <= found.edge + 1e-9
        assert lp_simplex.soft_margin(margins, cap) == pytest.approx(soft, abs=1e-11)


def test_a_basis_that_rounding_spoils_is_left(monkeypatch):
    X, y = make_classification(100, 5, flip_y=0.2, random_state=0)
    model = LPBoostClassifier(nu=0.6, n_estimators=20).fit(X, y)
    monkeypatch.setattr(lp_simplex, "MOST_PIVOTS", 0)
    slow = LPBoostClassifier(nu=0.6, n_estimators=20).fit(X, y)
    assert slow.soft_margin_ == pytest.approx(model.soft_margin_, abs=1e-6)
