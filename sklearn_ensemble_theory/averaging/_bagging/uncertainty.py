"""The uncertainty of a bagged ensemble: three questions, three methods.

The spread of the members measures how much they differ from each other, which does not decrease as
members are added; the standard error measures how much their mean would differ on fresh data; the
decomposition relates the two.
"""

from collections.abc import Iterator
from typing import Any
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.averaging._bagging.jackknife import (
    VarianceDecomposition,
    decompose,
    infinitesimal_jackknife,
)
from sklearn_ensemble_theory.averaging._bagging.members import member_input, member_predictions

# Numbers held at once when predictions or covariances are gathered: 64 MB of float64.
CHUNK = 2**23


class UncertaintyMixin:
    """Standard errors and spreads of the mean of the members."""

    def standard_error(self, X: MatrixLike) -> np.ndarray:
        """Compute the standard error of the mean of the ensemble over training sets.

        The infinitesimal jackknife [Wager, Hastie and Efron, 2014] measures how the mean would
        change with a small increase of the weight of each training row, by the covariance between
        the weights drawn for the row and the predictions of the members, and subtracts the expected
        Monte Carlo error. It estimates the standard deviation of the mean of infinitely many
        members; the spread of the members (`ensemble_std`) is another quantity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute the standard error.

        Returns
        -------
        error : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard errors, in units of y; for a classifier an array of shape
            (n_samples, n_classes) with the standard error of each mean probability. If the
            estimated variance is negative, because of too few members, the error is 0 and a
            warning is raised. About as many members as training rows are needed.

        Raises
        ------
        ValueError
            If there are fewer than 2 members, if `sample_weight` was passed to `fit`, or if all
            members were fitted to all rows with the same weights.

        Notes
        -----
        A fully grown tree does not depend on how often a row was drawn. With `bootstrap=True` and
        `max_samples=None` a part of the row's influence is therefore missed, and the standard error
        of fully grown trees is too small. It is more accurate for trees with larger leaves, and for
        subsamples without replacement, such as `bootstrap=False, max_samples=0.25`.

        Cost: the members' predictions, and O(m B s) time for m points, B members of s rows,
        in blocks of bounded memory.

        References
        ----------
        S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.
        """
        return np.sqrt(np.maximum(self._jackknife(X, warn_below=True)[0], 0.0))

    def ensemble_std(self, X: MatrixLike) -> np.ndarray:
        """Compute the standard deviation of the predictions of the members around their mean.

        It is the effect of the random draw of rows and features on a single member, and does not
        decrease with the number of members. For the error of the mean see `standard_error`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute it.

        Returns
        -------
        std : ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_classes)
            In the units of y, or of a probability.

        Raises
        ------
        ValueError
            With fewer than 2 members.

        Notes
        -----
        Cost: the members' predictions.
        """
        X = self._check_uncertainty(X)
        chunks = self._predictions_in_chunks(X)
        return np.concatenate([predictions.std(axis=0, ddof=1) for predictions in chunks])

    def variance_decomposition(self, X: MatrixLike) -> VarianceDecomposition:
        """Estimate the variance and correlation of members and the variance of their mean.

        Over fresh training sets and fresh draws a member has variance sigma², two members fitted
        to one training set have correlation rho, and the mean of B of them has variance
        rho sigma² + (1 - rho) sigma² / B [Shah, §4.5]. The infinitesimal jackknife estimates
        rho sigma², the spread of the members estimates (1 - rho) sigma².

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to decompose the variance.

        Returns
        -------
        decomposition : VarianceDecomposition
            With arrays `sigma2`, `rho` and `variance`, one value a point (and output or class).

        Raises
        ------
        ValueError
            As for `standard_error`.

        Notes
        -----
        The cost is that of `standard_error`.

        References
        ----------
        R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
        """
        jackknife, spread = self._jackknife(X)
        return decompose(jackknife, spread, len(self.estimators_))

    def _check_uncertainty(self, X: MatrixLike) -> Any:
        check_is_fitted(self)
        if len(self.estimators_) < 2:
            raise ValueError("The spread of the members requires n_estimators >= 2.")
        return self._validate_X(X)

    def _jackknife(self, X: MatrixLike, warn_below: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """(Var_IJ, variance of the members' predictions), at the points X."""
        X = self._check_uncertainty(X)
        scheme = self._member_spec.scheme
        if scheme.sample_weight is not None:
            raise ValueError(
                "The infinitesimal jackknife is defined for rows of equal weight; this ensemble "
                "was fitted with sample_weight or class_weight."
            )
        scale = scheme.jackknife_scale
        if not np.isfinite(scale):
            raise ValueError(
                f"With bootstrap={scheme.bootstrap!r} and max_samples={self.max_samples} every "
                "member is fitted to every row with the same weight, so that the variance over "
                "training sets cannot be estimated."
            )
        weights = self._drawn_weights()
        variance, spread, level = [], [], []
        for predictions in self._predictions_in_chunks(X):
            flat = predictions.reshape(len(predictions), -1)
            part = infinitesimal_jackknife(weights, flat, scale=scale, noise=scheme.noise)
            variance.append(part.reshape(predictions.shape[1:]))
            spread.append(predictions.var(axis=0, ddof=1))
            level.append((predictions**2).mean(axis=0))
        variance, spread, level = map(np.concatenate, (variance, spread, level))
        # Members that agree to rounding leave a difference of rounding errors, not of noise.
        below = np.count_nonzero((variance < 0) & (spread > 1e-24 * level))
        if warn_below and below:
            warn(
                f"Monte Carlo noise exceeds the infinitesimal jackknife at {below} of "
                f"{variance.size} points, where the standard error is given as 0; more members "
                f"than n_estimators={len(self.estimators_)} are needed there.",
                stacklevel=3,
            )
        return variance, spread

    def _drawn_weights(self) -> sp.csr_array:
        """The weights v of the training rows in the members, sparse of shape (B, n)."""
        draws = [self._member_spec.draw(seed)[1:] for seed in self._seeds]
        indptr = np.cumsum([0] + [len(rows) for rows, _ in draws])
        return sp.csr_array(
            (
                np.concatenate([v for _, v in draws]).astype(float),
                np.concatenate([rows for rows, _ in draws]),
                indptr,
            ),
            shape=(len(draws), self._member_spec.scheme.n_samples),
        )

    def _predictions_in_chunks(self, X: Any) -> Iterator[np.ndarray]:
        """The members' predictions (B, m, ...) for consecutive chunks of the rows of X."""
        spec = self._member_spec
        method = self._prediction_method(self.estimator_)
        X, checked = member_input(self.estimator_, X)
        features = self._features_or_all()
        width = max(len(self.estimators_), spec.scheme.n_samples) * max(1, spec.n_classes)
        step = max(1, CHUNK // width)
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            yield np.stack(
                Parallel(n_jobs=self.n_jobs, prefer="threads")(
                    delayed(member_predictions)(
                        member,
                        method,
                        part,
                        features=columns,
                        n_classes=spec.n_classes,
                        checked=checked,
                    )
                    for member, columns in zip(self.estimators_, features)
                )
            )
