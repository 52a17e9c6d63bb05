"""The distribution of the target that the training rows in the leaves of a forest's trees have."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.ensembles._ensemble import Ensemble
from sklearn_ensemble_theory.ensembles._forest_weights import (
    distribution_function,
    functional,
    weighted_mean,
)
from sklearn_ensemble_theory.ensembles._quantiles import predicted_quantiles, rows_of_leaves


class ForestDistribution:
    """Predictive distribution of each row, as returned by `predict_distribution` of forests.

    At x it has the weight w_i(x) of :func:`~sklearn_ensemble_theory.inspection.training_weights` at
    the target of training row i, also of several targets together [Cevid et al., 2022].

    Parameters
    ----------
    ensemble : Ensemble
        A fitted ensemble of trees.
    X : array or sparse matrix
        Checked rows.

    Notes
    -----
    Splits are chosen for the conditional means: a forest for which only another functional differs
    between rows has no reason to part them. Leaves need several rows, or trees need to be many, for
    more than a mean.

    References
    ----------
    D. Cevid, L. Michel, J. Näf, P. Bühlmann and N. Meinshausen (2022). "Distributional random
    forests: heterogeneity adjustment and multivariate distributional regression". *Journal of
    Machine Learning Research* 23.

    Examples
    --------
    The correlation of two targets, which is the sign of a feature:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.uniform(-1, 1, (2000, 2)), rng.standard_normal((2000, 2))
    >>> y = np.column_stack([noise[:, 0], np.sign(X[:, 0]) * noise[:, 0] + 0.5 * noise[:, 1]])
    >>> y += 3 * X[:, :1]
    >>> forest = RandomForestRegressor(100, min_samples_leaf=20, random_state=0).fit(X, y)
    >>> def correlation(y, weights):
    ...     covariance = np.cov(y.T, aweights=weights, bias=True)
    ...     return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    >>> at = forest.predict_distribution([[-0.5, 0.0], [0.5, 0.0]])
    >>> low, high = at.functional(correlation)
    >>> bool(low < -0.6 and high > 0.6)
    True
    """

    def __init__(self, ensemble: Ensemble, X: Any) -> None:
        rows_of_leaves(ensemble, "predict_distribution")
        self.ensemble = ensemble
        self.X = X

    def __len__(self) -> int:
        return self.X.shape[0]

    def cdf(self, y: ArrayLike) -> np.ndarray:
        """The distribution function at given values.

        Parameters
        ----------
        y : float or array-like of shape (n_values,) or (n_values, n_outputs)
            Values of the target, in its units; of several targets a vector each.

        Returns
        -------
        cdf : ndarray of shape (n_samples, n_values) or (n_samples,)
            F(y | x) = sum_i w_i(x) 1{y_i <= y}; of several targets the joint distribution function,
            where all are at most the values. One dimension for a single number, or a single vector
            of several targets.

        Raises
        ------
        ValueError
            If y contains NaN or has another number of targets than the forest.
        """
        return distribution_function(self.ensemble, self.X, y)

    def ppf(self, q: float | Sequence[float] | ArrayLike) -> np.ndarray:
        """Quantiles, the same as `predict_quantiles`.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,)
            Levels from 0 to 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
            In the units of y; one dimension for a single number.

        Raises
        ------
        ValueError
            If y has several columns, or a level is not between 0 and 1.
        """
        return predicted_quantiles(self.ensemble, self.X, q)

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The conditional mean of a function of the target.

        Parameters
        ----------
        function : callable
            ``function(y)`` of the targets of all training rows, of shape (n,) or (n, n_outputs); it
            returns an array of shape (n, ...).

        Returns
        -------
        mean : ndarray of shape (n_samples, ...)
            sum_i w_i(x) function(y_i).

        Raises
        ------
        ValueError
            If `function` is not callable, or returns another number of values.
        """
        return weighted_mean(self.ensemble, self.X, function)

    def functional(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> np.ndarray:
        """Any functional of the distribution.

        Parameters
        ----------
        function : callable
            ``function(y, weights)`` of the targets of the training rows of positive weight, of
            shape (k,) or (k, n_outputs), and of their weights, of shape (k,) and sum 1. It returns
            a number, or an array of one shape for all rows.

        Returns
        -------
        values : ndarray of shape (n_samples, ...)
            What the function returned for each row.

        Raises
        ------
        ValueError
            If `function` is not callable, or returns arrays of several shapes.
        """
        return functional(self.ensemble, self.X, function)
