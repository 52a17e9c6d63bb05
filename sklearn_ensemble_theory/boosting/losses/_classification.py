"""Losses of classes: logistic, exponential and hinge for two, multinomial for more."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from sklearn_ensemble_theory._roots import root_of_increasing

from ._base import (
    SMALLEST_PROBABILITY,
    Array,
    Loss,
    bounded_exp,
    newton_leaves,
)
from ._compiled import (
    CompiledLoss,
    exponential_loops,
    kink_loops,
    logistic_loops,
    multinomial_loops,
)
from ._regression import PiecewiseLinearLoss


class MarginLoss(Loss):
    """Losses of the margin m = y u, with targets -1 and +1."""

    margin = True

    def check_target(self, y: np.ndarray) -> None:
        if not np.all(np.abs(y) == 1):
            raise ValueError(f"{type(self).__name__} needs targets that are -1 or +1.")


class LogisticLoss(MarginLoss):
    """l(y, u) = log(1 + exp(-y u)), natural logarithm; u is the log-odds of +1.

    G1 = 1 and G2 = 1/4 [Bach, §10.3.1].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
    """

    smoothness = 0.25
    lipschitz = 1.0
    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    _deviance_factor = 2.0

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -log_expit(y * u)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -y * expit(-y * u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return expit(u) * expit(-u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return expit(u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return np.log(mean) - np.log1p(-mean)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return log_odds(y, sample_weight)

    def _compiled(self) -> CompiledLoss:
        return logistic_loops()


def log_odds(y: Array, sample_weight: Array | None) -> float:
    """log of the odds of +1, kept finite (|.| <= 36.04) where only one class is present."""
    share = np.average(y > 0, weights=sample_weight)
    share = np.clip(share, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return float(np.log(share) - np.log1p(-share))


class ExponentialLoss(MarginLoss):
    """l(y, u) = exp(-y u); u is half the log-odds of +1. Neither smooth nor Lipschitz.

    With weak learners of two values the line search is closed: for outputs in {-1, 1} it is
    AdaBoost's b = log((1 - eps) / eps) / 2 [Bach, §10.3.4].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
    """

    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(-y * u)

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -y * bounded_exp(-y * u)

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return bounded_exp(-y * u)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return expit(2 * u)

    def link(self, mean: np.ndarray) -> np.ndarray:
        return 0.5 * (np.log(mean) - np.log1p(-mean))

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        return 0.5 * log_odds(y, sample_weight)

    def line_search(
        self,
        y: np.ndarray,
        u: np.ndarray,
        psi: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray | None = None,
        n_groups: int = 1,
    ) -> np.ndarray:
        if group is not None:
            return super().line_search(y, u, psi, weight, group, n_groups)
        # The minimum does not change when all weights are multiplied: nothing overflows.
        log_weight = -y * u
        scaled = weight * np.exp(log_weight - np.max(log_weight, initial=-np.inf))
        return np.array([exponential_step(scaled, y * psi)])

    def _compiled(self) -> CompiledLoss:
        return exponential_loops()


def exponential_step(weight: Array, margins: Array) -> float:
    """The b that minimises sum weight exp(-b margins).

    Closed when the margins take two values p > 0 > -q: setting the derivative to 0 gives
    b = log(p W_p / (q W_q)) / (p + q). p = q = 1 is AdaBoost; p = 1/(K-1), q = 1/(K-1)² is SAMME.
    """
    high, low = np.max(margins, initial=0.0), np.min(margins, initial=0.0)
    if high <= 0 or low >= 0:
        # One sign only: the risk has no minimum, or does not depend on b.
        size = max(high, -low)
        return 0.0 if size == 0 else np.sign(high + low) * -np.log(1e-8) / size
    above = margins == high
    if np.all(above | (margins == low)):
        up, down = weight[above].sum(), weight[~above].sum()
        if up > 0 and down > 0:
            return float((np.log(up * high) - np.log(-low * down)) / (high - low))

    def slope(b: Array) -> Array:
        z = -b[0] * margins
        each = weight * np.exp(z - z.max()) * margins
        return np.array([-each.sum()])

    return float(root_of_increasing(slope, 1, first=1.0 / max(high, -low))[0])


class HingeLoss(PiecewiseLinearLoss, MarginLoss):
    """l(y, u) = (1 - y u)+, with G1 = 1; not smooth."""

    lipschitz = 1.0

    def kinks(self, y: np.ndarray) -> tuple[Any, Any, Any]:
        positive = y > 0
        return y, np.where(positive, -1.0, 0.0), np.where(positive, 0.0, 1.0)

    def _compiled(self) -> CompiledLoss:
        return kink_loops(-1.0, 0.0, 0.0, 1.0)


class MultinomialLoss(Loss):
    """l(y, u) = log sum_k exp(u_k) - u_y, scores of shape (n, K), targets 0 ... K-1.

    G1 = sqrt(2) and G2 = 1/2, for the Euclidean norm of the K scores.
    """

    smoothness = 0.5
    lipschitz = float(np.sqrt(2.0))
    probability = True
    link_domain = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)

    def n_scores(self, n_classes: int) -> int:
        return max(n_classes, 2)

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -log_softmax(u, axis=1)[np.arange(len(u)), y]

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = softmax(u, axis=1)
        p[np.arange(len(u)), y] -= 1
        return p

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = softmax(u, axis=1)
        return p * (1 - p)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        return softmax(u, axis=1)

    def link(self, mean: np.ndarray) -> np.ndarray:
        logs = np.log(mean)
        return logs - logs.mean(axis=-1, keepdims=True)

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None, n_classes: int | None = None
    ) -> np.ndarray:
        share = np.bincount(y, sample_weight, n_classes or 0).astype(float)
        share = np.clip(share / share.sum(), SMALLEST_PROBABILITY, None)
        return self.link(share)

    def initial_scores(
        self, y: np.ndarray, sample_weight: np.ndarray | None, n_classes: int
    ) -> np.ndarray:
        return self.optimal_constant(y, sample_weight, n_classes)

    def leaf_values(
        self,
        y: np.ndarray,
        u: np.ndarray,
        weight: np.ndarray,
        leaf: np.ndarray,
        n_leaves: int,
        score: int | None = None,
    ) -> np.ndarray:
        # One class at a time, with the K-1 free scores spread over K (Friedman 2001, equation 34).
        if score is None:
            raise ValueError("MultinomialLoss.leaf_values needs `score`, the index of a class.")
        n_classes = u.shape[1]
        p = softmax(u, axis=1)[:, score]
        leaves = newton_leaves(p - (y == score), p * (1 - p), weight, leaf, n_leaves)
        return (n_classes - 1) / n_classes * leaves

    def leaf_terms(self, y: np.ndarray, u: np.ndarray, score: int | None = None) -> tuple | None:
        n_classes = u.shape[1]
        p = softmax(u, axis=1)[:, score]
        return (n_classes - 1) / n_classes * ((y == score) - p), p * (1 - p)

    def _compiled(self) -> CompiledLoss:
        return multinomial_loops()
