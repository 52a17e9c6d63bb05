"""The bound on the error of a boosted vote by its training error and the class of its members."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_ensemble_theory.bounds import (
    stump_generalization_bound,
    weighted_voting_generalization_bound,
)


class BoostedVoteBoundMixin:
    """What a fitted :class:`AdaBoostClassifier` computes from its training rows."""

    algorithm_: str
    classes_: np.ndarray
    estimator_: Any
    estimators_: list
    n_estimators: int
    n_features_in_: int

    def vc_error_bound(
        self,
        X: ArrayLike,
        y: ArrayLike,
        vc_dimension: int | None = None,
        delta: float = 0.05,
    ) -> float:
        """Bound on the error on new rows by the training error [Ghoshdastidar, theorem En.5].

        With probability at least 1 - delta over the rows, if these are independent and have the
        distribution of new rows. It holds for all votes of `n_estimators` members with any weights
        at once. `n_estimators` must not be chosen by the same rows; a fit with fewer rounds counts
        as one with the others of weight 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        vc_dimension : int, default=None
            VC dimension of the class of the weak learners. None for decision stumps, whose number
            on the rows is known.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.

        Returns
        -------
        bound : float
            The share of errors on the rows plus
            :func:`~sklearn_ensemble_theory.bounds.stump_generalization_bound` or
            :func:`~sklearn_ensemble_theory.bounds.weighted_voting_generalization_bound`. It says
            nothing where it is 1 or more.

        Raises
        ------
        ValueError
            Where the theorem does not apply: if there are more than two classes, if the algorithm
            is not "discrete", whose members vote for a class, or if there is no `vc_dimension` for
            other weak learners than decision stumps.

        Notes
        -----
        The theorem has an unknown constant; this bound has none. It is below 1 for far more rows
        than rounds only.
        """
        check_is_fitted(self)
        if self.algorithm_ != "discrete" or len(self.classes_) > 2:
            raise ValueError("vc_error_bound needs algorithm='discrete' and two classes.")
        wrong = self.predict(X) != column_or_1d(y)
        n, T = len(wrong), max(self.n_estimators, len(self.estimators_))
        if vc_dimension is not None:
            bound = weighted_voting_generalization_bound(n, T, vc_dimension, delta)
        elif hasattr(self.estimator_, "_log_n_atoms"):
            bound = stump_generalization_bound(n, self.n_features_in_, T, delta)
        else:
            raise ValueError(
                f"vc_dimension must be given for {type(self.estimator_).__name__}; that of "
                "decision stumps is not needed."
            )
        return float(wrong.mean()) + bound
