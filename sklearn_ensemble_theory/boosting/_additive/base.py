"""What the additive boosters share: checks, the phases of a fit, the fitted terms, predictions."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..._batches import FitsBatches
from ..._bins import check_bin_edges
from ..._blocks import any_collection, by_chunks, checked_offset
from ..._categories import CategoricalColumns, categories_of_blocks
from ..._compat import Interval, RealNotInt, StrOptions
from ..._cv_choice import CVRounds
from ..._documentation import documented
from ..._door import ReadsOnce
from ..._features import Features
from ..._folds import (
    Split,
    are_folds,
    checked_n_splits,
    fold_numbers,
    folds_of_splits,
    is_number_of_folds,
    splits_of_rows,
)
from ..._offsets import known_offset, offset_to_predict
from ..._rows import (
    ChunkedRows,
    Rows,
    checked_groups,
    group_codes,
    is_frame,
    kept_rows,
    validate_data,
)
from ..._running import Progress, blas_threads_by_work
from ..._typing import ArrayLike
from .additive_plan import Plan, allowed_terms, resolve_interactions
from .bins import MIN_ROWS, BinnedBlocks, TrainingRows, bins_of_blocks
from .edits import (
    monotonize,
    refitted_terms,
    refuse_edited,
    remove_terms,
    set_term,
    with_refitted,
    with_smoother_term,
)
from .fitted_terms import AdditiveModel, FoldModels, LeftOutRows, Rounds, results_of_folds
from .shapley import explain_terms

# Texts of the docstrings of the additive models.
TEXTS = {
    "n_estimators": """
        Parameters
        ----------
        n_estimators : int, "cv" or CVRounds, default="cv"
            Number of stumps, which follow the smoothing rounds. "cv" chooses the number, from 0 on,
            with the least mean loss over the held-out folds. `CVRounds` has the options of this
            choice; its `cv` gives the folds if the parameter `cv` is None. The search ends if ``10
            / learning_rate`` rounds give no new minimum. A number sets the stumps only: all other
            choices are made on the same folds as with "cv". So you get the same model if you pass
            `n_estimators_` back, with the same folds: after ``CVRounds(cv=3)``, with ``cv=3``.
            Plain boosting of stumps is a number with ``smoothing_rounds=0, interactions=0``, which
            needs no folds.
        """,
    "rates": """
        learning_rate : float, default=0.01
            Share of each stump that is added, from 1e-300 to 1. The model depends mainly on
            ``n_estimators * learning_rate``; smaller rates give smoother functions. Smoothing
            rounds do not depend on it.
        smoothing_rounds : int or "auto", default="auto"
            Number of rounds before the first stump that add the mean of all stumps of a feature
            instead of the best one; they fit smooth functions with less variance. "auto" is the
            number from 0 to 2000 with the least mean loss over the held-out folds. The search ends
            after 40 rounds without a new minimum.
        """,
    "bins_and_terms": """
        max_bins : int, "auto" or sequence of p sequences of float, default="auto"
            Maximum number of bins per feature, of about the same weight each, or the increasing
            thresholds of each feature. A feature with at most this number of distinct values has a
            bin for each value. "auto" means 64, of which the first and the last are divided into up
            to seven of falling weight. In fits to at least 10,000 rows in memory "auto" also
            refines the bins. A first fit with 32 bins shows which features matter. These get more
            bins, at most 240, and thresholds at the jumps that the data show.
        interactions : int, float, "auto", "cv" or array-like of pairs, default="cv"
            Pairs of features whose functions are added to the functions of single features; 0 for
            none. An int is the number of pairs, and a float this number as a multiple of p: the
            pairs that interact most are taken [Lou et al. 2013]. "auto" takes the pairs whose
            interaction is significant at the level 0.05, all pairs taken together, and at most 0.9
            p. "cv" takes these pairs if the held-out rows are predicted better with them. You can
            also give the pairs, by numbers or names of features. "auto" and "cv" look among about
            1,000 pairs and scores: of many features, those with the largest functions. With three
            or more classes, Dask collections, `partial_fit`, or splits that are no folds, "cv"
            looks for none.
        exclude : array-like, default=None
            Terms that are left out: features by name or number, and pairs of them as tuples. An
            excluded feature has no function and is in no pair.
        categorical_features : array-like, "from_dtype" or None, default="from_dtype"
            The features whose values are categories, by a mask, their numbers or their names.
            "from_dtype" takes the columns of a data frame with a categorical dtype. Stumps
            separate any set of categories from the others. For the search of the set, the mean of a
            category of weight W is shrunk by the factor W / (W + 10), as by the default
            `cat_smooth` of binned trees.
        monotonic_cst : array-like of int of shape (p,) or dict, default=None
            For each feature, 1 if its function may only increase, -1 if it may only decrease, and 0
            without a constraint; or a dict with the names of the constrained features. For two
            classes the constraint is on the log-odds. For more classes constraints are not
            possible. With `interactions` it is the sum of all terms that is monotonic in the
            feature. These features have no smoothing rounds.
        """,
    "cv": """
        cv : int, cross-validation generator, iterable or None, default=None
            The folds for all choices of the fit. None takes the folds of `CVRounds`, five by
            default, which are drawn in the order of y. Splits that are not folds, such as
            `TimeSeriesSplit` and `ShuffleSplit`, are fitted one by one. They choose numbers of
            rounds, but no pairs, and do not give `held_out` or standard errors of terms.
        """,
    "held_out": """
        held_out : "cv", int, cross-validation generator, iterable or None, default=None
            The folds whose models are kept, to compute prediction intervals and sets from held-out
            predictions. "cv" keeps the models of the folds of `cv`. With a number of stumps and
            without `cv`, it is a number of folds or their splits, for all choices of the fit. The
            methods do not exist for None.
        verbose : int, default=0
            1 prints progress every few seconds, 2 more often. Callbacks of `sklearn.callback` see
            the model at the end of the fit only.
        """,
    "terms": """
        model_ : AdditiveModel
            What the fit has found, as one record: terms, rounds, and the models of the folds.
        term_features_ : list of n_terms tuples
            The features of each term: ``(0,)``, ..., ``(p - 1,)``, then the pairs ``(a, b)``.
        term_names_ : list of n_terms str
            The name of each term; "a & b" for a pair.
        term_importances_ : ndarray of shape (n_terms,)
            Mean absolute value of each term over the training rows, and over three or more
            classes.
        shape_functions_ : list of n_terms tuples (edges, values)
            The function of each feature: ``values[b]`` for x in bin b, that is between
            ``edges[b - 1]`` (excluded) and ``edges[b]`` (included), in units of the score. A
            feature with missing values in the training rows has one more value, the last, for
            those. For a categorical feature `edges` are the categories, and the last value is for
            missing and unknown categories. For a pair, `edges` are the edges of the two features,
            and `values` a table whose weighted means over each feature are 0. The weighted mean of
            every function over the training rows is 0. For three or more classes `values` has a
            last axis of classes.
        shape_standard_errors_ : list of n_terms ndarrays
            Standard errors of the `values` of `shape_functions_` over new training rows, by a
            jackknife over the folds; only of a fit with at least two folds.
        edits_ : list of records
            What was changed after the fit, by `set_term` and the like: `method`, `term`, the values
            `before` and `after`, the `shift` of the intercept, and further `arguments`.
        bin_edges_ : list of p ndarrays
            The thresholds of each feature; none of categorical ones.
        bin_weights_ : list of n_terms ndarrays
            The weight of the training rows in each bin, or in each cell of a pair, up to a common
            factor.
        categories_ : list of p ndarrays or None
            The categories of each categorical feature.
        missing_bins_ : ndarray of bool of shape (p,)
            Whether the feature has a bin for missing values. If not, the term of a missing value
            is 0.
        link_ : {"identity", "log", "logit", "softmax", "other"}
            What the score, the intercept plus the terms, is of the prediction.
        """,
    "rounds": """
        n_smoothing_rounds_ : int
            Number of smoothing rounds.
        n_estimators_ : int
            Number of stumps after those. It is less than a given `n_estimators` if no stump
            lowered the loss any further.
        category_sets_ : list of p lists
            For each categorical feature the sets of categories that stumps separate from the
            others, as masks of its categories.
        stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,)
            Each round's feature j and the number of its threshold in ``bin_edges_[j]``. The number
            ``len(bin_edges_[j])`` is the cut that separates missing values from the others. For a
            categorical feature it is the number of the set in ``category_sets_[j]``. With three or
            more classes there is a column for each, as for the next two.
        stump_left_, stump_right_ : ndarray of shape (n_estimators_,)
            What each round added to the score at or below the threshold and above it; for a set of
            categories, to those in the set and to all others. If the feature has a bin for missing
            values, thresholds add nothing to these.
        train_scores_ : ndarray of shape (n_estimators_ + 1,)
            Mean loss on the training rows after the smoothing rounds and 0, 1, ... others. Between
            two computations of the gradients it is the loss of the quadratic approximation.
        cv_results_ : dict
            The choice of the number of stumps: arrays "n_estimators", "mean_score" (the mean loss
            over the folds), "standard_error" of that mean, and "split0_score", ...; only of a fit
            with folds.
        smoothing_results_ : dict
            The same for the smoothing rounds, with "smoothing_rounds"; only if the folds chose
            their number.
        n_passes_ : int
            How often the rows or their bins were read; only after a fit of Dask collections.
        n_refreshes_ : int
            How often gradients were computed, before the pairs; not for the squared error.
        """,
    "real_model": """
        intercept_ : float
            The mean of the scores over the training rows, without their offset.
        %(terms)s
        %(rounds)s
        """,
    "X_to_predict": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        """,
    "offset_to_predict": """
        offset : float or array-like of shape (n_samples,), default=None
            As in `fit`. None is 0, with a warning if the fit had an offset. Not with three or more
            classes.
        """,
    "of_rows": """
        Parameters
        ----------
        %(X_to_predict)s
        """,
    "to_predict": """
        Parameters
        ----------
        %(X_to_predict)s
        %(offset_to_predict)s
        """,
    "to_score": """
        %(X_to_predict)s
        y : array-like of shape (n_samples,)
            Targets or class labels.
        %(sample_weight)s
        offset : float or array-like of shape (n_samples,), default=None
            As in `fit`. Required if the fit had an offset.
        """,
    "to_fit": """
        Parameters
        ----------
        X : {array-like, sparse matrix} or Dask collection of shape (n_samples, n_features)
            Numbers, NaN where they are missing, or a data frame with categorical columns.
        y : array-like or Dask collection of shape (n_samples,)
            Targets or class labels.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Weights of the rows, not negative; equal weights by default. Rows of weight 0 are left
            out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no fold divides
            them. Splitters by groups, such as `GroupKFold`, get them; an integer is then a number
            of folds of whole groups.
        offset : array-like of shape (n_samples,), default=None
            A known part of the scores, such as logarithms of exposures. The scores are the offset
            plus the fitted part, and `score` requires an offset too. Of rows in memory, and not
            with three or more classes.
        """,
    "edited": """
        Returns
        -------
        model : estimator
            A new model, as by `set_term`.
        """,
    "of_chunk": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows of the chunk.
        """,
    "Lou": """
        Y. Lou, R. Caruana, J. Gehrke and G. Hooker (2013). "Accurate intelligible models with
        pairwise interactions". KDD.
        """,
    "models_of_folds": """
        Each fold's model has its own gradients, but uses the second derivatives of the model of all
        rows. Products of cuts are therefore counted only once.
        """,
    "references_Friedman": """
        References
        ----------
        J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a
        statistical view of boosting". The Annals of Statistics 28.
        """,
}


def keeps_folds(model: "BaseAdditive") -> bool:
    """Whether predictions of rows that the model has not seen are kept."""
    if model.held_out is None:
        raise AttributeError("set held_out='cv' and fit.")
    return True


@documented(TEXTS)
class BaseAdditive(FitsBatches, ReadsOnce, BaseEstimator):
    """An additive model of boosted stumps: all but the fit, and the predictions of a target."""

    _parameter_constraints: ClassVar = {
        "n_estimators": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"cv"}),
            CVRounds,
        ],
        "learning_rate": [Interval(Real, 1e-300, 1, closed="both")],
        "smoothing_rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "max_bins": [
            Interval(Integral, 2, 2**16 - 2, closed="both"),
            StrOptions({"auto"}),
            "array-like",
        ],
        "interactions": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="left"),
            StrOptions({"auto", "cv"}),
            "array-like",
        ],
        "exclude": ["array-like", None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "cv": ["cv_object"],
        "held_out": [StrOptions({"cv"}), "cv_object"],
        "verbose": ["verbose"],
    }

    n_estimators: int | Literal["cv"] | CVRounds
    learning_rate: float
    smoothing_rounds: int | Literal["auto"]
    max_bins: Any
    interactions: Any
    exclude: Any
    categorical_features: Any
    monotonic_cst: Any
    cv: Any
    held_out: Any
    verbose: bool | int

    n_features_in_: int
    model_: AdditiveModel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _report(self, n_rounds: int = 0) -> Progress:
        return Progress(type(self).__name__, n_rounds, self.verbose, unit="rounds")

    # --- the checks of a fit ----------------------------------------------------------------------

    def _checked_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        reset: bool = True,
        *,
        classes: np.ndarray | None = None,
        groups: Any = None,
        offset: Any = None,
        categorical: Any = None,
    ) -> TrainingRows:
        """Check the rows, keep those of positive weight as numbers, and find their folds.

        Categories and `classes` are new, or those of an earlier chunk. `categorical` replaces the
        parameter.
        """
        classifies = is_classifier(self)
        # Columns with categories are encoded before scikit-learn's checks, which want numbers.
        columns = None if reset else self._known_columns()
        given = self.categorical_features if categorical is None else categorical
        if reset and given is not None and (is_frame(X) or not isinstance(given, str)):
            if not is_frame(X):
                X = check_array(X, dtype=None, ensure_all_finite=False)
            columns = CategoricalColumns(X, given)
            columns = columns if columns.any else None
        if columns is None:
            X, y = validate_data(
                self,
                X,
                y,
                reset=reset,
                accept_sparse="csc",
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
                y_numeric=not classifies,
            )
        else:
            X = self._numbers(X, columns, reset)
            X, y = check_X_y(
                X, y, estimator=self, ensure_all_finite="allow-nan", y_numeric=not classifies
            )
        if categorical is None:
            self._plan(X.shape[1], columns)  # refused before any work
        groups, offset = checked_groups(groups, X), checked_offset(offset, X)
        if classifies:
            check_classification_targets(y)
        else:
            y = y.astype(np.float64, copy=False)
        rows = Rows(X, y, None, range(len(y)))
        if sample_weight is not None:
            rows = kept_rows(X, y, sample_weight, as_given=True)
        # Labels become numbers; a class whose rows all have weight 0 does not count.
        numbers, labels = rows.y, np.empty(0)
        if classifies:
            found = np.unique(rows.y)
            labels = found if classes is None else classes
            if not np.isin(found, labels).all():
                unknown = found[~np.isin(found, labels)]
                raise ValueError(f"y has labels that are not in classes: {unknown.tolist()}.")
            self._check_classes(labels)
            numbers = np.searchsorted(labels, rows.y)
        # Splitters split all rows that were given, those of weight 0 too, as scikit-learn does.
        folds, n_splits, splits = None, 0, None
        is_refined = isinstance(self.max_bins, str) and len(rows.y) >= MIN_ROWS
        if self._has_folds() or is_refined:
            kept = slice(None) if isinstance(rows.numbers, range) else rows.numbers
            given = self._splits(), X, y, kept, classifies, groups
            parameter = "held_out" if self._holds_out_others() else "cv"
            if groups is None and is_number_of_folds(self._splits()):
                folds, n_splits = fold_numbers(*given, at_most=True, parameter=parameter)
            else:
                splits = splits_of_rows(*given[:-1], parameter=parameter, groups=groups)
                n_splits = len(splits)
                if self.held_out is not None or are_folds(splits, len(rows.y)):
                    folds, splits = folds_of_splits(splits, len(rows.y), parameter), None
                else:
                    folds, n_splits = np.ones(len(rows.y), np.uint8), 1
                    folds[splits[-1][1]] = 0
            if isinstance(self.held_out, Integral) and n_splits < int(self.held_out):
                raise ValueError(
                    f"held_out={self.held_out} is more folds than there are rows of positive "
                    f"weight, {len(rows.y)}."
                )
        return TrainingRows(
            rows.X,
            numbers,
            rows.weight,
            rows.numbers,
            None if groups is None else group_codes(rows.of(groups), rows.X),
            0,
            folds,
            n_splits,
            columns,
            labels,
            offset=None if offset is None else rows.of(offset),
            splits=splits,
        )

    def _plan_for(self, rows: TrainingRows, n_classes: int = 2) -> Plan:
        return self._by_splits(self._plan(rows.X.shape[1], rows.columns, n_classes), rows)

    def _by_splits(self, plan: Plan, rows: TrainingRows) -> Plan:
        """The plan for splits that may be no folds, by which no pairs are fitted."""
        if rows.splits is None or not plan.fits_pairs:
            return plan
        if not plan.pairs_by_folds:
            raise ValueError(
                f"interactions={self.interactions!r} requires splits that train on exactly the "
                "rows that they do not test on, and test on no row twice, as KFold does; with "
                "other splits use interactions=0, or 'cv', which is the same there."
            )
        return replace(plan, pairs=0, pairs_by_folds=False)

    def _known_columns(self) -> CategoricalColumns | None:
        """Those of the chunks before, for `partial_fit`."""
        raise NotImplementedError

    def _solved(self, plan: Plan, rows: TrainingRows) -> AdditiveModel:
        """Fit rows in memory."""
        raise NotImplementedError

    def _folds_of_chunk(self, rows: TrainingRows, n_chunks: int) -> TrainingRows:
        """The rows of a chunk of `partial_fit` after others, with as many folds as all chunks.

        A chunk of fewer rows begins where no chunk before it has, so that all folds get rows.
        """
        if not self._has_folds():
            return replace(rows, folds=None, n_splits=0, splits=None)
        if rows.splits is not None:
            raise ValueError(
                "partial_fit requires splits that train on exactly the rows that they do not test "
                "on, and test on no row twice; give a number of folds."
            )
        splits = self._splits()
        if not (splits is None or isinstance(splits, Integral)):
            return rows
        folds, n_splits = rows.folds, checked_n_splits(splits)
        if folds is None or rows.n_splits < n_splits:
            folds = np.zeros(len(rows.y), np.intp) if folds is None else folds.astype(np.intp)
            folds = ((folds + n_chunks) % n_splits).astype(np.min_scalar_type(n_splits))
        return replace(rows, folds=folds, n_splits=n_splits)

    def _check_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y has one class, "
                f"{classes.tolist()[0]!r}."
            )

    def _plan(self, p: int, columns: CategoricalColumns | None, n_classes: int = 2) -> Plan:
        """Check the parameters that name columns, and say what is fitted."""
        features = Features.known_to(self, p)
        allowed, rounds = allowed_terms(self.exclude, features), self._cv_rounds()
        wanted, by_folds = self.interactions, False
        if isinstance(wanted, str) and wanted == "cv":
            wanted, by_folds = "auto", True
        signs = features.signs(self.monotonic_cst, n_classes)
        categories = [None] * p if columns is None else columns.categories
        for j in [] if signs is None else np.flatnonzero(signs).tolist():
            if categories[j] is not None:
                raise ValueError(
                    f"monotonic_cst constrains feature {features.label(j)}, which is categorical."
                )
        max_bins, edges = self.max_bins, None
        if not isinstance(max_bins, str | Integral):
            edges = check_bin_edges(max_bins, p, features.names)
        return Plan(
            rounds.max_estimators if rounds else cast(int, self.n_estimators),
            rounds.rule if rounds else None,
            self.learning_rate,
            self.smoothing_rounds,
            "auto" if edges is not None else max_bins,
            edges,
            resolve_interactions(wanted, p, features.names, allowed),
            by_folds,
            allowed,
            signs,
            get_config()["working_memory"],
            self.held_out is not None,
        )

    def _cv_rounds(self) -> CVRounds | None:
        """The options of the choice of the number of rounds; None for a number."""
        rounds = CVRounds.of(self.n_estimators)
        if rounds is not None and rounds.prediction != "refit":
            raise ValueError(
                f"{type(self).__name__} returns a fit to all rows; use prediction='refit' in "
                "n_estimators=CVRounds(...)."
            )
        if rounds is not None and rounds.scoring != "loss":
            raise ValueError(
                f"{type(self).__name__} compares the loss; use scoring='loss' in "
                "n_estimators=CVRounds(...)."
            )
        own = None if rounds is None else rounds.cv
        is_set = own is not None and repr(own) != repr(CVRounds().cv)
        if is_set and self.cv is not None and repr(own) != repr(self.cv):
            raise ValueError(
                f"cv={self.cv!r} and n_estimators=CVRounds(cv={own!r}) are different folds, but a "
                "fit uses the same folds for all choices: use cv, and CVRounds without it."
            )
        if self._holds_out_others() and (rounds is not None or self.cv is not None):
            raise ValueError(
                "cv or n_estimators='cv' already has folds: use held_out='cv', and cv=... for "
                "other folds."
            )
        return rounds

    def _holds_out_others(self) -> bool:
        return self.held_out is not None and not isinstance(self.held_out, str)

    def _has_folds(self) -> bool:
        """Whether folds choose anything, or are kept."""
        plain = isinstance(self.n_estimators, Integral) and self.smoothing_rounds != "auto"
        pairs = self.interactions
        none = pairs == 0 if isinstance(pairs, Real) else np.size(pairs) == 0
        return not (plain and none) or self.held_out is not None

    def _splits(self) -> Any:
        """The folds by which all choices of the fit are made."""
        if self._holds_out_others():
            return self.held_out
        return (self._cv_rounds() or CVRounds()).cv if self.cv is None else self.cv

    def _blocks(
        self, rows: ChunkedRows, target_of: Callable[..., Any]
    ) -> tuple[Plan, BinnedBlocks]:
        """The plan, and the bins of rows in blocks: a pass, and another one for categories."""
        p = rows.n_features
        self._plan(p, None)  # refused before rows are read
        if self.held_out is not None:
            raise ValueError(
                "held_out requires rows in memory, for predictions of the rows of the folds; use "
                "held_out=None with Dask collections."
            )
        n_splits = checked_n_splits(self._splits()) if self._has_folds() else 0
        columns = categories_of_blocks(rows.given, rows.meta, self.categorical_features)
        plan = self._plan(p, columns)
        return plan, bins_of_blocks(plan, rows, columns, n_splits, target_of)

    def _of_scores(self, scores: np.ndarray, folds: FoldModels) -> np.ndarray:
        """The predictions that scores by the models of the folds stand for."""
        raise NotImplementedError

    # --- the fitted terms -------------------------------------------------------------------------

    @property
    def intercept_(self) -> Any:
        return self._fitted().terms.intercept

    @property
    def term_features_(self) -> list[tuple[int, ...]]:
        return self._fitted().terms.features

    @property
    def term_names_(self) -> list[str]:
        """The name of each term: its feature's, or both names of a pair."""
        return self._fitted().terms.names(Features.known_to(self))

    @property
    def term_importances_(self) -> np.ndarray:
        """The mean absolute contribution of each term over the training rows: (n_terms,)."""
        return self._fitted().terms.importances()

    @property
    def shape_functions_(self) -> list[tuple[Any, np.ndarray]]:
        return self._fitted().terms.functions

    @shape_functions_.setter
    def shape_functions_(self, functions: list[tuple[Any, np.ndarray]]) -> None:
        model = self._fitted()
        self.model_ = replace(model, terms=replace(model.terms, functions=functions))

    @property
    def shape_standard_errors_(self) -> list[np.ndarray]:
        errors = self._fitted().terms.errors
        if errors is None:
            self._has_no("shape_standard_errors_", "at least two folds")
        return errors

    @property
    def bin_edges_(self) -> list[np.ndarray]:
        bins = self._fitted().terms.bins
        return [e if c is None else np.empty(0) for e, c in zip(bins.edges, bins.categories)]

    @property
    def bin_weights_(self) -> list[np.ndarray]:
        return self._fitted().terms.weights

    @property
    def categories_(self) -> list[np.ndarray | None]:
        return self._fitted().terms.bins.categories

    @property
    def missing_bins_(self) -> np.ndarray:
        return self._fitted().terms.bins.missing.copy()

    @property
    def feature_importances_(self) -> np.ndarray:
        found = self._fitted().importances
        if found is None:
            self._has_no("feature_importances_", "a fit, after which nothing was changed")
        return found

    @property
    def edits_(self) -> list:
        return self._fitted().edits

    @property
    def n_estimators_(self) -> int:
        found = self._fitted().n_estimators
        if found is None:
            self._has_no("n_estimators_", "the rounds of one fit")
        return found

    @property
    def n_smoothing_rounds_(self) -> int:
        found = self._fitted().n_smoothing_rounds
        if found is None:
            self._has_no("n_smoothing_rounds_", "the rounds of one fit")
        return found

    @property
    def n_refreshes_(self) -> int:
        found = self._fitted().n_refreshes
        if found is None:
            self._has_no("n_refreshes_", "a loss that is not squared")
        return found

    @property
    def n_passes_(self) -> int:
        found = self._fitted().n_passes
        if found is None:
            self._has_no("n_passes_", "Dask collections")
        return found

    @property
    def category_sets_(self) -> list[list[np.ndarray]]:
        return self._rounds().sets

    @property
    def stump_features_(self) -> np.ndarray:
        return self._rounds().stumps("features")

    @property
    def stump_cuts_(self) -> np.ndarray:
        return self._rounds().stumps("cuts")

    @property
    def stump_left_(self) -> np.ndarray:
        return self._rounds().stumps("left")

    @property
    def stump_right_(self) -> np.ndarray:
        return self._rounds().stumps("right")

    @property
    def train_scores_(self) -> np.ndarray:
        return self._rounds().train_path

    @property
    def cv_results_(self) -> dict[str, np.ndarray]:
        path = self._rounds().held_path
        if path is None:
            self._has_no("cv_results_", "folds")
        return results_of_folds("n_estimators", path)

    @property
    def smoothing_results_(self) -> dict[str, np.ndarray]:
        path = self._rounds().smoothing_path
        if path is None:
            self._has_no("smoothing_results_", "folds and smoothing rounds")
        return results_of_folds("smoothing_rounds", path)

    def _fitted(self) -> AdditiveModel:
        try:
            return self.model_
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted; call fit first."
            ) from None

    def _rounds(self) -> Rounds:
        rounds = self._fitted().rounds
        if rounds is None:
            self._has_no("record of rounds", "a fit of its own")
        return rounds

    def _has_no(self, name: str, needs: str) -> NoReturn:
        raise AttributeError(f"This {type(self).__name__} has no {name}, which requires {needs}.")

    @by_chunks
    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the terms of each row; the scores are their sum plus `intercept_`.

        %(of_rows)s

        Returns
        -------
        terms : ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_classes)
            The terms, one column for each feature, then one for each pair. With more than two
            classes, the last axis is the classes. The cost is O(n p).
        """
        return self._fitted().terms.each(self._checked_X(X))

    def explain(self, X: ArrayLike) -> Any:
        """Exact Shapley values of the features, as a `shap.Explanation` for the plots of shap.

        The background is the distribution of the training rows: a feature that is not in a
        coalition is drawn from it, independently of those that are (the interventional values). A
        term of one feature gives its value, minus its mean over the training rows, to the feature;
        a term of a pair is divided between its two features. For classifiers the values are
        log-odds of the second class, or scores of all classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to explain, at a cost of O(p + number of pairs) for each.

        Returns
        -------
        explanation : shap.Explanation
            With `values` of shape (n_samples, n_features), for three or more classes (n_samples,
            n_features, n_classes), and `base_values`, the mean over the training rows. Their sum
            over the features and the base value is the prediction, the log-odds or the scores.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        return explain_terms(self, X)

    # --- predictions ------------------------------------------------------------------------------

    def _numbers(self, X: Any, columns: CategoricalColumns | None, reset: bool = False) -> Any:
        """Check the features of X and return floats, for categories their numbers.

        Of a sparse X a CSC matrix, which what follows reads column by column.
        """
        if columns is None or not columns.any:
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csc",
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
            )
        if not is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return check_array(columns.encode(X), ensure_all_finite="allow-nan", copy=False)

    def _checked_X(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._numbers(X, self.model_.terms.columns)

    def _offset(self, offset: Any, X: np.ndarray) -> np.ndarray | None:
        found = offset_to_predict(self, offset, X, self.model_.has_offset)
        if found is not None:
            self._check_one_score(self.model_.terms.n_scores)
        return found

    def _check_one_score(self, n_scores: int) -> None:
        if n_scores > 1:
            raise ValueError(f"offset requires two classes; here are {n_scores}.")

    def _scores(self, X: Any, offset: Any = None) -> np.ndarray:
        """Add the intercept, all terms and the offset: (n,) or (n, n_classes)."""
        offset = known_offset(self, X, offset)
        X = self._checked_X(X)
        offset = self._offset(offset, X)
        u = self.model_.terms.scores(X)
        return u if offset is None else u + offset

    def _scores_after(
        self, X: Any, numbers: Sequence[int] | None, offset: Any = None
    ) -> Iterator[np.ndarray]:
        """Yield the scores after given numbers of rounds, or after each of them."""
        check_is_fitted(self)
        model = self.model_
        refuse_edited(model, "Predictions after some rounds are those of")
        if model.rounds is None:
            raise ValueError(
                "Predictions after some rounds require the rounds of the fit, which a model that "
                "was read from JSON does not have."
            )
        numbers = range(1, self.n_estimators_ + 1) if numbers is None else numbers
        X = self._checked_X(X)
        yield from model.rounds.scores(model.terms, X, numbers, self._offset(offset, X))

    def _fold_scores(
        self, X: Any, offset: Any, what: str
    ) -> tuple[np.ndarray, FoldModels, LeftOutRows]:
        """The scores by the models of the folds, in their units, and what is known of these."""
        check_is_fitted(self)
        model = self.model_
        refuse_edited(model, f"{what} require the folds of")
        folds = model.folds
        if folds is None:
            raise ValueError(
                f"{what} require the models of the folds: set held_out='cv' and fit again, to at "
                "least two rows. A model that was read from JSON has none."
            )
        if folds.rows is None:
            raise ValueError(
                f"{what} require predictions for the rows of the folds, which are computed by fit "
                "of rows in memory only, not of Dask collections or by partial_fit."
            )
        X = self._checked_X(X)
        return folds.scores(model.terms, X, self._offset(offset, X)), folds, folds.rows

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """The rows by the models of their folds, whose tables a fit can keep."""
        if not are_folds(splits, len(y)):
            return None
        given = {name: getattr(self, name) for name in ("n_estimators", "cv", "held_out")}
        rounds = self._cv_rounds()
        if rounds is not None:
            self.n_estimators = clone(rounds).set_params(cv=CVRounds().cv)
        self.set_params(cv=splits, held_out="cv")
        try:
            self.fit(X, y, **params)
            scores, folds, _ = self._fold_scores(X, params.get("offset"), "This method")
        finally:
            self.set_params(**given)
        if self.held_out is None:
            self.model_ = replace(self.model_, folds=None)
        # Rows that no split tests on stay NaN.
        tested = np.concatenate([test for _, test in splits])
        fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        values = self._of_scores(scores[tested, fold], folds)
        found = np.full((len(y), *values.shape[1:]), np.nan)
        found[tested] = values
        return found

    # --- edits of the fitted model ----------------------------------------------------------------

    def set_term(self, name: str | int | tuple, values: ArrayLike) -> Self:
        """Return a model in which one term has given values.

        Parameters
        ----------
        name : str, int or tuple of features
            The term: its name in `term_names_`, its number, or its features, ``("age", "bmi")`` or
            ``(0, 2)`` for a pair.
        values : array-like or callable
            A value for each one of the term in `shape_functions_`, of the same shape, or a function
            of the values that returns new ones.

        Returns
        -------
        model : estimator
            A new model, whose predictions (log-odds, scores) are the sum of `intercept_`, all other
            terms and `values`. The weighted mean of the values is moved to the intercept; of
            several classes, what all have in common is left out. A pair is not purified: what
            depends on one of its features only stays in its table.

        Raises
        ------
        ValueError
            If there is no such term, or `values` have another shape or are not finite.

        Notes
        -----
        This model stays as it is. The new one has a record of the edit in `edits_`. Its staged
        predictions, its intervals or sets, and `partial_fit` raise a ValueError, because they
        belong to the fit. `feature_importances_` is left out. Values that stay keep their standard
        errors. Those of new values are NaN; of `monotonize` and `smooth_term` they are computed if
        the models of the folds are kept (``held_out="cv"``), of `refit` if it has folds. The paths
        and the stumps remain as fitted. O(number of values of all terms).

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X = np.arange(8.0)[:, None]
        >>> y = np.array([0, 1, 2, 9, 4, 5, 6, 7])
        >>> model = L2BoostingRegressor(1000, learning_rate=0.5).fit(X, y)
        >>> values = model.shape_functions_[0][1].copy()
        >>> values[3] = (values[2] + values[4]) / 2
        >>> model.set_term("x0", values).edits_
        [set_term('x0'): 1 of 8 values changed by at most 6]
        >>> model.set_term("x0", lambda values: values.clip(max=2.5)).edits_
        [set_term('x0'): 2 of 8 values changed by at most 2.25]
        """
        return edited(self, set_term, name, values)

    def monotonize(self, name: str | int | tuple, increasing: bool = True) -> Self:
        """Return a model in which the curve of a feature is monotonic.

        Its values become the monotonic ones next to them by least squares with the weights of the
        bins (isotonic regression). The value of missing ones stays as it is. A fit with
        `monotonic_cst` is better where it is possible: the other terms take part then.

        Parameters
        ----------
        name : str, int or tuple of one feature
            The feature.
        increasing : bool, default=True
            Whether the function increases, or decreases.

        %(edited)s

        Raises
        ------
        ValueError
            If the term is a pair, the feature is categorical, or there are more than two classes.

        Warns
        -----
        UserWarning
            If the feature is in a pair, in which predictions may still fall.

        Notes
        -----
        O(B) for B bins.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = L2BoostingRegressor().fit(X, y).monotonize("bmi")
        >>> values = model.shape_functions_[2][1]
        >>> bool((values[1:] >= values[:-1]).all())
        True
        """
        return edited(self, monotonize, name, increasing)

    def remove_terms(self, terms: Sequence) -> Self:
        """Return a model without the given terms.

        The other terms stay as they are: they do not take over what these terms have explained, as
        they would in a fit with `exclude`. The function of a feature becomes 0; a pair is removed
        from the list of terms.

        Parameters
        ----------
        terms : sequence of str, int or tuple of features
            The terms, each as in `set_term`.

        %(edited)s

        Raises
        ------
        ValueError
            If there is no such term.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = L2BoostingRegressor().fit(X, y).remove_terms(["sex"])
        >>> float(model.term_importances_[model.term_names_.index("sex")])
        0.0
        """
        return edited(self, remove_terms, terms)

    def refit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        terms: Sequence,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Return a model in which the given terms are fitted again, to these rows.

        All other terms stay as they are: they are the offset of the fit. It has the parameters and
        the bins of this model. The intercept is fitted again too.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in memory with the same columns, either the rows of the first fit or new rows.
        y : array-like of shape (n_samples,)
            Targets, or labels of the same two classes.
        terms : sequence of str, int or tuple of features
            The terms, each as in `set_term`. A pair is fitted with the functions of its two
            features, which have to be named too.
        %(weights_or_equal)s
        groups : array-like of shape (n_samples,), default=None
            As in `fit`.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`: a known part of the scores, in addition to the other terms.

        Returns
        -------
        model : estimator
            A new model, as by `set_term`. The mean 0 of its terms is still that over the rows of
            the first fit, `bin_weights_`. Bins of missing values without rows, and categories
            without rows, have the value 0 before the mean is moved.

        Raises
        ------
        ValueError
            If the model does not have a given term, or has a pair without the functions of its
            features. If there are more than two classes, or the rows do not fit the model.

        Notes
        -----
        The cost is as for a fit to these rows and features.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = L2BoostingRegressor("cv").fit(X[:300], y[:300])
        >>> newer = model.refit(X[300:], y[300:], ["bmi", "bp"])
        >>> [edit.term for edit in newer.edits_]
        ['bmi', 'bp']
        """
        check_is_fitted(self)
        model, features = self.model_, Features.known_to(self)
        chosen = refitted_terms(model.terms, features, terms)
        if any_collection(X, y, sample_weight, groups, offset):
            raise TypeError("refit needs all rows in memory and was given a Dask collection.")
        # What the other terms say of the rows is known: an offset.
        X, own = self._checked_X(X), model.terms
        X = X.toarray() if issparse(X) else X
        known = checked_offset(offset, X)
        others = [np.zeros_like(v) if t in chosen else v for t, v in enumerate(own.tables)]
        offset = own.sums(X, 0.0, others)
        if known is not None:
            offset = offset + known
        # A fit in the bins of the model. Categories are numbers here, which are numbered again.
        other = clone(self)
        is_categorical = [c is not None for c in own.bins.categories]
        rows = other._checked_rows(
            X, y, sample_weight, groups=groups, offset=offset, categorical=is_categorical
        )
        labels = getattr(self, "classes_", rows.classes)
        if not np.array_equal(rows.classes, labels):
            raise ValueError(
                f"y has the classes {rows.classes.tolist()}, but the model was fitted to "
                f"{labels.tolist()}."
            )
        mains = [own.features[t][0] for t in chosen if len(own.features[t]) == 1]
        left_out = [j for j in range(features.n) if j not in mains]
        plan = replace(
            self._plan(features.n, None),
            edges=self.bin_edges_,
            pairs=[
                (term[0], term[1]) for term in map(own.features.__getitem__, chosen) if term[1:]
            ],
            pairs_by_folds=False,
            allowed=allowed_terms(left_out, Features(features.n)),
        )
        plan = self._by_splits(plan, rows)
        with blas_threads_by_work():
            fitted = other._solved(plan, rows)
        new = with_refitted(model, features, chosen, fitted.terms, X.shape[0])
        return copy_with(self, replace(new, has_offset=model.has_offset or known is not None))


ModelT = TypeVar("ModelT", bound=BaseAdditive)


def edited(model: ModelT, edit: Callable[..., AdditiveModel], name: Any, *args: Any) -> ModelT:
    """A copy whose record is edited."""
    check_is_fitted(model)
    return copy_with(model, edit(model.model_, Features.known_to(model), name, *args))


def copy_with(model: ModelT, record: AdditiveModel) -> ModelT:
    """A copy with another record, which `partial_fit` does not go on from."""
    new = copy.copy(model)
    new.model_ = record
    for name in ("sums_", "_kept"):
        new.__dict__.pop(name, None)
    return new


@documented(TEXTS)
def smooth_term(model: ModelT, name: str | int | tuple, df: float = 10.0) -> ModelT:
    """Smooth the curve of one feature in a fitted additive model.

    A cubic spline (`SmoothingSplineRegressor`) smooths the values of the bins, with the weights of
    the bins, over the ranks of the feature. The rank of a bin is the share of the training rows
    below its middle. The value of missing ones stays as it is.

    Parameters
    ----------
    model : AdditiveBoostingRegressor, L2BoostingRegressor or LogitBoostClassifier
        A fitted model, which stays as it is.
    name : str, int or tuple of one feature
        The feature.
    df : float, default=10.0
        Degrees of freedom of the spline, the constant included: from 2 (a straight line in the
        ranks) to the number of bins (nothing changes).

    %(edited)s

    Raises
    ------
    TypeError
        If `model` is another estimator.
    ValueError
        If the term is a pair, the feature is categorical, or `df` is less than 2 or not finite.

    Notes
    -----
    O(B^3) for B bins, or 200 if there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.boosting import smooth_term
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(smoothing_rounds=0).fit(X, y)
    >>> smooth = smooth_term(model, "bmi", df=4)
    >>> values, smoother = (m.shape_functions_[2][1] for m in (model, smooth))
    >>> bool(abs(np.diff(smoother, 2)).max() < abs(np.diff(values, 2)).max() / 10)
    True
    """
    if not isinstance(model, BaseAdditive):
        raise TypeError(
            "smooth_term needs an AdditiveBoostingRegressor, L2BoostingRegressor or "
            f"LogitBoostClassifier; got {type(model).__name__}."
        )
    return edited(model, with_smoother_term, name, df)
