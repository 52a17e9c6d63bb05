"""Weights that minimise the tandem bound: against grids and another optimiser, and in a vote."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax, xlogy
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import VotingClassifier, bounds
from sklearn_ensemble_theory.combining._aggregation import entropic_minimum, tandem_weights


def tandem_losses(n, n_members, seed=0):
    """Of members of different quality, of rows of different difficulty."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.05, 0.4, n_members) * rng.uniform(0, 2, (n, 1))
    errors = (rng.random((n, n_members)) < chance).astype(float)
    return errors.T @ errors / n


@pytest.mark.parametrize("c", [1.0, 0.01, 1e-4])
def test_minimum_by_another_optimiser(c):
    tandem = tandem_losses(400, 6)
    logs, gap = entropic_minimum(tandem, c, np.zeros(6))
    rho = softmax(logs)

    def value(rho):
        return rho @ tandem @ rho + c * xlogy(rho, rho).sum()

    other = minimize(lambda z: value(softmax(z)), np.zeros(6), tol=1e-12)
    assert 0 <= gap <= 1e-10
    assert value(rho) <= other.fun + 1e-12
    assert other.fun - value(rho) < 1e-5
    # The gap is one: at other weights it is at least what they are above the minimum.
    for seed in range(5):
        others = np.random.default_rng(seed).dirichlet(np.ones(6))
        gradient = 2 * tandem @ others + c * np.log(others)
        assert value(others) - value(rho) <= gradient @ others - gradient.min() + 1e-12


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_bound_is_the_smallest_on_a_grid(n):
    tandem = tandem_losses(n, 3, seed=1)
    rho, gap = tandem_weights(tandem, n)
    steps = np.arange(0, 41) / 40
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-12]
    grid = np.clip(grid, 0, 1)
    q = np.einsum("gi,ij,gj->g", grid, tandem, grid)
    divergence = 2 * (np.log(3) + xlogy(grid, grid).sum(axis=1))
    limits = bounds.kl_inverse(q, (divergence + np.log(2 * np.sqrt(n) / 0.05)) / n)
    found = bounds.majority_vote_bound(
        tandem_losses=tandem / 4, n_pair_samples=n, weights=rho, delta=0.05, method="tandem"
    )  # below 1
    assert gap <= 1e-10
    divergence = 2 * (np.log(3) + xlogy(rho, rho).sum())
    epsilon = (divergence + np.log(2 * np.sqrt(n) / 0.05)) / n
    own = bounds.kl_inverse(rho @ tandem @ rho, epsilon)
    assert own <= limits.min() + 1e-12
    assert limits.min() - own < 1e-3
    assert found < 1


def test_extreme_losses():
    # No errors: equal weights, as nothing else is certain.
    np.testing.assert_allclose(tandem_weights(np.zeros((4, 4)), 50)[0], 0.25)
    np.testing.assert_allclose(tandem_weights(np.ones((4, 4)), 50)[0], 0.25)
    np.testing.assert_allclose(tandem_weights(np.full((1, 1), 0.3), 50)[0], 1.0)
    # One perfect member among bad ones, and very many rows.
    tandem = np.full((5, 5), 0.5)
    tandem[0], tandem[:, 0] = 0.0, 0.0
    rho, gap = tandem_weights(tandem, 10**6)
    assert rho[0] > 0.999
    assert gap <= 1e-10
    # Two equal members share the weight.
    tandem = tandem_losses(300, 3)[np.ix_([0, 0, 1], [0, 0, 1])]
    rho, _ = tandem_weights(tandem, 300)
    assert rho[0] == pytest.approx(rho[1])


# --- in a vote ------------------------------------------------------------------------------------


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 0.7).astype(int) + (X[:, 2] > 0.3)
    return X, np.array(["a", "b", "c"])[y]


MEMBERS = [
    ("linear", LogisticRegression()),
    ("bayes", GaussianNB()),
    ("out", "drop"),
    ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
]


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_weights_of_fitted_members_and_their_bound(voting):
    X, y = rows(150)
    held, labels = rows(200, seed=1)
    new, truth = rows(2000, seed=2)
    fitted = [(n, m if m == "drop" else m.fit(X, y)) for n, m in MEMBERS]
    vote = VotingClassifier(fitted, voting=voting, weights="tandem", held_out="prefit").fit(
        held, labels
    )
    code = np.searchsorted(["a", "b", "c"], labels)
    losses = np.column_stack(
        [
            m.predict(held) != labels
            if voting == "hard"
            else 1 - m.predict_proba(held)[np.arange(200), code]
            for _, m in fitted
            if m != "drop"
        ]
    ).astype(float)
    tandem = losses.T @ losses / 200
    np.testing.assert_allclose(vote.weights_, tandem_weights(tandem, 200)[0], rtol=1e-8)
    assert vote.weights_.sum() == pytest.approx(1)
    assert vote.dual_gap_ <= 1e-10
    # The bound for these rows is the one that was minimised.
    found = vote.error_bound(held, labels, delta=0.05, method="tandem")
    assert found == pytest.approx(
        bounds.majority_vote_bound(
            tandem_losses=tandem,
            n_pair_samples=200,
            weights=vote.weights_,
            delta=0.05,
            method="tandem",
        )
    )
    equal = VotingClassifier(fitted, voting=voting, held_out="prefit").fit(held, labels)
    assert found <= equal.error_bound(held, labels, delta=0.05, method="tandem")
    assert np.mean(vote.predict(new) != truth) <= found
    # The same vote by the weights as numbers.
    one, two, three = vote.weights_
    same = VotingClassifier(fitted, voting=voting, weights=[one, two, 9, three], held_out="prefit")
    np.testing.assert_array_equal(same.fit(held, labels).predict(new), vote.predict(new))


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_weights_by_folds(voting):
    X, y = rows(150)
    vote = VotingClassifier(MEMBERS, voting=voting, weights="tandem").fit(X, y)
    code = np.searchsorted(["a", "b", "c"], y)
    losses = []
    for _, member in MEMBERS:
        if member == "drop":
            continue
        if voting == "hard":
            losses.append(cross_val_predict(member, X, y, cv=StratifiedKFold(5)) != y)
        else:
            proba = cross_val_predict(member, X, y, cv=StratifiedKFold(5), method="predict_proba")
            losses.append(1 - proba[np.arange(150), code])
    losses = np.column_stack(losses).astype(float)
    expected, _ = tandem_weights(losses.T @ losses / 150, 150)
    np.testing.assert_allclose(vote.weights_, expected, rtol=1e-7)
    # The members are those of all rows.
    plain = VotingClassifier(MEMBERS, voting=voting, weights=[*expected[:2], 0, expected[2]])
    np.testing.assert_array_equal(plain.fit(X, y).predict(X), vote.predict(X))


def test_weights_and_sets_have_the_same_held_out_rows():
    X, y = rows(150)
    vote = VotingClassifier(MEMBERS, weights="tandem", held_out=StratifiedKFold(3)).fit(X, y)
    losses = [
        cross_val_predict(member, X, y, cv=StratifiedKFold(3)) != y
        for _, member in MEMBERS
        if member != "drop"
    ]
    losses = np.column_stack(losses).astype(float)
    np.testing.assert_allclose(
        vote.weights_, tandem_weights(losses.T @ losses / 150, 150)[0], rtol=1e-7
    )
    assert vote.predict_set(X).shape == (150, 3)
    fitted = VotingClassifier(list(vote.named_estimators_.items()), held_out="prefit")
    codes = np.searchsorted(["a", "b", "c"], y)
    fitted.set_params(weights="tandem").fit(X, codes)
    assert fitted.weights_.shape == (3,)
    assert fitted.predict_set(X).shape == (150, 3)


def test_where_weights_are_not_learned():
    X, y = rows(60)
    vote = VotingClassifier(MEMBERS, weights="tandem")
    with pytest.raises(ValueError, match="weights='tandem' is defined for rows of equal weight"):
        vote.fit(X, y, np.arange(60.0))
    with pytest.raises(ValueError, match="weights"):
        VotingClassifier(MEMBERS, weights="best").fit(X, y)
    plain = VotingClassifier(MEMBERS).fit(X, y).set_params(weights="tandem")
    with pytest.raises(NotFittedError):
        plain.predict(X)
    assert not hasattr(vote.fit(X, y).set_params(weights=None).fit(X, y), "weights_")


@pytest.mark.parametrize("n_sets", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_bound_of_learned_weights_holds(n_sets):
    """Many draws of held-out rows, from members whose errors at all points are known."""
    rng, delta, n = np.random.default_rng(0), 0.05, 150
    errors = (rng.random((400, 4)) < [0.25, 0.25, 0.3, 0.4]).astype(float)
    below = moments = 0
    for _ in range(n_sets):
        seen = errors[rng.integers(0, 400, n)]
        tandem = seen.T @ seen / n
        rho, _ = tandem_weights(tandem, n)
        bound = bounds.majority_vote_bound(
            tandem_losses=tandem, n_pair_samples=n, weights=rho, delta=delta, method="tandem"
        )
        below += np.mean(errors @ rho >= 0.5) > bound
        moments += 4 * np.mean((errors @ rho) ** 2) > bound
    assert below == 0
    assert moments <= delta * n_sets
    assert bound < 1
