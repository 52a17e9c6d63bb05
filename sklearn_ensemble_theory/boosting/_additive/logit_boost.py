"""Additive logistic regression by boosting: LogitBoost by stumps on binned columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ..._blocks import by_chunks
from ..._categories import CategoricalColumns
from ..._compat import CallbackSupportMixin, Interval
from ..._door import CLASS_WEIGHT, fit_context
from ..._rows import ChunkedRows, Rows, checked_classes
from ..._typing import ArrayLike, CVLike, RandomStateLike
from ...ensembles._prediction_sets import ClassPlaces, SetRule, set_by_folds
from .._loop import begin_fit
from .additive_fit import Task, fit_additive, task_of_bins, task_of_blocks, task_of_rows
from .additive_plan import Plan
from .base import BaseAdditive
from .bins import (
    ClassLabels,
    FeatureBins,
    TrainingRows,
    binned_block,
    choose_bins,
    unit_weights,
    weight_unit,
)
from .edits import refuse_edited
from .fitted_terms import AdditiveModel
from .risk import PointwiseLogistic
from .rounds import BinnedRows


@dataclass(frozen=True)
class _KeptRows:
    """The rows of all calls of `partial_fit`, in bins."""

    bins: FeatureBins
    columns: CategoricalColumns | None
    codes: list[np.ndarray]  # (n, p), one a call
    y: np.ndarray
    weight: np.ndarray
    folds: np.ndarray | None
    n_splits: int


class LogitBoostClassifier(ClassifierMixin, CallbackSupportMixin, BaseAdditive):
    """Additive logistic regression by boosting stumps, at a cost per round independent of n.

    The log-odds of the second class are an additive model, ``intercept + f_1(x_1) + ... +
    f_p(x_p)``, with one step function per feature, and functions of those pairs of features
    that help (`interactions`). For three or more classes there is one such score for each
    class, and the probabilities are the softmax of the scores. Missing values, categories and, for
    two classes, monotonic constraints are supported.

    Each round is a Newton step on the logistic loss: a stump is fitted by weighted least squares to
    the working residuals, and `learning_rate` times it is added. Gradients and weights are computed
    again when the scores have moved by `refresh_tol`, and not in every round. The rounds between
    are those of :class:`L2BoostingRegressor` for weighted rows, on sums over the bins.

    Parameters
    ----------
    n_estimators : int or "cv", default="cv"
        Number of rounds. "cv" selects the number from 0 to `max_estimators` with the smallest mean
        logistic loss over the held-out folds, after smoothing rounds that are selected in the same
        way. It ends early if ``10 / learning_rate`` rounds after these give no new minimum. The
        models of the folds stay, for `predict_set`.

    learning_rate : float, default=0.01
        Share of each stump that is added, from 1e-300 to 1. The model depends mainly on
        ``n_estimators * learning_rate``. Smoothing rounds do not depend on it.

    smoothing_rounds : int or "auto", default="auto"
        Number of rounds before the first stump that add the mean of all stumps of a feature instead
        of the best one; they fit smooth functions with less variance. "auto" means none where
        `n_estimators` is a number. With "cv" it is the number from 0 to 2000 with the smallest
        mean logistic loss over the held-out folds; the search ends after 40 rounds without a new
        minimum. It is left out if `max_memory` is too small for the sums of all cuts of two
        features.

    max_bins : int or "auto", default="auto"
        Maximum number of bins per feature, of about the same weight each. A feature with at most
        this number of distinct values has a bin for each value. "auto" means 64, of which the
        first and the last are divided into up to seven of falling weight, and refined bins
        with ``n_estimators="cv"`` and at least 10,000 rows of two
        classes: a first fit with 32 bins
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
        the largest functions. Of three or more
        classes, and of Dask collections, "cv" looks for none.

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
        1 for features of which the log-odds may only be an increasing function, -1 for decreasing
        ones, and 0 without a constraint, for each feature, or by the names of the constrained ones;
        for two classes only. With `interactions` it is the sum of all terms that is monotonic in
        the feature, for any values of the others. These features have no smoothing rounds.

    refresh_tol : float, default=0.5
        Gradients are computed again when a function has moved by this since they were, in log-odds
        (1.5 times as far in smoothing rounds). The second derivatives are then kept if they have
        changed by no more than half this share on average. Small values follow the path of exact
        Newton steps more closely and take longer.

    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer specifies the number of stratified folds,
        which are drawn from a fixed seed; pass ``StratifiedKFold(5)`` for rows in their order.
        There are at most as many as rows. The folds that test on all rows of a rare class have a
        model without it. Each
        split has to train on all rows that it does not test on, and no row may be in more than one
        test set.

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

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    intercept_ : float or ndarray of shape (n_classes,)
        The mean over the training rows of the log-odds, or of each score.

    model_ : AdditiveModel
        What the fit has found, as one record: terms, rounds, and the models of the folds.

    term_features_ : list of n_terms tuples
        The features of each term: ``(0,)``, ..., ``(p - 1,)``, then the pairs ``(a, b)``.

    term_names_ : list of n_terms str
        The name of each term; "a & b" for a pair.

    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute value of each term over the training rows and
        over the classes.

    shape_functions_ : list of n_terms tuples (edges, values)
        The function of each feature: ``values[b]`` for x in bin b, that is between ``edges[b - 1]``
        (excluded) and ``edges[b]`` (included). A feature with missing values in the
        training rows has one more value, the last, for those. For a categorical feature `edges` are
        the categories, and the last value is that of missing and unknown ones. For a pair, `edges`
        are those of both features, and `values` a table; its weighted means over both features are
        0. The weighted mean of every function over the training rows is 0. For three or more
        classes `values` has a last axis of classes.

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
        Number of rounds after those. It is less than `n_estimators` if no stump lowered the
        loss any further.

    category_sets_ : list of p lists
        For each categorical feature the sets of categories that stumps separate from the others,
        as masks of its categories.

    stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,) or (n_estimators_, n_classes)
        Each round's feature j and the number of its threshold in ``bin_edges_[j]``. The number
        ``len(bin_edges_[j])`` is the cut that separates missing values from the others. For a
        categorical feature it is the number of the set in ``category_sets_[j]``.

    stump_left_, stump_right_ : ndarray of shape (n_estimators_,) or (n_estimators_, n_classes)
        What each round added at or below the threshold and above it in log-odds; for a
        set of categories, to those in the set and to all others. Where the feature has a bin for
        missing values, thresholds add nothing to these.

    train_path_ : ndarray of shape (n_estimators_ + 1,)
        Mean logistic loss on the training rows after the smoothing rounds and 0, 1, ... others.
        Between two computations of the gradients it is that of the quadratic approximation.

    cv_path_ : ndarray of shape (max_estimators + 1, n_folds)
        The same on each held-out fold; only with ``n_estimators="cv"``. Where the search ended
        earlier the last row is repeated.

    smoothing_path_ : ndarray of shape (n_rounds + 1, n_folds)
        Mean logistic loss on each held-out fold after 0, 1, ... smoothing rounds, with those that
        were compared after the best number; only where both were made.

    n_refreshes_ : int
        How often gradients were computed, before the pairs.

    n_passes_ : int
        How often the rows or their bins were read; only after a fit of Dask collections.

    feature_importances_ : ndarray of shape (p,)
        The importances of the terms of single features, divided by their sum.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (p,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    L2BoostingRegressor : The same model for a real target.
    GradientBoostingClassifier : Any loss and any base learner.

    Notes
    -----
    With the probabilities p of the present model, the working residuals are ``(y - p) / (p (1 -
    p))`` and the weights ``p (1 - p)`` [Friedman, Hastie and Tibshirani 2000]. For K > 2 classes
    there is a stump for each class in a round, and the second derivatives are multiplied by
    ``K / (K - 1)``, which gives the steps of the source times ``(K - 1) / K``. The scores of the
    classes are not forced to have the sum 0.

    The models of the folds have gradients of their own and the second derivatives of the model of
    all rows, so that products of cuts are counted once for all of them.

    With p features of B bins, P = p B cuts, n rows, k folds and K scores (1 for two classes), the
    cost is O(n p log n) for the bins, O(n p k K) each time that gradients are computed, O(n p K)
    for the sums of each selected feature where second derivatives are too, and O(P k K) for each
    round. Prediction is O(p K) per row. The memory in addition to X is one byte per value for the
    bins (two for more than 255 bins), O(n k K) for the scores, and for the sums at most
    ``8 (k + K (1 + 2 k)) P^2`` bytes with "cv" and `max_memory`.

    With Dask collections, `fit` reads the rows twice: for the bins, which are quantiles up to the
    error of a sketch, and for the bin of every value, one byte, which stays on the workers. If
    there are categorical features, these are read once more before. All else is sums over the bins,
    which are read once for the frequencies of the classes, once each time that gradients are
    computed, and once more for each score whose second derivatives are. Scores are computed again
    from the functions of the features, and not kept: 15,000 rounds with ``learning_rate=0.01`` read
    200,000 rows of ten features twice, and their bins 24 times. A worker needs about ``90 n_c K``
    bytes for each chunk that it works on, of n_c rows, and ``8 k P^2`` bytes (k = 1 without "cv")
    for each of at most eight sums that are added at a time. What a chunk returns are such sums, or
    ``8 K k (k + 1) P`` bytes where only gradients are computed. Folds are drawn by a hash of the
    row's number, and bins are not refined. Pairs are found and boosted as in
    :class:`L2BoostingRegressor`, for each of K scores and of three Newton steps; the gradients
    given the pairs are then computed again. For nine pairs of ten features the bins were read 330
    times in all, and 40 times without pairs. The model is that of the same rows in memory with the
    same bins and folds, whatever the chunks.

    This is forward stagewise additive modelling [DS-GA 1003, lecture 8] with the logistic loss,
    each stage by a Newton step. Missing values, categories and pairs are those of
    :class:`L2BoostingRegressor`.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". The Annals of Statistics 28.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    Y. Lou, R. Caruana, J. Gehrke and G. Hooker (2013). "Accurate intelligible models with pairwise
    interactions". KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import LogitBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogitBoostClassifier(200, learning_rate=0.1).fit(X, y)
    >>> model.score(X, y)
    0.99...

    The log-odds are the intercept plus one term for each feature:

    >>> terms = model.predict_terms(X[:1])
    >>> log_odds = model.intercept_ + terms.sum(axis=1)
    >>> bool(abs(log_odds - model.decision_function(X[:1])).max() < 1e-12)
    True
    """

    _parameter_constraints: ClassVar = {
        **BaseAdditive._parameter_constraints,
        "refresh_tol": [Interval(Real, 0, None, closed="neither")],
        "class_weight": CLASS_WEIGHT,
    }
    classes_: np.ndarray

    @property
    def link_(self) -> str:
        return "logit" if len(self.classes_) == 2 else "softmax"

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
        refresh_tol: float = 0.5,
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        max_memory: float = 1024,
        verbose: bool | int = 0,
        class_weight: dict | Literal["balanced"] | None = None,
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
        self.refresh_tol = refresh_tol
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.verbose = verbose
        self.class_weight = class_weight

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
            Class labels.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Non-negative weights of the rows; equal weights by default. Rows of weight 0 are left
            out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split of
            `n_estimators="cv"` divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.
        offset : array-like of shape (n_samples,), default=None
            What is known of the log-odds of two classes: these are the offset and what is fitted,
            and predictions require an offset too. Of rows in memory.

        Returns
        -------
        self : LogitBoostClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If `cv` tests on a row more than once, or if the sums over a single cut with
            all others exceed `max_memory`. With Dask collections, if the sums over all pairs of
            cuts exceed it, or `cv` is no integer.
        """
        rows = self._checked_rows(X, y, sample_weight, groups=groups, offset=offset)
        classes = rows.classes
        if offset is not None:
            self._check_one_score(1 if len(classes) == 2 else len(classes))
        end_fit = begin_fit(self, X, y, sample_weight)
        plan = self._plan(rows.X.shape[1], rows.columns, len(classes))
        self.model_, self.classes_ = self._solved(plan, rows), classes
        self.__dict__.pop("_kept", None)
        end_fit()
        return self

    def _solved(self, plan: Plan, rows: TrainingRows) -> AdditiveModel:
        unit = weight_unit(rows.weight)
        rows = replace(rows, weight=unit_weights(rows.weight))
        given = plan, self._task(rows.classes), rows, unit, self._report
        return fit_additive(plan, task_of_rows(*given), self._report)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        refit: bool = True,
    ) -> Self:
        """Add a chunk of rows to those of the earlier calls and fit the model to all of them.

        The bins of all rows are kept, one byte a value (two for more than 255 bins). They are
        `bin_edges`, or quantiles of the first chunk; with `bin_edges` given the model is that of
        `fit` on all chunks together. Categories are those of the first chunk; others are treated
        as missing. With ``n_estimators="cv"`` each chunk is split into folds by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows of the chunk.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur. It may be left out after the first call, or after a
            call of `fit`, of which nothing but the classes is used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the rows.

        Returns
        -------
        self : LogitBoostClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If `classes` are missing in the first call or differ later, or y has others. If the
            model was edited, which a fit would undo.
        """
        if not isinstance(refit, (bool, np.bool_)):
            raise TypeError(f"refit must be a bool, got {type(refit).__name__}.")
        if self.__sklearn_is_fitted__():
            refuse_edited(self.model_, "partial_fit goes on from")
        # The classes: given, those of the calls before, or those of an earlier fit.
        known = getattr(self, "_kept", None)
        if classes is not None:
            classes = checked_classes(classes)
        if known is None and classes is None:
            classes = getattr(self, "classes_", None)
        if known is None and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        if known is not None:
            if classes is not None and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={np.asarray(classes).tolist()} differ from those of the first call, "
                    f"{self.classes_.tolist()}."
                )
            classes = self.classes_
        rows = self._checked_rows(X, y, sample_weight, known is None, classes=classes)
        rows = self._folds_of_chunk(rows, 0 if known is None else len(known.codes))
        classes = rows.classes
        plan = self._plan(rows.X.shape[1], rows.columns, len(classes))
        # The chunk joins the rows of the calls before, in the bins of the first one. Second
        # derivatives change with the model, so that sums, as for the squared error, do not suffice.
        n = len(rows.y)
        weight = np.ones(n) if rows.weight is None else rows.weight
        if known is None:
            scaled = replace(rows, weight=unit_weights(rows.weight))
            bins, _ = choose_bins(plan, scaled, None, keep_missing=True)
            columns = rows.columns
            kept = _KeptRows(
                bins, columns, [bins.codes(rows.X)], rows.y, weight, rows.folds, rows.n_splits
            )
        else:
            if known.n_splits != rows.n_splits:
                raise ValueError(
                    "n_estimators and cv must give the same number of folds in every call of "
                    "partial_fit."
                )
            folds = rows.folds
            if known.folds is not None and folds is not None:
                folds = np.concatenate([known.folds, folds])
            bins = known.bins
            bins.check_allowed(plan.allowed.features)
            kept = _KeptRows(
                bins,
                rows.columns,
                [*known.codes, bins.codes(rows.X)],
                np.concatenate([known.y, rows.y]),
                np.concatenate([known.weight, weight]),
                folds,
                rows.n_splits,
            )
        if refit:
            # Chunks stay apart until a model is fitted: joining them at every call would copy all.
            codes = kept.codes[0]
            if len(kept.codes) > 1:
                codes = np.asfortranarray(np.concatenate(kept.codes))
            weight, unit = unit_weights(kept.weight), weight_unit(kept.weight)
            # Few rows are in the first folds only, and a single row is no fold.
            folds, n_splits = kept.folds, kept.n_splits
            if folds is not None and n_splits > 1:
                n_splits = min(n_splits, int(folds.max()) + 1)
                folds, n_splits = (folds, n_splits) if n_splits > 1 else (None, 0)
            binned = BinnedRows(codes, bins.layout(), kept.y, weight, folds, n_splits)
            given = plan, self._task(classes), binned, bins, rows.columns, unit
            self.model_ = fit_additive(plan, task_of_bins(*given), self._report)
        self._kept, self.classes_ = kept, classes
        return self

    def _known_columns(self) -> CategoricalColumns | None:
        return self._kept.columns

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks, which are read twice, and once more if there are categories.

        The bins stay where the rows are, and are read once a refresh or twice.
        """
        # One pass finds bins and classes; another one leaves a byte for every value.
        _, found = self._blocks(rows, ClassLabels.of)
        classes = found.target.labels
        self._check_classes(classes)
        # Again, as the number of classes is known only now.
        plan = self._plan(rows.n_features, found.columns, len(classes))
        found = replace(found, rows=found.rows.knowing(classes=classes))
        given = plan, self._task(classes), found, self._report, _classes_in_bins
        problem = task_of_blocks(*given, found.bins, len(classes))
        self.model_, self.classes_ = fit_additive(plan, problem, self._report), classes
        self.__dict__.pop("_kept", None)

    def _task(self, classes: np.ndarray) -> Task:
        loss = PointwiseLogistic(len(classes))
        return Task(loss, self.refresh_tol, _places_of_own_class)

    @by_chunks
    def decision_function(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Return the log-odds of the second class, or the scores of all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: the log-odds of ``classes_[1]``. More: scores whose softmax are the
            probabilities. The cost is O(n p).
        """
        return self._scores(X, offset)

    @by_chunks
    def predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        return self._labels(self._scores(X, offset))

    @by_chunks
    def predict_proba(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return _probabilities(self._scores(X, offset))

    @by_chunks
    def predict_log_proba(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; finite also where a probability rounds to 0.
        """
        scores = self._scores(X, offset)
        if scores.ndim == 2:
            return log_softmax(scores, axis=1)
        # Not the logarithms of probabilities, which may be 0.
        return np.column_stack([log_expit(-scores), log_expit(scores)])

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the mean accuracy of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Returns
        -------
        score : float
            The share of rows whose class is predicted.
        """
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    @by_chunks
    def predict_set(
        self,
        X: ArrayLike,
        coverage: float = 0.9,
        offset: ArrayLike | None = None,
        *,
        method: Literal["lac", "aps", "raps"] = "lac",
        per_class: bool = False,
        randomized: bool = False,
        penalty: float = 0.05,
        k_reg: int = 1,
        random_state: RandomStateLike = None,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        Of a model with ``n_estimators="cv"``, from the folds that have chosen the number of rounds.
        With s_k(i) the score of a class by the model that the fold of row i is left out of, a class
        c is in the set of x if fewer than `coverage` (n + 1) of the n training rows have
        s_k(i)(y_i | x_i) below s_k(i)(c | x): the CV+ of classes [Romano, Sesia and Candès, 2020].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.
        method : {"lac", "aps", "raps"}, default="lac"
            The score s_c(x) of a class c, with p the probabilities at x:

            - ``"lac"``: 1 - p_c, for the smallest sets on average; rows that are hard to classify
              are covered less often than easy ones [Sadinle, Lei and Wasserman, 2019];
            - ``"aps"``: the total probability of the classes that are more probable than c, plus U
              times that of c and of those as probable, with U uniform on (0, 1), for a similar
              coverage of easy and hard rows [Romano, Sesia and Candès, 2020];
            - ``"raps"``: that of "aps" plus `penalty` for each class beyond the first `k_reg`, for
              smaller sets where there are many classes [Angelopoulos, Bates, Jordan and Malik,
              2021].
        per_class : bool, default=False
            Whether each class is compared with the training rows of this class only, so that the
            coverage is that of each class. A class of too few rows, (n_c + 1) `coverage` > n_c, is
            in all sets.
        randomized : bool, default=False
            Whether U is drawn, and ties are broken at random, so that the coverage is not larger
            than asked for either; sets may then be empty. Otherwise sets of "aps" and "raps" have
            at least one class: they are compared with the mean over U of the training rows, and U
            is 0 at x, which covers more often.
        penalty : float, default=0.05
            Of "raps", at least 0.
        k_reg : int, default=1
            Of "raps", at least 0: the number of classes without a penalty.
        random_state : int, RandomState instance or None, default=None
            Of the numbers drawn with ``randomized=True``, for a Dask collection in each chunk anew.

        Returns
        -------
        is_in_set : bool ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`. A set of "lac" may be empty; it contains all
            classes if there are too few rows, (n + 1) `coverage` > n.

        Raises
        ------
        ValueError
            If `n_estimators` was a number, if the rows have different weights or were not in
            memory, or if a parameter is not valid.

        Notes
        -----
        For exchangeable rows a set contains the class with a probability of at least 1 - 2 alpha -
        sqrt(2/n), usually about 1 - alpha, where nothing was chosen on the rows that a fold leaves
        out. The number of rounds, the bins, the second derivatives and the pairs of features are
        those of all rows, which is not covered by this theorem; simulations (see the user guide)
        show no difference. With groups the sets are for a row of a new group. Rows that no split of
        `cv` tests on do not count in n.

        Cost: O(p K) for each row and class with K folds, and O(K log n). A fit with
        ``n_estimators="cv"`` keeps the tables of the K models, and some 34 bytes for each row.

        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019). "Least ambiguous set-valued classifiers with
        bounded error levels". *Journal of the American Statistical Association* 114.

        Y. Romano, M. Sesia and E. J. Candès (2020). "Classification with valid and adaptive
        coverage". *Advances in Neural Information Processing Systems* 33.

        A. N. Angelopoulos, S. Bates, M. I. Jordan and J. Malik (2021). "Uncertainty sets for image
        classifiers using conformal prediction". *International Conference on Learning
        Representations*.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn_ensemble_theory import LogitBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X[:, :2]  # the sepals alone do not tell two of the species apart
        >>> model = LogitBoostClassifier(n_estimators="cv", max_bins=16).fit(X[::2], y[::2])
        >>> model.predict_set(X[1::50])
        array([[ True, False, False],
               [False,  True,  True],
               [False,  True,  True]])
        """
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state)
        scores, _, rows = self._fold_scores(X, offset, "Prediction sets")
        n, n_folds = scores.shape[:2]
        at = _probabilities(scores.reshape(n * n_folds, *scores.shape[2:]))
        at = at.reshape(n, n_folds, len(self.classes_))
        own = ClassPlaces(*rows.scores.T)
        assert rows.codes is not None
        return set_by_folds(own, rows.codes, rows.fold, rows.groups, at, rule)

    def staged_decision_function(
        self, X: ArrayLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Return the scores of the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Yields
        ------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As by `decision_function`.
        """
        check_is_fitted(self)
        yield from self._scores_after(X, None, offset)

    def staged_predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Predict the classes with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        for scores in self.staged_decision_function(X, offset):
            yield self._labels(scores)

    def staged_predict_proba(
        self, X: ArrayLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Predict the probabilities with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, for two classes; 0 by default.

        Yields
        ------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        for scores in self.staged_decision_function(X, offset):
            yield _probabilities(scores)

    def _labels(self, scores):
        numbers = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes_[numbers]


def _places_of_own_class(y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.column_stack(ClassPlaces.of_own(_probabilities(scores), y.astype(np.intp)))


def _probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.ndim == 2:
        return softmax(scores, axis=1)
    # Both from the scores: 1 - p is 0 as soon as p rounds to 1.
    return np.column_stack([expit(-scores), expit(scores)])


def _classes_in_bins(
    block: Rows, bins: FeatureBins, n_classes: int, n_splits: int, with_pairs: bool
) -> BinnedRows:
    y = block.y.astype(np.min_scalar_type(n_classes - 1))
    return binned_block(block, bins, y, n_splits, with_pairs)
