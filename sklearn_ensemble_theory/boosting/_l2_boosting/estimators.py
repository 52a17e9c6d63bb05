"""L2-boosting by regression stumps on binned columns: a generalised additive model."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, StrOptions, check_sample_weight, fit_context
from sklearn_ensemble_theory._folds import fold_numbers
from sklearn_ensemble_theory._numerics.binning import (
    bin_codes,
    bin_edges_from_quantiles,
    check_bin_edges,
    sum_of_tables,
)
from sklearn_ensemble_theory._numerics.scaling import TargetScale, power_of_two
from sklearn_ensemble_theory.boosting._l2_boosting.cut_sums import (
    CountedGram,
    StoredGram,
    cut_offsets,
    cut_sums,
)
from sklearn_ensemble_theory.boosting._l2_boosting.rounds import (
    NormalizedCuts,
    boost,
    held_out_errors,
    sides_of_steps,
    sums_of_stumps,
    tables_of_steps,
    training_errors,
)

__all__ = ["L2BoostingRegressor"]


class L2BoostingRegressor(RegressorMixin, BaseEstimator):
    """L2-boosting by regression stumps, in rounds whose cost does not depend on the number of rows.

    Each round fits a stump, ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least
    squares, over all features j and the edges c of their bins, and adds `learning_rate` times that
    stump. The result is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function a feature.

    The columns are binned and the sums over rows that stumps need, pair of features by pair, are
    counted once; from then on a round is two operations on vectors as long as there are cuts. So
    a learning rate of 1e-4 and a million rounds are ordinary, and k-fold cross-validation of the
    whole path needs no second look at the rows.

    Parameters
    ----------
    n_estimators : int or "cv", default=1000
        Number of rounds. "cv" takes the number with the least mean squared error over held-out
        folds, out of 0, 1, ..., `max_estimators`.

    learning_rate : float, default=0.01
        Share of each stump that is added, in (0, 1]. What is learned depends on about
        ``n_estimators * learning_rate``; smaller rates make smoother functions.

    max_bins : int, default=64
        Bins a feature, of about the same weight each; a feature with no more distinct values has
        a bin for each. Ignored for given `bin_edges`.

    bin_edges : sequence of p sequences of float, default=None
        The thresholds that stumps may use, increasing, for each feature; an empty sequence leaves a
        feature out.

    cv : int, cross-validation generator or iterable, default=5
        Used for ``n_estimators="cv"``. An integer is that many folds of shuffled rows. Otherwise
        each split has to train on all rows that it does not test on, and no row may be tested
        twice: `KFold`, `GroupKFold` or `PredefinedSplit`, say, or a list of their splits.

    max_estimators : int, default=10000
        Length of the path for ``n_estimators="cv"``.

    max_memory : float, default=1024
        Bound on the memory of the sums over pairs of cuts, in MiB. Where those of all cuts that are
        ever chosen do not fit, some are counted more than once: slower, but the same model.

    random_state : int, RandomState instance or None, default=None
        Shuffles the rows for an integer `cv`.

    verbose : int, default=0
        1 reports the fit as it goes along.

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
        Number of rounds. Less than `n_estimators` if the residuals became orthogonal to every
        stump before, so that further rounds would add nothing.

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
        Share of each feature in the fall of the training error.

    n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)
        Only for X with feature names that are all strings.

    See Also
    --------
    sklearn.ensemble.GradientBoostingRegressor : Deeper trees, any loss; rounds that cost n.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees on binned columns.

    Notes
    -----
    With p features of B bins, n rows and k folds: binning O(n p log n), the sums O(n p) for each
    feature that is ever chosen, each round O(p B), prediction O(p) a row whatever the number of
    rounds. Beside X there is one byte a value for the bins (two for more than 256), and
    ``16 p^2 B^2`` bytes for the sums if every feature is chosen, ``8 (k + 2) p^2 B^2`` for "cv", at
    most `max_memory`; and 24 bytes a round.

    The bins are those of all rows, also for the folds. With `bin_edges` given, `cv_path_` is what
    refits on each training fold would give.

    Weights of 2 are the same as rows written twice (except for how "cv" splits them).

    References
    ----------
    .. [1] [000] section 10.3.3: matching pursuit, of which this is the one over normalised stumps,
       with a learning rate; [004] on FSAM with the squared loss and regression stumps.
    .. [2] P. Buehlmann and B. Yu, "Boosting with the L2 loss: regression and classification",
       Journal of the American Statistical Association 98, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(n_estimators="cv", learning_rate=0.01, random_state=0)
    >>> model.fit(X, y).score(X, y)
    0.5...
    >>> edges, values = model.shape_functions_[X.columns.get_loc("bmi")]
    >>> bool(values[0] < 0 < values[-1])
    True
    """

    _parameter_constraints: ClassVar = {
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 2**16, closed="both")],
        "bin_edges": ["array-like", None],
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators=1000,
        *,
        learning_rate=0.01,
        max_bins=64,
        bin_edges=None,
        cv=5,
        max_estimators=10_000,
        max_memory=1024,
        random_state=None,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.bin_edges = bin_edges
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_is_fitted__(self):
        return hasattr(self, "shape_functions_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Finite numbers.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows; None weighs all alike.

        Returns
        -------
        self : L2BoostingRegressor

        Raises
        ------
        ValueError
            If `cv` does not hold out each row at most once, or if the sums over a single cut with
            all others exceed `max_memory`.
        """
        X, y, sample_weight = self._validated(X, y, sample_weight, reset=True)
        if sample_weight is not None:
            if np.all(sample_weight == sample_weight[0]):
                sample_weight = None  # counting is faster than adding
            else:
                sample_weight = sample_weight / power_of_two(sample_weight.max())
        folds, n_splits = self._folds(X, y)
        n_groups = n_splits + bool(folds is None or (folds == n_splits).any())
        edges = self._edges(X, sample_weight)
        target = TargetScale.in_powers_of_two(y, sample_weight)
        offsets = cut_offsets(edges)
        max_cuts = self._max_cuts(offsets[-1], n_groups)
        self._say(f"{offsets[-1]} cuts in {len(edges)} features")
        codes = bin_codes(X, edges)
        rows = {"sample_weight": sample_weight, "folds": folds}
        sums = cut_sums(codes, offsets, target(y), n_folds=n_groups, **rows)
        gram = CountedGram(codes, offsets, sums.left_weight, max_cuts=max_cuts, **rows)
        self._boost(sums, gram, edges, target, n_splits, max_cuts)
        for name in ("_sums", "_gram", "_sums_edges", "_target", "_weight_unit"):
            vars(self).pop(name, None)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, refit=True):
        """Add a chunk of rows to those seen so far and fit the model to all of them.

        Only sums are kept, never rows. The bins are `bin_edges`, or those of the first chunk; with
        `bin_edges` given the model is the one of `fit` on all chunks together. With
        ``n_estimators="cv"`` each chunk is split into folds by itself.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
        refit : bool, default=True
            False adds the chunk to the sums and leaves the model as it is.

        Returns
        -------
        self : L2BoostingRegressor

        Raises
        ------
        ValueError
            If the sums over all pairs of cuts exceed `max_memory`: rows that are gone cannot be
            counted again.

        Warns
        -----
        UserWarning
            After `fit`, which keeps no sums: the rows it saw are forgotten.
        """
        first = not hasattr(self, "_sums")
        if first and self.__sklearn_is_fitted__():
            warnings.warn(
                "fit keeps no sums: partial_fit begins anew, the rows that fit saw are forgotten",
                UserWarning,
                stacklevel=2,
            )
        X, y, sample_weight = self._validated(X, y, sample_weight, reset=first)
        folds, n_splits = self._folds(X, y)
        unit = 1.0 if sample_weight is None else power_of_two(sample_weight.max())
        if not first:
            unit = self._weight_unit
        if sample_weight is not None:
            with np.errstate(over="ignore"):
                sample_weight = sample_weight / unit
        if first:
            edges = self._edges(X, sample_weight)
            target = TargetScale.in_powers_of_two(y, sample_weight)
        else:
            edges, target = self._sums_edges, self._target
        offsets = cut_offsets(edges)
        n_groups = n_splits + 1
        if not first and n_groups != len(self._sums.weight):
            raise ValueError("cv and n_estimators must ask for the same folds for every chunk")
        # so far, of this chunk by feature and in one piece, and as products of columns
        copies = 3 * n_groups + (1 if n_splits == 0 else 2)
        needed = copies * offsets[-1] ** 2 * 8 / 2**20
        if needed > self.max_memory:
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {needed:.0f} MiB of the sums "
                f"over all pairs of the {offsets[-1]} cuts: use fewer bins"
            )
        codes = bin_codes(X, edges)
        rows = {"sample_weight": sample_weight, "folds": folds}
        with np.errstate(over="ignore", invalid="ignore"):
            sums = cut_sums(codes, offsets, target(y), n_folds=n_groups, **rows)
            counted = CountedGram(codes, offsets, sums.left_weight, **rows)
            features = offsets[-1] + np.arange(len(edges))
            gram = np.concatenate([counted.block(group) for group in features], axis=1)
            if not first:
                sums = self._sums + sums
        if not sums.moderate():
            raise ValueError("y or sample_weight is too large beside that of the first chunk")
        if not first:
            gram += self._gram
        if refit:
            self._boost(sums, StoredGram(gram, offsets), edges, target, n_splits)
        self._sums, self._gram, self._sums_edges = sums, gram, edges
        self._target, self._weight_unit = target, unit
        return self

    def predict(self, X):
        """The model at new rows, by look-up: O(p) a row whatever the number of rounds.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n,)
        """
        X = self._rows(X)
        tables = [values if values.any() else None for _, values in self.shape_functions_]
        return self.intercept_ + sum_of_tables(X, self.bin_edges_, tables)

    def predict_terms(self, X):
        """What each feature adds to the prediction, beside `intercept_`.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n, p)
        """
        codes = bin_codes(self._rows(X), self.bin_edges_)
        terms = [v.take(c) for (_, v), c in zip(self.shape_functions_, codes.T)]
        return np.column_stack(terms)

    def predict_path(self, X, n_estimators):
        """The models after some numbers of rounds.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_estimators : array-like of int, of shape (m,)
            Numbers of rounds, in increasing order, from 0 to `n_estimators_`.

        Returns
        -------
        ndarray of shape (m, n)
            O(n p) for each number of rounds.
        """
        X = self._rows(X)
        rounds = np.asarray(n_estimators)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or len(rounds) == 0:
            raise ValueError("n_estimators must be a sequence of numbers of rounds")
        if rounds[0] < 0 or rounds[-1] > self.n_estimators_ or (np.diff(rounds) < 0).any():
            raise ValueError(f"n_estimators must increase from 0 to at most {self.n_estimators_}")
        codes = bin_codes(X, self.bin_edges_)
        stumps = self.stump_features_, self.stump_cuts_, self.stump_left_, self.stump_right_
        return self.intercept_ + sums_of_stumps(codes, self.bin_edges_, stumps, rounds)

    def staged_predict(self, X):
        """The models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Yields
        ------
        ndarray of shape (n,)
            O(n) a round. `predict_path` is faster where not every round is needed.
        """
        codes = bin_codes(self._rows(X), self.bin_edges_)
        current = np.full(len(codes), self.intercept_)
        for j, cut, left, right in zip(
            self.stump_features_, self.stump_cuts_, self.stump_left_, self.stump_right_
        ):
            current = current + np.where(codes[:, j] <= cut, left, right)
            yield current

    def _rows(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=(np.float64, np.float32))

    def _validated(self, X, y, sample_weight, reset):
        X, y = validate_data(
            self, X, y, reset=reset, dtype=(np.float64, np.float32), y_numeric=True
        )
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not sample_weight.any():
                raise ValueError("sample_weight is zero for every row")
        return X, y.astype(np.float64, copy=False), sample_weight

    def _folds(self, X, y):
        if self.n_estimators != "cv":
            return None, 0
        return fold_numbers(self.cv, X, y)

    def _edges(self, X, sample_weight):
        if self.bin_edges is None:
            return bin_edges_from_quantiles(X, self.max_bins, sample_weight)
        return check_bin_edges(self.bin_edges, X.shape[1])

    def _max_cuts(self, n_cuts, n_folds):
        """Of how many cuts the sums with all cuts can be kept; None for all."""
        copies = 2 if n_folds == 1 else n_folds + 2  # as counted, and as products of columns
        each = copies * n_cuts * 8 / 2**20
        if each > self.max_memory:
            raise ValueError(
                f"max_memory={self.max_memory} MiB is less than the {each:.2g} MiB of the sums "
                f"over one of the {n_cuts} cuts with all others: use fewer bins"
            )
        return None if each * n_cuts <= self.max_memory else int(self.max_memory / each)

    def _boost(self, sums, gram, edges, target, n_splits, max_cuts=None):
        """Set everything that is learned from the sums."""
        n_rounds, rate = self.n_estimators, self.learning_rate
        learned = {"bin_edges_": edges}
        if n_splits > 0:
            path = np.empty((self.max_estimators + 1, n_splits))
            for fold in range(n_splits):
                if not 0 < sums.weight[fold] < sums.weight.sum():
                    raise ValueError(f"split {fold} of cv has no weight to train or to test on")
                cuts = NormalizedCuts(sums, gram, fold)
                report = self._report(f"fold {fold + 1} of {n_splits}, round")
                walk = boost(cuts, rate, self.max_estimators, max_cuts, report)
                errors = held_out_errors(cuts, *walk)
                path[: len(errors), fold] = errors
                path[len(errors) :, fold] = errors[-1]  # no stump was left
            n_rounds = int(path.mean(axis=1).argmin())
            self._say(f"{n_rounds} rounds have the least error over the folds")
            learned["cv_path_"] = target.squares_in_units(path)
        cuts = NormalizedCuts(sums, gram)
        chosen, steps, _ = boost(cuts, rate, n_rounds, max_cuts, self._report("round"))
        offsets = gram.offsets
        features = np.searchsorted(offsets, chosen, side="right") - 1
        left, right = sides_of_steps(cuts, chosen, steps)
        tables = tables_of_steps(cuts, chosen, steps)
        falls = np.bincount(features, weights=steps**2, minlength=len(edges))
        learned |= {
            "intercept_": float(target.mean + target.scale * cuts.mean),
            "shape_functions_": [
                (e, np.zeros(len(e) + 1) if t is None else target.scale * t)
                for e, t in zip(edges, tables)
            ],
            "n_estimators_": len(chosen),
            "stump_features_": features.astype(np.int32),
            "stump_cuts_": (chosen - offsets[features]).astype(np.int32),
            "stump_left_": target.scale * left,
            "stump_right_": target.scale * right,
            "train_path_": target.squares_in_units(training_errors(cuts, rate, steps)),
            "feature_importances_": falls / falls.sum() if falls.any() else falls,
        }
        vars(self).pop("cv_path_", None)
        vars(self).update(learned)

    def _say(self, message):
        if self.verbose:
            print(f"[L2BoostingRegressor] {message}")

    def _report(self, what):
        return (lambda done: self._say(f"{what} {done}")) if self.verbose else None
