"""The conditional risk of a surrogate loss as a function of the score [Shah, §3.3]."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_ensemble_theory._typing import ArrayLike

from ..bounds import conditional_surrogate_risk
from ..bounds._arguments import check_number, checked_numbers
from ._plotting import AXES, COLORS, documented, own_axes


@documented(AXES)
class ConditionalRiskDisplay:
    r"""The conditional risk of a surrogate loss against the score, for some class probabilities.

    At a point where the class +1 has the probability :math:`\eta`, the score :math:`\alpha` has the
    expected loss :math:`C_\eta(\alpha) = \eta\,\phi(\alpha) + (1 - \eta)\,\phi(-\alpha)`
    [Shah, §3.3]. The loss is classification calibrated if for all :math:`\eta \ne 1/2` scores of
    the wrong sign, which are dashed, have a larger infimum than all scores [Shah, definition 7].

    Use `from_loss` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    eta : ndarray of shape (n_curves,)
        Probabilities of +1.
    scores : ndarray of shape (n_scores,)
        Scores, increasing.
    risks : ndarray of shape (n_curves, n_scores)
        Conditional risks.

    Attributes
    ----------
    best_scores : ndarray of shape (n_curves,)
        The score with the least risk of each curve, the one closest to 0 of several.
    least_risks : ndarray of shape (n_curves,)
        The least risks.
    wrong_sign_risks : ndarray of shape (n_curves,)
        The least risks of scores alpha with alpha (2 eta - 1) <= 0.
    %(drawn)s

    See Also
    --------
    sklearn_ensemble_theory.bounds.conditional_surrogate_risk : The number for given scores.
    sklearn_ensemble_theory.bounds.is_classification_calibrated : The condition at 0.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn_ensemble_theory.inspection import ConditionalRiskDisplay
    >>> display = ConditionalRiskDisplay.from_loss("hinge", eta=[0.3, 0.7])
    >>> display.best_scores.tolist(), display.least_risks.round(3).tolist()
    ([-1.0, 1.0], [0.6, 0.6])
    >>> display.wrong_sign_risks.tolist()
    [1.0, 1.0]
    """

    def __init__(self, eta: np.ndarray, scores: np.ndarray, risks: np.ndarray) -> None:
        self.eta = eta
        self.scores = scores
        self.risks = risks
        # Of several minima, as those of a piecewise linear loss, the first one from 0 on.
        from_zero = np.argsort(np.abs(scores), kind="stable")
        wrong = scores * (2 * eta[:, None] - 1) <= 0
        self.best_scores = scores[from_zero[risks[:, from_zero].argmin(axis=1)]]
        self.least_risks = risks.min(axis=1)
        self.wrong_sign_risks = np.where(wrong, risks, np.inf).min(axis=1)

    @classmethod
    def from_loss(
        cls,
        phi: str | Callable[[np.ndarray], ArrayLike],
        *,
        eta: ArrayLike = (0.5, 0.7, 0.9),
        max_score: float = 3.0,
        ax: Any = None,
    ) -> "ConditionalRiskDisplay":
        """Compute the curves and draw them.

        Parameters
        ----------
        phi : {"hinge", "logistic", "exponential"} or callable
            The loss as a function of the margin, for arrays.
        eta : array-like of shape (n_curves,), default=(0.5, 0.7, 0.9)
            Probabilities of +1, in [0, 1].
        max_score : float, default=3.0
            The largest score; the curves have 601 scores from minus this on, with 0 among them.
        %(ax)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If the loss is unknown or not finite, a probability is outside of [0, 1], there is no
            probability, or `max_score` is not a positive number.
        """
        probabilities = np.atleast_1d(checked_numbers("eta", eta, 0, 1))
        if probabilities.ndim != 1 or probabilities.size == 0:
            raise ValueError(f"eta must have one dimension and a value, got {eta!r}.")
        check_number("max_score", max_score, 0, open_low=True)
        scores = max_score * np.arange(-300, 301) / 300
        risks = conditional_surrogate_risk(phi, probabilities[:, None], scores)
        return cls(probabilities, scores, np.asarray(risks)).plot(ax)

    def plot(self, ax: Any = None) -> "ConditionalRiskDisplay":
        """Draw the curves, dashed for scores of the wrong sign, with their minima.

        %(of_plot)s
        """
        ax = own_axes(self, ax)
        for k, (p, risk) in enumerate(zip(self.eta, self.risks)):
            color = COLORS[k % len(COLORS)]
            right = self.scores * (2 * p - 1) >= 0
            label = rf"$\eta$ = {p:g}"
            ax.plot(self.scores[right], risk[right], color=color, label=label)
            ax.plot(self.scores[~right], risk[~right], "--", color=color)
            ax.plot(self.best_scores[k], self.least_risks[k], "o", color=color)
        ax.axvline(0.0, color="k", linewidth=0.8)
        ax.set_xlabel(r"score $\alpha$")
        ax.set_ylabel(r"conditional risk $C_\eta(\alpha)$")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
