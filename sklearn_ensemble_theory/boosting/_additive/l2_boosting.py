"""L2-boosting by regression stumps on binned columns: a generalised additive model.

A fit goes from rows to bins, from bins to sums (`sums.py`), and from these to the model in one or
two phases of rounds without the rows (`phases.py`). Rows in blocks are read twice for that, and
`partial_fit` keeps the sums alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ..._blocks import by_chunks
from ..._categories import CategoricalColumns
from ..._compat import CallbackSupportMixin
from ..._door import fit_context
from ..._rows import ChunkedRows, finite_predictions
from ..._running import warn_user
from ..._scaling import TargetScale, power_of_two
from ..._typing import ArrayLike, CVLike
from .._loop import begin_fit
from .additive_fit import (
    KnownSums,
    check_memory,
    fit_additive,
    squares_of_blocks,
    squares_of_rows,
    sums_of_rows,
)
from .additive_plan import Plan
from .base import BaseAdditive
from .bins import TargetRange, TrainingRows, choose_bins
from .edits import refuse_edited
from .fitted_terms import AdditiveModel


class L2BoostingRegressor(RegressorMixin, CallbackSupportMixin, BaseAdditive):
    """L2-boosting by regression stumps, at a cost per round independent of the number of rows.

    Each round fits a stump, ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least
    squares, over all features j and the edges c of their bins, and adds `learning_rate` times that
    stump. The result is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function per feature, and functions of those pairs of features that help (`interactions`).
    Missing values, categories and monotonic constraints are supported.

    The columns are binned, and the sums over rows that the stumps need are counted once for each
    pair of features. After that, a round consists of operations on vectors with one element for
    each cut. Small learning rates with many rounds are therefore feasible, and k-fold
    cross-validation of the whole path needs no further pass over the rows.

    Parameters
    ----------
    n_estimators : int or "cv", default="cv"
        Number of rounds. "cv" selects the number from 0 to `max_estimators` with the smallest mean
        squared error over the held-out folds, after smoothing rounds that are selected in the same
        way. It ends early if ``10 / learning_rate`` rounds after these give no new minimum. The
        models of the folds stay, for `predict_interval`.

    learning_rate : float, default=0.01
        Share of each stump that is added, from 1e-300 to 1. The model depends mainly on
        ``n_estimators * learning_rate``; smaller rates give smoother functions. Smoothing rounds do
        not depend on it.

    smoothing_rounds : int or "auto", default="auto"
        Number of rounds before the first stump that add the mean of all stumps of a feature instead
        of the best one; they fit smooth functions with less variance. "auto" means none where
        `n_estimators` is a number. With "cv" it is the number from 0 to 2000 with the smallest
        mean squared error over the held-out folds; the search ends after 40 rounds without a new
        minimum. It is left out if `max_memory` is too small for the sums of all cuts of two
        features.

    max_bins : int or "auto", default="auto"
        Maximum number of bins per feature, of about the same weight each. A feature with at most
        this number of distinct values has a bin for each value. "auto" means 64, of which the
        first and the last are divided into up to seven of falling weight, and refined bins
        with ``n_estimators="cv"`` and at least 10,000 rows: a first fit with 32 bins
        shows which features matter; these get more bins, at most 240, and thresholds at the jumps
        that the data show. Ignored if `bin_edges` is given.

    bin_edges : sequence of p sequences of float, default=None
        The thresholds that stumps may use, increasing, for each feature; an ordered feature with an
        empty sequence has no thresholds. Those of categorical features are ignored.

    interactions : int, float, "auto", "cv" or array-like of pairs, default="cv"
        Pairs of features whose functions are added to those of single features: so many, or this
        multiple of p, of those that are found to interact most [Lou et al. 2013]; "auto" for those
        whose interaction is significant at the level 0.05, all pairs taken together, and at most
        0.9 p; "cv" for these if ``n_estimators="cv"`` and the held-out folds are predicted better
        with them, and otherwise for none; or given pairs of numbers or names of features; 0 for
        none. "auto" and "cv" look among about 1,000 pairs and scores: of many features, those with
        the largest functions. Neither
        `partial_fit` nor a fit of Dask collections finds any by "cv".

    exclude : array-like, default=None
        Terms that are left out: features by name or number, and pairs of them as tuples. An
        excluded feature has no function and is in no pair; an excluded pair is not looked for.

    include : array-like, default=None
        The only terms that are fitted, if given. A feature stands for its function and for pairs
        with other features of `include`, a pair for itself and the functions of both features.
        Pairs are fitted where `interactions` asks for them. `exclude` goes before `include`.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        The features whose values are categories, by a mask, their numbers or their names.
        "from_dtype" takes the columns of a data frame with a categorical dtype. Stumps separate any
        set of categories from the others.

    monotonic_cst : array-like of int of shape (p,) or dict, default=None
        1 for features whose function may only increase, -1 for decreasing ones, and 0 without a
        constraint, for each feature, or by the names of the constrained ones. With `interactions`
        it is the sum of all terms that is monotonic in the feature, for any values of the others.
        These features have no smoothing rounds.

    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer specifies the number of folds, which are
        drawn from a fixed seed in the order of y: they are always the same for a table, and but for
        rows of equal y they do not depend on the order of its rows. There are at most as many as
        rows, and none of a single row, whose model is a constant. Pass ``KFold(5)`` for
        consecutive rows. Each split has to train on all rows that it does not test on, and no row
        may be in more than one test set: `KFold`, `GroupKFold` or `PredefinedSplit`, for example,
        or a list of their splits.

    max_estimators : int, default=10000
        Largest number of rounds that ``n_estimators="cv"`` compares.

    max_memory : float, default=1024
        Bound on the memory for the sums over pairs of cuts, in MiB. If the sums of all selected
        cuts exceed it, some of them are computed more than once, which is slower and gives the same
        model.

    verbose : int, default=0
        1 prints progress every few seconds, 2 more often. Callbacks of `sklearn.callback`
        (scikit-learn 1.9), set by `set_callbacks`, see the model at the end of the fit only: the
        rounds change sums over rows. `staged_predict` computes the predictions after each of them.

    Attributes
    ----------
    intercept_ : float
        The weighted mean of y.

    model_ : AdditiveModel
        What the fit has found, as one record: terms, rounds, and the models of the folds.

    term_features_ : list of n_terms tuples
        The features of each term: ``(0,)``, ..., ``(p - 1,)``, then the pairs ``(a, b)``.

    term_names_ : list of n_terms str
        The name of each term; "a & b" for a pair.

    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute value of each term over the training rows, in units of y.

    shape_functions_ : list of n_terms tuples (edges, values)
        The function of each feature: ``values[b]`` for x in bin b, that is between ``edges[b - 1]``
        (excluded) and ``edges[b]`` (included), in units of y. A feature with missing values in the
        training rows has one more value, the last, for those. For a categorical feature `edges` are
        the categories, and the last value is that of missing and unknown ones. For a pair, `edges`
        are those of both features, and `values` a table; its weighted means over both features are
        0. The weighted mean of every function over the training rows is 0.

    shape_standard_errors_ : list of n_terms ndarrays
        Standard errors of the `values` of `shape_functions_`: how much these vary over new training
        rows, by a jackknife over the folds; only with ``n_estimators="cv"`` and at least two folds.

    edits_ : list of records
        What was changed after the fit, by `set_term` and the like: `method`, `term`, the values
        `before` and `after`, the `shift` of the intercept, and further `arguments`. Empty after a
        fit.

    bin_edges_ : list of p ndarrays
        The thresholds of each feature; none of categorical ones.

    bin_weights_ : list of n_terms ndarrays
        The weight of the training rows in each bin, or in each cell of a pair, up to a common
        factor.

    categories_ : list of p ndarrays or None
        The categories of each categorical feature.

    missing_bins_ : ndarray of bool of shape (p,)
        Whether the feature has a bin for missing values. Where it has none, the term of a missing
        value is 0.

    n_smoothing_rounds_ : int
        Number of smoothing rounds.

    n_estimators_ : int
        Number of rounds after those. It is less than `n_estimators` if the residuals became
        orthogonal to every stump, so that further rounds would not change the model.

    category_sets_ : list of p lists
        For each categorical feature the sets of categories that stumps separate from the others,
        as masks of its categories.

    stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,)
        Each round's feature j and the number of its threshold in ``bin_edges_[j]``. The number
        ``len(bin_edges_[j])`` is the cut that separates missing values from the others. For a
        categorical feature it is the number of the set in ``category_sets_[j]``.

    stump_left_, stump_right_ : ndarray of shape (n_estimators_,)
        What each round added at or below the threshold and above it, in units of y; for a
        set of categories, to those in the set and to all others. Where the feature has a bin for
        missing values, thresholds add nothing to these.

    train_path_ : ndarray of shape (n_estimators_ + 1,)
        Mean squared error on the training rows after the smoothing rounds and 0, 1, ... others.

    cv_path_ : ndarray of shape (max_estimators + 1, n_folds)
        Mean squared error on each held-out fold after the smoothing rounds and 0, 1, ... others;
        only with ``n_estimators="cv"``. Where the search ended earlier the last row is repeated.

    smoothing_path_ : ndarray of shape (n_rounds + 1, n_folds)
        Mean squared error on each held-out fold after 0, 1, ... smoothing rounds, with those
        that were compared after the best number; only where both were made.

    n_passes_ : int
        How often the rows or their bins were read; only after a fit of Dask collections.

    feature_importances_ : ndarray of shape (p,)
        Share of each feature in the decrease of the training error by the functions of single
        features.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (p,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    LogitBoostClassifier : The same model for the log-odds of classes.
    GradientBoostingRegressor : Any loss and any base learner; the cost of a round grows with n.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees on binned columns.

    Notes
    -----
    With p features of B bins, P = p B cuts, n rows and k folds, the cost is O(n p log n) for the
    bins, O(n p) for the sums of each selected feature, O(P) for each round, O(P B) for each
    smoothing round, all of these k + 1 times with "cv", and O(p) for the prediction of a row,
    independent of the number of rounds. A categorical feature with K categories adds O(K log K) to
    a round. The memory in addition to X is one byte per value for the bins (two for more than 255
    bins), ``16 P^2`` bytes for the sums if every feature is selected, ``8 (3 k + 1) P^2`` for "cv",
    at most `max_memory`, and 24 bytes per round and model. Pairs cost O(n p^2) for the tables in
    which they are found, and passes over the rows for the chosen ones.

    *Missing values.* A threshold separates the values that are present, and adds nothing to missing
    ones. A cut of its own separates these from the others.

    *Pairs* are found and boosted on the residuals of the single features, with at most 64 bins of
    each and a number of steps for which held-out rows decide; then the functions of single features
    are fitted again to what the pairs leave. The paths and the stumps are those of that second fit.

    The bins are those of all rows, also for the folds. With `bin_edges` given, `cv_path_` is what
    refits on each training fold would give.

    With Dask collections, `fit` reads the rows twice: for the bins, which are quantiles up to the
    error of a sketch, and for all sums, of which a chunk returns ``8 k P^2`` bytes (k = 1 without
    "cv"). If there are categorical features, these are read once more before. Folds are drawn by a
    hash of the row's number, and bins are not refined. With pairs the bin of every value, one byte,
    stays on the workers, and so do ``8 k`` bytes of residuals for each row while pairs are boosted
    (k = 5 without "cv"). The bins are read once for the sums; to find pairs, once for about 1000
    pairs of features, whose tables have 24 bytes for each of at most 32 x 32 cells; three times for
    the chosen pairs; and about once for each visit of a pair that makes steps, in which
    a chunk returns ``16 k`` bytes for each cell of a table: 30 times in all for four pairs of ten
    features. The model is that of the same rows in memory with the same bins and folds, whatever
    the chunks.

    Rows of weight 0 are left out: the splits of `cv` refer to all rows, while an integer `cv`
    splits the rows of positive weight. Integer weights are equivalent to repeating rows, except for
    the folds of "cv", and except for bins that are refined and pairs.

    With steps of `learning_rate` over normalised stumps, this is matching pursuit [Bach, §10.3.3];
    it is also forward stagewise additive modelling with the squared loss and regression
    stumps [DS-GA 1003, lecture 8], and L2-boosting [Bühlmann and Yu 2003]. A smoothing round is the
    kernel of the statistic of Anderson and Darling (1952) in the ranks of a feature. The best set
    of categories is among those with the lowest means [Fisher 1958].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    P. Bühlmann and B. Yu (2003). "Boosting with the L2 loss: regression and classification".
    Journal of the American Statistical Association 98.

    T. W. Anderson and D. A. Darling (1952). "Asymptotic theory of certain 'goodness of fit'
    criteria based on stochastic processes". The Annals of Mathematical Statistics 23.

    W. D. Fisher (1958). "On grouping for maximum homogeneity". Journal of the American Statistical
    Association 53.

    Y. Lou, R. Caruana, J. Gehrke and G. Hooker (2013). "Accurate intelligible models with pairwise
    interactions". KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(interactions=0).fit(X, y)
    >>> model.n_smoothing_rounds_, model.n_estimators_
    (27, 0)
    >>> model.score(X, y)
    0.5...
    >>> edges, values = model.shape_functions_[X.columns.get_loc("bmi")]
    >>> bool(values[0] < 0 < values[-1])
    True

    Smooth functions suffice for these data. A function that may only increase has no smoothing
    rounds, and stumps are needed:

    >>> model = L2BoostingRegressor(n_estimators="cv", monotonic_cst={"bmi": 1}).fit(X, y)
    >>> model.n_estimators_ > 0
    True
    >>> values = model.shape_functions_[X.columns.get_loc("bmi")][1]
    >>> bool((values[1:] >= values[:-1]).all())
    True
    """

    link_ = "identity"

    def __init__(
        self,
        n_estimators: int | Literal["cv"] = "cv",
        *,
        learning_rate: float = 0.01,
        smoothing_rounds: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] = "auto",
        bin_edges: ArrayLike | None = None,
        interactions: int | float | Literal["auto", "cv"] | ArrayLike = "cv",
        exclude: ArrayLike | None = None,
        include: ArrayLike | None = None,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        max_memory: float = 1024,
        verbose: bool | int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.bin_edges = bin_edges
        self.interactions = interactions
        self.exclude = exclude
        self.include = include
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            Numbers, NaN where they are missing, or a data frame with categorical columns.
        y : array-like or Dask collection of shape (n_samples,)
            Targets.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Non-negative weights of the rows; equal weights by default. Rows of weight 0 are left
            out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split of
            `n_estimators="cv"` divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.
        offset : array-like of shape (n_samples,), default=None
            What is known of the predictions: these are the offset and what is fitted, and `predict`
            requires an offset too. Of rows in memory.

        Returns
        -------
        self : L2BoostingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If `cv` tests on a row more than once, or if the sums over a single cut with
            all others exceed `max_memory`. With Dask collections, if the sums over all pairs of
            cuts exceed it, or `cv` is no integer.
        """
        rows = self._checked_rows(X, y, sample_weight, groups=groups, offset=offset)
        plan = self._plan(rows.X.shape[1], rows.columns)
        end_fit = begin_fit(self, X, y, sample_weight)
        self.model_ = self._solved(plan, rows)
        self.__dict__.pop("sums_", None)  # what `partial_fit` left behind
        end_fit()
        return self

    def _solved(self, plan: Plan, rows: TrainingRows) -> AdditiveModel:
        return fit_additive(plan, squares_of_rows(plan, rows, self._report), self._report)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        refit: bool = True,
    ) -> Self:
        """Add a chunk of rows to those of the earlier calls and fit the model to all of them.

        Only sums are kept, never rows. The bins are `bin_edges`, or quantiles of the first chunk;
        with `bin_edges` given the model is the one of `fit` on all chunks together. Categories are
        those of the first chunk; others are treated as missing. With ``n_estimators="cv"`` each
        chunk is split into folds by itself, and all sums are kept for each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows of the chunk.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the sums.

        Returns
        -------
        self : L2BoostingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If the sums over all pairs of cuts exceed `max_memory`: the rows of earlier chunks
            cannot be counted again. If the model was edited, which a fit would undo.

        Warns
        -----
        UserWarning
            If called after `fit`, which does not store the sums: the model is then fitted to this
            chunk alone.
        """
        if not isinstance(refit, (bool, np.bool_)):
            raise TypeError(f"refit must be a bool, got {type(refit).__name__}.")
        if self.__sklearn_is_fitted__():
            refuse_edited(self.model_, "partial_fit goes on from")
        known: KnownSums | None = getattr(self, "sums_", None)
        if known is None and self.__sklearn_is_fitted__():
            warn_user(
                "The rows of an earlier call of fit are not used: fit does not store the sums, so "
                "partial_fit starts again with this chunk.",
                UserWarning,
            )
        rows = self._checked_rows(X, y, sample_weight, known is None)
        plan = self._plan(rows.X.shape[1], rows.columns)
        if plan.keeps_bins_for_pairs:
            raise ValueError(
                "partial_fit keeps sums over rows, from which pairs of features cannot be fitted; "
                "use interactions=0."
            )
        # The units of weights and of the target are those of the first chunk.
        weight, unit = rows.weight, 1.0
        if known is not None:
            unit = known.weight_unit
        elif weight is not None:
            unit = power_of_two(weight.max())
        if weight is not None:
            with np.errstate(over="ignore"):
                weight = weight / unit
        n_chunks = 0 if known is None else known.n_chunks
        rows = self._folds_of_chunk(replace(rows, weight=weight), n_chunks)
        n_splits, n_groups = rows.n_splits, rows.n_splits + 1
        if known is None:
            target = TargetScale.in_powers_of_two(rows.y, weight)
            bins, _ = choose_bins(plan, rows, rows.y, keep_missing=True)
        else:
            bins, target = known.bins, known.target
            bins.check_allowed(plan.allowed.features)
            if n_groups != known.n_groups:
                raise ValueError(
                    "n_estimators and cv must give the same number of folds in every call of "
                    "partial_fit."
                )
        # Rows of earlier chunks cannot be counted again: all products of cuts have to fit at once.
        check_memory(plan.memory, bins.layout().n_cuts, n_groups, n_splits)
        sums = sums_of_rows(bins, rows.X, target(rows.y), rows.weight, rows.folds, n_groups)
        # Sums of chunks are added, which is all that is needed of their rows.
        if known is not None:
            sums = known.sums + sums
        if not sums.moderate():
            raise ValueError("y or sample_weight is too large compared with the first chunk.")
        known = KnownSums(sums, bins, rows.columns, target, unit, n_chunks + 1)
        if refit:
            self.model_ = fit_additive(plan, known.problem(), self._report)
        self.sums_ = known
        return self

    def fit_to_sums(self, sums: KnownSums) -> Self:
        """Fit the model to sums that other models have kept."""
        plan = self._plan(self.n_features_in_, sums.columns)
        self.model_ = fit_additive(plan, sums.problem(), self._report)
        self.sums_ = sums
        return self

    def _known_columns(self) -> CategoricalColumns | None:
        return self.sums_.columns

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks."""
        plan, found = self._blocks(rows, TargetRange.of)
        problem = squares_of_blocks(plan, found, self._report)
        self.model_ = fit_additive(plan, problem, self._report)
        self.__dict__.pop("sums_", None)

    @finite_predictions
    def predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the targets by table look-up, at a cost of O(p) per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._scores(X, offset)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination R² of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean of y.
        """
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))

    @by_chunks
    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.9,
        method: Literal["cv+"] = "cv+",
        side: Literal["both", "lower", "upper"] = "both",
        offset: ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        Of a model with ``n_estimators="cv"``, from the folds that have chosen the number of rounds.
        Row i is predicted by the model f_k(i) that its fold is left out of. With alpha = 1 -
        `coverage`, n rows and the residuals R_i = abs(y_i - f_k(i)(x_i)), the interval is from the
        floor(alpha (n + 1))-th smallest f_k(i)(x) - R_i to the ceil((1 - alpha) (n + 1))-th
        smallest f_k(i)(x) + R_i: the CV+ [Barber, Candès, Ramdas and Tibshirani, 2021].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.
        method : {"cv+"}, default="cv+"
            How the interval is computed.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end has residuals with their
            sign.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If `n_estimators` was a number, if the rows have different weights or were not in memory
            in one call of `fit`, or if (n + 1) `coverage` > n.

        Notes
        -----
        For exchangeable rows the CV+ covers with a probability of at least 1 - 2 alpha - sqrt(2/n),
        whatever the distribution, where nothing was chosen on the rows that a fold leaves out;
        usually it is about 1 - alpha. The number of rounds, the bins and the pairs of features are
        chosen by all rows, which is not covered by this theorem; simulations (see the user guide)
        show no difference.

        Coverage is an average over rows. The intervals have about the same width everywhere, and
        cover less than the average where the noise is large. With groups they are for a row of a
        new group. Rows that no split of `cv` tests on have no residual, and do not count in n; with
        a single split this is the split conformal interval.

        Cost: O(p K) for each row with K folds, and O(K log n) for its ends. A fit with
        ``n_estimators="cv"`` keeps the tables of the K models, and nine bytes for each row.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2021). "Predictive inference
        with the jackknife+". *The Annals of Statistics* 49(1), 486-507.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = L2BoostingRegressor(n_estimators="cv").fit(X[:400], y[:400])
        >>> model.predict_interval(X[400:402]).round()
        array([[ 67., 255.],
               [ -2., 181.]])
        """
        return self._interval(X, coverage, method, side, offset, lambda u: u)

    def predict_path(
        self, X: ArrayLike, n_estimators: ArrayLike, offset: ArrayLike | None = None
    ) -> np.ndarray:
        """Predict with the models after given numbers of rounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : array-like of int, of shape (m,)
            Numbers of rounds, in increasing order, from 0 to `n_estimators_`.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        y : ndarray of shape (m, n_samples)
            Predictions, one row for each number of rounds. The cost is O(n p) for each.
        """
        check_is_fitted(self)
        refuse_edited(self.model_, "Predictions after some rounds are those of")
        rounds = np.asarray(n_estimators)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or len(rounds) == 0:
            raise ValueError("n_estimators must be a non-empty one-dimensional sequence of ints.")
        if rounds[0] < 0 or rounds[-1] > self.n_estimators_ or (np.diff(rounds) < 0).any():
            raise ValueError(
                f"n_estimators must be increasing numbers from 0 to {self.n_estimators_}."
            )
        return np.array(list(self._scores_after(X, rounds.tolist(), offset)))

    def staged_predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round. `predict_path` is faster if not every round is needed.
        """
        check_is_fitted(self)
        yield from self._scores_after(X, None, offset)
