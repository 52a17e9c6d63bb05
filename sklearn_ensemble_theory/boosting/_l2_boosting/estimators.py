"""L2-boosting by regression stumps on binned columns: a generalised additive model."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._numerics.binning import bin_codes, sum_of_tables
from sklearn_ensemble_theory._typing import CVLike
from sklearn_ensemble_theory.boosting._l2_boosting.base import BaseL2Boosting
from sklearn_ensemble_theory.boosting._l2_boosting.stump_rounds import sums_of_stumps

__all__ = ["L2BoostingRegressor"]


class L2BoostingRegressor(BaseL2Boosting):
    """L2-boosting by regression stumps, at a cost per round independent of the number of rows.

    Each round fits a stump, ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least
    squares, over all features j and the edges c of their bins, and adds `learning_rate` times that
    stump. The result is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function per feature.

    The columns are binned, and the sums over rows that the stumps need are counted once for each
    pair of features. After that, a round consists of two operations on vectors with one element for
    each cut. Small learning rates with many rounds are therefore feasible, and k-fold
    cross-validation of the whole path needs no further pass over the rows.

    Parameters
    ----------
    n_estimators : int or "cv", default=1000
        Number of rounds. "cv" selects the number from 0 to `max_estimators` with the smallest mean
        squared error over the held-out folds.

    learning_rate : float, default=0.01
        Share of each stump that is added, in (0, 1]. The model depends mainly on
        ``n_estimators * learning_rate``; smaller rates give smoother functions.

    max_bins : int, default=64
        Maximum number of bins per feature, of about the same weight each. A feature with at most
        this number of distinct values has a bin for each value. Ignored if `bin_edges` is given.

    bin_edges : sequence of p sequences of float, default=None
        The thresholds that stumps may use, increasing, for each feature; a feature with an empty
        sequence is not used.

    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer specifies the number of folds of consecutive
        rows, as in :class:`~sklearn.model_selection.KFold`; pass ``KFold(shuffle=True,
        random_state=...)`` to shuffle. Each split has to train on all rows that it does not test
        on, and no row may be in more than one test set: `KFold`, `GroupKFold` or `PredefinedSplit`,
        for example, or a list of their splits.

    max_estimators : int, default=10000
        Largest number of rounds that ``n_estimators="cv"`` compares.

    max_memory : float, default=1024
        Bound on the memory for the sums over pairs of cuts, in MiB. If the sums of all selected
        cuts exceed it, some of them are computed more than once, which is slower and gives the same
        model.

    verbose : int, default=0
        1 prints progress every few seconds, 2 more often.

    Attributes
    ----------
    intercept_ : float
        The weighted mean of y.

    shape_functions_ : list of p tuples (edges, values)
        The function of each feature: ``values[b]`` for x in bin b, that is between ``edges[b - 1]``
        (excluded) and ``edges[b]`` (included), in units of y. Its weighted mean over the training
        rows is 0.

    bin_edges_ : list of p ndarrays
        The thresholds of each feature.

    n_estimators_ : int
        Number of rounds. It is less than `n_estimators` if the residuals became orthogonal to every
        stump, so that further rounds would not change the model.

    stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,)
        Each round's feature j and the number of its threshold in ``bin_edges_[j]``.

    stump_left_, stump_right_ : ndarray of shape (n_estimators_,)
        What each round added at or below the threshold and above it, in units of y.

    train_path_ : ndarray of shape (n_estimators_ + 1,)
        Mean squared error on the training rows after 0, 1, ... rounds.

    cv_path_ : ndarray of shape (max_estimators + 1, n_folds)
        Mean squared error on each held-out fold after 0, 1, ... rounds; only with
        ``n_estimators="cv"``.

    feature_importances_ : ndarray of shape (p,)
        Share of each feature in the decrease of the training error.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (p,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    GradientBoostingRegressor : Any loss and any base learner; the cost of a round grows with n.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees on binned columns.

    Notes
    -----
    With p features of B bins, n rows and k folds, the cost is O(n p log n) for the bins, O(n p) for
    the sums of each selected feature, O(p B) for each round, and O(p) for the prediction of a row,
    independent of the number of rounds. The memory in addition to X is one byte per value for the
    bins (two for more than 256 bins), ``16 p^2 B^2`` bytes for the sums if every feature is
    selected, ``8 (k + 2) p^2 B^2`` for "cv", at most `max_memory`, and 24 bytes per round.

    The bins are those of all rows, also for the folds. With `bin_edges` given, `cv_path_` is what
    refits on each training fold would give.

    Rows of weight 0 are left out: the splits of `cv` refer to all rows, while an integer `cv`
    splits the rows of positive weight. Integer weights are equivalent to repeating rows, except for
    the folds of "cv".

    With steps of `learning_rate` over normalised stumps, this is matching pursuit [Bach, §10.3.3];
    it is also forward stagewise additive modelling with the squared loss and regression
    stumps [DS-GA 1003, lecture 8], and L2-boosting [Bühlmann and Yu 2003].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    P. Bühlmann and B. Yu (2003). "Boosting with the L2 loss: regression and classification".
    Journal of the American Statistical Association 98.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(n_estimators="cv", learning_rate=0.01)
    >>> model.fit(X, y).score(X, y)
    0.5...
    >>> edges, values = model.shape_functions_[X.columns.get_loc("bmi")]
    >>> bool(values[0] < 0 < values[-1])
    True
    """

    def __init__(
        self,
        n_estimators: int | Literal["cv"] = 1000,
        *,
        learning_rate: float = 0.01,
        max_bins: int = 64,
        bin_edges: ArrayLike | None = None,
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        max_memory: float = 1024,
        verbose: bool | int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.bin_edges = bin_edges
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.verbose = verbose

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets by table look-up, at a cost of O(p) per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        X = self._checked_X(X)
        tables = [values if values.any() else None for _, values in self.shape_functions_]
        return self.intercept_ + sum_of_tables(X, self.bin_edges_, tables)

    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the term of each feature; the prediction is their sum plus `intercept_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        terms : ndarray of shape (n_samples, n_features)
            The terms, one column for each feature.
        """
        codes = bin_codes(self._checked_X(X), self.bin_edges_)
        terms = [v.take(c) for (_, v), c in zip(self.shape_functions_, codes.T)]
        return np.column_stack(terms)

    def predict_path(self, X: ArrayLike, n_estimators: ArrayLike) -> np.ndarray:
        """Predict with the models after given numbers of rounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : array-like of int, of shape (m,)
            Numbers of rounds, in increasing order, from 0 to `n_estimators_`.

        Returns
        -------
        y : ndarray of shape (m, n_samples)
            Predictions, one row for each number of rounds. The cost is O(n p) for each.
        """
        X = self._checked_X(X)
        rounds = np.asarray(n_estimators)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or len(rounds) == 0:
            raise ValueError("n_estimators must be a non-empty one-dimensional sequence of ints.")
        if rounds[0] < 0 or rounds[-1] > self.n_estimators_ or (np.diff(rounds) < 0).any():
            raise ValueError(
                f"n_estimators must be increasing numbers from 0 to {self.n_estimators_}."
            )
        codes = bin_codes(X, self.bin_edges_)
        stumps = self.stump_features_, self.stump_cuts_, self.stump_left_, self.stump_right_
        return self.intercept_ + sums_of_stumps(codes, self.bin_edges_, stumps, rounds)

    def staged_predict(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round. `predict_path` is faster if not every round is needed.
        """
        codes = bin_codes(self._checked_X(X), self.bin_edges_)
        current = np.full(len(codes), self.intercept_)
        for j, cut, left, right in zip(
            self.stump_features_, self.stump_cuts_, self.stump_left_, self.stump_right_
        ):
            current = current + np.where(codes[:, j] <= cut, left, right)
            yield current

    def _checked_X(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
