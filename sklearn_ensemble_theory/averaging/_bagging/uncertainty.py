"""How sure a bagged ensemble is: three questions, three methods.

The spread of the members says how much they differ from each other, which does not shrink as
members are added; the standard error says how much their mean would differ on fresh data; the
decomposition says how the two hang together.
"""

from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._trees import is_tree, single_precision_if_finite
from sklearn_ensemble_theory.averaging._bagging.jackknife import decompose, infinitesimal_jackknife
from sklearn_ensemble_theory.averaging._bagging.members import ask

# Numbers held at once when answers or covariances are gathered: 64 MB of float64.
CHUNK = 2**23


class UncertaintyMixin:
    """Standard errors and spreads of the mean of the members."""

    def standard_error(self, X):
        """Standard error of the ensemble's mean over fresh training sets.

        The infinitesimal jackknife [Wager, Hastie and Efron, 2014]: how the mean would answer to a
        little more weight on each training row, read off the covariance between the weights that
        the rows happened to get and the members' answers, less the part that is Monte Carlo noise.
        It estimates the standard deviation of the mean of infinitely many members; the spread of
        the members (`ensemble_std`) is another thing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to judge the mean.

        Returns
        -------
        error : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In the units of y; for a classifier of shape (n_samples, n_classes), the standard
            error of each mean probability. Never NaN: where the noise exceeds the signal the
            error is 0 and a warning says that more members are needed (about as many as there
            are training rows).

        Raises
        ------
        ValueError
            With fewer than 2 members, with `sample_weight` at fit, or where every member saw
            every row in the same way.

        Notes
        -----
        The covariance sees what a little more of a row would do. A fully grown tree ignores how
        often it drew a row, so with `bootstrap=True` and all rows part of the row's influence goes
        unseen: in simulations the error came out at 2/3 of the truth, at 9/10 with leaves of 10
        rows. Subsamples without replacement, `bootstrap=False, max_samples=0.25`, had it right to
        a few percent for any leaf size.

        Cost: the members' predictions, and O(m B s) time for m points, B members of s rows,
        in blocks of bounded memory.
        """
        return np.sqrt(np.maximum(self._jackknife(X, warn_below=True)[0], 0.0))

    def ensemble_std(self, X):
        """Standard deviation of the members' answers around their mean.

        What a single member's random draw of rows and features does to it; it does not fall with
        the number of members. For the error of the mean see `standard_error`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to ask the members.

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
        return np.concatenate(
            [answers.std(axis=0, ddof=1) for answers in self._answers_by_chunk(X)]
        )

    def variance_decomposition(self, X):
        """Variance of one member, correlation between members, variance of their mean.

        Over fresh training sets and fresh draws a member has variance sigma², two members fitted
        to one training set have correlation rho, and the mean of B of them has variance
        rho sigma² + (1 - rho) sigma² / B [003, section 4.5]. rho sigma² is what the infinitesimal
        jackknife estimates, (1 - rho) sigma² the spread of the members.

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
            As `standard_error`.

        Notes
        -----
        Cost: as `standard_error`.
        """
        jackknife, spread = self._jackknife(X)
        return decompose(jackknife, spread, len(self.estimators_))

    def _check_uncertainty(self, X):
        check_is_fitted(self)
        if len(self.estimators_) < 2:
            raise ValueError("The spread of the members needs n_estimators >= 2.")
        return self._validate_X(X)

    def _jackknife(self, X, warn_below=False):
        """(Var_IJ, variance of the members' answers), at the points X."""
        X = self._check_uncertainty(X)
        drawing = self._drawing
        if drawing.resampling.sample_weight is not None:
            raise ValueError(
                "The infinitesimal jackknife is defined for rows of equal weight; this ensemble "
                "was fitted with sample_weight or class_weight."
            )
        scale = drawing.resampling.jackknife_scale
        if not np.isfinite(scale):
            raise ValueError(
                f"bootstrap={drawing.resampling.scheme!r} and max_samples={self.max_samples} show "
                "every row to every member alike, which says nothing of other training sets."
            )
        weights = self._drawn_weights()
        variance, spread, level = [], [], []
        for answers in self._answers_by_chunk(X):
            flat = answers.reshape(len(answers), -1)
            noise = drawing.resampling.noise
            part = infinitesimal_jackknife(weights, flat, scale=scale, noise=noise)
            variance.append(part.reshape(answers.shape[1:]))
            spread.append(answers.var(axis=0, ddof=1))
            level.append((answers**2).mean(axis=0))
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

    def _drawn_weights(self):
        """The weights v of the training rows in the members, sparse of shape (B, n)."""
        draws = [self._drawing.draw(seed)[1:] for seed in self._seeds]
        indptr = np.cumsum([0] + [len(rows) for rows, _ in draws])
        return sp.csr_array(
            (
                np.concatenate([v for _, v in draws]).astype(float),
                np.concatenate([rows for rows, _ in draws]),
                indptr,
            ),
            shape=(len(draws), self._drawing.resampling.n_samples),
        )

    def _answers_by_chunk(self, X):
        """The members' answers (B, m, ...) for consecutive chunks of the rows of X."""
        method = self._answer_method(self.estimator_)
        X_checked = single_precision_if_finite(X) if is_tree(self.estimator_) else None
        checked = X_checked is not None
        X = X_checked if checked else X
        columns = self._columns()
        n_classes = self._drawing.n_classes
        width = max(len(self.estimators_), self._drawing.resampling.n_samples) * (n_classes or 1)
        step = max(1, CHUNK // width)
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            yield np.stack(
                Parallel(n_jobs=self.n_jobs, prefer="threads")(
                    delayed(ask)(
                        member,
                        method,
                        part,
                        features=own,
                        n_classes=n_classes,
                        checked=checked,
                    )
                    for member, own in zip(self.estimators_, columns)
                )
            )
