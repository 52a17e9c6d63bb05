"""The excess risk of a classifier in a ball of the variation norm."""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory.bounds._arguments import check_number


class BallBoundMixin:
    """The bound on its excess risk that a fitted :class:`FrankWolfeClassifier` has."""

    estimator: Any
    radius: float | str
    radius_: float
    fit_intercept: bool
    is_exact_: bool
    dual_gap_: float
    loss_: Any
    n_features_in_: int
    _n_effective: float
    _n_rows: int
    _largest_value: float

    def excess_risk_bound(
        self, delta: float = 0.05, *, feature_bound: float | None = None
    ) -> float:
        """Bound on the excess of the expected loss on new rows over the best of the ball.

        With probability at least 1 - delta over independent training rows, the expected loss is at
        most this above the smallest one over the ball of radius D of the variation norm [Bach,
        §10.3.6; Shah, theorem 11]:

            2 L D rho + M sqrt(2 ln(2/delta) / n) + dual_gap_,

        where L and M are the Lipschitz constant and the largest value of the loss for scores of at
        most r, and rho bounds the Rademacher complexity of the atoms: for the columns of X, rho = C
        sqrt(2 ln(2p) / n) and r = D C; for the stumps of :class:`DecisionStumpClassifier`, rho =
        sqrt(2 ln(2 (p (n-1) + 1)) / n) and r = D.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound does not hold, above 0 and at most 1.
        feature_bound : float, default=None
            C, a bound on the absolute values of all possible features, for the columns of X. If
            None, the largest of the training rows; the bound then holds for rows that are not
            larger.

        Returns
        -------
        bound : float
            The bound, in units of the loss. The cost is O(1).

        Raises
        ------
        ValueError
            Where the theorem does not apply: if `radius` is "cv", which depends on the rows; with
            an intercept, which the ball does not bound; for other atoms than those above; for a
            loss that is not a decreasing function of the margin; if a training row exceeds
            `feature_bound`, or delta is outside its range.

        Notes
        -----
        The radius must not be chosen by the training rows. With weights w of sum 1 that do not
        depend on the rows, n is 1 / sum(w²) in the two rates.

        References
        ----------
        F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

        R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
        """
        check_is_fitted(self)
        check_number("delta", delta, 0, 1, open_low=True)
        if isinstance(self.radius, str):
            raise ValueError("radius='cv' depends on the rows; the bound is for a given radius.")
        if self.fit_intercept:
            raise ValueError("fit_intercept must be False: the ball does not bound an intercept.")
        if not self.loss_.margin:
            raise ValueError("loss must be a decreasing function of the margin for the bound.")
        size, log_n_atoms = self._class_of_atoms(feature_bound)
        n, reach = self._n_effective, self.radius_ * size
        complexity = reach * math.sqrt(2 * (math.log(2) + log_n_atoms) / n)
        # Convex and decreasing: largest, and steepest, at the smallest margin.
        one, worst = np.ones(1), np.array([-reach])
        slope = float(np.abs(self.loss_.gradient(one, worst))[0])
        largest = float(self.loss_.value(one, worst)[0])
        tail = largest * math.sqrt(2 * math.log(2 / delta) / n)
        return 2 * slope * complexity + tail + self.dual_gap_

    def _class_of_atoms(self, feature_bound: float | None) -> tuple[float, float]:
        """The largest output of an atom, and the logarithm of their number up to the sign."""
        if self.estimator is None:
            C = self._largest_value
            if feature_bound is not None:
                check_number("feature_bound", feature_bound, 0)
                if feature_bound < C:
                    raise ValueError(
                        f"feature_bound={feature_bound!r} is exceeded by a training row, of "
                        f"{C:.6g}."
                    )
                C = feature_bound
            return C, math.log(self.n_features_in_)
        count = getattr(self.estimator, "_log_n_atoms", None)
        if count is None or not self.is_exact_:
            raise ValueError(
                f"The atoms of {type(self.estimator).__name__} are not counted; the bound is for "
                "the columns of X (estimator=None) and for DecisionStumpClassifier."
            )
        return 1.0, count(self._n_rows, self.n_features_in_)
