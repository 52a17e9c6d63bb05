"""What the additive boosters share: the checks, the bins, the phases of a fit, and the terms."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_X_y

from sklearn_ensemble_theory._compat import Interval, RealNotInt, StrOptions
from sklearn_ensemble_theory._folds import fold_numbers
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._rows import is_frame, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.boosting._additive.bins import (
    MAX_SMOOTHING_ROUNDS,
    MIB,
    SMOOTHING_PATIENCE,
    CategoricalColumns,
    CheckedRows,
    choose_bins,
    rows_are_faster,
)
from sklearn_ensemble_theory.boosting._additive.pairs import fit_pairs, resolve_interactions
from sklearn_ensemble_theory.boosting._additive.phases import run_phase
from sklearn_ensemble_theory.boosting._additive.rounds import SmoothingRounds, TableStumps
from sklearn_ensemble_theory.boosting._additive.terms import (
    AdditiveTerms,
    centred,
    delete_group_errors,
    segments_of,
)

# In smoothing rounds scores may move so many times farther between two refreshes: their steps are
# those of Newton's method, whose limit does not depend on them.
SMOOTHING_MOVE = 1.5


class BaseAdditive(AdditiveTerms):
    """The fit of an additive model by boosting, and the terms of the fitted model."""

    _parameter_constraints: ClassVar = {
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "learning_rate": [Interval(Real, 1e-300, 1, closed="both")],
        "smoothing_rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "max_bins": [Interval(Integral, 2, 2**16 - 2, closed="both"), StrOptions({"auto"})],
        "bin_edges": ["array-like", None],
        "interactions": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, None, closed="left"),
            StrOptions({"auto"}),
            "array-like",
        ],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- the checks -------------------------------------------------------------------------------

    def _columns_of(self, X, reset):
        """The categories of the columns, new or those of an earlier chunk."""
        if not reset:
            return self._columns
        if self.categorical_features is None or (
            isinstance(self.categorical_features, str) and not is_frame(X)
        ):
            return None
        if not is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        names = [str(name) for name in X.columns] if is_frame(X) else None
        columns = CategoricalColumns(X, self.categorical_features, names)
        return columns if columns.any else None

    def _checked_data(self, X, y, reset, **checks):
        """X as numbers and y, after their checks, and the categories of the columns."""
        columns = self._columns_of(X, reset)
        checks |= {"ensure_all_finite": "allow-nan"}
        if columns is None:
            kinds = (np.float64, np.float32)
            X, y = validate_data(self, X, y, reset=reset, dtype=kinds, **checks)
        else:
            X = self._numbers(X, columns, reset)
            X, y = check_X_y(X, y, estimator=self, **checks)
        self._resolved_interactions(X.shape[1])  # refused before any work
        return X, y, columns

    def _kept_rows(self, X, y, weight, kept, columns, classifier=False):
        """The rows of positive weight, with the folds of cross-validation."""
        folds, n_splits = None, 0
        if self.n_estimators == "cv":
            folds, n_splits = fold_numbers(self.cv, X, y, kept, classifier)
        if not isinstance(kept, slice):
            X, y = X[kept], y[kept]
        return CheckedRows(X, y, weight, folds, n_splits, columns)

    def _monotonic(self, p, columns):
        """-1, 0 or 1 for each feature; None without constraints."""
        given = self.monotonic_cst
        if given is None:
            return None
        if isinstance(given, dict):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise ValueError("monotonic_cst is a dict, but X has no feature names.")
            unknown = set(given) - set(names)
            if unknown:
                raise ValueError(f"monotonic_cst has names that X has not: {sorted(unknown)!r}.")
            given = [given.get(name, 0) for name in names]
        signs = np.asarray(given)
        if signs.shape != (p,):
            raise ValueError(f"monotonic_cst has shape {signs.shape}, but X has {p} features.")
        if not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError("monotonic_cst must have the entries -1, 0 and 1 only.")
        signs = signs.astype(np.int64)
        if columns is not None:
            for j in np.flatnonzero(signs):
                if columns.categories[j] is not None:
                    raise ValueError(f"monotonic_cst constrains feature {j}, which is categorical.")
        return signs if signs.any() else None

    # --- bins and sums ----------------------------------------------------------------------------

    def _bins_of(self, rows, y, keep_missing=False):
        """The bins of the features, and the numbers of the cuts at jumps."""
        return choose_bins(
            rows,
            y,
            self.max_bins,
            self.bin_edges,
            self.max_memory,
            keep_missing=keep_missing,
        )

    def _check_memory_of_chunks(self, n_cuts, n_groups, n_splits, n_scores=1):
        # so far, of this chunk by feature and in one piece, and as products of columns
        copies = 2 * n_groups + n_scores * (n_groups + (1 if n_splits == 0 else 1 + 2 * n_splits))
        needed = copies * n_cuts**2 * 8 / MIB
        if needed > self.max_memory:
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {needed:.0f} MiB of the sums "
                f"over all pairs of the {n_cuts} cuts; use fewer bins."
            )

    # --- the phases -------------------------------------------------------------------------------

    def _boost(self, risk, layout, jumps, monotonic, limit=np.inf):
        """The rounds: first those that smooth, then the stumps.

        Returns
        -------
        smoothing : PhaseResult or None
        stumps : PhaseResult
        """
        n_splits, models = risk.n_splits, risk.start()
        smoothing = None
        n_smoothing = self._n_smoothing(n_splits)
        if n_smoothing:
            smoothing = run_phase(
                risk,
                models,
                lambda state: SmoothingRounds(state, jumps, monotonic),
                n_smoothing,
                limit=SMOOTHING_MOVE * limit,
                tolerance=0.5 * limit,
                patience=SMOOTHING_PATIENCE if self.smoothing_rounds == "auto" else None,
                choose=self.smoothing_rounds == "auto",
                by_rows=rows_are_faster(risk, layout, smoothing=True),
            )
            models = smoothing.models
            self._progress().message(f"{smoothing.n_rounds} smoothing rounds")
        n_rounds = self.max_estimators if n_splits else self.n_estimators
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
            by_rows=rows_are_faster(risk, layout, smoothing=False),
            progress=self._progress(n_rounds),
        )
        if n_splits:
            self._progress().message(
                f"{stumps.n_rounds} rounds have the least mean error over the folds"
            )
        return smoothing, stumps

    def _n_smoothing(self, n_splits):
        if self.smoothing_rounds != "auto":
            return self.smoothing_rounds
        return MAX_SMOOTHING_ROUNDS if n_splits else 0

    def _progress(self, n_rounds=0, part=""):
        return Progress(type(self).__name__ + part, n_rounds, self.verbose, unit="rounds")

    def _fit_models(self, risk, source, layout, jumps, monotonic, limit=np.inf):
        """The main effects, and the pairs if there are any, with main effects fitted to the rest.

        Parameters
        ----------
        risk : SquaredErrorFits or LogisticStages
        source : PairsOfRows or PairsOfChunks
            What pairs are fitted to; not used without any.
        layout : CutLayout
        jumps : int array
        monotonic : int array of shape (p,) or None
        limit : float, default=inf
            See `run_phase`.

        Returns
        -------
        smoothing : PhaseResult or None
        stumps : PhaseResult
        pairs : PairTerms or None
        """
        interactions = self._checked_interactions(len(layout.n_bins), monotonic)
        smoothing, stumps = self._boost(risk, layout, jumps, monotonic, limit)
        if interactions in (0, []):
            return smoothing, stumps, None
        is_free = np.ones(len(layout.n_bins), bool) if monotonic is None else monotonic == 0
        features = np.flatnonzero(is_free)
        pairs = fit_pairs(source, stumps.models, interactions, features, risk.n_splits)
        if pairs is None:
            self._progress().message("no pairs of features")
            return smoothing, stumps, None
        self._progress().message(f"{len(pairs.pairs)} pairs of features")
        again = self._boost(risk.given(pairs), layout, jumps, monotonic, limit)
        return *again, pairs

    def _checked_interactions(self, p, monotonic):
        """What `interactions` asks for; no pairs of features with a constraint."""
        interactions = self._resolved_interactions(p)
        for a, b in interactions if isinstance(interactions, list) else []:
            if monotonic is not None and (monotonic[a] or monotonic[b]):
                raise ValueError(
                    f"interactions has the pair ({a}, {b}), of which monotonic_cst constrains a "
                    "feature."
                )
        return interactions

    def _resolved_interactions(self, p):
        given = self.interactions
        names = getattr(self, "feature_names_in_", None)
        if names is not None and isinstance(given, Sequence | np.ndarray):
            number = {name: j for j, name in enumerate(names)}
            given = (
                given
                if isinstance(given, str)
                else [
                    [number.get(name, name) if isinstance(name, str) else name for name in pair]
                    if isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str)
                    else pair
                    for pair in given
                ]
            )
        return resolve_interactions(given, p)

    # --- what is learned --------------------------------------------------------------------------

    def _learned(self, bins, columns, weights, results, scale=1.0, mean=0.0):
        """The fitted attributes, as a dict.

        Parameters
        ----------
        bins : FeatureBins
        columns : CategoricalColumns or None
        weights : list of p arrays
            The weight of the training rows in each bin.
        results : tuple
            From `_fit_models`.
        scale, mean : float
            The units of the target.
        """
        smoothing, stumps, pairs = results
        layout = bins.layout()
        p, n_scores = len(layout.n_bins), len(stumps.models[0].tables)
        pure = [None if pairs is None else pairs.pure(k) for k in range(len(stumps.models))]
        models = [_with_mains(model, own) for model, own in zip(stumps.models, pure)]
        sets: list[list] = [[] for _ in range(p)]
        segments = segments_of(stumps.segments, layout, scale, sets)
        for segment in segments:
            segment.add(mean, pure[0], scale)
        shapes, shifts = _centred_shapes(models[0], weights, bins.missing, scale)
        intercepts = scale * models[0].intercepts + mean + shifts
        if n_scores > 1:
            intercepts -= intercepts.mean()
        functions = [(e if c is None else c, t) for (e, c), t in zip(_each(bins), shapes)]
        learned = {
            "bin_edges_": [e if c is None else np.empty(0) for e, c in _each(bins)],
            "categories_": bins.categories,
            "missing_bins_": bins.missing.copy(),
            "bin_weights_": list(weights),
            "term_features_": [(j,) for j in range(p)],
            "intercept_": float(intercepts[0]) if n_scores == 1 else intercepts,
            "shape_functions_": functions,
            "category_sets_": sets,
            "n_estimators_": stumps.n_rounds,
            "n_smoothing_rounds_": 0 if smoothing is None else smoothing.n_rounds,
            "_bins": bins,
            "_columns": columns,
            "_segments": segments,
            "_pair_maps": [],
        }
        if pairs is not None:
            learned["term_features_"] += pairs.pairs
            learned["bin_weights_"] += pairs.cell_weights
            learned["_pair_maps"] = [
                m if has else np.append(m, n).astype(m.dtype)
                for m, n, has in zip(pairs.bins.maps, pairs.bins.n_bins, bins.missing)
            ]
            coarse = [_coarse_edges(*each) for each in zip(*zip(*_each(bins)), pairs.bins.maps)]
            functions += [
                ((coarse[a], coarse[b]), _of_scores(scale * table))
                for (a, b), table in zip(pairs.pairs, pure[0].tables)
            ]
        names = ("stump_features_", "stump_cuts_", "stump_left_", "stump_right_")
        for name, key in zip(names, ("features", "cuts", "left", "right")):
            values = np.concatenate([np.column_stack(getattr(s, key)) for s in segments])
            kind = np.int32 if key in ("features", "cuts") else np.float64
            learned[name] = (values[:, 0] if n_scores == 1 else values).astype(kind)
        if len(models) > 2:
            each = [
                _centred_shapes(model, weights, bins.missing, 1.0)[0]
                + ([] if own is None else [_of_scores(t) for t in own.tables])
                for model, own in zip(models[1:], pure[1:])
            ]
            learned["shape_standard_errors_"] = [
                scale * delete_group_errors(tables) for tables in zip(*each)
            ]
        return learned

    def _set(self, learned, results, units=lambda losses: losses):
        """Set what was learned and the paths of the losses, and nothing of an earlier fit."""
        smoothing, stumps, _ = results
        paths = {"train_path_": units(stumps.train_path[: stumps.n_rounds + 1])}
        if stumps.held_path.shape[1]:
            paths["cv_path_"] = units(_extended(stumps.held_path, self.max_estimators + 1))
            if smoothing is not None:
                paths["smoothing_path_"] = units(smoothing.held_path)
        for name in ("cv_path_", "smoothing_path_", "shape_standard_errors_"):
            vars(self).pop(name, None)
        vars(self).update(learned | paths)


def _each(bins):
    return zip(bins.edges, bins.categories)


def _centred_shapes(model, sums_weight, missing, scale):
    """The tables of all features with weighted mean zero, (B,) or (B, K), and what they lost.

    Of several scores, those of each bin have the sum 0.
    """
    shapes, shifts = [], np.zeros(len(model.tables))
    for j, weight in enumerate(sums_weight):
        values = np.zeros((len(weight), len(model.tables)))
        for score, own in enumerate(model.tables):
            if own[j] is not None:
                values[:, score] = own[j]
        if len(model.tables) > 1:
            values -= values.mean(axis=1, keepdims=True)
        values, mean = centred(values, weight, missing[j])
        shifts += mean
        values *= scale
        shapes.append(values[:, 0] if values.shape[1] == 1 else values)
    return shapes, scale * shifts


def _with_mains(model, pure):
    """A model with the parts of pairs that depend on one feature."""
    model = model.copy()
    if pure is not None:
        model.intercepts = model.intercepts + pure.constants
        for score, own in enumerate(pure.mains):
            model.add(score, own)
    return model


def _of_scores(table):
    """A table (n_scores, A, B) with the scores last, if there are several."""
    return table[0] if len(table) == 1 else np.moveaxis(table, 0, -1)


def _coarse_edges(edges, categories, lookup):
    """The edges of merged bins; the categories of a categorical feature."""
    if categories is not None:
        return categories
    return edges[np.flatnonzero(np.diff(lookup[: len(edges) + 1].astype(int)))]


def _extended(path: np.ndarray, length: int) -> np.ndarray:
    """The path with its last values repeated where the rounds ended earlier."""
    missing = length - len(path)
    return np.concatenate([path, np.repeat(path[-1:], missing, axis=0)]) if missing > 0 else path


def rows_to_fit(sample_weight: Any, X: Any):
    """The weights and the rows of positive weight: (weight or None, rows)."""
    if sample_weight is None:
        return None, slice(None)
    positive = rows_of_positive_weight(sample_weight, X, as_given=True)
    return positive.weight, positive.rows


def unit_weights(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights of about 1; None for equal ones, as counting is faster than adding."""
    if weight is None or np.all(weight == weight[0]):
        return None
    return weight / power_of_two(weight.max())
