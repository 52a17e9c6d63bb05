"""Componentwise L2-boosting: each round fits the spline of the feature that lowers the errors most.

[Bühlmann and Yu 2003; Bühlmann and Hothorn 2007]. With phi the functions of all features, each
feature's diagonal in its own data and penalty, the splines of single features fitted to any
residuals are functions of Phi'W r, and the effect of one of them on all others is a block of
columns of Phi'W Phi. A round reads the moments of the residuals and changes them by such a block:
no row is read. Both are sums over rows, so that those of the rows that a fold trains on are the
total less the held-out part. Other splits add them up over the rows that they train on.

Which feature is best depends on y, so that the model is not linear in y, and there is no operator
with eigenvalues or expected errors; given the features chosen there is one, whose trace is the
number of degrees of freedom.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._running import one_blas_thread
from sklearn_ensemble_theory.bounds._spectral_filters import n_rounds

from ._criteria import check_number_of_rounds
from ._paths import BoostingPath, Start
from ._smoothers import Totals
from ._spline_basis import (
    AdditiveDesign,
    AdditivePredictor,
    factor_for_df,
    row_blocks,
    scaled_rows,
)
from ._splines import BlockSums, CentredForm, simultaneous_diagonal

Split = tuple[np.ndarray, np.ndarray]

_TOGETHER = 1200
"""Up to this many basis functions all columns of the Gram matrix are computed in one pass."""

_DENSE_VALUES = 25_000_000
"""Above `_TOGETHER`, up to this many values of functions at rows are kept."""

_VANISHING = 1e-11
"""Functions shorter than this vanish; their length and roughness over all rows are about 1."""

_UNPENALISED = 1e-13
"""A share of roughness below this is the rounding error of a polynomial without a penalty."""

_TIE = 1e-10
"""Features whose decreases of the squared errors differ by less than this share are equally good,
and the first one is chosen: copies of a feature differ by rounding."""

_NOTHING_LEFT = 1e-24
"""Rounds end where no feature lowers the squared errors by more than this share of their total."""

_LONGEST = 100.0
"""The rounds compared by default are those up to this time."""

_MOST_ROUNDS = 10_000
"""And there are at most this many of them."""

_MODELS = 256
"""Models whose held-out errors are computed together."""


class FeatureSmoothers:
    """The spline of each feature alone, without the constant.

    There is a form for each feature, at its penalty, centred over the rows that it was made from;
    `df` are the degrees of freedom of each, including the constant, None with a given penalty.
    `splines` and `slices` are the B-splines and the functions of each feature.
    """

    def __init__(self, forms: list[CentredForm], df: float | None) -> None:
        self.forms, self.df = forms, df
        self.design = AdditiveDesign(tuple(form.design.bases[0] for form in forms))
        self.splines, self.n_splines = _consecutive([len(form.T) for form in forms])
        self.slices, self.n_functions = _consecutive([form.T.shape[1] for form in forms])

    def project(self, moments: np.ndarray) -> np.ndarray:
        """Moments with the functions, from those with the B-splines."""
        parts = zip(self.forms, self.splines)
        return np.concatenate([form.T.T @ moments[rows] for form, rows in parts])

    def in_splines(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of the B-splines, from those of the functions."""
        parts = zip(self.forms, self.slices)
        return np.concatenate([form.T @ coefficients[rows] for form, rows in parts])


# --- sums over rows of products of the functions with each other and with y -----------------------


class RowSums:
    """The sums over rows in memory: those of the functions when they are asked for.

    `weight`, `y_sum` and `squares` are the sums of w, w y and w y^2; `functions` and `moments`
    those of w phi and w y phi.
    """

    def __init__(
        self, smoothers: FeatureSmoothers, X: np.ndarray, y: np.ndarray, w: np.ndarray
    ) -> None:
        self.smoothers, self.X, self.y, self.w = smoothers, X, y, w
        self.weight, self.y_sum, self.squares = float(w.sum()), float(w @ y), float(w @ y**2)
        first = smoothers.design.moments(X, w, np.column_stack([np.ones(len(y)), y]))
        self.functions, self.moments = smoothers.project(first).T
        self._columns: dict[int, np.ndarray] = {}

    def of_splits(self, splits: Sequence[Split]) -> Iterator[tuple["RowSums | Rest", "RowSums"]]:
        """Yield the sums over the rows that each split trains on, and over those it tests on."""
        for train, test in splits:
            tested = np.sort(test)
            held = self._of_rows(tested)
            # Of folds the training rows are not read: their sums are found by subtraction.
            rest = np.setdiff1d(np.arange(len(self.y)), tested, assume_unique=True)
            is_rest = len(tested) + len(rest) == len(self.y)
            is_rest = is_rest and np.array_equal(rest, np.sort(train))
            yield Rest(self, held) if is_rest else self._of_rows(train), held

    def _of_rows(self, rows: np.ndarray) -> "RowSums":
        return RowSums(self.smoothers, self.X[rows], self.y[rows], self.w[rows])

    @cached_property
    def _values(self) -> np.ndarray | None:
        """The functions at the rows, where they are many and the rows are few."""
        parts = self.smoothers
        if parts.n_splines <= _TOGETHER or len(self.X) * parts.n_functions > _DENSE_VALUES:
            return None
        bases = parts.design.bases
        columns = zip(bases, self.X.T, parts.forms)
        return np.hstack([basis.design(x) @ form.T for basis, x, form in columns])

    def own(self, j: int) -> np.ndarray:
        """Return the Gram matrix of the functions of feature j."""
        if self._values is not None:
            own = self._values[:, self.smoothers.slices[j]]
            return own.T @ (self.w[:, None] * own)
        T = self.smoothers.forms[j].T
        return T.T @ self.smoothers.design.feature(j).gram(self.X[:, [j]], self.w) @ T

    def columns(self, j: int) -> np.ndarray:
        """Phi'W Phi_j: one pass over the rows for each feature, or for all where they are few."""
        if j not in self._columns:
            if self._values is not None:
                own = self._values[:, self.smoothers.slices[j]]
                self._columns[j] = self._values.T @ (self.w[:, None] * own)
            elif self.smoothers.n_splines <= _TOGETHER:
                self._columns = self._passed(list(range(self.X.shape[1])))
            else:
                self._columns |= self._passed([j])
        return self._columns[j]

    def _passed(self, features: list[int]) -> dict[int, np.ndarray]:
        """Return the columns of some features, by one pass over the rows."""
        design = self.smoothers.design
        right = AdditiveDesign(tuple(design.bases[k] for k in features))
        # Sums of sparse products: a row has only 2r splines of each feature that are not zero.
        total: sp.csr_matrix = 0
        for rows in row_blocks(*self.X.shape):
            D = design.matrix(self.X[rows])
            # Several features means all of them, whose splines are known already.
            part = D if len(features) > 1 else right.matrix(self.X[rows][:, features])
            total = total + D.T @ scaled_rows(part, self.w[rows])
        dense = total.toarray()
        return {
            k: self.smoothers.project(dense[:, columns] @ self.smoothers.forms[k].T)
            for k, columns in zip(features, right.slices)
        }


class GramSums:
    """The same sums, from those of the B-splines over all rows; `folds` has them for each fold."""

    def __init__(
        self,
        smoothers: FeatureSmoothers,
        gram: np.ndarray,
        moments: np.ndarray,
        squares: float,
        folds: Sequence[tuple[np.ndarray, np.ndarray, float]] = (),
    ) -> None:
        self.smoothers, self.gram, self.squares, self.folds = smoothers, gram, squares, folds
        # The B-splines of a feature sum to one.
        first = smoothers.splines[0]
        ones = gram[:, first].sum(axis=1)
        self.weight, self.y_sum = float(ones[first].sum()), float(moments[first].sum())
        self.functions, self.moments = smoothers.project(ones), smoothers.project(moments)

    @classmethod
    def of_blocks(cls, smoothers: FeatureSmoothers, sums: BlockSums) -> "GramSums":
        """From the sums over the blocks of a Dask collection, and by their folds."""
        folds = [(part.gram, part.moments[:, 0], part.squares) for part in sums.folds]
        total = sums.sums
        return cls(smoothers, total.gram, total.moments[:, 0], total.squares, folds)

    def own(self, j: int) -> np.ndarray:
        T, columns = self.smoothers.forms[j].T, self.smoothers.splines[j]
        return T.T @ self.gram[columns, columns] @ T

    def columns(self, j: int) -> np.ndarray:
        T, columns = self.smoothers.forms[j].T, self.smoothers.splines[j]
        return self.smoothers.project(self.gram[:, columns] @ T)

    def of_splits(self, splits: Sequence[Split]) -> Iterator[tuple["Rest", "GramSums"]]:
        """Those of the folds by which the sums were taken; there are no splits of rows."""
        for fold in self.folds:
            held = GramSums(self.smoothers, *fold)
            yield Rest(self, held), held


class Rest:
    """The sums over all rows but those of another object, by subtraction."""

    def __init__(self, sums: RowSums | GramSums, held: RowSums | GramSums) -> None:
        self.smoothers, self._sums, self._held = sums.smoothers, sums, held
        self.weight, self.y_sum = sums.weight - held.weight, sums.y_sum - held.y_sum
        self.squares = sums.squares - held.squares
        self.functions = sums.functions - held.functions
        self.moments = sums.moments - held.moments

    def own(self, j: int) -> np.ndarray:
        return np.diag(self.smoothers.forms[j].gamma) - self._held.own(j)

    def columns(self, j: int) -> np.ndarray:
        return self._sums.columns(j) - self._held.columns(j)


def squared_errors(
    sums: RowSums | GramSums, coefficients: np.ndarray, constants: np.ndarray
) -> np.ndarray:
    """Return the weighted squared error of each model, constants + functions @ coefficients.

    From the rows where they are in memory and fewer than the coefficients.
    """
    smoothers = sums.smoothers
    used = [j for j, part in enumerate(smoothers.slices) if coefficients[part].any()]
    parts = [smoothers.slices[j] for j in used]
    some = np.r_[tuple(parts)] if parts else np.empty(0, dtype=np.intp)
    # A Gram matrix of more functions than rows would cost more than the rows themselves.
    if isinstance(sums, RowSums) and len(sums.X) <= len(some):
        fitted = smoothers.design.evaluate(sums.X, smoothers.in_splines(coefficients)) + constants
        return sums.w @ (sums.y[:, None] - fitted) ** 2
    # The square is multiplied out, so that all models are evaluated by one product with the Gram
    # matrix.
    B = coefficients[some]
    gram = np.hstack([np.zeros((len(some), 0)), *(sums.columns(j)[some] for j in used)])
    constant_part = constants * (constants * sums.weight - 2.0 * sums.y_sum)
    linear = 2.0 * (constants * (sums.functions[some] @ B) - sums.moments[some] @ B)
    quadratic = (B * (gram @ B)).sum(axis=0)
    # The difference of large sums may be a rounding error below zero.
    return np.maximum(sums.squares + constant_part + linear + quadratic, 0.0)


# --- what the rounds read -------------------------------------------------------------------------


class FeatureSystem:
    """What the rounds read, in functions that diagonalise each feature's own data and penalty.

    Over the rows: `gamma` is the squared length of each function, `shrinkage` its coefficient in
    the feature's spline by its moment with the residuals, `moments` its moment with y, and
    `about_y` has the sum of the weights, the mean of y and the sum of squares of y about it.
    """

    def __init__(
        self,
        shrinkage: np.ndarray,
        gammas: list[np.ndarray],
        moments: np.ndarray,
        about_y: tuple[float, float, float],
        columns: Callable[[int], np.ndarray],
    ) -> None:
        self.shrinkage, self.moments, self.gamma = shrinkage, moments, np.concatenate(gammas)
        self.slices, _ = _consecutive([len(gamma) for gamma in gammas])
        self.weight, self.mean, self.total = about_y
        self._source: Callable[[int], np.ndarray] | None = columns
        self._columns: dict[int, np.ndarray] = {}

    def columns(self, j: int) -> np.ndarray:
        """The products of all functions with those of feature j: (n_functions, size of j)."""
        if j not in self._columns:
            assert self._source is not None
            block = np.ascontiguousarray(self._source(j))
            # Known to be diagonal; as computed it has the rounding errors of the products.
            block[self.slices[j]] = np.diag(self.gamma[self.slices[j]])
            self._columns[j] = block
        return self._columns[j]

    def release(self) -> None:
        """Forget the sums over rows, and the columns."""
        self._source, self._columns = None, {}

    @classmethod
    def of_all(cls, sums: RowSums | GramSums) -> "FeatureSystem":
        """For the rows that the smoothers were made from."""
        forms = sums.smoothers.forms
        mean = sums.y_sum / sums.weight
        return cls(
            np.concatenate([form.shrinkage(1.0) for form in forms]),
            [form.gamma for form in forms],
            sums.moments - mean * sums.functions,
            (sums.weight, mean, max(sums.squares - mean * sums.y_sum, 0.0)),
            sums.columns,
        )


class SplitSystem(FeatureSystem):
    """For the rows that a split trains on: each feature is diagonalised once more.

    The knots are those of all rows; with degrees of freedom given, the penalties are not: each
    spline has as many on these rows.

    `turns` are the functions of each feature here, as combinations of those of `FeatureSmoothers`,
    and `centre` the means of the latter over these rows.
    """

    def __init__(self, trained: RowSums | Rest, held: RowSums | GramSums) -> None:
        weight, y_sum = trained.weight, trained.y_sum
        mean = y_sum / weight
        self.centre = trained.functions / weight
        self._trained, self._held, self._old = trained, held, trained.smoothers.slices
        parts = [self._diagonalised(j, weight) for j in range(len(self._old))]
        self.turns = [turn for turn, _, _ in parts]
        super().__init__(
            np.concatenate([shrinkage for _, _, shrinkage in parts]),
            [gamma for _, gamma, _ in parts],
            self._turned(trained.moments - mean * trained.functions),
            (weight, mean, max(trained.squares - mean * y_sum, 0.0)),
            self._centred,
        )

    def _diagonalised(self, j: int, weight: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        smoothers = self._trained.smoothers
        form, df, centre = smoothers.forms[j], smoothers.df, self.centre[self._old[j]]
        # Centred by the mean over these rows, which is not zero as it is over all rows.
        own = self._trained.own(j) - weight * np.outer(centre, centre)
        # An infinite penalty leaves out the functions that are penalised, and a feature that is
        # constant on these rows those that are not.
        size = own.diagonal() + form.roughness
        keep = np.flatnonzero(np.isfinite(size) & (size > _VANISHING))
        turn, gamma = simultaneous_diagonal(own[np.ix_(keep, keep)], form.roughness[keep])
        full = np.zeros((len(own), len(gamma)))
        full[keep] = turn
        roughness = np.where(1.0 - gamma < _UNPENALISED, 0.0, 1.0 - gamma)
        gamma = np.where(gamma < _UNPENALISED, 0.0, gamma)
        factor = 1.0 if df is None or not len(gamma) else factor_for_df(gamma, roughness, df - 1.0)
        refitted = CentredForm(form.design, form.T, gamma, roughness)
        return full, gamma, refitted.shrinkage(factor)

    def _turned(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([t.T @ values[old] for t, old in zip(self.turns, self._old)])

    def _centred(self, j: int) -> np.ndarray:
        means = self.weight * np.outer(self.centre, self.centre[self._old[j]])
        return self._turned((self._trained.columns(j) - means) @ self.turns[j])

    def held_out_errors(self, coefficients: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Weighted squared errors on the rows tested on, of models for these rows.

        Coefficients are of shape (n_functions, n_models); the means are those of each model over
        the rows of this system.
        """
        parts = zip(self.turns, self.slices)
        turned = np.concatenate([turn @ coefficients[own] for turn, own in parts])
        return squared_errors(self._held, turned, means - self.centre @ turned)


def _consecutive(sizes: list[int]) -> tuple[list[slice], int]:
    """Slices of these sizes, one after the other, and their total."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)], ends[-1]


# --- the rounds and their path --------------------------------------------------------------------


class BestFeatureRounds:
    """The rounds, on one set of rows.

    `features` has the feature of each round, `steps` what it adds to the coefficients of that
    feature, and `decreases` by how much it lowers the weighted sum of squares. They are shorter
    than `n_rounds`, the number of rounds asked for, where nothing was left to fit.
    """

    def __init__(self, system: FeatureSystem, learning_rate: float) -> None:
        self.system, self.learning_rate = system, learning_rate
        self.features: list[int] = []
        self.steps: list[np.ndarray] = []
        self.decreases: list[float] = []
        self.n_rounds = 0
        self._moments = system.moments.copy()
        self._chosen: dict[int, tuple[slice, np.ndarray, np.ndarray]] = {}

    def extend(self, n_rounds: int) -> None:
        """Run rounds until there are `n_rounds`, or nothing is left to fit."""
        self.n_rounds = max(n_rounds, self.n_rounds)
        system, b, rate = self.system, self._moments, self.learning_rate
        gamma, shrinkage = system.gamma, system.shrinkage
        live = [j for j, part in enumerate(system.slices) if part.start < part.stop]
        if not live:
            return
        starts = [system.slices[j].start for j in live]
        # A feature's whole fit lowers the sum of squares by sum_a weights_a b_a^2.
        weights = shrinkage * (2.0 - gamma * shrinkage)
        floor = _NOTHING_LEFT * system.total
        with one_blas_thread():
            # A round costs one block of columns: the moments with the new residuals follow from the
            # old ones, and no row is read.
            while len(self.features) < n_rounds:
                decreases = np.add.reduceat(weights * b * b, starts)
                best = decreases.max()
                if not best > floor:
                    return
                j = live[int(np.argmax(decreases >= best * (1.0 - _TIE)))]
                part = system.slices[j]
                step = rate * shrinkage[part] * b[part]
                # The decrease by the shortened step, not by the whole fit that was compared.
                self.decreases.append(float(step @ (2.0 * b[part] - gamma[part] * step)))
                b -= system.columns(j) @ step
                self.features.append(j)
                self.steps.append(step)

    def coefficients(self, rounds: np.ndarray) -> np.ndarray:
        """The coefficients of all functions after each of `rounds`: (n_functions, len(rounds))."""
        out = np.empty((len(self.system.gamma), len(rounds)))
        # In increasing order of rounds, so that each step is added once however many models are
        # asked for.
        current, done = np.zeros(len(out)), 0
        for position in np.argsort(rounds, kind="stable"):
            last = min(int(rounds[position]), len(self.features))
            for m in range(done, last):
                current[self.system.slices[self.features[m]]] += self.steps[m]
            out[:, position], done = current, last
        return out

    def traces(self, n_rounds: int) -> np.ndarray:
        """Return the trace of the operator after each of the first rounds, without the constant.

        After m rounds the residuals are A_m y, A_{m+1} = (I - rate S_j) A_m, and with Phi'W A_m =
        D_m Phi'W a round costs the number of functions of the features chosen, squared, times
        those of one feature.
        """
        chosen = self._chosen or self._chosen_features()
        out = np.zeros(n_rounds + 1)
        # Only functions of chosen features appear in the operator, which may be far fewer than all.
        D = np.eye(sum(len(shrinkage) for _, shrinkage, _ in chosen.values()))
        for m, j in enumerate(self.features[:n_rounds]):
            rows, shrinkage, block = chosen[j]
            step = self.learning_rate * shrinkage[:, None] * D[rows]
            out[m + 1] = out[m] + np.vdot(step, block.T)
            D -= block @ step
        return out

    def _chosen_features(self) -> dict[int, tuple[slice, np.ndarray, np.ndarray]]:
        """For each: its rows among the functions chosen, its shrinkage and its columns there."""
        system, chosen = self.system, sorted(set(self.features))
        parts = [system.slices[j] for j in chosen]
        every = np.r_[tuple(parts)] if parts else np.empty(0, dtype=np.intp)
        ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
        return {
            j: (slice(a, b), system.shrinkage[part], system.columns(j)[every])
            for j, part, a, b in zip(chosen, parts, ends[:-1], ends[1:])
        }

    def release(self) -> None:
        """Keep what the results need, and no sums over rows: no more rounds can be run."""
        self._chosen = self._chosen_features()
        self.system.release()


class BestFeaturePath(BoostingPath):
    """The path of componentwise boosting: a model after each round.

    The sums are over all rows, of y about its mean; the totals are those of the observations that
    the criteria count, equal rows being one.
    """

    def __init__(self, sums: RowSums | GramSums, totals: Totals, start: Start) -> None:
        super().__init__(totals, start)
        self.centred_total = self.total = totals.squares
        if not self.at_mean:
            self.total += self.total_weight * self.mean**2
        self.smoothers, self.eigenvalues = sums.smoothers, np.empty(0)
        self.n_features = len(self.smoothers.forms)
        longest = int(n_rounds(_LONGEST, self.learning_rate))
        self.default_rounds = min(longest, _MOST_ROUNDS)
        self._sums: RowSums | GramSums | None = sums
        self.rounds = BestFeatureRounds(FeatureSystem.of_all(sums), self.learning_rate)
        self._traces = np.zeros(1)

    def keep_rows(self) -> None:
        """Release the rows. The Gram matrix is kept for the features chosen, for the trace."""
        self._sums = None
        self.last_time = self.rounds.n_rounds * self.learning_rate
        self.rounds.release()

    def stability(self) -> tuple[bool, str]:
        # The eigenvalues of each spline are between 0 and 1: no round raises the squared errors.
        return True, ""

    def _numbers(self, times: np.ndarray) -> np.ndarray:
        """Return the number of rounds at each time; they are run where they were not."""
        if times.max() > self.last_time * (1.0 + 1e-12):
            raise ValueError(
                f"times must be at most {self.last_time:g}: only {self.rounds.n_rounds} rounds "
                "were run."
            )
        numbers = n_rounds(times, self.learning_rate)
        check_number_of_rounds(int(numbers.max()), self.learning_rate, float(times.max()))
        if numbers.max() > self.rounds.n_rounds:
            self.rounds.extend(int(numbers.max()))
        return numbers

    def _left_of_mean(self, numbers: np.ndarray) -> np.ndarray:
        """Return the share of the mean that is not fitted: each spline contains the constant."""
        if self.at_mean:
            return np.zeros(len(numbers))
        return (1.0 - self.learning_rate) ** numbers.astype(np.float64)

    def squared_residuals(self, times: np.ndarray) -> np.ndarray:
        numbers = self._numbers(times)
        decreases = np.r_[0.0, np.cumsum(self.rounds.decreases)]
        fitted = decreases[np.minimum(numbers, len(decreases) - 1)]
        rss = np.maximum(self.centred_total - fitted, 0.0)
        return rss + self.total_weight * (self.mean * self._left_of_mean(numbers)) ** 2

    def degrees_of_freedom(self, times: np.ndarray) -> np.ndarray:
        numbers = self._numbers(times)
        needed = min(int(numbers.max()), len(self.rounds.features))
        if len(self._traces) <= needed:
            self._traces = self.rounds.traces(needed)
        traces = self._traces[np.minimum(numbers, len(self._traces) - 1)]
        return traces + 1.0 - self._left_of_mean(numbers)

    def predictor(self, times: np.ndarray) -> AdditivePredictor:
        numbers = self._numbers(times)
        coefficients = self.smoothers.in_splines(self.rounds.coefficients(numbers))
        constants = self.mean * (1.0 - self._left_of_mean(numbers))
        return AdditivePredictor(self.smoothers.design, coefficients, constants)

    def selection(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        number = int(self._numbers(np.array([time]))[0])
        chosen = np.array(self.rounds.features[:number], dtype=np.intp)
        sums = np.bincount(chosen, self.rounds.decreases[:number], minlength=self.n_features)
        return chosen, sums / (sums.sum() or 1.0)

    def held_out_error(self, times: np.ndarray, splits: Sequence[Split]) -> np.ndarray:
        sums = self._sums
        assert sums is not None
        numbers = self._numbers(times)
        left = self._left_of_mean(numbers)
        parts = [slice(i, i + _MODELS) for i in range(0, len(numbers), _MODELS)]
        errors, weight = np.zeros(len(times)), 0.0
        with one_blas_thread():  # many small decompositions and products
            for trained, held in sums.of_splits(splits):
                # y is centred by the mean of all rows, which is part of the start at zero.
                system = SplitSystem(trained, held)
                rounds = BestFeatureRounds(system, self.learning_rate)
                rounds.extend(int(numbers.max()))
                constants = system.mean - left * (system.mean + self.mean)
                for some in parts:
                    models = rounds.coefficients(numbers[some])
                    errors[some] += system.held_out_errors(models, constants[some])
                weight += held.weight
        return errors / weight
