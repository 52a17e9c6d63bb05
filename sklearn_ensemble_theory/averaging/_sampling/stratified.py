"""Draws with replacement within each class."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sklearn_ensemble_theory.averaging._sampling.schemes import (
    PLAIN,
    SamplingDesign,
    SamplingScheme,
)

__all__ = ["Stratified", "apportioned"]


def apportioned(total: int, weight: np.ndarray) -> np.ndarray:
    """Whole numbers of this total in proportion to the weights, by the largest remainders."""
    exact = total * weight / weight.sum()
    parts = np.floor(exact).astype(np.intp)
    remainders = np.argsort(parts - exact, kind="stable")
    parts[remainders[: total - parts.sum()]] += 1
    return parts


@dataclass(frozen=True, kw_only=True)
class Stratified(SamplingScheme):
    """s_k draws with replacement from the n_k rows of class k, s_k in proportion to n_k.

    Var(v_i) = s_k/n_k (1 - 1/n_k). With weights of the rows they replace the numbers n_k.

    Parameters
    ----------
    strata : int array of shape (n,)
        The class of each row.

    counts : int array of shape (K,)
        The numbers s_k.
    """

    size: int
    strata: np.ndarray
    counts: np.ndarray

    bootstrap = "stratified"

    @classmethod
    def of(
        cls,
        n_samples: int,
        max_samples: int | float | None,
        sample_weight: np.ndarray | None = None,
        design: SamplingDesign = PLAIN,
    ) -> Self:
        """The scheme, as in the base class.

        Raises
        ------
        ValueError
            In addition if there are no classes, or too few draws for all of them.
        """
        if design.strata is None:
            raise ValueError(
                'bootstrap="stratified" draws within each class and requires a classifier; for '
                "regression use for instance bootstrap=True."
            )
        if (design.strata < 0).any():
            raise ValueError(
                'bootstrap="stratified" with groups requires that the rows of a group are all of '
                "the same class."
            )
        size = int(cls.size_from(max_samples, n_samples, sample_weight, design.unit))
        weight = np.bincount(design.strata, sample_weight)
        if not (np.isfinite(weight.sum()) and weight.sum() > 0):
            raise ValueError(f"The sum of sample_weight must be positive, got {weight.sum()}.")
        counts = apportioned(size, weight)
        lacking = np.flatnonzero((counts == 0) & (weight > 0))
        if len(lacking):
            raise ValueError(
                f'bootstrap="stratified" shares out {size} draws in proportion to the '
                f"classes, which leaves none for {len(lacking)} of them; increase max_samples."
            )
        return cls(
            n_samples=n_samples,
            size=size,
            sample_weight=sample_weight,
            strata=design.strata,
            counts=counts,
        )

    def _rows_of_strata(self) -> list[np.ndarray]:
        order = np.argsort(self.strata, kind="stable")
        if self.sample_weight is not None:
            order = order[self.sample_weight[order] > 0]
        ends = np.cumsum(np.bincount(self.strata[order], minlength=len(self.counts)))
        return np.split(order, ends[:-1])

    def indices(self, rng: np.random.RandomState) -> np.ndarray:
        drawn = []
        for rows, size in zip(self._rows_of_strata(), self.counts):
            if size == 0:
                continue
            if self.sample_weight is None:
                places = rng.randint(0, len(rows), size)
            else:
                cumulative = np.cumsum(self.sample_weight[rows])
                uniform = rng.random_sample(size) * cumulative[-1]
                places = np.searchsorted(cumulative, uniform, side="right")
                places = np.minimum(places, len(rows) - 1)
            drawn.append(rows[places])
        return np.concatenate(drawn)

    def _sizes(self) -> np.ndarray:
        """The numbers n_k of rows of positive weight."""
        rows = slice(None) if self.sample_weight is None else self.sample_weight > 0
        return np.bincount(self.strata[rows], minlength=len(self.counts))

    @property
    def leaves_rows_out(self) -> bool:
        return bool((self._sizes() > 1).any())

    @property
    def unit_shares(self) -> np.ndarray:
        """Shares of the row's own class: the number of rows of each class is fixed."""
        total = np.bincount(self.strata, self.sample_weight, minlength=len(self.counts))
        weight = np.ones(self.n_samples) if self.sample_weight is None else self.sample_weight
        own = total[self.strata]
        return np.divide(weight, own, out=np.zeros(self.n_samples), where=own > 0)

    @property
    def noise(self) -> float:
        n = np.maximum(self._sizes(), 1)
        return float(np.sum(self.counts * (1 - 1 / n)))

    @property
    def jackknife_scale(self) -> float:
        # As for the bootstrap, in each class: the mean of class k has the share s_k/s = n_k/n.
        return 1.0 if self.leaves_rows_out else np.inf
