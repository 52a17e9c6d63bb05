"""Breiman's problems: Bayes rules by densities, Bayes errors by simulation; noise in labels."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from sklearn_ensemble_theory import datasets
from sklearn_ensemble_theory.datasets import (
    add_label_noise,
    add_malicious_rows,
    add_massart_noise,
    make_ringnorm,
    make_threenorm,
    make_twonorm,
    make_waveform,
    ringnorm_bayes_error,
    ringnorm_bayes_rule,
    threenorm_bayes_error,
    threenorm_bayes_rule,
    twonorm_bayes_error,
    twonorm_bayes_rule,
    waveform_bayes_error,
    waveform_bayes_rule,
)

# Breiman's waves, triangles of height 6, and the two that the rows of each class are mixtures of.
WAVES = [np.maximum(6.0 - np.abs(np.arange(1, 22) - centre), 0.0) for centre in (11, 15, 7)]
PAIRS = ((0, 1), (0, 2), (1, 2))


def simulated(make, rule, n=200_000, **params):
    X, y = make(n, random_state=0, **params)
    wrong = rule(X) != y
    return wrong.mean(), wrong.std() / np.sqrt(n)


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_bayes_errors_of_normal_classes(d):
    for name, error in [
        ("twonorm", twonorm_bayes_error()),
        ("threenorm", threenorm_bayes_error(d)),
        ("ringnorm", ringnorm_bayes_error(d)),
    ]:
        make, rule = getattr(datasets, f"make_{name}"), getattr(datasets, f"{name}_bayes_rule")
        mean, spread = simulated(make, rule, n=100_000, n_features=d)
        assert abs(mean - error) < 3.5 * spread


def test_published_errors():
    """Breiman (1998) states 2.3 %, 10.5 % and 1.3 %; Breiman et al. (1984) about 14 %."""
    assert twonorm_bayes_error() == pytest.approx(0.023, abs=0.001)
    assert threenorm_bayes_error() == pytest.approx(0.105, abs=0.001)
    assert ringnorm_bayes_error() == pytest.approx(0.013, abs=0.001)
    assert waveform_bayes_error() == pytest.approx(0.14, abs=0.01)


def test_ringnorm_with_the_printed_mean_has_another_error():
    d, n = 20, 200_000
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], n)
    X = rng.standard_normal((n, d))
    X = np.where(y[:, None] > 0, X + 1 / np.sqrt(d), 2 * X)
    inside = ((X - 1 / np.sqrt(d)) ** 2).sum(axis=1) < (X**2).sum(axis=1) / 4 + 2 * d * np.log(2)
    assert np.mean(np.where(inside, 1, -1) != y) == pytest.approx(0.0153, abs=0.001)


def test_rules_choose_the_larger_density():
    rng = np.random.default_rng(1)
    for d in (3, 4):
        X = 2 * rng.standard_normal((500, d))
        a = np.full(d, 2 / np.sqrt(d))
        b = a * np.array([1, -1, 1, -1])[:d]

        def normal(mean, X=X, scale=1.0):
            return multivariate_normal(mean, scale).pdf(X)

        for rule, minus, plus in [
            (twonorm_bayes_rule, normal(-a), normal(a)),
            (threenorm_bayes_rule, (normal(a) + normal(-a)) / 2, normal(b)),
            (ringnorm_bayes_rule, normal(0 * a, scale=4.0), normal(a)),
        ]:
            np.testing.assert_array_equal(rule(X), np.where(plus > minus, 1, -1))


def test_waveform():
    mean, spread = simulated(make_waveform, waveform_bayes_rule)
    assert abs(mean - waveform_bayes_error()) < 3.5 * spread
    X, y = make_waveform(40, random_state=1)
    densities = np.array(
        [
            [
                quad(
                    lambda u, x=x, i=i, j=j: np.exp(
                        -((x - u * WAVES[i] - (1 - u) * WAVES[j]) ** 2).sum() / 2
                    ),
                    0,
                    1,
                    points=np.linspace(0.05, 0.95, 19),
                )[0]
                for i, j in PAIRS
            ]
            for x in X
        ]
    )
    np.testing.assert_array_equal(waveform_bayes_rule(X), densities.argmax(axis=1))
    # Far away from all waves nothing overflows.
    assert set(waveform_bayes_rule(1e4 * X)) <= {0, 1, 2}
    X, y = make_waveform(60_000, random_state=0)
    for k, (i, j) in enumerate(PAIRS):
        np.testing.assert_allclose(X[y == k].mean(axis=0), (WAVES[i] + WAVES[j]) / 2, atol=0.06)
    with pytest.raises(ValueError, match="21"):
        waveform_bayes_rule([[1.0]])


def test_label_noise_replaces_by_each_other_class_equally_often():
    y = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(3, size=60_000)]
    noisy, flipped = add_label_noise(y, 0.3, random_state=0)
    np.testing.assert_array_equal(flipped, noisy != y)
    assert flipped.mean() == pytest.approx(0.3, abs=0.007)
    for own in "abc":
        shares = [np.mean(noisy[(y == own) & flipped] == other) for other in "abc"]
        assert sorted(np.round(shares, 1)) == [0.0, 0.5, 0.5]
    np.testing.assert_array_equal(add_label_noise(y, 0.3, random_state=0)[0], noisy)


def test_massart_noise_has_the_given_probabilities():
    X, y = make_twonorm(60_000, random_state=0)

    def eta(X):
        return 0.4 * (X[:, 0] > 1)

    noisy, flipped = add_massart_noise(X, y, eta, random_state=1)
    assert (noisy == np.where(flipped, -y, y)).all()
    assert not flipped[X[:, 0] <= 1].any()
    assert flipped[X[:, 0] > 1].mean() == pytest.approx(0.4, abs=0.015)
    again = add_massart_noise(X, y, eta(X), random_state=1)[0]
    np.testing.assert_array_equal(again, noisy)


@pytest.mark.parametrize("distance", [1.0, 5.0])
def test_malicious_rows(distance):
    X, y = make_twonorm(500, random_state=0)
    bad_X, bad_y, malicious = add_malicious_rows(X, y, 0.1, distance=distance, random_state=0)
    assert malicious.sum() == 50
    np.testing.assert_array_equal(bad_X[~malicious], X[~malicious])
    np.testing.assert_array_equal(bad_y[~malicious], y[~malicious])
    centre = X.mean(axis=0)
    origin = centre + (bad_X[malicious] - centre) / distance
    gaps = ((origin[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(gaps.min(axis=1), 0, atol=1e-18)
    assert (bad_y[malicious] == -y[gaps.argmin(axis=1)]).all()


def test_bad_arguments_are_named():
    X, y = make_ringnorm(10, random_state=0)
    for make in (make_twonorm, make_threenorm, make_ringnorm):
        with pytest.raises(ValueError, match="n_features"):
            make(10, n_features=0)
        with pytest.raises(ValueError, match="n_samples"):
            make(0)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="noise_rate"):
            add_label_noise(y, wrong)
        with pytest.raises(ValueError, match="fraction"):
            add_malicious_rows(X, y, wrong)
    with pytest.raises(ValueError, match="distance"):
        add_malicious_rows(X, y, 0.1, distance=np.inf)
    with pytest.raises(ValueError, match="eta"):
        add_massart_noise(X, y, np.full(10, 0.5))
    with pytest.raises(ValueError, match="eta"):
        add_massart_noise(X, y, [0.1])
    with pytest.raises(ValueError, match="two classes"):
        add_label_noise(np.ones(3), 0.1)
