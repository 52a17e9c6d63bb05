"""AdaBoost's rounds as equalities on data, and its theorems in simulated runs."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import AdaBoostClassifier, bounds


def noisy(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(n) > 0.3, 1, -1)
    return X, y


def fitted_runs():
    """Runs of 40 rounds with their data: stumps, and trees of depth 2."""
    for seed, learner in [(0, None), (1, None), (2, DecisionTreeClassifier(max_depth=2))]:
        X, y = noisy(seed)
        yield X, y, AdaBoostClassifier(learner, n_estimators=40, random_state=0).fit(X, y)


def scores_along(model, X):
    """f_t on the rows before each round and after the last, from the members alone."""
    votes = np.array([member.predict(X) for member in model.estimators_])
    steps = 0.5 * model.estimator_weights_[: len(votes), None] * votes
    return np.vstack([np.zeros(len(X)), np.cumsum(steps, axis=0)]), votes


def test_normaliser_is_the_ratio_of_exponential_risks():
    for X, y, model in fitted_runs():
        scores, _ = scores_along(model, X)
        risks = np.exp(-y * scores).mean(axis=1)
        expected = risks[1:] / risks[:-1]
        found = bounds.adaboost_normalizer(model.estimator_errors_)
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        # With the correlation e = 1 - 2 eps the factor of [Bach, §10.3.4] is its square root.
        e = 1 - 2 * model.estimator_errors_
        np.testing.assert_allclose(found, np.sqrt(1 - e**2), rtol=1e-10)
    assert bounds.adaboost_normalizer(0.2) == pytest.approx(0.8)
    assert bounds.adaboost_normalizer(0.5) == 1
    assert bounds.adaboost_normalizer([0.0, 1.0]).tolist() == [0, 0]


def test_coefficient_is_that_of_the_fitted_vote_and_minimises_the_risk():
    for _, _, model in fitted_runs():
        found = bounds.adaboost_coefficient(model.estimator_errors_)
        np.testing.assert_allclose(2 * found, model.estimator_weights_, rtol=1e-10)
    b = bounds.adaboost_coefficient(0.2)
    assert b == pytest.approx(np.log(2), rel=1e-12)  # by hand: log(4) / 2
    around = b + np.linspace(-1e-3, 1e-3, 3)
    risk = 0.2 * np.exp(around) + 0.8 * np.exp(-around)
    assert np.argmin(risk) == 1
    assert risk[1] == pytest.approx(0.8)
    assert bounds.adaboost_coefficient([0.5, 0.8]) == pytest.approx([0, -np.log(2)])


def test_weights_follow_the_recursion():
    """D_{t+1} is proportional to D_t exp(-w_t y h_t), and to exp(-y f_t) from the start."""
    for X, y, model in fitted_runs():
        scores, votes = scores_along(model, X)
        weight = np.full(len(y), 1 / len(y))
        for t, vote in enumerate(votes):
            wrong = vote != y
            assert weight @ wrong == pytest.approx(model.estimator_errors_[t], abs=1e-10)
            weight = bounds.adaboost_weights(weight, wrong)
            exponential = np.exp(-y * scores[t + 1])
            expected = exponential / exponential.sum()
            np.testing.assert_allclose(weight, expected, rtol=1e-10, atol=1e-13)
            assert weight @ wrong == pytest.approx(0.5, abs=1e-10)  # a coin under the new weights
    by_hand = bounds.adaboost_weights([1.0, 1.0, 1.0, 1.0], np.array([True, False, False, False]))
    np.testing.assert_allclose(by_hand, [1 / 2, 1 / 6, 1 / 6, 1 / 6], rtol=1e-15)


def test_exponential_risk_of_fitted_runs_is_the_product():
    for X, y, model in fitted_runs():
        scores, _ = scores_along(model, X)
        found = bounds.adaboost_exponential_risk(model.edges_)
        np.testing.assert_allclose(found, np.exp(-y * scores[1:]).mean(axis=1), rtol=1e-10)
        np.testing.assert_allclose(found, model.training_error_bounds_, rtol=1e-10)
    assert bounds.adaboost_exponential_risk(0.3) == pytest.approx(0.8)
    np.testing.assert_allclose(
        bounds.adaboost_exponential_risk([[0.3, 0.4], [0.0, 0.5]]), [[0.8, 0.48], [1, 0]]
    )


def cells_of(n_draws, n, seed, n_cells=16):
    """Counts of both labels in cells of a line, for many samples of n rows at once.

    The labels are those of an interval with flips; the second result is the law, (2, n_cells).
    """
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(n_cells, 2.0))
    inside = (np.arange(n_cells) >= 5) & (np.arange(n_cells) < 11)
    flips = 0.0 if seed % 2 else 0.1
    law = mass * np.where(inside == np.array([[False], [True]]), 1 - flips, flips)
    return rng.multinomial(n, law.ravel(), size=n_draws).reshape(n_draws, 2, n_cells), law


def stumps_of(n_cells=16):
    """Every stump of both signs, (n_stumps, n_cells)."""
    above = np.where(np.arange(n_cells) >= np.arange(n_cells + 1)[:, None], 1.0, -1.0)
    return np.vstack([above, -above])


def adaboost_on_cells(counts, n_rounds):
    """AdaBoost of stumps on every sample at once: scores (rounds, draws, cells), and edges."""
    stumps = stumps_of(counts.shape[2])
    pi = counts / counts.sum(axis=(1, 2), keepdims=True)
    score = np.zeros((len(counts), counts.shape[2]))
    scores, edges = [], []
    for _ in range(n_rounds):
        weight = pi * np.exp(np.stack([score, -score], axis=1))  # label -1, label +1
        weight /= weight.sum(axis=(1, 2), keepdims=True)
        correlation = (weight[:, 1] - weight[:, 0]) @ stumps.T
        best = np.argmax(correlation, axis=1)
        e = np.minimum(correlation[np.arange(len(best)), best], 1 - 1e-12)
        score = score + (0.5 * np.log((1 + e) / (1 - e)))[:, None] * stumps[best]
        scores.append(score)
        edges.append(e / 2)
    return np.array(scores), np.array(edges).T


def error_of(scores, counts):
    """The share of the counts whose label is not the sign of the score."""
    wrong = np.where(scores > 0, counts[..., 0, :], counts[..., 1, :])
    return wrong.sum(axis=-1) / counts.sum(axis=(-2, -1))


@pytest.mark.parametrize("seed", [0, 1])
def test_training_error_is_below_the_bounds_of_theorem_en_4(seed):
    """In each of 1000 samples and each round: error <= product <= exp(-2 sum gamma²)."""
    counts, _ = cells_of(1000, 80, seed)
    scores, edges = adaboost_on_cells(counts, 60)
    error = error_of(scores, counts).T
    product = bounds.adaboost_exponential_risk(edges)
    exponential = bounds.adaboost_training_error_bound(edges)
    assert (error <= product + 1e-12).all()
    assert (product <= exponential * (1 + 1e-12)).all()
    least = np.minimum.accumulate(np.abs(edges), axis=1)
    same = bounds.adaboost_training_error_bound(np.full(60, 0.1))
    np.testing.assert_allclose(same, np.exp(-2 * 0.01 * np.arange(1, 61)), rtol=1e-12)
    assert (exponential <= np.exp(-2 * least**2 * np.arange(1, 61)) * (1 + 1e-12)).all()
    # It is not loose for small edges, and its constant cannot be doubled.
    assert (product > np.exp(-4 * np.cumsum(edges**2, axis=1))).mean() > 0.9


def test_the_bounds_of_a_round_agree_for_small_edges():
    gamma = 1e-4
    product = bounds.adaboost_exponential_risk(gamma)
    assert bounds.adaboost_training_error_bound(gamma) == pytest.approx(product, rel=1e-14)
    assert bounds.adaboost_training_error_bound(0.5) == pytest.approx(np.exp(-0.5))


def test_no_training_error_after_the_number_of_rounds():
    """1000 samples of intervals without flips: every edge is at least 1/6."""
    n = 30
    counts, _ = cells_of(1000, n, seed=1)
    T = bounds.adaboost_n_rounds(n, 1 / 6)
    assert T == 62  # by hand: 18 ln 30 = 61.2
    scores, edges = adaboost_on_cells(counts, T)
    assert edges.min() >= 1 / 6 - 1e-9
    assert (error_of(scores[-1], counts) == 0).all()
    assert error_of(scores[0], counts).max() > 0.2
    assert bounds.adaboost_n_rounds(1, 0.5) == 1
    assert bounds.adaboost_training_error_bound(np.full(T, 1 / 6))[-1] <= 1 / n


def test_generalisation_bound_of_theorem_en_5_holds():
    """1000 samples of 10 million rows, as counts; delta = 1/2 so that failures could be seen."""
    n, T = 10**7, 60
    counts, law = cells_of(1000, n, seed=1)
    scores, edges = adaboost_on_cells(counts, T)
    error = error_of(scores[-1], law)
    right = [
        bounds.adaboost_generalization_bound(n, T, 2, edge=gamma, delta=0.5)
        for gamma in np.minimum(edges.min(axis=1), 0.5)
    ]
    assert np.mean(error <= right) >= 0.5
    assert np.max(right) < 0.15
    # The difference of error and training error, with flips.
    counts, law = cells_of(1000, 10**5, seed=0)
    scores, _ = adaboost_on_cells(counts, 10)
    gap = error_of(scores[-1], law) - error_of(scores[-1], counts)
    deviation = bounds.weighted_voting_generalization_bound(10**5, 10, 2, delta=0.5)
    assert np.mean(gap <= deviation) >= 0.5
    assert deviation < 0.25


def test_generalisation_bound_by_hand():
    """One round: a weighted vote of one classifier is it or its negative, Phi_1(2n) = 2n + 1."""
    n, delta = 10**6, 0.1
    d = 1  # Phi_1(2n) again
    deviation = 2 * np.sqrt(2 * (2 * np.log(2 * n + 1) + np.log(2 / delta)) / n)
    found = bounds.adaboost_generalization_bound(n, 1, d, edge=0.25, delta=delta)
    assert found == pytest.approx(np.exp(-1 / 8) + deviation, rel=1e-9)
    # Order: sqrt(T ln(n) / n), up to a constant.
    values = [bounds.weighted_voting_generalization_bound(m, 50, 2) for m in (10**6, 10**8)]
    assert 8 < values[0] / values[1] < 10


def test_kappa_bounds_the_risk_of_every_round():
    """Random dictionaries that span; kappa from the Gram matrix."""
    n = 6
    rng = np.random.default_rng(0)
    holds = []
    for _ in range(300):
        psi = rng.choice([-1.0, 1.0], (n, n))
        if np.linalg.matrix_rank(psi) < n:
            continue
        kappa = bounds.matching_pursuit_kappa(psi.T @ psi / n)
        y, u = rng.choice([-1.0, 1.0], n), np.zeros(n)
        for t in range(1, 31):
            pi = np.exp(-y * u)
            products = (y * pi / pi.sum()) @ psi
            j = np.argmax(np.abs(products))
            e = np.abs(products[j])
            if e > 1 - 1e-9:  # a perfect column ends the rounds
                break
            assert e >= kappa * (1 - 1e-9)
            u += 0.5 * np.log((1 + e) / (1 - e)) * np.sign(products[j]) * psi[:, j]
            risk = np.mean(np.exp(-y * u))
            holds.append(risk <= bounds.adaboost_kappa_bound(t, kappa) * (1 + 1e-9))
    assert len(holds) > 1000
    assert all(holds)


def test_kappa_is_attained_by_a_bent_vector():
    """Orthogonal columns, and labels that have the same correlation with each: e = kappa."""
    hadamard = np.kron(*[np.array([[1.0, 1.0], [1.0, -1.0]])] * 2)
    y = np.array([1.0, 1.0, 1.0, -1.0])
    kappa = bounds.matching_pursuit_kappa(hadamard.T @ hadamard / 4)
    assert np.abs(y @ hadamard / 4).max() == pytest.approx(kappa)
    model = AdaBoostClassifier(n_estimators=1).fit(hadamard, y)  # stumps of the columns
    risk = model.training_error_bounds_[0]
    assert bounds.adaboost_kappa_bound(1, kappa) == pytest.approx(risk, rel=1e-10)
    assert risk > (1 - kappa**2) * 1.1  # the rate by the printed factor
    assert bounds.adaboost_kappa_bound(2, 0.6) == pytest.approx(0.64)
    assert bounds.adaboost_kappa_bound([0, 1], 1.0).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: bounds.adaboost_normalizer(1.1), "error"),
        (lambda: bounds.adaboost_normalizer(np.nan), "error"),
        (lambda: bounds.adaboost_coefficient([0.1, 0.0]), "error"),
        (lambda: bounds.adaboost_coefficient(1.0), "error"),
        (lambda: bounds.adaboost_weights([1.0, -1.0], [True, False]), "weight"),
        (lambda: bounds.adaboost_weights([1.0, 1.0], [True, True]), "weight must be positive"),
        (lambda: bounds.adaboost_weights([1.0, 1.0], [1, 0]), "is_wrong"),
        (lambda: bounds.adaboost_exponential_risk([0.6]), "edges"),
        (lambda: bounds.adaboost_training_error_bound([0.1, -0.6]), "edges"),
        (lambda: bounds.adaboost_n_rounds(0, 0.1), "n_samples"),
        (lambda: bounds.adaboost_n_rounds(10, 0.0), "edge"),
        (lambda: bounds.adaboost_generalization_bound(10, 0, 2), "n_rounds"),
        (lambda: bounds.adaboost_generalization_bound(10, 5, 2.5), "vc_dimension"),
        (lambda: bounds.adaboost_generalization_bound(10, 5, 2, edge=0.6), "edge"),
        (lambda: bounds.adaboost_generalization_bound(10, 5, 2, delta=0.0), "delta"),
        (lambda: bounds.adaboost_kappa_bound(-1, 0.5), "n_rounds"),
        (lambda: bounds.adaboost_kappa_bound(1, 1.5), "kappa"),
    ],
)
def test_arguments_outside_the_assumptions(call, match):
    with pytest.raises(ValueError, match=match):
        call()
