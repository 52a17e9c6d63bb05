"""What the additive boosters share: checks, the phases of a fit, the fitted terms, predictions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y

from sklearn_ensemble_theory._typing import ArrayLike

from ..._bins import check_bin_edges, sum_of_tables
from ..._blocks import checked_offset
from ..._categories import CategoricalColumns
from ..._compat import Interval, RealNotInt, StrOptions
from ..._features import Features, feature_names
from ..._folds import checked_n_splits, fold_numbers
from ..._rows import (
    Rows,
    checked_groups,
    group_codes,
    is_frame,
    kept_rows,
    validate_data,
)
from ..._running import Progress
from .allowed_terms import AllowedTerms, allowed_terms
from .bins import (
    MAX_SMOOTHING_ROUNDS,
    SMOOTHING_PATIENCE,
    FeatureBins,
    TrainingRows,
)
from .edits import (
    Edit,
    monotonize_term,
    refit_terms,
    refuse_edited,
    remove_term,
    set_term,
    smooth_term,
)
from .fold_models import FoldModels, LeftOutRows
from .json_document import json_of, model_of_json
from .newton_loss import NewtonLoss
from .onnx_graph import onnx_of
from .pair_tables import Pair
from .pairs import (
    PairFit,
    PairTerms,
    monotonic_pairs,
    resolve_interactions,
)
from .phases import MIB, BinnedRows, PhaseResult, run_phase
from .rounds import SmoothingRounds, TableStumps
from .scorecard import text_of
from .sql import sql_of
from .squared_error import SquaredError
from .sums import CutLayout
from .terms import (
    StumpSegment,
    band_errors,
    centred,
    explain_terms,
    segments_of,
    shapes_of,
    staged_tables,
)

# In smoothing rounds scores may move so many times farther between two refreshes: their steps are
# those of Newton's method, whose limit does not depend on them.
SMOOTHING_MOVE = 1.5


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
    n_estimators_: int
    intercept_: Any
    shape_functions_: list[tuple[Any, np.ndarray]]
    term_features_: list[tuple[int, ...]]
    bin_weights_: list[np.ndarray]
    category_sets_: list[list[np.ndarray]]
    edits_: list[Edit]
    _bins: FeatureBins
    _pair_maps: list[np.ndarray]
    _columns: CategoricalColumns | None
    _segments: list[StumpSegment]
    _folds: FoldModels | None
    _weight_unit: float  # `bin_weights_` times this are the weights of the rows
    _link: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "shape_functions_")

    def _progress(self, n_rounds: int = 0) -> Progress:
        return Progress(type(self).__name__, n_rounds, self.verbose, unit="rounds")

    # --- the checks of a fit ----------------------------------------------------------------------

    def _checked_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        reset: bool,
        *,
        classifies: bool,
        classes: np.ndarray | None = None,
        groups: Any = None,
        offset: Any = None,
    ) -> TrainingRows:
        """Check the rows, keep those of positive weight as numbers, and find their folds.

        Categories and `classes` are new, or those of an earlier chunk.
        """
        # Columns with categories are encoded before scikit-learn's checks, which want numbers.
        columns = None if reset else self._columns
        given = self.categorical_features
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
        self._wanted_pairs(X.shape[1])  # refused before any work
        if self.bin_edges is not None:
            names = Features.known_to(self, X.shape[1]).names
            check_bin_edges(self.bin_edges, X.shape[1], names)
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
            allowed=self._allowed_terms(X.shape[1]).features,
            offset=None if offset is None else rows.of(offset),
        )

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

    def _monotonic(
        self, p: int, columns: CategoricalColumns | None, n_classes: int = 2
    ) -> np.ndarray | None:
        """Check the signs: -1, 0 or 1 for each feature, None without constraints."""
        features = Features.known_to(self, p)
        signs = features.signs(self.monotonic_cst, n_classes)
        if signs is None:
            return None
        categories = [None] * p if columns is None else columns.categories
        for j in np.flatnonzero(signs).tolist():
            if categories[j] is not None:
                raise ValueError(
                    f"monotonic_cst constrains feature {features.label(j)}, which is categorical."
                )
        return signs

    def _allowed_terms(self, p: int) -> AllowedTerms:
        """Check `exclude` and `include`."""
        return allowed_terms(self.exclude, self.include, Features.known_to(self, p))

    def _wanted_pairs(self, p: int) -> int | Literal["auto"] | list[Pair]:
        """Check `interactions`, and leave out what `exclude` and `include` do."""
        names, allowed = Features.known_to(self, p).names, self._allowed_terms(p)
        wanted = self.interactions
        if self._chooses_pairs:  # without folds there are none
            wanted = "auto" if self.n_estimators == "cv" else 0
        return resolve_interactions(wanted, p, names, allowed)

    def _keeps_bins_for_pairs(self, p: int) -> bool:
        """Whether pairs are fitted to rows in blocks, of which the folds do not choose any."""
        return not self._chooses_pairs and self._wanted_pairs(p) not in (0, [])

    @property
    def _chooses_pairs(self) -> bool:
        """Whether the folds decide if there are pairs."""
        return isinstance(self.interactions, str) and self.interactions == "cv"

    def _check_memory_of_blocks(
        self, n_cuts: int, n_groups: int, n_splits: int, n_scores: int = 1
    ) -> None:
        # so far, of this block by feature and in one piece, and as products of columns
        copies = 2 * n_groups + n_scores * (n_groups + (1 if n_splits == 0 else 1 + 2 * n_splits))
        needed = copies * n_cuts**2 * 8 / MIB
        if needed > self.max_memory:
            rounds = ", or a number of rounds, which needs no folds" if n_splits else ""
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {needed:.0f} MiB of the sums "
                f"over all pairs of the {n_cuts} cuts; use fewer bins{rounds}."
            )

    # --- the phases of a fit ----------------------------------------------------------------------

    def _fit_models(
        self,
        risk: SquaredError | NewtonLoss,
        pair_fit: PairFit | None,
        layout: CutLayout,
        jumps: np.ndarray | tuple,
        monotonic: np.ndarray | None,
        limit: float = np.inf,
    ) -> tuple[PhaseResult | None, PhaseResult, PairTerms | None]:
        """Run the phases of the main effects, and fit the pairs if there are any.

        With pairs, the main effects are fitted again to what these leave. `limit` is that of
        `run_phase`; `pair_fit` is not used without pairs.
        """
        # First the main effects alone: pairs are found and fitted by what these leave.
        p = len(layout.n_bins)
        wanted = self._wanted_pairs(p)
        smoothing, stumps = self._boost(risk, layout, jumps, monotonic, limit)
        by_folds = self._chooses_pairs
        if by_folds and (risk.rows is None or risk.n_splits == 0 or risk.n_scores > 1):
            wanted = 0
        if pair_fit is None or wanted in (0, []):
            return smoothing, stumps, None

        pairs = pair_fit.fit(stumps.models, wanted, self._allowed_terms(p), risk)
        if pairs is None:
            self._progress().message("no pairs of features")
            return smoothing, stumps, None
        if monotonic is not None:
            pairs = monotonic_pairs(pairs, stumps.models, monotonic, layout.missing)
        self._progress().message(f"{len(pairs.pairs)} pairs of features")
        # Main effects that were fitted without the pairs have taken over a part of them.
        again = self._boost(risk.given(pairs), layout, jumps, monotonic, limit)
        if by_folds:
            without, given = (each.held_path.mean(axis=1).min() for each in (stumps, again[1]))
            if given >= without:
                self._progress().message("the folds are predicted no better with pairs")
                return smoothing, stumps, None
        return *again, pairs

    def _boost(self, risk, layout, jumps, monotonic, limit):
        """Run the two phases: rounds that smooth, if there are any, then stumps."""
        n_splits, models = risk.n_splits, risk.start()
        limit = limit * risk.unit
        smoothing, n_smoothing = None, self.smoothing_rounds
        if n_smoothing == "auto":
            n_smoothing = MAX_SMOOTHING_ROUNDS if n_splits else 0
        if n_smoothing:
            smoothing = run_phase(
                risk,
                models,
                lambda state: SmoothingRounds(state, jumps, monotonic),
                n_smoothing,
                limit=SMOOTHING_MOVE * limit,
                longest=SMOOTHING_PATIENCE if self.smoothing_rounds == "auto" else np.inf,
                tolerance=0.5 * limit,
                patience=SMOOTHING_PATIENCE if self.smoothing_rounds == "auto" else None,
                choose=self.smoothing_rounds == "auto",
                by_rows=rows_are_faster(risk, layout),
            )
            models = smoothing.models
            self._progress().message(f"{smoothing.n_rounds} smoothing rounds")
        # Of a single row there are no folds, nor is there any round that changes its model.
        n_rounds = self.max_estimators if self.n_estimators == "cv" else self.n_estimators
        many = int(np.ceil(min(10 / self.learning_rate, n_rounds)))
        stumps = run_phase(
            risk,
            models,
            lambda state: TableStumps(state, self.learning_rate, monotonic),
            n_rounds,
            limit=limit,
            # late rounds move so little that a stage would not end
            longest=many,
            tolerance=0.5 * limit,
            # after smoothing rounds few stumps are left to be found
            patience=many if smoothing and n_splits else None,
            progress=self._progress(n_rounds),
        )
        if n_splits:
            self._progress().message(
                f"{stumps.n_rounds} rounds have the least mean error over the folds"
            )
        return smoothing, stumps

    def _set_terms(
        self,
        bins: FeatureBins,
        columns: CategoricalColumns | None,
        weights: list[np.ndarray],
        results: tuple[PhaseResult | None, PhaseResult, PairTerms | None],
        scale: Any = 1.0,
        mean: Any = 0.0,
        units: Any = lambda losses: losses,
    ) -> None:
        """Set what is learned, and nothing of an earlier fit.

        `weights` are those of the rows of each fold in each bin, `results` is from `_fit_models`;
        `scale` and `mean` are the units of the target, and `units` of losses makes those of the
        user.
        """
        of_folds, weights = weights, [own.sum(axis=0) for own in weights]
        smoothing, stumps, pairs = results
        layout = bins.layout()
        p, n_scores = len(layout.n_bins), len(stumps.models[0].tables)
        pure = [None if pairs is None else pairs.pure(k) for k in range(len(stumps.models))]

        self._bins, self._columns = bins, columns
        self.categories_, self.missing_bins_ = bins.categories, bins.missing.copy()
        each = list(zip(bins.edges, bins.categories))
        self.bin_edges_ = [e if c is None else np.empty(0) for e, c in each]
        self.bin_weights_ = list(weights)
        self.term_features_ = [(j,) for j in range(p)]
        self._pair_maps = []

        # The functions of all terms, and the intercept that gets their means. Those of pairs are
        # purified: what depends on one feature is in the functions of features.
        def terms_of(number: int, weights: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
            shapes, intercepts, shifts = shapes_of(
                stumps.models[number], pure[number], weights, bins.missing
            )
            intercepts = intercepts + shifts
            return shapes, intercepts - intercepts.mean() if n_scores > 1 else intercepts

        shapes, intercepts = terms_of(0, weights)
        intercepts = scale * intercepts + mean
        self.intercept_ = float(intercepts[0]) if n_scores == 1 else intercepts
        places: list[Any] = [e if c is None else c for e, c in each]
        if pairs is not None:
            self.term_features_ += pairs.pairs
            self.bin_weights_ += pairs.cell_weights
            # Missing values without a bin of their own have a code, whose entry is padded with 0.
            maps = pairs.bins.maps
            self._pair_maps = [
                m if has else np.append(m, n).astype(m.dtype)
                for m, n, has in zip(maps, pairs.bins.n_bins, bins.missing)
            ]
            # The edges of merged bins; the categories of a categorical feature.
            coarse = [
                e[np.flatnonzero(np.diff(m[: len(e) + 1].astype(int)))] if c is None else c
                for (e, c), m in zip(each, maps)
            ]
            places += [(coarse[a], coarse[b]) for a, b in pairs.pairs]
        self.shape_functions_ = [(place, scale * shape) for place, shape in zip(places, shapes)]
        self.__dict__.pop("shape_standard_errors_", None)
        self._folds, self.edits_ = None, []
        if len(stumps.models) > 1:
            # The models that leave out one fold, whose functions have mean 0 over their own rows.
            without = []
            for fold in range(len(stumps.models) - 1):
                rest = [weight - each[fold] for weight, each in zip(weights, of_folds)]
                without.append(terms_of(1 + fold, rest))
            tables = [
                np.stack(each, axis=weight.ndim).reshape(*weight.shape, -1)
                for each, weight in zip(zip(*(own for own, _ in without)), self.bin_weights_)
            ]
            intercepts = np.concatenate([own for _, own in without])
            self._folds = FoldModels(intercepts, tables, scale, mean)
        if len(stumps.models) > 2:
            terms, all_weights = list(zip(*(own for own, _ in without))), self.bin_weights_
            errors = band_errors(terms[:p], all_weights[:p])
            errors += band_errors(terms[p:], all_weights[p:])
            self.shape_standard_errors_ = [scale * each for each in errors]

        # The rounds, and the losses on their way.
        self._segments, self.category_sets_ = segments_of(
            stumps.segments, layout, pure[0], scale, mean
        )
        self.n_estimators_ = stumps.n_rounds
        self.n_smoothing_rounds_ = 0 if smoothing is None else smoothing.n_rounds
        for name in ("features", "cuts", "left", "right"):
            parts = [np.column_stack(getattr(s, name)) for s in self._segments]
            values = np.concatenate(parts)
            kind = np.int32 if name in ("features", "cuts") else np.float64
            values = (values[:, 0] if n_scores == 1 else values).astype(kind)
            setattr(self, f"stump_{name}_", values)
        self.train_path_ = units(stumps.train_path[: stumps.n_rounds + 1])
        for name in ("cv_path_", "smoothing_path_"):
            self.__dict__.pop(name, None)
        if stumps.held_path.shape[1]:
            # The last losses are repeated where the rounds ended earlier.
            n_missing = max(self.max_estimators + 1 - len(stumps.held_path), 0)
            last = np.repeat(stumps.held_path[-1:], n_missing, axis=0)
            self.cv_path_ = units(np.concatenate([stumps.held_path, last]))
            if smoothing is not None:
                self.smoothing_path_ = units(smoothing.held_path)

    def _keep_rows_of_folds(
        self, rows: BinnedRows | None, score_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        """Keep how far off the models of the folds are at the rows that these leave out.

        By `score_of` of targets and predictions, numbers or the places of the rows' classes;
        nothing of rows that are not in memory, or of different weights.
        """
        folds = self._folds
        if folds is None or rows is None:
            return
        if rows.weight is not None:
            self._folds = replace(folds, are_weighted=True)
            return
        assert rows.folds is not None
        n_scores = np.size(self.intercept_)
        scores: Any = None
        for fold in range(rows.n_splits):
            own = np.flatnonzero(rows.folds == fold)
            part = slice(fold * n_scores, (fold + 1) * n_scores)
            u = self._sum_of_bins(
                rows.codes[own], folds.intercepts[part], [each[..., part] for each in folds.tables]
            )
            if rows.offset is not None:
                u += rows.offset[own, None]
            found = score_of(rows.y[own], u[:, 0] if n_scores == 1 else u)
            scores = np.empty((len(rows.y), *found.shape[1:])) if scores is None else scores
            scores[own] = found
        left_out = np.flatnonzero(rows.folds < rows.n_splits)
        groups = None if rows.groups is None else rows.groups[left_out]
        codes = None
        if scores.ndim == 2:
            codes = rows.y[left_out].astype(np.min_scalar_type(int(rows.y.max())))
        left_out_rows = LeftOutRows(scores[left_out], rows.folds[left_out], groups, codes)
        self._folds = replace(folds, rows=left_out_rows)

    # --- the fitted terms -------------------------------------------------------------------------

    @property
    def term_names_(self) -> list[str]:
        """The name of each term: its feature's, or both names of a pair."""
        check_is_fitted(self)
        names = feature_names(self)
        return [" & ".join(names[j] for j in term) for term in self.term_features_]

    @property
    def term_importances_(self) -> np.ndarray:
        """The mean absolute contribution of each term over the training rows: (n_terms,)."""
        check_is_fitted(self)
        sizes = []
        for (_, values), weight in zip(self.shape_functions_, self.bin_weights_):
            size = np.abs(values)
            if size.ndim > weight.ndim:
                size = size.mean(axis=-1)
            sizes.append(float((size * (weight / weight.sum())).sum()))
        return np.array(sizes)

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
        X = self._checked_X(X)
        codes = self._bins.codes(X)
        terms = [
            self._bins.padded(values, j).take(codes[:, j], axis=0)
            for j, (_, values) in enumerate(self.shape_functions_[: codes.shape[1]])
        ]
        pairs = self._pair_values(codes, [values for _, values in self.shape_functions_])
        return np.stack([*terms, *pairs], axis=1)

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
        return self._numbers(X, self._columns)

    def _pair_values(self, codes: np.ndarray, tables: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """Look up each pair at rows in bins, among the tables of all terms."""
        p = len(self._bins.edges)
        for (a, b), table in zip(self.term_features_[p:], tables[p:]):
            table = self._bins.padded(table, a, b)
            row = self._pair_maps[a].take(codes[:, a])
            yield table[row, self._pair_maps[b].take(codes[:, b])]

    def _offset(self, offset: Any, X: np.ndarray) -> np.ndarray | None:
        """Check the offset of rows to predict."""
        found = checked_offset(offset, X)
        if found is not None:
            self._check_one_score(np.size(self.intercept_))
        return found

    def _check_one_score(self, n_scores: int) -> None:
        if n_scores > 1:
            raise ValueError(f"offset requires two classes; here are {n_scores}.")

    def _scores(self, X: Any, offset: Any = None) -> np.ndarray:
        """Add the intercept, all terms and the offset: (n,) or (n, n_classes)."""
        X = self._checked_X(X)
        offset = self._offset(offset, X)
        u = self._sum_of_terms(X, self.intercept_, [v for _, v in self.shape_functions_])
        return u if offset is None else u + offset

    def _scores_of_folds(self, X: Any, folds: FoldModels, offset: Any = None) -> np.ndarray:
        """The scores by the models of the folds, in their units: (n, K) or (n, K, n_classes)."""
        # All models in one look-up, as if they were classes.
        X = self._checked_X(X)
        offset = self._offset(offset, X)
        scores = self._sum_of_terms(X, folds.intercepts, folds.tables)
        if offset is not None:
            scores += offset[:, None] / folds.scale
        n_scores = np.size(self.intercept_)
        return scores if n_scores == 1 else scores.reshape(len(scores), -1, n_scores)

    def _sum_of_terms(
        self, X: np.ndarray, intercept: Any, values: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Add an intercept and the values of all terms: (n,), or (n, C) with C in each bin."""
        # Table look-up without codes where there are no pairs; functions that are 0 cost nothing.
        bins = self._bins
        p = len(bins.edges)
        tables = [
            bins.padded(table, j) if table.any() else None for j, table in enumerate(values[:p])
        ]
        total = sum_of_tables(X, bins.edges, tables, missing=True)
        if total.ndim < np.ndim(intercept) + 1:
            total = np.repeat(total[:, None], len(intercept), axis=1)
        if len(values) > p:
            for each in self._pair_values(bins.codes(X), values):
                total = total + each
        return intercept + total

    def _sum_of_bins(
        self, codes: np.ndarray, intercept: np.ndarray, values: Sequence[np.ndarray]
    ) -> np.ndarray:
        """`_sum_of_terms` of rows in bins: (n, C)."""
        total = np.tile(intercept, (len(codes), 1))
        for j, table in enumerate(values[: codes.shape[1]]):
            if table.any():
                total += self._bins.padded(table, j).take(codes[:, j], axis=0)
        for each in self._pair_values(codes, values):
            total += each
        return total

    def _scores_after(
        self, X: Any, rounds: Sequence[int] | None, offset: Any = None
    ) -> Iterator[np.ndarray]:
        """Yield the scores after given numbers of rounds, or after each of them."""
        refuse_edited(self, "Predictions after some rounds are those of")
        if not self._segments:
            raise ValueError(
                "Predictions after some rounds require the rounds of the fit, which a model that "
                "was read from JSON does not have."
            )
        rounds = range(1, self.n_estimators_ + 1) if rounds is None else rounds
        X = self._checked_X(X)
        offset = self._offset(offset, X)
        bins, known = self._bins, 0.0 if offset is None else offset
        if len(self.term_features_) > len(bins.edges):
            tables = [values for _, values in self.shape_functions_]
            known = known + sum(self._pair_values(bins.codes(X), tables))
        # The tables of rounds are not centred, as the fitted functions are: their means belong to
        # the intercept, and bins of missing values without weight have the value 0.
        for intercepts, tables in staged_tables(bins, self.category_sets_, self._segments, rounds):
            scores = []
            for intercept, own in zip(intercepts, tables):
                padded: list[np.ndarray | None] = [None] * len(own)
                for j, table in enumerate(own):
                    if table is not None:
                        table, mean = centred(table, self.bin_weights_[j], bins.missing[j])
                        intercept = intercept + mean
                        padded[j] = bins.padded(table, j)
                scores.append(intercept + sum_of_tables(X, bins.edges, padded, missing=True))
            total = scores[0]
            if len(scores) > 1:
                total = np.column_stack(scores)
                total -= total.mean(axis=1, keepdims=True)
            yield total + known

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
        return set_term(self, name, values)

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
        return smooth_term(self, name, df)

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
        return monotonize_term(self, name, increasing)

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
        return remove_term(self, name)

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
        return refit_terms(self, X, y, terms, sample_weight, groups, offset)

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


def rows_are_faster(risk: SquaredError | NewtonLoss, layout: CutLayout) -> bool:
    """Whether smoothing rounds cost less by the residuals of rows than by the products of cuts.

    Rough costs of all rounds, in elementary operations: of products, those for all cuts, which are
    counted for all models and for a loss that is not quadratic again and again; and of the steps.
    """
    if risk.rows is None or (risk.is_quadratic and not risk.n_splits):
        return False
    # The factors are nanoseconds, measured on one machine; they only have to be right by an order.
    n, p = risk.rows.codes.shape
    n_cuts, n_models, n_rounds = layout.n_cuts, 1 + risk.n_splits, 100
    products = n_cuts**2 * (3 * risk.n_splits + 2) * (1 if risk.is_quadratic else 3)
    by_products = 2 * products + n_rounds * n_models * (2 * n_cuts**2 / max(p, 1) + 4000)
    by_rows = n_rounds * n_models * (1.5 * n * p + 4 * n_cuts + 30_000)
    kept = n_cuts if risk.max_cuts is None else risk.max_cuts
    return by_rows < by_products or kept < min(n_cuts, 500)
