"""Draws of whole groups of rows, by any scheme for rows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._typing import ArrayLike
from sklearn_ensemble_theory.averaging._sampling.schemes import SamplingDesign, SamplingScheme

__all__ = ["GroupDraws", "group_codes"]


def group_codes(groups: ArrayLike, X: Any) -> np.ndarray:
    """The groups of the rows as codes 0 ... G-1.

    Raises
    ------
    ValueError
        If `groups` is not one label for each row of X, or labels are missing or cannot be compared.
    """
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(f"groups must have one dimension, got shape {labels.shape}.")
    check_consistent_length(X, labels)
    try:
        known = labels.tolist() if labels.dtype.kind in ("f", "O") else []
        if any(label is None or bool(label != label) for label in known):
            raise ValueError("groups must not contain missing values.")
        return np.unique(labels, return_inverse=True)[1].reshape(-1)
    except TypeError as error:
        raise ValueError(f"groups must be labels that can be compared: {error}.") from error


def _strata_of_groups(strata: np.ndarray | None, codes: np.ndarray, n: int) -> np.ndarray | None:
    """The class of each group, -1 if its rows have several."""
    if strata is None:
        return None
    low = np.full(n, np.iinfo(np.intp).max, dtype=np.intp)
    high = np.full(n, -1, dtype=np.intp)
    np.minimum.at(low, codes, strata)
    np.maximum.at(high, codes, strata)
    return np.where(low == high, low, -1)


@dataclass(frozen=True, kw_only=True)
class GroupDraws(SamplingScheme):
    """A scheme that draws groups; every row has the weight of its group, times its own.

    Groups are drawn as rows of equal weight are. `sample_weight` multiplies the weight of a row
    where its group is drawn, so that integer weights are equivalent to repeating rows within their
    groups. A group without rows of positive weight does not exist.

    Parameters
    ----------
    inner : SamplingScheme
        The scheme, with groups in place of rows.

    codes : int array of shape (n,)
        The group of each row; -1 for rows of groups that do not exist.

    order, starts : int arrays
        The rows of positive weight of group g are order[starts[g]:starts[g + 1]].
    """

    inner: SamplingScheme
    codes: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def by(
        cls,
        scheme: type[SamplingScheme],
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None,
        design: SamplingDesign,
    ) -> Self:
        """Draws of the groups of a design by a scheme.

        Raises
        ------
        ValueError
            As by the scheme, if it cannot draw groups, or if there are fewer than 2.
        """
        assert design.groups is not None
        positive = np.arange(n_samples)
        if sample_weight is not None:
            positive = np.flatnonzero(sample_weight)
            if not len(positive):
                raise ValueError("sample_weight must be positive for at least one row.")
        known, own = np.unique(design.groups[positive], return_inverse=True)
        n_groups = len(known)
        if n_groups < 2:
            raise ValueError("groups must contain at least 2 groups of rows of positive weight.")
        codes = np.full(n_samples, -1, dtype=np.intp)
        place = np.searchsorted(known, design.groups)
        exists = known[np.minimum(place, n_groups - 1)] == design.groups
        codes[exists] = place[exists]
        strata = design.strata if design.strata is None else design.strata[positive]
        of_groups = _strata_of_groups(strata, own.reshape(-1), n_groups)
        try:
            inner = scheme.of(
                n_groups, max_samples, None, SamplingDesign(strata=of_groups, unit="groups")
            )
        except ValueError as error:
            raise ValueError(
                f"With groups, the {n_groups} groups are drawn in place of rows: {error}"
            ) from error
        order = positive[np.argsort(codes[positive], kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes[positive]))])
        return cls(
            n_samples,
            inner.size,
            sample_weight,
            inner=inner,
            codes=codes,
            order=order,
            starts=starts,
        )

    @property
    def bootstrap(self) -> bool | str:  # type: ignore[override]
        return self.inner.bootstrap

    def _rows(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the rows of these groups, one after the other, the numbers of rows)."""
        first, sizes = self.starts[groups], self.starts[groups + 1] - self.starts[groups]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1]) + np.repeat(first - (ends - sizes), sizes)
        return self.order[places], sizes

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        if not self.draws_counts:
            return self.draw(rng)[0]
        return self._rows(self.inner.indices(rng))[0]

    def draw(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        groups, weights = self.inner.draw(rng)
        rows, sizes = self._rows(groups)
        order = np.argsort(rows)
        rows, weights = rows[order], np.repeat(weights, sizes)[order]
        return rows, weights if self.sample_weight is None else weights * self.sample_weight[rows]

    @property
    def n_units(self) -> int:
        return self.inner.n_samples

    @property
    def unit_of_row(self) -> np.ndarray:
        return self.codes

    def draw_units(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """The groups drawn, and their weights."""
        return self.inner.draw(rng)

    @property
    def unit_shares(self) -> np.ndarray | None:
        return self.inner.unit_shares

    @property
    def noise_is_known(self) -> bool:
        return True

    def is_outside(self, rows: np.ndarray) -> np.ndarray:
        """Rows of groups that are not drawn; a row of weight 0 is in its group."""
        drawn = np.zeros(self.n_units + 1, dtype=bool)
        drawn[self.codes[rows]] = True
        return ~drawn[self.codes]  # -1 is the last place, which is never drawn

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """From the sums over groups, as the rows of a group are correlated."""
        known, codes = np.unique(self.codes[rows], return_inverse=True)
        n_groups = len(known)
        if n_groups < 2:
            return np.full(len(values), np.nan)
        centred = values - values.mean(axis=1, keepdims=True)
        sums = np.stack([np.bincount(codes.reshape(-1), row) for row in centred])
        return np.sqrt((sums**2).sum(axis=1) * n_groups / (n_groups - 1)) / values.shape[1]

    @property
    def draws_counts(self) -> bool:
        return self.inner.draws_counts and self.sample_weight is None

    @property
    def leaves_rows_out(self) -> bool:
        return self.inner.leaves_rows_out

    @property
    def noise(self) -> float:
        return self.inner.noise

    @property
    def jackknife_scale(self) -> float:
        return self.inner.jackknife_scale
