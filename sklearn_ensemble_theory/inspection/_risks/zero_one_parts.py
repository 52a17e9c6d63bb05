"""Bias and variance for the 0-1 loss [Domingos, 2000], from counts of predictions."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

N_RESAMPLES = 200  # of the bootstrap: the standard errors have a relative error of 5 %


def zero_one_parts(
    repetitions: list[Any],
    target: np.ndarray,
    noise: np.ndarray | None,
    y_test: Any,
    seed: int,
) -> Bunch:
    """The decomposition, from the predictions of all repetitions.

    Parameters
    ----------
    repetitions : list of (predictions, labels)
        For each of R training sets, the labels predicted at the m test points and those drawn.
    target : array of shape (m,)
        The optimal classes.
    noise : array of shape (m,) or (m, K), or None
        Probabilities of another class than the target, or of all classes.
    y_test : array of shape (m,) or None
        Labels drawn at the test points, for `noise=None`.
    seed : int
        Seed of the resamples of the repetitions, for standard errors.
    """
    labels = [found for pair in repetitions for found in pair] + [target]
    classes = np.unique(np.concatenate([np.unique(x) for x in labels if x is not None]))
    if y_test is not None:
        classes = np.union1d(classes, y_test)
    R, m, K = len(repetitions), len(target), len(classes)
    rows = np.arange(m)
    predicted = np.stack([np.searchsorted(classes, p) for p, _ in repetitions])
    optimal = np.searchsorted(classes, target)
    truth = _class_probabilities(noise, y_test, optimal, classes)
    cells = (rows * K + predicted).ravel()

    def parts_of(weight: np.ndarray) -> Bunch:
        share = np.bincount(cells, np.repeat(weight, m), minlength=m * K) / R
        return _pointwise(share.reshape(m, K), optimal, truth)

    found = parts_of(np.ones(R))
    # The jackknife does not estimate the variance of the most frequent prediction consistently.
    rng = np.random.RandomState(seed)
    resampled = [parts_of(weight) for weight in rng.multinomial(R, np.full(R, 1 / R), N_RESAMPLES)]
    errors = {
        name: float(np.std([parts[name].mean() for parts in resampled], ddof=1))
        for name in ("noise", "bias", "variance")
    }
    wrong = 1.0 - truth[rows, predicted].mean(axis=1)
    biased = found.bias == 1
    spread = np.abs(found.variance)
    main = found.main
    return Bunch(
        error=float(wrong.mean()),
        noise=float(found.noise.mean()),
        bias=float(found.bias.mean()),
        variance=float(found.variance.mean()),
        variance_unbiased=float(np.where(biased, 0.0, spread).mean()),
        variance_biased=float(np.where(biased, spread, 0.0).mean()),
        bayes_error=float(1.0 - truth[rows, optimal].mean()),
        standard_error=Bunch(error=float(np.std(wrong, ddof=1) / np.sqrt(R)), **errors),
        pointwise=Bunch(
            target=target,
            main_prediction=classes[main],
            bias=found.bias,
            variance=found.variance,
            noise=found.noise,
        ),
    )


def _class_probabilities(
    noise: np.ndarray | None, y_test: Any, optimal: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """P(y = k) at the test points, of shape (m, K)."""
    m, K = len(optimal), len(classes)
    rows = np.arange(m)
    if noise is None:
        return np.asarray(classes == np.asarray(y_test)[:, None], dtype=float)
    if noise.ndim == 2:
        if noise.shape[1] != K:
            raise ValueError(
                f"noise must have a column for each of the {K} classes; got {noise.shape[1]}."
            )
        return noise
    if K == 1:
        return np.ones((m, 1))
    truth = np.repeat(noise[:, None] / (K - 1), K, axis=1)
    truth[rows, optimal] = 1.0 - noise
    return truth


def _pointwise(share: np.ndarray, optimal: np.ndarray, truth: np.ndarray) -> Bunch:
    """Noise, bias and net variance at each point, from the shares of the predictions (m, K)."""
    rows = np.arange(len(optimal))
    main = share.argmax(axis=1)
    right = share[rows, optimal]
    bias = (main != optimal).astype(float)
    # P(h = k) P(y = k) over the classes other than the target.
    agreement = np.einsum("mk,mk->m", share, truth) - right * truth[rows, optimal]
    return Bunch(
        main=main,
        bias=bias,
        variance=(1.0 - right) - bias,
        noise=right * (1.0 - truth[rows, optimal]) - agreement,
    )
