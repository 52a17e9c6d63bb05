"""All decision stumps on given rows: their outputs, their number, and the bound that follows."""

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_ensemble_theory.bounds import stump_generalization_bound


def stump_dictionary(X: ArrayLike, *, constant: bool = True) -> Bunch:
    """All decision stumps with outputs -1 and +1 that differ on the given rows.

    There are infinitely many thresholds, but on n rows the stumps of p features take at most p (n -
    1) different outputs up to their sign, and the constant. They are the dictionary of boosting
    with `DecisionStumpClassifier` [Bach, §10.3.1].

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    constant : bool, default=True
        Whether the constant is one of the stumps, as it is for `DecisionStumpClassifier`.

    Returns
    -------
    Bunch
        `outputs`, a float array of shape (n_samples, m): +1 where the feature is at most the
        threshold and -1 elsewhere, one column for each stump. The negative of a stump is not
        listed, and of stumps with the same outputs up to the sign only the first is.
        `features` and `thresholds`, of shape (m,): the stumps. Thresholds are midpoints of
        neighbouring values, in the order of the features; inf for the constant, which comes first.

    Raises
    ------
    ValueError
        If X is not finite, or has no stump because all rows are equal and `constant` is False.

    See Also
    --------
    sklearn_ensemble_theory.bounds.gauge : The variation norm of a function on these rows.

    Notes
    -----
    The cost in time and memory is O(n² p) at most: n rows and m <= p (n - 1) + 1 stumps.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    The variation norm of a function of one variable over stumps is half its total variation plus
    the absolute mean of its two ends:

    >>> from sklearn_ensemble_theory.bounds import gauge
    >>> from sklearn_ensemble_theory.erm import stump_dictionary
    >>> stumps = stump_dictionary([[0.0], [1.0], [2.0], [3.0]])
    >>> stumps.thresholds
    array([inf, 0.5, 1.5, 2.5])
    >>> round(gauge(stumps.outputs, [0.0, 3.0, 1.0, 2.0]).value, 6)
    4.0
    """
    X = check_array(X, dtype=[np.float64, np.float32])
    n, p = X.shape
    left, features, thresholds = (
        [np.ones((1, n), dtype=bool)],
        [np.zeros(1, int)],
        [np.full(1, np.inf)],
    )
    for j in range(p):
        values = np.unique(X[:, j]).astype(np.float64)
        below, above = values[:-1], values[1:]
        middle = 0.5 * below + 0.5 * above  # the sum first could overflow
        middle = np.where((below <= middle) & (middle < above), middle, below)
        left.append(X[:, j] <= middle[:, None])
        features.append(np.full(len(middle), j))
        thresholds.append(middle)
    sides = np.concatenate(left)
    # Equal up to the sign: the same rows on the side of the first row.
    _, first = np.unique(np.packbits(sides == sides[:, :1], axis=1), axis=0, return_index=True)
    first = np.sort(first)[0 if constant else 1 :]
    if not len(first):
        raise ValueError("X: all rows are equal, so that there is no stump but the constant.")
    return Bunch(
        outputs=np.where(sides[first].T, 1.0, -1.0),
        features=np.concatenate(features)[first],
        thresholds=np.concatenate(thresholds)[first],
    )


class StumpBoundMixin:
    """What follows for a classifier from the number of stumps that differ on given rows."""

    classes_: np.ndarray
    n_features_in_: int

    def vc_error_bound(self, X: ArrayLike, y: ArrayLike, delta: float = 0.05) -> float:
        """Bound on the error on new rows by the training error and the number of stumps.

        With probability at least 1 - delta over the rows, if these are independent and have the
        distribution of new rows. The bound holds for all stumps at once, so that the stump may
        have been fitted to the rows, with any weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.

        Returns
        -------
        bound : float
            The share of errors on the rows plus
            :func:`~sklearn_ensemble_theory.bounds.stump_generalization_bound`. It says nothing
            where it is 1 or more.

        Raises
        ------
        ValueError
            If there are more than two classes, for which the stumps are not counted, or delta is
            outside its range.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError("vc_error_bound needs two classes.")
        wrong = self.predict(X) != column_or_1d(y)
        bound = stump_generalization_bound(len(wrong), self.n_features_in_, delta=delta)
        return float(wrong.mean()) + bound

    @staticmethod
    def _log_n_atoms(n_samples: int, n_features: int) -> float:
        """Logarithm of a bound on the number of different outputs on the rows, up to their sign."""
        return math.log(n_features * (n_samples - 1) + 1)
