"""Prediction intervals and prediction sets of bagged ensembles, without a further fit."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import rows_of
from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.averaging._inference.group_ranks import (
    group_ends,
    hierarchical_shares,
    weighted_ranks,
)
from sklearn_ensemble_theory.averaging._inference.leaf_rows import ROUNDING, LeafFinder, LeafRows
from sklearn_ensemble_theory.averaging._inference.order_statistics import order_statistics
from sklearn_ensemble_theory.averaging._inference.out_of_bag_rows import OutOfBagRowsMixin
from sklearn_ensemble_theory.trees._tree_arrays import member_nodes

# Predictions of members that are held at once: 64 MB.
CHUNK = 2**23


def conformal_rank(n: int, coverage: float) -> int:
    """ceil((n + 1) coverage), the rank of the score below which a new one is with this probability.

    Above n where there are too few scores.
    """
    return math.ceil((n + 1) * coverage - 1e-9)


def _checked_coverage(coverage: Any) -> float:
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    number = float(coverage) if is_number else 0.0
    if not 0 < number < 1:
        raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
    return number


def _checked_levels(quantiles: Any) -> np.ndarray:
    """The levels as an array of one dimension."""
    try:
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.empty(0)
    if levels.ndim != 1 or not levels.size or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"quantiles must be numbers from 0 to 1, got {quantiles!r}.")
    return levels


def conformal_limit(scores: np.ndarray, coverage: float, groups: np.ndarray | None) -> float:
    """The number below which the score of a new row is with this probability.

    With groups a row of a new group, whose score is compared with those of all groups, each of the
    same share [Lee, Barber and Willett, 2023].
    """
    if groups is not None:
        return float(weighted_ranks(scores[None], hierarchical_shares(groups), coverage)[0])
    rank = conformal_rank(len(scores), coverage)
    return np.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


def jackknife_plus(ensemble: "PredictionIntervalsMixin", X: Any, coverage: float) -> np.ndarray:
    """The interval of the jackknife+ after bootstrap [Kim, Xu and Barber, 2020]."""
    rows, residuals = ensemble._out_of_bag_residuals()
    groups = ensemble._groups_of(rows)
    if groups is not None:
        return _leave_one_group_out(ensemble, X, coverage, residuals, groups)
    masks = ensemble._outside_masks(rows)
    interval = np.empty((X.shape[0], 2))
    rank = conformal_rank(len(residuals), coverage)
    if rank > len(residuals):
        interval[:] = -np.inf, np.inf
        return interval
    step = max(1, CHUNK // masks.n_members)
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        predictions = ensemble._predictions_of_members(rows_of(X, part))
        upper, lower = order_statistics(masks, predictions, residuals, rank)
        # Where residuals are small the ends may cross; then the interval is a point at least.
        interval[part, 0], interval[part, 1] = np.minimum(lower, upper), np.maximum(lower, upper)
    return interval


def _leave_one_group_out(
    ensemble: "PredictionIntervalsMixin",
    X: Any,
    coverage: float,
    residuals: np.ndarray,
    groups: np.ndarray,
) -> np.ndarray:
    """The same with the members outside of each group, and a share of each group."""
    masks = ensemble._outside_group_masks()
    interval = np.empty((X.shape[0], 2))
    step = max(1, CHUNK // max(masks.n_members, len(groups)))
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        predictions = ensemble._predictions_of_members(rows_of(X, part))
        upper, lower = group_ends(masks, predictions, residuals, groups, coverage)
        interval[part, 0], interval[part, 1] = np.minimum(lower, upper), np.maximum(lower, upper)
    return interval


def conformal(ensemble: "PredictionIntervalsMixin", X: Any, coverage: float) -> np.ndarray:
    """The mean, plus and minus a quantile of the absolute out-of-bag residuals."""
    rows, residuals = ensemble._out_of_bag_residuals()
    width = conformal_limit(residuals, coverage, ensemble._groups_of(rows))
    mean = ensemble._mean_prediction(X, "predict")
    return np.column_stack([mean - width, mean + width])


# The values of the parameter `method` of `predict_interval`.
INTERVALS: dict[str, Callable[[Any, Any, float], np.ndarray]] = {
    "jackknife+": jackknife_plus,
    "conformal": conformal,
}


class PredictionIntervalsMixin(OutOfBagRowsMixin):
    """Quantiles and prediction intervals of regressors."""

    def predict_quantiles(
        self, X: MatrixLike, quantiles: float | Sequence[float] | ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the target, from the training rows in the leaves of the trees.

        With L_b(x) the leaf of x in tree b of B, and v_bi the weight with which training row i
        was fitted in it (how often it was drawn, times its sample weight where rows keep theirs),
        row i has at x the weight [Meinshausen, 2006]

            w_i(x) = 1/B sum_b v_bi 1{i in L_b(x)} / sum_{j in L_b(x)} v_bj,

        and F(y | x) = sum_i w_i(x) 1{y_i <= y}. The quantile of level a is the smallest target y
        of a training row of positive weight with F(y | x) >= a. The mean of this distribution is
        the prediction of trees that minimise the squared error.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Levels from 0 to 1, in any order.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
            Quantiles, in the units of y; one dimension for a single number as `quantiles`.

        Raises
        ------
        ValueError
            If the members are not trees, if y has several columns, if `quantiles` is not between 0
            and 1, or after `forget_training_rows`.

        Notes
        -----
        The distribution is that of the target, with its noise: with enough rows in the leaves its
        quantiles are wider apart where the noise is larger. Fully grown trees have a single row in
        most leaves, which is enough if there are many trees. There is no guarantee for finite
        samples; for that see `predict_interval`.

        Cost: the first call assigns the training rows to leaves, O(n B depth), and keeps O(n B)
        numbers; then for a row O(B depth + K log K), with K the number of rows in its leaves.

        References
        ----------
        N. Meinshausen (2006). "Quantile regression forests". *Journal of Machine Learning
        Research* 7.
        """
        check_is_fitted(self)
        levels = _checked_levels(quantiles)
        X = self._validate_X(X)
        found = self._leaf_rows().quantiles(self._tree_input(X), levels)
        return found[:, 0] if np.ndim(quantiles) == 0 else found

    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["jackknife+", "conformal"] = "jackknife+",
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        Each training row i is predicted by the members that are not fitted to it, with mean
        mu_i(x_i) and residual R_i = abs(y_i - mu_i(x_i)). With alpha = 1 - `coverage`:

        - `"jackknife+"` is the jackknife+ after bootstrap: from the floor(alpha (n + 1))-th
          smallest mu_i(x) - R_i to the ceil((1 - alpha) (n + 1))-th smallest mu_i(x) + R_i. Rows
          that are exchangeable with the training rows are covered with a probability of at least
          1 - 2 alpha, whatever their distribution, if the number of members was drawn as described
          in the notes; usually it is about 1 - alpha.
        - `"conformal"` is the prediction, plus and minus the ceil((1 - alpha) (n + 1))-th smallest
          R_i. It costs no more than a prediction. Its coverage is about 1 - alpha, without a
          guarantee for finite samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.

        method : {"jackknife+", "conformal"}, default="jackknife+"
            How the interval is computed.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite if there are too few training rows,
            (n + 1) `coverage` > n. A row that all members are fitted to has an infinite residual.

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, if rows have different weights, if y has several
            columns, if the members are not trees and were fitted without `oob_score=True`, or if a
            parameter is outside its range.

        Notes
        -----
        Coverage is an average over rows: intervals have about the same width everywhere, and
        where the noise is larger than on average they are too short. `predict_quantiles` adapts to
        the noise.

        The guarantee of [Kim, Xu and Barber, 2020] is for a number of members that is itself
        drawn, from a binomial distribution with the probability (1 - 1/(n + 1))^s that a row is
        not among s draws with replacement, or 1 - s/(n + 1) without; for a fixed number it holds
        approximately, if there are many members. See
        :func:`~sklearn_ensemble_theory.bounds.jackknife_plus_coverage_bound`.

        Of an ensemble fitted with `groups` a row is predicted by the members without its group,
        and intervals are for one row of a new group: the n_g rows of each of G groups have the
        shares 1/((G + 1) n_g) in place of 1/(n + 1) [Lee, Barber and Willett, 2023], and the
        guarantee is that of exchangeable groups. With `bootstrap="moving_block"` there is none: the
        rows of a time series are not exchangeable, and a row next to a drawn block is correlated
        with it.

        Cost: that of predictions. For `"jackknife+"` in addition, for each row and in blocks of
        bounded memory, up to n B / 8 additions of integers of 16 bits with numba, and n B
        multiplications in single precision without; those that decide are repeated in double
        precision. With G groups G B multiplications and a sort of n numbers for each row. The
        first call after a fit without `oob_score=True` predicts all training
        rows.

        References
        ----------
        B. Kim, C. Xu and R. F. Barber (2020). "Predictive inference is free with the jackknife+
        after bootstrap". *Advances in Neural Information Processing Systems* 33.

        Y. Lee, R. F. Barber and R. Willett (2023). "Distribution-free inference with hierarchical
        data". arXiv:2306.06342.

        U. Johansson, H. Boström, T. Löfström and H. Linusson (2014). "Regression conformal
        prediction with random forests". *Machine Learning* 97.
        """
        check_is_fitted(self)
        coverage = _checked_coverage(coverage)
        if not isinstance(method, str) or method not in INTERVALS:
            raise ValueError(f"method must be one of {sorted(INTERVALS)}, got {method!r}.")
        X = self._validate_X(X)
        self._check_one_output("predict_interval")
        return INTERVALS[method](self, X, coverage)

    def _out_of_bag_residuals(self) -> tuple[np.ndarray | None, np.ndarray]:
        """(rows of positive weight or None, their absolute residuals); infinite where not known."""
        rows = self._exchangeable_rows("Prediction intervals")
        mean = self._out_of_bag_mean("predict")
        residuals = np.abs(self._training.y - mean)
        residuals[np.isnan(mean)] = np.inf
        return rows, residuals if rows is None else residuals[rows]

    def _leaf_rows(self) -> LeafRows:
        self._check_one_output("predict_quantiles")
        if member_nodes(self.estimators_) is None:
            name = type(self.estimators_[0]).__name__
            raise ValueError(f"predict_quantiles requires members that are trees, got {name}.")
        X = self._training_X("predict_quantiles")

        def make() -> LeafRows:
            finder = LeafFinder(self.estimators_, self._features_or_all())
            draws = [self._member_spec.draw(seed)[1:] for seed in self._seeds]
            return LeafRows(finder, self._tree_input(X), self._training.y, draws)

        found = self._training.derived("leaf rows", self.estimators_, make)
        return found if found.finder.is_current else make()


class PredictionSetsMixin(OutOfBagRowsMixin):
    """Prediction sets of classifiers."""

    classes_: np.ndarray

    def predict_set(self, X: MatrixLike, coverage: float = 0.9) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        The score of a training row is 1 - p, with p the probability of its class by the members
        that are not fitted to it. A set contains the classes whose probability at x is at least
        1 - q, with q the ceil(`coverage` (n + 1))-th smallest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        coverage : float, default=0.9
            The probability aimed at, on average over the rows.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class of `classes_` is in the set. A set may be empty, where no class is
            probable enough; it contains all classes if there are too few training rows,
            (n + 1) `coverage` > n.

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, if rows have different weights, if the members are not
            trees and were fitted without `oob_score=True`, or if `coverage` is not between 0 and 1.

        Notes
        -----
        Coverage is an average over rows and classes; a rare class may be covered less often. It is
        about `coverage`, without a guarantee for finite samples, as the scores are those of the
        members outside of a row and the sets are those of all members. Of an ensemble fitted with
        `groups` the sets are for one row of a new group, see `predict_interval` of the regressors.

        Cost: that of predictions. The first call after a fit without `oob_score=True` predicts all
        training rows.

        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019). "Least ambiguous set-valued classifiers with
        bounded error levels". *Journal of the American Statistical Association* 114.
        """
        check_is_fitted(self)
        coverage = _checked_coverage(coverage)
        X = self._validate_X(X)
        rows = self._exchangeable_rows("Prediction sets")
        method = self._prediction_method(self.estimator_)
        mean = self._out_of_bag_mean(method)
        y = self._training.y
        own = mean[np.arange(len(y)), y]
        scores = np.where(np.isnan(own), np.inf, 1 - own)
        scores = scores if rows is None else scores[rows]
        limit = conformal_limit(scores, coverage, self._groups_of(rows))
        return 1 - self._mean_prediction(X, method) <= limit + ROUNDING
