"""What the additive boosters share: checks, the phases of a fit, the fitted terms, predictions."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..._bins import check_bin_edges
from ..._blocks import any_collection, checked_offset
from ..._categories import CategoricalColumns, categories_of_blocks
from ..._compat import Interval, RealNotInt, StrOptions
from ..._features import Features
from ..._folds import checked_n_splits, fold_numbers
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
from ...ensembles._intervals import checked_coverage, interval_by_folds, one_of
from ...ensembles._training_rows import unequal_weights
from .additive_plan import Plan, allowed_terms, resolve_interactions
from .bins import BinnedBlocks, TrainingRows, bins_of_blocks
from .edits import (
    monotonize_term,
    refitted_terms,
    refuse_edited,
    remove_term,
    set_term,
    smooth_term,
    with_refitted,
)
from .fitted_terms import AdditiveModel, FoldModels, LeftOutRows, Rounds
from .json_document import json_of, model_of_json
from .onnx_graph import onnx_of
from .scorecard import text_of
from .sql import sql_of
from .terms import explain_terms


class BaseAdditive(BaseEstimator):
    """An additive model of boosted stumps: all but the fit, and the predictions of a target."""

    _parameter_constraints: ClassVar = {
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "learning_rate": [Interval(Real, 1e-300, 1, closed="both")],
        "smoothing_rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "max_bins": [Interval(Integral, 2, 2**16 - 2, closed="both"), StrOptions({"auto"})],
        "bin_edges": ["array-like", None],
        "interactions": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="left"),
            StrOptions({"auto", "cv"}),
            "array-like",
        ],
        "exclude": ["array-like", None],
        "include": ["array-like", None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    n_estimators: int | Literal["cv"]
    learning_rate: float
    smoothing_rounds: int | Literal["auto"]
    max_bins: int | Literal["auto"]
    bin_edges: Any
    interactions: Any
    exclude: Any
    include: Any
    categorical_features: Any
    monotonic_cst: Any
    cv: Any
    max_estimators: int
    max_memory: float
    verbose: bool | int

    n_features_in_: int
    model_: AdditiveModel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
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

        Categories and `classes` are new, or those of an earlier chunk. `categorical` is in the
        place of the parameter.
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
        # `cv` splits all rows that were given, those of weight 0 too, as scikit-learn does.
        folds, n_splits = None, 0
        if self.n_estimators == "cv":
            kept = slice(None) if isinstance(rows.numbers, range) else rows.numbers
            given = self.cv, X, y, kept, classifies, groups
            folds, n_splits = fold_numbers(*given, at_most=True)
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
        )

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
        if self.n_estimators != "cv" or not (self.cv is None or isinstance(self.cv, Integral)):
            return rows
        folds, n_splits = rows.folds, checked_n_splits(self.cv)
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
        allowed = allowed_terms(self.exclude, self.include, features)
        wanted, by_folds = self.interactions, False
        if isinstance(wanted, str) and wanted == "cv":  # without folds there are none
            wanted, by_folds = "auto" if self.n_estimators == "cv" else 0, True
        signs = features.signs(self.monotonic_cst, n_classes)
        categories = [None] * p if columns is None else columns.categories
        for j in [] if signs is None else np.flatnonzero(signs).tolist():
            if categories[j] is not None:
                raise ValueError(
                    f"monotonic_cst constrains feature {features.label(j)}, which is categorical."
                )
        edges = self.bin_edges
        n_rounds = self.n_estimators
        return Plan(
            self.max_estimators if n_rounds == "cv" else n_rounds,
            n_rounds == "cv",
            self.learning_rate,
            self.smoothing_rounds,
            self.max_bins,
            None if edges is None else check_bin_edges(edges, p, features.names),
            resolve_interactions(wanted, p, features.names, allowed),
            by_folds,
            allowed,
            signs,
            self.max_memory,
        )

    def _blocks(
        self, rows: ChunkedRows, target_of: Callable[..., Any]
    ) -> tuple[Plan, BinnedBlocks]:
        """The plan, and the bins of rows in blocks: a pass, and another one for categories."""
        p = rows.n_features
        self._plan(p, None)  # refused before rows are read
        n_splits = checked_n_splits(self.cv) if self.n_estimators == "cv" else 0
        columns = categories_of_blocks(rows.given, rows.meta, self.categorical_features)
        plan = self._plan(p, columns)
        return plan, bins_of_blocks(plan, rows, columns, n_splits, target_of)

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
            self._has_no("shape_standard_errors_", 'at least two folds of n_estimators="cv"')
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
    def train_path_(self) -> np.ndarray:
        return self._rounds().train_path

    @property
    def cv_path_(self) -> np.ndarray:
        path = self._rounds().held_path
        if path is None:
            self._has_no("cv_path_", 'n_estimators="cv"')
        return path

    @property
    def smoothing_path_(self) -> np.ndarray:
        path = self._rounds().smoothing_path
        if path is None:
            self._has_no("smoothing_path_", 'n_estimators="cv" and smoothing rounds')
        return path

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

    def predict_terms(self, X: ArrayLike) -> np.ndarray:
        """Return the terms of each row; the scores are their sum plus `intercept_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        terms : ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_classes)
            The terms, one column for each feature, then one for each pair. The last axis is that
            of the classes, where there are more than two. The cost is O(n p).
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
        X : array-like of shape (n_samples, n_features)
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

    def _numbers(
        self, X: Any, columns: CategoricalColumns | None, reset: bool = False
    ) -> np.ndarray:
        """Check the features of X and return floats, for categories their numbers."""
        if columns is None or not columns.any:
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
            )
        if not is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return check_array(columns.encode(X), ensure_all_finite="allow-nan", copy=False)

    def _checked_X(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._numbers(X, self.model_.terms.columns)

    def _offset(self, offset: Any, X: np.ndarray) -> np.ndarray | None:
        """Check the offset of rows to predict."""
        found = checked_offset(offset, X)
        if found is not None:
            self._check_one_score(self.model_.terms.n_scores)
        return found

    def _check_one_score(self, n_scores: int) -> None:
        if n_scores > 1:
            raise ValueError(f"offset requires two classes; here are {n_scores}.")

    def _scores(self, X: Any, offset: Any = None) -> np.ndarray:
        """Add the intercept, all terms and the offset: (n,) or (n, n_classes)."""
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
                f"{what} require the models of the folds of n_estimators='cv'; this model was "
                "fitted with a number of rounds, or read from JSON, which does not keep them."
            )
        if folds.are_weighted:
            raise unequal_weights(what)
        if folds.rows is None:
            raise ValueError(
                f"{what} require predictions for the rows of the folds, which are computed by fit "
                "of rows in memory only, not of Dask collections or by partial_fit."
            )
        X = self._checked_X(X)
        return folds.scores(model.terms, X, self._offset(offset, X)), folds, folds.rows

    def _interval(
        self,
        X: Any,
        coverage: float,
        method: str,
        side: str,
        offset: Any,
        inverse_link: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Intervals of the CV+ by the models of the folds."""
        one_of("method", method, ("cv+",))
        one_of("side", side, ("both", "lower", "upper"))
        coverage = checked_coverage(coverage)
        u, folds, rows = self._fold_scores(X, offset, "Prediction intervals")
        at, off = inverse_link(u), rows.scores
        given = rows.fold, rows.groups, (at, at), None, coverage, side
        ends = interval_by_folds((-off, off), *given)
        with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
            return folds.scale * ends + folds.mean

    # --- edits of the fitted model ----------------------------------------------------------------

    def set_term(self, name: str | int | tuple, values: ArrayLike) -> Self:
        """Return a model whose term has other values.

        Parameters
        ----------
        name : str, int or tuple of features
            The term: its name in `term_names_`, its number, or its features, ``("age", "bmi")`` or
            ``(0, 2)`` for a pair.
        values : array-like
            A value for each one of the term in `shape_functions_`, of the same shape.

        Returns
        -------
        model : estimator
            A new model, whose predictions (log-odds, scores) are those of `intercept_`, of all
            other terms and of `values`. The weighted mean of the values is moved to the intercept;
            of several classes, what all have in common is left out. A pair is not purified: what
            depends on one of its features only stays in its table.

        Raises
        ------
        ValueError
            If there is no such term, or `values` have another shape or are not finite.

        Notes
        -----
        This model stays as it is. The new one has a record of the edit in `edits_`. Its staged
        predictions, its intervals or sets, and `partial_fit` raise a ValueError, since they are
        those of the fit; standard errors of the term are NaN, and `feature_importances_` is left
        out. The paths and the stumps remain those of the fit. O(number of values of all terms).

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
        """
        return self._edited(set_term, name, values)

    def smooth_term(self, name: str | int | tuple, df: float = 10.0) -> Self:
        """Return a model in which the function of a feature is smoother.

        The values of the bins are smoothed by a cubic spline (`SmoothingSplineRegressor`) with the
        weights of the bins, over the ranks of the feature: the place of a bin is the share of the
        training rows below its middle. The value of missing ones stays as it is.

        Parameters
        ----------
        name : str, int or tuple of one feature
            The feature.
        df : float, default=10.0
            Degrees of freedom of the spline, the constant included: from 2 (a straight line in the
            ranks) to the number of bins (nothing changes).

        Returns
        -------
        model : estimator
            A new model, as by `set_term`.

        Raises
        ------
        ValueError
            If the term is a pair, the feature is categorical, or `df` is less than 2.

        Notes
        -----
        O(B^3) for B bins, or 200 if there are more.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = L2BoostingRegressor(n_estimators=300).fit(X, y)
        >>> smooth = model.smooth_term("bmi", df=4)
        >>> values, smoother = (m.shape_functions_[2][1] for m in (model, smooth))
        >>> bool(abs(np.diff(smoother, 2)).max() < abs(np.diff(values, 2)).max() / 10)
        True
        """
        return self._edited(smooth_term, name, df)

    def monotonize_term(self, name: str | int | tuple, increasing: bool = True) -> Self:
        """Return a model in which the function of a feature is monotonic.

        Its values become the monotonic ones next to them by least squares with the weights of the
        bins (isotonic regression). The value of missing ones stays as it is. A fit with
        `monotonic_cst` is better where it is possible: the other terms take part then.

        Parameters
        ----------
        name : str, int or tuple of one feature
            The feature.
        increasing : bool, default=True
            Whether the function increases, or decreases.

        Returns
        -------
        model : estimator
            A new model, as by `set_term`.

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
        >>> model = L2BoostingRegressor(n_estimators=300).fit(X, y).monotonize_term("bmi")
        >>> values = model.shape_functions_[2][1]
        >>> bool((values[1:] >= values[:-1]).all())
        True
        """
        return self._edited(monotonize_term, name, increasing)

    def remove_term(self, name: str | int | tuple) -> Self:
        """Return a model without a term.

        The other terms stay as they are: they do not take over what the term has explained, as they
        would in a fit with ``exclude=[name]``. The function of a feature becomes 0; a pair is
        removed from the list of terms.

        Parameters
        ----------
        name : str, int or tuple of features
            The term, as in `set_term`.

        Returns
        -------
        model : estimator
            A new model, as by `set_term`.

        Raises
        ------
        ValueError
            If there is no such term.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = L2BoostingRegressor(n_estimators=300).fit(X, y).remove_term("sex")
        >>> float(model.term_importances_[model.term_names_.index("sex")])
        0.0
        """
        return self._edited(remove_term, name)

    def refit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        terms: Sequence,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Return a model in which some terms are fitted again, to these rows.

        All other terms stay as they are: they are the offset of the fit. It has the parameters and
        the bins of this model. The intercept is fitted again too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in memory, those of the first fit or new ones, with the same columns.
        y : array-like of shape (n_samples,)
            Targets, or labels of the same two classes.
        terms : sequence of str, int or tuple of features
            The terms, each as in `set_term`. A pair is fitted with the functions of both of its
            features, which have to be named too.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        groups : array-like of shape (n_samples,), default=None
            As in `fit`.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`: what is known of the scores beside the other terms.

        Returns
        -------
        model : estimator
            A new model, as by `set_term`. The mean 0 of its terms is still that over the rows of
            the first fit, `bin_weights_`. Bins of missing values without rows, and categories
            without rows, have the value 0 before the mean is moved.

        Raises
        ------
        ValueError
            If a term is none of this model, a pair has no functions of its features beside it,
            there are more than two classes, or the rows do not fit the model.

        Notes
        -----
        The cost is that of a fit to these rows and features.

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
            allowed=allowed_terms(left_out, None, Features(features.n)),
        )
        with blas_threads_by_work():
            fitted = other._solved(plan, rows)
        new = with_refitted(model, features, chosen, fitted.terms, len(X))
        return self._with(new)

    def _edited(self, edit: Callable[..., AdditiveModel], name: Any, *args: Any) -> Self:
        check_is_fitted(self)
        return self._with(edit(self.model_, Features.known_to(self), name, *args))

    def _with(self, model: AdditiveModel) -> Self:
        """A copy with another model, which `partial_fit` does not go on from."""
        new = copy.copy(self)
        new.model_ = model
        for name in ("sums_", "_kept"):
            new.__dict__.pop(name, None)
        return new

    # --- other forms of the fitted model ----------------------------------------------------------

    def to_onnx(
        self,
        *,
        dtype: Literal["float32", "float64"] = "float32",
        inputs: Literal["auto", "matrix", "columns"] = "auto",
        with_terms: bool = False,
        target_opset: int | None = None,
    ) -> Any:
        """Convert the model to ONNX, whose runtimes need no Python.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            The type of numbers in the inputs and outputs. A number of single precision falls in the
            same bin as by `predict`; sums are made in double precision for both types.
        inputs : {"auto", "matrix", "columns"}, default="auto"
            "matrix" is a single input `X` of shape (n, p). "columns" has an input of shape (n, 1)
            for each feature, with its name, or x0, x1, ...: categories that are text are strings,
            all others numbers. "auto" means columns where a feature has categories that are text.
        with_terms : bool, default=False
            Whether to add the output `terms`: (n, n_terms), for three or more classes
            (n, n_terms, n_classes), as by `predict_terms`.
        target_opset : int, default=None
            The version of the operators, at least 13; None means 17. Those for machine learning
            have the version 3.

        Returns
        -------
        model : onnx.ModelProto
            With the output `variable` of shape (n, 1), the predictions, for a regressor; for a
            classifier `label` (n,), `probabilities` (n, n_classes) in the order of `classes_`, and
            `scores` (n, 1), or (n, n_classes) for three or more classes, as by `decision_function`.
            ``model.SerializeToString()`` are the bytes of the file.

        Raises
        ------
        ImportError
            If onnx is not installed.
        TypeError
            If categories or classes are neither text nor numbers nor bools.
        ValueError
            If an option is none of these, a category is no number of `dtype`, the terms have more
            than 2^24 values, or a feature has the name of an output in "columns".

        Notes
        -----
        NaN is missing; so is any text that is no category, such as "". Rows cost O(log B) for each
        term of B bins. The file has some 30 bytes for each edge of a term and 8 for each value.

        Examples
        --------
        With the ONNX runtime, for a classifier of numbers::

            session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
            label, probabilities, scores = session.run(None, {"X": X.astype("float32")})
        """
        return onnx_of(self, dtype, inputs, with_terms, target_opset)

    def to_sql(
        self,
        table: str | Sequence[str],
        *,
        dialect: Literal["ansi", "duckdb", "postgres", "sqlite"] = "ansi",
        keep: str | Sequence[str] = (),
        with_terms: bool = False,
    ) -> str:
        """Write a query that predicts the rows of a table, so that a database needs no Python.

        Each term is a CASE over the thresholds or the categories of its features, whose columns
        have the names that they had in `fit`, or x0, x1, ... NULL is missing, and so is NaN in
        DuckDB and PostgreSQL. A category that `fit` has not seen is treated as by `predict`.

        Parameters
        ----------
        table : str or sequence of str
            The table, or a schema and a table; quotes are added.
        dialect : {"ansi", "duckdb", "postgres", "sqlite"}, default="ansi"
            What is written in different ways: numbers of double precision, the test for missing
            values, the largest of several values, and what keeps queries from being computed more
            than once. "ansi" is the standard of 2023, and knows no NaN.
        keep : str or sequence of str, default=()
            Columns of the table that the result has too, before the predictions. A result has no
            order: rows are recognised by their keys.
        with_terms : bool, default=False
            Whether to add the columns ``term_<name>``, those of `predict_terms`; for three or more
            classes ``term_<name>_<class>``.

        Returns
        -------
        query : str
            A SELECT with the column `prediction`; of classifiers `label`, ``probability_<class>``
            for each class and `score`, for three or more classes ``score_<class>``. Columns of
            which a database would not tell the names apart get a number.

        Raises
        ------
        TypeError
            If categories or classes are neither text nor numbers nor bools.
        ValueError
            If `dialect` is none of these, features are the same column in it (SQLite and DuckDB do
            not tell A and a apart), or a column in `keep` has the name of one of the result.

        Notes
        -----
        A row costs O(log B) comparisons for each term of B bins, and O(number of categories) for a
        categorical one; the length of the query grows with the number of values of all terms,
        some 60 characters for each, and 25 for each value of a pair in DuckDB and PostgreSQL, which
        have lists. Predictions agree with `predict` to the rounding of the sums.
        SQLite needs exp for probabilities, which is in most builds; from Python,
        ``connection.create_function("exp", 1, math.exp)`` adds it. Text is compared as the database
        compares it: a column that ignores case finds other categories than `predict`.

        Examples
        --------
        >>> import sqlite3
        >>> import numpy as np
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X = np.arange(8.0)[:, None]
        >>> model = L2BoostingRegressor(max_bins=2).fit(X, 10.0 * (X[:, 0] > 3))
        >>> print(model.to_sql("items", dialect="sqlite", keep="id"))
        WITH q0 AS (
          SELECT
            t."id" AS k0,
            (5e0 + CASE WHEN t."x0" <= 3.5e0 THEN ... ELSE 0e0 END) AS s0
          FROM "items" AS t
        )
        SELECT
          k0 AS "id",
          s0 AS "prediction"
        FROM q0
        >>> database = sqlite3.connect(":memory:")
        >>> _ = database.execute("CREATE TABLE items (id TEXT, x0 REAL)")
        >>> _ = database.execute("INSERT INTO items VALUES ('a', 1.0), ('b', NULL)")
        >>> rows = database.execute(model.to_sql("items", dialect="sqlite", keep="id"))
        >>> [(key, round(abs(y), 1)) for key, y in sorted(rows)]
        [('a', 0.0), ('b', 5.0)]
        """
        return sql_of(self, table, dialect, keep, with_terms)

    def to_json(self, *, indent: int | None = None) -> str:
        """Write the model as a JSON document, which `from_json` reads.

        The document has parameters, bins, categories, classes, terms with their weights and
        standard errors, importances of features, and a text for each edit. It has no code. Its
        schema is published with the documentation.

        Parameters
        ----------
        indent : int, default=None
            So many spaces for each level; None writes one line.

        Returns
        -------
        text : str
            The document, of version 1.

        Raises
        ------
        TypeError
            If categories or classes are neither text nor numbers nor bools.
        ValueError
            If a term has a value that is not finite.

        Notes
        -----
        The model that is read predicts the same, bit for bit, and has `predict_terms`, `explain`,
        the displays and `export.frame`. These are not kept: the rounds (staged predictions,
        `predict_path`, ``stump_...``), the paths, the models of the folds (`predict_interval`,
        `predict_set`), what `partial_fit` goes on from, and parameters that are objects, such as a
        splitter as `cv`, which get their default. A `loss` that is an object becomes the name of
        one with the same link.

        Examples
        --------
        >>> import json
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = L2BoostingRegressor(n_estimators=200).fit(X, y)
        >>> text = model.to_json()
        >>> json.loads(text)["link"]
        'identity'
        >>> same = L2BoostingRegressor.from_json(text)
        >>> bool((same.predict(X) == model.predict(X)).all())
        True
        """
        return json_of(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a model that `to_json` has written.

        Parameters
        ----------
        text : str or bytes
            The document.

        Returns
        -------
        model : estimator
            A fitted model; see `to_json` for what it has.

        Raises
        ------
        TypeError
            If `text` is something else.
        ValueError
            If it is no JSON, has another version, is of another estimator, or is broken: fields
            that are missing or unknown, tables of other shapes, edges that do not increase, numbers
            that are not finite, and so on.

        Notes
        -----
        Nothing in the document is executed, so that it may come from anyone; what it predicts is
        theirs.
        """
        return model_of_json(cls, text)

    def _complete(self) -> None:
        """Set what `predict` needs beside the terms, of a model that is being read from JSON."""

    def to_text(self, *, max_rows: int = 8, max_terms: int | None = None) -> str:
        """Write a card to read: the intercept, and the terms by their importance with a few values.

        Neighbouring bins are merged where they differ least, and categories of little weight come
        together: the card shows the model, it is not all of it. `export.frame` has all values,
        `to_sql` and `to_onnx` predict.

        Parameters
        ----------
        max_rows : int, default=8
            At most so many rows for each term, beside that of missing values; pairs have tables of
            four rows and columns.
        max_terms : int, default=None
            So many terms, those of the largest `term_importances_`; None means all that are not 0.

        Returns
        -------
        text : str
            Also the edits that were made after the fit.

        Raises
        ------
        ValueError
            If a number is less than 1.

        Notes
        -----
        O(B^2) for each term of B bins.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> model = L2BoostingRegressor(n_estimators=300).fit(X, y)
        >>> print(model.to_text(max_rows=3, max_terms=1))
        L2BoostingRegressor: score = intercept + one value of each term; prediction = score.
        <BLANKLINE>
          intercept  152.1
        <BLANKLINE>
        s5: 20.0 on average, in absolute value
                                  value    rows
          <= 4.63955              -19.2  52.0 %
          4.63955 < x <= 4.88655   10.6  15.2 %
          > 4.88655                25.5  32.8 %
        <BLANKLINE>
        4 terms of less importance are not shown.
        Always 0: age, sex, s1, s2, s4.
        Rows of several bins or categories have means over the training rows.
        """
        return text_of(self, max_rows, max_terms)
