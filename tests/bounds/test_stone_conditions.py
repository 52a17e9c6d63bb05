"""Stone's conditions and lemma, and the consistency of averages that follows from them."""

import numpy as np
import pytest

from sklearn_ensemble_theory import bagged_nearest_neighbors_weights, bounds


def test_conditions_by_hand():
    distances = [[0.9, 0.1, 0.2, 4.0], [0.1, 0.2, 0.3, 0.4]]
    found = bounds.stone_conditions([0.5, 0.3, 0.2], distances, radius=0.5)
    np.testing.assert_allclose(found, [1.0, 0.1, 0.5], rtol=1e-12)  # 0.2 and 0 are far
    found = bounds.stone_conditions([0.5, 0.3, 0.2], distances, radius=0.15)
    np.testing.assert_allclose(found, [1.0, 0.5, 0.5], rtol=1e-12)
    # The second weight is above the first: the least decreasing majorant is 0.5, 0.5, 0.3.
    found = bounds.stone_conditions([0.2, 0.5, 0.3], n_nearest=2)
    np.testing.assert_allclose(found, [1.3, 0.3, 0.5], rtol=1e-12)
    # 0.6 is missing, the weight of a constant prediction.
    found = bounds.stone_conditions([0.2, 0.2], n_nearest=9)
    np.testing.assert_allclose(found, [0.4, 0.0, 0.6], rtol=1e-12)


def test_conditions_of_bernoulli_draws():
    """The three quantities of the proof of theorem En.2, and its bounds on them."""
    for n, q in ((20, 0.3), (500, 0.01), (500, 0.1)):
        w = bagged_nearest_neighbors_weights(n, q, bootstrap="bernoulli", weight_tol=0.0)
        k = int(np.ceil(np.sqrt(n / q)))
        total, far, largest = bounds.stone_conditions(w, n_nearest=k)
        assert total == pytest.approx(1 - (1 - q) ** n, rel=1e-10)
        assert far == pytest.approx(max(0.0, (1 - q) ** k - (1 - q) ** n), rel=1e-9, abs=1e-15)
        assert far <= (1 - q) ** k <= np.exp(-np.sqrt(q * n))
        assert largest == pytest.approx(max(q, (1 - q) ** n), rel=1e-10)


def test_conditions_tell_consistent_weights_from_others():
    sizes = (100, 10_000, 1_000_000)

    def path(weights):
        found = [bounds.stone_conditions(weights(n), n_nearest=int(n**0.75)) for n in sizes]
        return np.array(found)

    def bernoulli(power):
        def weights(n):
            return bagged_nearest_neighbors_weights(n, float(n**power), bootstrap="bernoulli")

        return weights

    neighbors = path(lambda n: np.full(int(n**0.5), n**-0.5))
    bagged = path(bernoulli(-0.5))
    for consistent in (neighbors, bagged):
        assert np.all(consistent[:, 0] <= 1 + 1e-12)
        assert np.all(consistent[-1, 1:] < 2e-3)
    # One neighbour: the largest weight stays. q = 1/n: too often no row is drawn.
    assert np.all(path(lambda n: np.array([1.0]))[:, 2] == 1)
    assert np.all(path(bernoulli(0))[:, 2] == 1)
    assert path(bernoulli(-1.0))[-1, 2] == pytest.approx(np.exp(-1), rel=1e-4)
    # The mean of all rows: the weight of far rows stays.
    assert np.all(path(lambda n: np.full(n, 1 / n))[:, 1] > 0.6)


def test_far_weight_by_simulation_tends_to_zero():
    """(ii) by distances, for points on the unit square and draws of sqrt(n) rows."""
    rng = np.random.default_rng(0)
    far = []
    for n in (50, 5_000):
        X, x = rng.random((n, 2)), rng.random((40, 2))
        distances = np.sqrt(((x[:, None] - X) ** 2).sum(axis=2))
        w = bagged_nearest_neighbors_weights(n, int(n**0.5))
        far.append(bounds.stone_conditions(w, distances, radius=0.2)[1])
        # By its definition: sort, and add the weights of the rows that are far.
        ranked = np.sort(distances, axis=1)[:, : len(w)]
        assert far[-1] == pytest.approx(np.mean((ranked > 0.2) @ w), rel=1e-12)
    assert far[0] > 0.1
    assert far[1] < 0.01


def test_stones_lemma_holds_for_every_point():
    """How many points have a point among their k nearest neighbours."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 3):
        constant = bounds.stone_lemma_constant(d)
        for X in (rng.standard_normal((120, d)), rng.random((120, d)) ** 6):
            distances = ((X[:, None] - X) ** 2).sum(axis=2) + np.diag(np.full(120, np.inf))
            for k in (1, 4):
                nearest = np.argsort(distances, axis=1)[:, :k]
                most = np.bincount(nearest.ravel()).max()
                assert k < most <= constant * k
    # In one dimension the k points on each side: twice k, of the 3.86 k of the bound.
    assert bounds.stone_lemma_constant(1) == pytest.approx(1 / np.sin(np.pi / 12), rel=1e-12)
    assert bounds.stone_lemma_constant(10**6) == np.inf


def test_first_condition_holds_with_the_constant_of_the_lemma():
    """E[sum w_i f(x_(i))] for an f that is large at few points."""
    rng = np.random.default_rng(0)
    n, draws = 60, 1000
    X, x = rng.random((draws, n, 2)), rng.random((draws, 2))

    def f(points):
        return 1 / (0.01 + (points**2).sum(axis=-1))

    order = ((X - x[:, None]) ** 2).sum(axis=2).argsort(axis=1)
    values = np.take_along_axis(f(X), order, axis=1)
    expected = f(rng.random((200_000, 2))).mean()
    for w in (bagged_nearest_neighbors_weights(n, 10), np.array([0.0, 0.2, 0.0, 0.8])):
        total = bounds.stone_conditions(w, n_nearest=5)[0]
        bound = bounds.stone_lemma_constant(2) * total * expected
        assert (values[:, : len(w)] @ w).mean() <= bound


def vote_error(n, q, eta, replications, seed=0):
    """Error of the averaged 1-NN of Bernoulli draws where P(y = 1 | x) = eta for every x."""
    w = bagged_nearest_neighbors_weights(n, q, bootstrap="bernoulli", weight_tol=0.0)
    y = np.random.default_rng(seed).random((replications, len(w))) < eta  # by rank
    return np.mean(np.where(y @ w >= 0.5, 1 - eta, eta))


def test_averaged_nearest_neighbors_are_consistent_and_one_neighbor_is_not():
    """Theorem En.2, with labels of 1 with probability 0.8: the smallest error is 0.2."""
    eta = 0.8
    one = vote_error(100, 1.0, eta, 20_000)
    assert one == pytest.approx(2 * eta * (1 - eta), rel=0.05)  # for every n
    errors = [vote_error(n, n**-0.5, eta, 2000) for n in (25, 100, 2500)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.201


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([-0.1, 0.5],), {"n_nearest": 1}, "weights"),
        (([0.6, 0.5],), {"n_nearest": 1}, "weights"),
        (([],), {"n_nearest": 1}, "weights"),
        (([[0.5]],), {"n_nearest": 1}, "weights"),
        (([0.5],), {}, "n_nearest"),
        (([0.5], [[1.0]]), {}, "radius"),
        (([0.5],), {"radius": 1.0}, "distances"),
        (([0.5], [[1.0]]), {"radius": 1.0, "n_nearest": 1}, "n_nearest"),
        (([0.5], [[1.0]]), {"radius": 0.0}, "radius"),
        (([0.5], [1.0]), {"radius": 1.0}, "distances"),
        (([0.5, 0.5], [[1.0]]), {"radius": 1.0}, "distances"),
        (([0.5], [[-1.0]]), {"radius": 1.0}, "distances"),
        (([0.5],), {"n_nearest": -1}, "n_nearest"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        bounds.stone_conditions(*arguments, **options)


def test_bad_dimension():
    with pytest.raises(ValueError, match="n_features"):
        bounds.stone_lemma_constant(0)
