"""The bins of all features: thresholds, missing values, categories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_ensemble_theory._bins import bin_codes, bin_codes_by_blocks
from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout

BLOCK_ROWS = 2**14


@dataclass
class FeatureBins:
    """How values become bins.

    Attributes
    ----------
    edges : list of p increasing float arrays
        The thresholds of ordered features; between the numbers of neighbouring categories for the
        others.
    missing : bool array of shape (p,)
        Whether the feature has a last bin for missing values. A missing value of another feature
        has a code without a bin, ``len(edges[j]) + 1``.
    categories : list of p arrays or None
        The categories of each categorical feature, by their numbers.
    """

    edges: list
    missing: np.ndarray
    categories: list

    @classmethod
    def of(
        cls,
        edges: Sequence[np.ndarray],
        missing: np.ndarray,
        categories: Sequence[np.ndarray | None],
    ) -> "FeatureBins":
        """With the edges between categories put in."""
        own = [e if c is None else np.arange(len(c) - 1) + 0.5 for e, c in zip(edges, categories)]
        has = np.array([c is not None for c in categories], dtype=bool)
        return cls(own, np.asarray(missing, bool) | has, list(categories))

    @property
    def categorical(self) -> np.ndarray:
        return np.array([c is not None for c in self.categories], dtype=bool)

    @property
    def n_bins(self) -> np.ndarray:
        return np.array([len(e) + 1 for e in self.edges], dtype=np.intp) + self.missing

    def layout(self) -> CutLayout:
        return CutLayout(self.n_bins, self.missing, self.categorical)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """The bin of every value; O(n p)."""
        return bin_codes(X, self.edges, missing=True)

    def codes_by_blocks(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Slices of rows with their `codes`, which stay in the processor's cache."""
        return bin_codes_by_blocks(X, self.edges, BLOCK_ROWS, missing=True)

    def padded(self, table: np.ndarray, *features: int) -> np.ndarray:
        """A table of a term with an entry 0 for missing values where these have no bin."""
        widths = [(0, 0 if self.missing[j] else 1) for j in features]
        widths += [(0, 0)] * (table.ndim - len(features))
        return np.pad(table, widths)
