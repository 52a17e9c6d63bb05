"""Bounds on the error of a fitted vote."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_ensemble_theory._compat import check_sample_weight
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.bounds import (
    held_out_voting_error_bound,
    voting_generalization_bound,
)


class VoteBoundsMixin:
    """The bounds on its error that a vote of classifiers computes from rows."""

    def error_bound(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        delta: float | None = None,
    ) -> float:
        """Bound on the error of the vote by twice the mean error of its members.

        The vote errs only where members with at least half of the weight do, with
        `voting="soft"` where the mean probability of the label is at most 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a bound on the error on new rows, ones that were not used in `fit`.

        y : array-like of shape (n_samples,)
            Labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        delta : float, default=None
            `None` bounds the error on the given rows. A number in (0, 1) bounds the probability
            of an error on a new row, with probability 1 - delta over the given rows, which must be
            independent of the fit: the mean error of the members is increased by
            sqrt(ln(1/delta) / (2 n)), by Hoeffding's inequality.

        Returns
        -------
        bound : float
            At most 1.

        Raises
        ------
        ValueError
            If a weight of a member is negative, or delta is not in (0, 1).

        Notes
        -----
        [Ghoshdastidar, theorem En.1], step 3.1 of its proof, with a member drawn by the weights as
        the randomised classifier. Cost: a prediction of each member.
        """
        check_is_fitted(self)
        if self.weights is not None and np.min(self._kept_weights()) < 0:
            raise ValueError("weights must not be negative for error_bound.")
        if delta is not None and not 0 < delta < 1:
            raise ValueError(f"delta must be a number in (0, 1), got {delta!r}.")
        y = column_or_1d(y)
        known = np.isin(y, self.classes_)
        code = self.le_.transform(np.where(known, y, self.classes_[0]))
        share = self.predict_proba(X) if self.voting == "soft" else self._votes(X)
        share = share / share.sum(axis=1, keepdims=True)
        true = np.clip(share[np.arange(len(y)), code], 0.0, 1.0) * known
        w = None if sample_weight is None else check_sample_weight(sample_weight, true)
        return held_out_voting_error_bound(true, w, delta)

    def vc_error_bound(
        self, X: MatrixLike, y: ArrayLike, vc_dimensions: ArrayLike, delta: float = 0.05
    ) -> float:
        """Bound on the error on new rows by the training error and the VC dimensions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows, independent draws; without sample weights.

        y : array-like of shape (n_samples,)
            Their labels.

        vc_dimensions : int or array-like of shape (n_classifiers,)
            VC dimensions of the classes of functions of the members that are not dropped; one
            number if they are equal. That of linear classifiers is n_features + 1.

        delta : float, default=0.05
            Probability of failure, in (0, 1).

        Returns
        -------
        bound : float
            The training error plus
            :func:`~sklearn_ensemble_theory.bounds.voting_generalization_bound`. It says nothing
            where it is 1 or more.

        Raises
        ------
        ValueError
            If there are more than two classes, or `voting` is not `"hard"`: the labels of a soft
            vote are not determined by those of its members.

        Notes
        -----
        [Ghoshdastidar, theorem En.1] and what precedes it. Cost: a prediction of each member.
        """
        check_is_fitted(self)
        if self.voting != "hard" or len(self.classes_) > 2:
            raise ValueError("vc_error_bound needs voting='hard' and two classes.")
        dimensions = np.broadcast_to(vc_dimensions, len(self.estimators_))
        wrong = self.predict(X) != column_or_1d(y)
        return float(wrong.mean() + voting_generalization_bound(len(wrong), dimensions, delta))
