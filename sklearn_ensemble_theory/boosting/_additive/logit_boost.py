"""Additive logistic regression by boosting: LogitBoost by stumps on binned columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._scores import ClassifierMixin, accuracy_of

from ..._blocks import by_chunks
from ..._categories import CategoricalColumns
from ..._compat import CallbackSupportMixin
from ..._cv_choice import CVRounds
from ..._documentation import documented
from ..._door import CLASS_WEIGHT, fit_context
from ..._learners import GROUPS_ON_REQUEST
from ..._offsets import offset_to_score
from ..._rows import ChunkedRows, Rows, checked_classes
from ..._typing import ArrayLike, CVLike, RandomStateLike, available_if
from ...ensembles._prediction_sets import SET_TEXTS, ClassPlaces, SetRule, set_by_folds
from .._loop import begin_fit
from .additive_fit import Task, fit_additive, task_of_bins, task_of_blocks, task_of_rows
from .additive_plan import Plan
from .base import TEXTS, BaseAdditive, keeps_folds
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
from .fitted_terms import AdditiveModel, FoldModels
from .risk import PointwiseLogistic
from .rounds import BinnedRows

# By how much log-odds move between two computations of the gradients.
REFRESH = 0.5


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


@documented(TEXTS, SET_TEXTS)
class LogitBoostClassifier(ClassifierMixin, CallbackSupportMixin, BaseAdditive):
    """Glass-box additive logistic regression: one curve per feature, fitted by boosting stumps.

    The log-odds of the second class are an additive model, ``intercept + f_1(x_1) + ... +
    f_p(x_p)``, with one step function per feature, and functions of those pairs of features
    that help (`interactions`). For three or more classes there is one such score for each
    class, and the probabilities are the softmax of the scores. Missing values, categories and, for
    two classes, monotonic constraints are supported.

    Each round is a Newton step on the logistic loss: a stump is fitted by weighted least squares to
    the working residuals, and `learning_rate` times it is added. Gradients and weights are computed
    again only when the log-odds have moved by 0.5. Between two such updates, rounds are as in
    :class:`L2BoostingRegressor` for weighted rows, on sums over the bins: their cost does not
    depend on the number of rows.

    %(n_estimators)s
    %(rates)s
    %(bins_and_terms)s
    %(cv)s
    %(held_out)s
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total.

    %(classes_attribute)s
    intercept_ : float or ndarray of shape (n_classes,)
        The mean over the training rows of the log-odds, or of each score.
    %(terms)s
    %(rounds)s
    feature_importances_ : ndarray of shape (p,)
        The importances of the terms of single features, divided by their sum.
    %(names_in_fit)s

    See Also
    --------
    L2BoostingRegressor : The same model for a real target.
    GradientBoostingClassifier : Any loss and any base learner.

    Notes
    -----
    With the probabilities p of the current model, the working residuals are ``(y - p) / (p (1 -
    p))`` and the weights ``p (1 - p)`` [Friedman, Hastie and Tibshirani 2000]. For K > 2 classes a
    round fits a stump for each class. The second derivatives are multiplied by ``K / (K - 1)``,
    which gives the steps of the source times ``(K - 1) / K``. The scores of the classes need not
    have the sum 0.

    %(models_of_folds)s

    Let there be n rows, p features of B bins, k folds and K scores. The bins cost O(n p log n), and
    gradients O(n p k K) each time they are computed. A round costs O(p B k), independent of n. The
    user guide lists all costs, and how Dask collections are read: :ref:`additive-costs`.

    Pairs are found and boosted as in :class:`L2BoostingRegressor`, for each
    score and three Newton steps; the gradients given the pairs are then computed again.

    This is forward stagewise additive modelling [DS-GA 1003, lecture 8] with the logistic loss,
    each stage by a Newton step. Missing values, categories and pairs are treated as in
    :class:`L2BoostingRegressor`.

    %(references_Friedman)s

    %(DSGA)s

    %(Lou)s

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import LogitBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogitBoostClassifier(200, learning_rate=0.1).fit(X, y)
    >>> model.score(X, y)
    1.0

    The log-odds are the intercept plus one term for each feature:

    >>> terms = model.predict_terms(X[:1])
    >>> log_odds = model.intercept_ + terms.sum(axis=1)
    >>> bool(abs(log_odds - model.decision_function(X[:1])).max() < 1e-12)
    True
    """

    _parameter_constraints: ClassVar = {
        **BaseAdditive._parameter_constraints,
        "class_weight": CLASS_WEIGHT,
    }
    classes_: np.ndarray

    @property
    def link_(self) -> str:
        return "logit" if len(self.classes_) == 2 else "softmax"

    def __init__(
        self,
        n_estimators: int | Literal["cv"] | CVRounds = "cv",
        *,
        learning_rate: float = 0.01,
        smoothing_rounds: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] | ArrayLike = "auto",
        interactions: int | float | Literal["auto", "cv"] | ArrayLike = "cv",
        exclude: ArrayLike | None = None,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        cv: CVLike | None = None,
        held_out: Literal["cv"] | CVLike | None = None,
        verbose: bool | int = 0,
        class_weight: dict | Literal["balanced"] | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.interactions = interactions
        self.exclude = exclude
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.cv = cv
        self.held_out = held_out
        self.verbose = verbose
        self.class_weight = class_weight

    __metadata_request__fit = GROUPS_ON_REQUEST

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

        %(to_fit)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If pairs or `held_out` need folds and `cv` has none. If the sums over one cut with all
            others exceed the `working_memory` of scikit-learn's configuration; with Dask
            collections, the sums over all pairs of cuts.
        """
        rows = self._checked_rows(X, y, sample_weight, groups=groups, offset=offset)
        classes = rows.classes
        if offset is not None:
            self._check_one_score(1 if len(classes) == 2 else len(classes))
        end_fit = begin_fit(self, X, y, sample_weight, offset)
        plan = self._plan_for(rows, len(classes))
        self.model_ = replace(self._solved(plan, rows), has_offset=offset is not None)
        self.classes_ = classes
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
        """Add a chunk of rows to the earlier chunks and fit the model to all of them.

        The bins of all rows are kept, one byte a value (two for more than 255 bins). They are
        given by `max_bins`, or quantiles of the first chunk. The categories are taken from the
        first chunk; other categories are treated as missing. Each chunk is split into folds by
        itself. With given thresholds and without folds (see `n_estimators`) the model is the same
        as from `fit` on all chunks together.

        %(of_chunk)s
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever occur. It may be left out after the first call, or after a
            call of `fit`, of which nothing but the classes is used.
        %(weights_or_equal)s
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the rows.

        %(returns_self)s

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
                    "n_estimators and held_out must give the same number of folds in every call of "
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
        return Task(loss, REFRESH, _places_of_own_class)

    @by_chunks
    def decision_function(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Return the log-odds of the second class, or the scores of all classes.

        %(to_predict)s

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

        %(to_predict)s

        %(returns_labels)s
        """
        return self._labels(self._scores(X, offset))

    @by_chunks
    def predict_proba(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the probabilities of the classes.

        %(to_predict)s

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return _probabilities(self._scores(X, offset))

    @by_chunks
    def predict_log_proba(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the logarithms of the probabilities of the classes.

        %(to_predict)s

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
        %(X_to_predict)s
        y : array-like of shape (n_samples,)
            Class labels.
        %(weights_of_rows)s
        offset : float or array-like of shape (n_samples,), default=None
            As in `fit`, for two classes. Required if the fit had an offset.

        Returns
        -------
        score : float
            The share of rows whose class is predicted.

        %(raises_without_offset)s
        """
        check_is_fitted(self)
        offset = offset_to_score(self, offset, X, self.model_.has_offset)
        return accuracy_of(self, X, y, sample_weight, offset)

    @available_if(keeps_folds)
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
        empty: bool = True,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        By the models of the folds of `held_out`.
        The sets are by the CV+ of classes [Romano, Sesia and Candès, 2020]. Let s_k(i) be the score
        of a class by the model that was not fitted to the fold of row i. A class c is in the set of
        x if fewer than `coverage` (n + 1) of the n training rows have s_k(i)(y_i | x_i) below
        s_k(i)(c | x).

        Parameters
        ----------
        %(X_to_predict)s
        %(coverage)s
        offset : float or array-like of shape (n_samples,), default=None
            As in `fit`, for two classes. None is 0, with a warning if the fit had an offset.
        %(set_method)s

        %(sets)s

        %(raises_parameters)s

        Notes
        -----
        For exchangeable rows a set contains the class with a probability of at least 1 - 2 alpha -
        sqrt(2/n), and usually about 1 - alpha. This holds if nothing was chosen on the rows that a
        fold leaves out. What all rows choose is not covered by this theorem; simulations show no
        difference, see :ref:`intervals-of-additive-models` in the user guide. With groups the sets
        are for a row of a new group. Rows that no split of `cv` tests on do not count in n.

        Cost: O(p K) for each row and class with K folds, and O(K log n). A fit with
        ``n_estimators="cv"`` keeps the tables of the K models, and some 34 bytes for each row.

        %(references_of_sets)s

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn_ensemble_theory import LogitBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X[:, :2]  # the sepals alone do not tell two of the species apart
        >>> model = LogitBoostClassifier(held_out="cv", max_bins=16).fit(X[::2], y[::2])
        >>> model.predict_set(X[1::50])
        array([[ True, False, False],
               [False,  True,  True],
               [False,  True,  True]])
        """
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
        scores, _, rows = self._fold_scores(X, offset, "Prediction sets")
        n, n_folds = scores.shape[:2]
        at = _probabilities(scores.reshape(n * n_folds, *scores.shape[2:]))
        at = at.reshape(n, n_folds, len(self.classes_))
        own = ClassPlaces(*rows.scores.T)
        assert rows.codes is not None
        return set_by_folds(own, rows.codes, rows.fold, rows.groups, at, rule)

    def _of_scores(self, scores: np.ndarray, folds: FoldModels) -> np.ndarray:
        return _probabilities(scores)

    def staged_decision_function(
        self, X: ArrayLike, offset: ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Return the scores of the models after 1, 2, ... rounds, one after the other.

        %(to_predict)s

        Yields
        ------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As by `decision_function`.
        """
        check_is_fitted(self)
        yield from self._scores_after(X, None, offset)

    def staged_predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Predict the classes with the models after 1, 2, ... rounds, one after the other.

        %(to_predict)s

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

        %(to_predict)s

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


def _classes_in_bins(block: Rows, bins: FeatureBins, n_classes: int, n_splits: int) -> BinnedRows:
    y = block.y.astype(np.min_scalar_type(n_classes - 1))
    return binned_block(block, bins, y, n_splits)
