"""Out-of-bag estimates along the number of members.

A row is predicted by the members that are not fitted to it. The sums below take one member at a
time, so the score of every smaller ensemble costs no more than scoring it.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._scaling import range_exponent, shifted_by
from sklearn_ensemble_theory.averaging._bagging.members import MemberSpec, outside_predictions

Score = Callable[[np.ndarray, np.ndarray], float]


class OutOfBag:
    """Running means of the members' predictions on the rows that they are not fitted to.

    Parameters
    ----------
    shape : tuple
        Shape of the predictions on all training rows, (n,) or (n, k).
    score : callable
        `score(rows, predictions)`: the score on rows that have an estimate; NaN if None.
    exponent : int, default=0
        Sums are taken in units of this power of two.
    """

    def __init__(self, shape: tuple[int, ...], score: Score | None, exponent: int = 0) -> None:
        self.total = np.zeros(shape)
        self.n_predictions = np.zeros(shape[0], dtype=np.intp)
        self.score = score
        self.exponent = exponent
        self.scores: list[float] = []

    def continued(self, score: Score | None) -> Self:
        """A copy to add members to; the original stays as it is should the fit fail."""
        copy = type(self)(self.total.shape, score, self.exponent)
        copy.total[:] = self.total
        copy.n_predictions[:] = self.n_predictions
        copy.scores = list(self.scores)
        return copy

    def add(self, outside: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Add a member, then score: the rows that it is not fitted to, and its predictions on them.

        None for a member that is fitted to all rows.
        """
        if outside is not None:
            rows, predictions = outside
            self.total[rows] += np.ldexp(predictions, -self.exponent)
            self.n_predictions[rows] += 1
        known = np.flatnonzero(self.n_predictions)
        score = np.nan
        if self.score is not None and len(known):
            score = self.score(known, self.mean(known))
        self.scores.append(float(score))

    def mean(self, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Mean predictions; NaN for a row that all members are fitted to."""
        counts = self.n_predictions[rows].reshape(-1, *[1] * (self.total.ndim - 1))
        mean = np.full_like(self.total[rows], np.nan)
        np.divide(self.total[rows], counts, out=mean, where=counts > 0)
        return shifted_by(mean, self.exponent)


class OutOfBagScoresMixin:
    """Out-of-bag scores of a fit; a part of the ensembles."""

    warm_start: bool
    estimators_: list[Any]
    estimators_features_: list[np.ndarray]
    _seeds: np.ndarray
    _member_spec: MemberSpec
    _oob_scorer: Any
    _oob_attributes: Any

    def _start_out_of_bag(
        self, spec: MemberSpec, X: Any, y: np.ndarray, classes: Any, continued: bool
    ) -> OutOfBag:
        """The out-of-bag estimates to add members to: of the known members, or empty."""
        score = self._oob_scorer(y, classes)
        known = getattr(self, "_oob", None) if continued else None
        if known is not None:
            return known.continued(score)
        columns = y.shape[1:] if classes is None else (spec.n_classes,)
        # Sums of targets near the largest float are taken in units of a power of two.
        oob = OutOfBag((len(y), *columns), score, range_exponent(y) if classes is None else 0)
        if continued:  # the previous fit was one without oob_score
            n_samples = self._member_spec.scheme.n_samples
            if n_samples != len(y):
                raise ValueError(
                    "oob_score requires the out-of-bag predictions of all members, but those of "
                    f"the previous fit were fitted to {n_samples} other rows without oob_score. "
                    "Use warm_start=False."
                )
            for member, columns, seed in zip(
                self.estimators_, self.estimators_features_, self._seeds
            ):
                rows = self._member_spec.indices(seed)[1]
                oob.add(outside_predictions(spec, member, X, rows, columns))
        return oob

    def _set_oob_score_and_attributes(self, oob: OutOfBag | None) -> None:
        for name in ("oob_score_", "oob_scores_", "oob_prediction_", "oob_decision_function_"):
            self.__dict__.pop(name, None)
        self._oob = None
        if oob is None:
            return
        if self.warm_start:
            self._oob = oob.continued(score=None)
        if not oob.n_predictions.all():
            warn_user(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates."
            )
        self.oob_scores_ = np.array(oob.scores)
        for name, value in self._oob_attributes(oob.mean(), oob.scores[-1]).items():
            setattr(self, name, value)
