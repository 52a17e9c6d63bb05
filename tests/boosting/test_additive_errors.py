"""Standard errors of shapes: variances of a jackknife, moderated."""

import numpy as np
import pytest

from sklearn_ensemble_theory.boosting._additive.fitted_terms import band_errors

rng = np.random.default_rng(0)


def test_mean_variance_of_a_term_is_that_of_the_groups():
    """Bins of one weight: the variances of means of groups, averaged over the bins."""
    groups = rng.standard_normal((6, 30)) * np.linspace(1, 3, 30)
    without = [np.delete(groups, k, axis=0).mean(axis=0) for k in range(6)]
    (errors,) = band_errors([without], [np.full(30, 2.0)])
    variance = groups.var(axis=0, ddof=1) / 6
    assert np.mean(errors**2) == pytest.approx(1.1**2 * variance.mean())
    # Of 5 + 4 + 2 degrees of freedom, 5 are the bin's own; a single term is all terms.
    expected = (5 * variance + 6 * variance.mean()) / 11
    np.testing.assert_allclose(errors, 1.1 * np.sqrt(expected), rtol=1e-12)


def test_errors_of_bins_of_different_weights():
    """Means of K groups of normal rows in cells of very different sizes: the true variance."""
    share = np.array([0.02, 0.08, 0.3, 0.6])
    found = []
    for _ in range(2000):
        # What is left of the cells' means when a fifth of the rows is left out, about their mean.
        of_groups = rng.standard_normal((5, 4)) / np.sqrt(share / 5)
        without = (of_groups.sum(axis=0) - of_groups) / 4
        centred = without - (without @ share)[:, None]
        found.append(band_errors([centred], [share])[0] ** 2)
    ratio = np.mean(found, axis=0) / (1.1**2 * (1 / share - 1))
    # Small bins are taken to be shrunk; the values of large ones hardly vary at all.
    assert ratio[0] == pytest.approx(0.6, abs=0.2)
    assert (ratio[1:3] > 0.8).all()
    assert (ratio[1:] < 3).all()


def test_a_value_without_rows_or_a_feature_of_one_bin_has_no_error():
    tables = [np.array([0.3, -0.1, 0.0]), np.array([0.1, 0.1, 0.0])]
    constant = [np.zeros(1)] * 2
    errors = band_errors([tables, constant], [np.array([1.0, 3.0, 0.0]), np.array([4.0])])
    assert (errors[0][:2] > 0).all()
    assert errors[0][2] == errors[1][0] == 0
