"""Splines of one feature each, as sums over rows: what boosting by the best feature reads.

With phi the functions of all features, each feature's diagonal in its own data and penalty, the
splines of single features fitted to any residuals are functions of Phi'W r, and the effect of one
of them on all others is a block of columns of Phi'W Phi. Both are sums over rows: those of the rows
that a fold trains on are the total less the held-out part.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_ensemble_theory.smoothing._spline.additive_design import (
    AdditiveDesign,
    chunks,
    scaled_rows,
)
from sklearn_ensemble_theory.smoothing._spline.base import (
    CentredForm,
    PenaltySpec,
    SumsOverRows,
    one_feature_forms,
    simultaneous_diagonal,
)
from sklearn_ensemble_theory.smoothing._spline.basis import factor_for_df

Split = tuple[np.ndarray, np.ndarray]

_TOGETHER = 1200
"""Up to this many basis functions all columns of the Gram matrix are computed in one pass."""

_DENSE_VALUES = 25_000_000
"""Above `_TOGETHER`, up to this many values of functions at rows are kept."""

_VANISHING = 1e-11
"""Functions shorter than this vanish; their length and roughness over all rows are about 1."""

_UNPENALISED = 1e-13
"""A share of roughness below this is the rounding error of a polynomial without a penalty."""


class FeatureSmoothers:
    """The spline of each feature alone, without the constant.

    Parameters
    ----------
    forms : list of CentredForm
        One for each feature, at its penalty; centred over the rows they were made from.
    df : float or None
        The degrees of freedom of each, including the constant; None with a given penalty.

    Attributes
    ----------
    design : AdditiveDesign
    splines, slices : list of slice
        The B-splines and the functions of each feature.
    n_splines, n_functions : int
    """

    def __init__(self, forms: list[CentredForm], df: float | None):
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


def feature_smoothers(rows: SumsOverRows, spec: PenaltySpec) -> FeatureSmoothers:
    """The splines of the features, each with the penalty that `spec` gives it alone."""
    return FeatureSmoothers(one_feature_forms(rows, spec), spec.df)


class FunctionSums(ABC):
    """Sums over rows of products of the functions with each other and with y.

    Attributes
    ----------
    smoothers : FeatureSmoothers
    weight, y_sum, squares : float
        The sums of w, w y and w y^2.
    functions, moments : ndarray of shape (n_functions,)
        The sums of w phi and w y phi.
    """

    smoothers: FeatureSmoothers
    weight: float
    y_sum: float
    squares: float
    functions: np.ndarray
    moments: np.ndarray

    @abstractmethod
    def own(self, j: int) -> np.ndarray:
        """The Gram matrix of the functions of feature j."""

    @abstractmethod
    def columns(self, j: int) -> np.ndarray:
        """Phi'W Phi_j."""

    @abstractmethod
    def held_out(self, splits: Sequence[Split]) -> Iterator["FunctionSums"]:
        """The sums over the rows that each split tests on."""

    def errors(self, coefficients: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """The weighted squared error of each model, constants + functions @ coefficients."""
        some = self._used(coefficients)
        B = coefficients[some]
        used = self._features_of(coefficients)
        gram = np.hstack([np.zeros((len(some), 0)), *(self.columns(j)[some] for j in used)])
        constant_part = constants * (constants * self.weight - 2.0 * self.y_sum)
        linear = 2.0 * (constants * (self.functions[some] @ B) - self.moments[some] @ B)
        quadratic = (B * (gram @ B)).sum(axis=0)
        return np.maximum(self.squares + constant_part + linear + quadratic, 0.0)

    def _features_of(self, coefficients: np.ndarray) -> list[int]:
        """The features of which some function has a coefficient."""
        return [j for j, s in enumerate(self.smoothers.slices) if coefficients[s].any()]

    def _used(self, coefficients: np.ndarray) -> np.ndarray:
        """The functions of these features."""
        used = [self.smoothers.slices[j] for j in self._features_of(coefficients)]
        return np.r_[tuple(used)] if used else np.empty(0, dtype=np.intp)


class RowSums(FunctionSums):
    """The sums over rows in memory.

    Parameters
    ----------
    smoothers : FeatureSmoothers
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
    w : ndarray of shape (n,)
    """

    def __init__(self, smoothers: FeatureSmoothers, X: np.ndarray, y: np.ndarray, w: np.ndarray):
        self.smoothers, self.X, self.y, self.w = smoothers, X, y, w
        self.weight, self.y_sum, self.squares = float(w.sum()), float(w @ y), float(w @ y**2)
        first = smoothers.design.moments(X, w, np.column_stack([np.ones(len(y)), y]))
        self.functions, self.moments = smoothers.project(first).T
        self._columns: dict[int, np.ndarray] = {}

    def held_out(self, splits: Sequence[Split]) -> Iterator["RowSums"]:
        for number, (train, test) in enumerate(splits):
            in_test = np.zeros(len(self.y), dtype=bool)
            in_test[test] = True
            if not np.array_equal(np.flatnonzero(~in_test), np.unique(train)):
                raise ValueError(
                    f"Split {number} of cv must train on exactly the rows that it does not test "
                    "on, with coordinates='best'."
                )
            yield RowSums(self.smoothers, self.X[in_test], self.y[in_test], self.w[in_test])

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
        """The columns of some features, by one pass over the rows."""
        design = self.smoothers.design
        right = AdditiveDesign(tuple(design.bases[k] for k in features))
        total: Any = 0.0
        for rows in chunks(*self.X.shape):
            D = design.matrix(self.X[rows])
            part = D if len(features) > 1 else right.matrix(self.X[rows][:, features])
            total = total + D.T @ scaled_rows(part, self.w[rows])
        dense = total.toarray()
        return {
            k: self.smoothers.project(dense[:, columns] @ self.smoothers.forms[k].T)
            for k, columns in zip(features, right.slices)
        }

    def errors(self, coefficients: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """From the rows where they are fewer than the coefficients, and from the sums otherwise."""
        if len(self.X) > len(self._used(coefficients)):
            return super().errors(coefficients, constants)
        parts = self.smoothers
        fitted = parts.design.evaluate(self.X, parts.in_splines(coefficients)) + constants
        return self.w @ (self.y[:, None] - fitted) ** 2


class GramSums(FunctionSums):
    """The sums over all rows, from those of the B-splines.

    Parameters
    ----------
    smoothers : FeatureSmoothers
    gram : ndarray of shape (n_splines, n_splines)
    moments : ndarray of shape (n_splines,)
    squares : float
    folds : sequence of (gram, moments, squares)
        Of the rows that each fold tests on.
    """

    def __init__(
        self,
        smoothers: FeatureSmoothers,
        gram: np.ndarray,
        moments: np.ndarray,
        squares: float,
        folds: Sequence[tuple[np.ndarray, np.ndarray, float]] = (),
    ):
        self.smoothers, self.gram, self.squares, self.folds = smoothers, gram, squares, folds
        # The B-splines of a feature sum to one.
        first = smoothers.splines[0]
        ones = gram[:, first].sum(axis=1)
        self.weight, self.y_sum = float(ones[first].sum()), float(moments[first].sum())
        self.functions, self.moments = smoothers.project(ones), smoothers.project(moments)

    def own(self, j: int) -> np.ndarray:
        T, columns = self.smoothers.forms[j].T, self.smoothers.splines[j]
        return T.T @ self.gram[columns, columns] @ T

    def columns(self, j: int) -> np.ndarray:
        T, columns = self.smoothers.forms[j].T, self.smoothers.splines[j]
        return self.smoothers.project(self.gram[:, columns] @ T)

    def held_out(self, splits: Sequence[Split]) -> Iterator["GramSums"]:
        """Those of the folds by which the sums were taken; there are no splits of rows."""
        return (GramSums(self.smoothers, *fold) for fold in self.folds)


class FeatureSystem:
    """What the rounds read, in functions that diagonalise each feature's own data and penalty.

    Attributes
    ----------
    slices : list of slice
        The functions of each feature.
    gamma, shrinkage, moments : ndarray of shape (n_functions,)
        Over the rows: the squared length of each function; its coefficient in the feature's spline,
        by its moment with the residuals; its moment with y.
    weight, mean, total : float
        The sum of the weights, the mean of y and the sum of squares of y about it.
    """

    def __init__(
        self,
        shrinkage: np.ndarray,
        gammas: list[np.ndarray],
        moments: np.ndarray,
        about_y: tuple[float, float, float],
        columns: Callable[[int], np.ndarray],
    ):
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
    def of_all(cls, sums: FunctionSums) -> "FeatureSystem":
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


class ComplementSystem(FeatureSystem):
    """For all rows but some: sums by subtraction, and each feature diagonalised once more.

    The knots are those of all rows; with degrees of freedom given, the penalties are not: each
    spline has as many on these rows.

    Attributes
    ----------
    turns : list of ndarray
        The functions of each feature here, as combinations of those of `FeatureSmoothers`.
    centre : ndarray
        The means of the latter over these rows.
    """

    def __init__(self, sums: FunctionSums, held: FunctionSums):
        weight, y_sum = sums.weight - held.weight, sums.y_sum - held.y_sum
        mean = y_sum / weight
        self.centre = (sums.functions - held.functions) / weight
        self._sums, self._held, self._old = sums, held, sums.smoothers.slices
        parts = [self._diagonalised(j, weight) for j in range(len(self._old))]
        self.turns = [turn for turn, _, _ in parts]
        moments = sums.moments - held.moments - mean * (sums.functions - held.functions)
        squares = sums.squares - held.squares
        super().__init__(
            np.concatenate([shrinkage for _, _, shrinkage in parts]),
            [gamma for _, gamma, _ in parts],
            self._turned(moments),
            (weight, mean, max(squares - mean * y_sum, 0.0)),
            self._subtracted,
        )

    def _diagonalised(self, j: int, weight: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        form, df = self._sums.smoothers.forms[j], self._sums.smoothers.df
        centre = self.centre[self._old[j]]
        own = np.diag(form.gamma) - self._held.own(j) - weight * np.outer(centre, centre)
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

    def _subtracted(self, j: int) -> np.ndarray:
        block = self._sums.columns(j) - self._held.columns(j)
        block -= self.weight * np.outer(self.centre, self.centre[self._old[j]])
        return self._turned(block @ self.turns[j])

    def held_out_errors(self, coefficients: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Weighted squared errors on the rows left out, of models for these rows.

        Parameters
        ----------
        coefficients : ndarray of shape (n_functions, n_models)
        means : ndarray of shape (n_models,)
            The mean of each model over the rows of this system.
        """
        parts = zip(self.turns, self.slices)
        turned = np.concatenate([turn @ coefficients[own] for turn, own in parts])
        return self._held.errors(turned, means - self.centre @ turned)


def _consecutive(sizes: list[int]) -> tuple[list[slice], int]:
    """Slices of these sizes, one after the other, and their total."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)], ends[-1]
