"""The uncertainty of a bagged ensemble: three questions, three methods.

The spread of the members measures how much they differ from each other, which does not decrease as
members are added; the standard error measures how much their mean would differ on fresh data; the
decomposition relates the two.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import names_checked, rows_of
from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.averaging._bagging.jackknife import (
    SquaredInfluences,
    VarianceDecomposition,
    corrected,
    covariance_vectors,
    decompose,
    left_out_vectors,
)
from sklearn_ensemble_theory.averaging._bagging.members import member_input, member_predictions

# Numbers held at once when predictions or covariances are gathered: 64 MB of float64.
CHUNK = 2**23


def _infinitesimal(ensemble: Any) -> tuple[SquaredInfluences, float, float | None]:
    """(influences, scale, noise) of the infinitesimal jackknife."""
    scheme = ensemble._member_spec.scheme
    scale = scheme.jackknife_scale
    if not np.isfinite(scale):
        raise ValueError(
            f"With bootstrap={scheme.bootstrap!r} and max_samples={ensemble.max_samples} every "
            "member is fitted to every row with the same weight, so that the variance over "
            "training sets cannot be estimated."
        )
    draws = scheme.influence_draws(ensemble._drawn_weights())
    squares = SquaredInfluences(covariance_vectors(draws, scheme.unit_shares), draws.shape[1])
    return squares, scale, scheme.noise / draws.shape[0] if scheme.noise_is_known else None


def _after_bootstrap(ensemble: Any) -> tuple[SquaredInfluences, float, float | None]:
    """The same of the jackknife after bootstrap."""
    ensemble._check_rows_outside("Standard errors by the jackknife")
    scheme = ensemble._member_spec.scheme
    if not scheme.leaves_units_out:
        raise ValueError(
            f"The jackknife after bootstrap is not defined for bootstrap={scheme.bootstrap!r}, "
            'where units overlap; use method="infinitesimal".'
        )
    weights, shares = ensemble._drawn_weights(), scheme.unit_shares
    return SquaredInfluences(left_out_vectors(weights, shares), weights.shape[1]), 1.0, None


# The values of the parameter `method` of `standard_error`.
VECTORS: dict[str, Callable[[Any], tuple[SquaredInfluences, float, float | None]]] = {
    "infinitesimal": _infinitesimal,
    "jackknife": _after_bootstrap,
}


class UncertaintyMixin:
    """Standard errors and spreads of the mean of the members."""

    def standard_error(
        self, X: MatrixLike, method: Literal["infinitesimal", "jackknife"] = "infinitesimal"
    ) -> np.ndarray:
        """Compute the standard error of the mean of the ensemble over training sets.

        The infinitesimal jackknife [Wager, Hastie and Efron, 2014] measures how the mean would
        change with a small increase of the weight of each training row, by the covariance between
        the weights drawn for the row and the predictions of the members. The jackknife after
        bootstrap measures how it changes without the row, by the mean of the members that are not
        fitted to it. Both subtract the expected Monte Carlo error. They estimate the standard
        deviation of the mean of infinitely many members; the spread of the members
        (`ensemble_std`) is another quantity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute the standard error.

        method : {"infinitesimal", "jackknife"}, default="infinitesimal"
            The infinitesimal jackknife, or the jackknife after bootstrap. The latter is biased
            upwards, by a third for some trees and weights, and needs draws that leave rows out.

        Returns
        -------
        error : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard errors, in units of y; for a classifier an array of shape
            (n_samples, n_classes) with the standard error of each mean probability. If the
            estimated variance is negative, because of too few members, the error is 0 and a
            warning with the number of such points is raised. About as many members as training
            rows are needed.

        Raises
        ------
        ValueError
            If there are fewer than 2 members, if all members were fitted to all rows with the same
            weights (or to all rows, for `method="jackknife"`), or for the infinitesimal jackknife
            if rows of different weights were drawn without replacement.

        Notes
        -----
        A fully grown tree does not depend on how often a row was drawn. With `bootstrap=True` and
        `max_samples=None` a part of the row's influence is therefore missed, and the standard error
        of fully grown trees is too small. It is more accurate for trees with larger leaves, and for
        subsamples without replacement, such as `bootstrap=False, max_samples=0.25`.

        With `sample_weight` (or `class_weight`) the rows are the units, and their weights are
        fixed: for a weighted mean with shares p_i of the weight the squared error is
        sum p_i² (y_i - mean)². It does not depend on the scale of the weights. A weight that counts
        equal observations is something else: repeat the rows.

        Cost: the members' predictions, O(n B²) once for n training rows, and O(B²) for a point, or
        O(n B) if n < B; memory O(n B + B²) and blocks of bounded size.

        References
        ----------
        B. Efron (1992). "Jackknife-after-bootstrap standard errors and influence functions".
        *Journal of the Royal Statistical Society B* 54.

        S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.
        """
        if not isinstance(method, str) or method not in VECTORS:
            raise ValueError(f"method must be one of {sorted(VECTORS)}, got {method!r}.")
        return np.sqrt(np.maximum(self._jackknife(X, method, warn_below=True)[0], 0.0))

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

    def _jackknife(
        self, X: MatrixLike, method: str = "infinitesimal", warn_below: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """(estimated variance, variance of the members' predictions), at the points X."""
        X = self._check_uncertainty(X)
        squares, scale, noise = VECTORS[method](self)
        variance, spread, level = [], [], []
        for predictions in self._predictions_in_chunks(X):
            flat = predictions.reshape(len(predictions), -1)
            part = corrected(squares, flat, scale=scale, noise=noise)
            variance.append(part.reshape(predictions.shape[1:]))
            spread.append(predictions.var(axis=0, ddof=1))
            level.append((predictions**2).mean(axis=0))
        variance, spread, level = map(np.concatenate, (variance, spread, level))
        # Members that agree to rounding leave a difference of rounding errors, not of noise.
        below = np.count_nonzero((variance < 0) & (spread > 1e-24 * level))
        if warn_below and below:
            warn_user(
                f"Monte Carlo noise exceeds the estimated variance at {below} of "
                f"{variance.size} points, where the standard error is given as 0; more members "
                f"than n_estimators={len(self.estimators_)} are needed there."
            )
        return variance, spread

    def _drawn_weights(self) -> sp.csr_array:
        """The weights v of the units in the members, sparse of shape (B, n)."""
        n = self._member_spec.scheme.n_units
        rows, weights = [], []
        for seed in self._seeds:
            drawn, v = self._member_spec.draw_units(seed)
            rows.append(drawn.astype(np.int32 if n < 2**31 else np.int64))
            weights.append(v.astype(np.float64))
        indptr = np.cumsum([0] + [len(drawn) for drawn in rows])
        shape = len(rows), n
        return sp.csr_array((np.concatenate(weights), np.concatenate(rows), indptr), shape=shape)

    def _predictions_in_chunks(self, X: Any) -> Iterator[np.ndarray]:
        """The members' predictions (B, m, ...) for consecutive chunks of the rows of X."""
        spec = self._member_spec
        method = self._prediction_method(self.estimator_)
        step = max(1, CHUNK // (len(self.estimators_) * max(1, spec.n_classes)))
        for start in range(0, X.shape[0], step):
            part = rows_of(X, slice(start, start + step))
            trees = self._tree_sums(part, method)
            if trees is None:
                yield self._predictions_by_calls(part, method)
            elif method == "predict":
                yield self._predictions_of_members(part).T
            else:
                yield np.stack([p.copy() for p in self._each_prediction(part, method)])

    def _predictions_by_calls(self, X: Any, method: str) -> np.ndarray:
        X, checked = member_input(self.estimator_, X)
        with names_checked(self._member_spec.frames, X):
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(member_predictions)(
                    member,
                    method,
                    X,
                    features=columns,
                    n_classes=self._member_spec.n_classes,
                    checked=checked,
                )
                for member, columns in zip(self.estimators_, self._features_or_all())
            )
        return np.stack(found)
