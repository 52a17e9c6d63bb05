"""Members of votes and stacks that are fitted to rows in blocks, and predict rows of blocks.

Each member is fitted to all blocks and, for a stack, to those without the rows of a fold. The folds
are hashes of the numbers of the rows. Predictions for the rows held out stay where the blocks are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import column_or_1d

from sklearn_ensemble_theory._blocks import GivenBlocks
from sklearn_ensemble_theory._door import check_for_blocks, fit_blocks, fitted_twin
from sklearn_ensemble_theory._folds import first_rows_of, folds_by_hash
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    RowChecks,
    Rows,
    joined_labels,
    labels_of_block,
    positive_rows,
    rows_of,
)
from sklearn_ensemble_theory._typing import Estimator, FitsChunks

from ._member_fits import Outputs, predicted, raise_named

Given = tuple[int, Any, Any, Any]


def refuse_members_in_memory(pairs: Sequence[tuple[str, Any]]) -> None:
    """Raise a TypeError, before any row is read, for a member that needs all rows in memory."""
    for name, member in pairs:
        if not isinstance(member, FitsChunks):
            raise TypeError(
                f"The member {name!r}, {type(member).__name__}, needs all rows in memory. With "
                "Dask collections all members must fit them; the user guide, 'Larger than "
                "memory', lists the estimators that do."
            )


@dataclass(frozen=True)
class TargetsOfRows:
    """The number of rows of positive weight by block, and their labels if they have classes."""

    lengths: dict[int, int]
    labels: np.ndarray

    def __add__(self, other: "TargetsOfRows") -> "TargetsOfRows":
        return TargetsOfRows(self.lengths | other.lengths, joined_labels(self.labels, other.labels))


def read_targets(rows: ChunkedRows) -> TargetsOfRows:
    """What is known of the targets; the values of X are left to the members."""
    checks = rows.checks.knowing(n_features=1)
    without = rows.given.lazily(_without_columns)
    found = ChunkedRows(without, checks, rows.meta).sum(_targets_of_block, checks.is_classifier)
    return cast(TargetsOfRows, found)


def _without_columns(block: Given) -> Given:
    number, X, y, weight = block
    return number, np.zeros((X.shape[0], 1)), y, weight


def _targets_of_block(block: Rows, of_classes: bool) -> TargetsOfRows:
    labels = np.empty(0)
    if of_classes:
        labels = labels_of_block(block.y)
    return TargetsOfRows({block.block: len(block)}, labels)


@dataclass(frozen=True)
class MembersInBlocks:
    """The blocks as they are given to members, with positions of `classes` as labels."""

    given: GivenBlocks
    meta: Any
    has_weights: bool
    checks: RowChecks

    @classmethod
    def of(cls, rows: ChunkedRows, classes: np.ndarray | None) -> "MembersInBlocks":
        given = rows.given if classes is None else rows.given.lazily(_coded, classes)
        return cls(given, rows.meta, rows.has_weights, rows.checks.knowing(n_features=1))

    def fitted(self, name: str, member: Estimator, place: str = "") -> Any:
        """A clone of the member, fitted to the blocks; errors name it and the place."""
        model: Any = clone(member)
        try:
            with fitted_twin(cast(Estimator, model), self.meta) as fresh:
                check_for_blocks(fresh)
                fit_blocks(fresh, self.given, self.meta, self.has_weights)
        except Exception as error:
            raise_named(error, name, place)
        return model

    def without_fold(self, folds: "HashedFolds", fold: int) -> "MembersInBlocks":
        return replace(self, given=self.given.lazily(_others, self.checks, folds, fold))

    def held_out(
        self, folds: "HashedFolds", fits: list[list[Any]], outputs: Outputs
    ) -> GivenBlocks:
        """`HeldOutBlock` of each block; `fits` are the members that are fitted without each fold.

        They are kept where the blocks are: 8 bytes a row for each member and class.
        """
        return self.given.map(_held_out, self.checks, folds, fits, outputs)


def _coded(block: Given, classes: np.ndarray) -> Given:
    number, X, y, weight = block
    labels = column_or_1d(np.asarray(y))
    # Labels of rows without weight may be none of the classes, and are not read.
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return number, X, codes, weight


class HashedFolds(NamedTuple):
    """Folds by a hash of the numbers of the rows, which count from those of `first_rows`."""

    n: int
    first_rows: dict[int, int]

    @classmethod
    def of(cls, n_splits: int, lengths: dict[int, int]) -> "HashedFolds":
        return cls(n_splits, first_rows_of(lengths))

    def parts(self, block: Given, checks: RowChecks) -> tuple[Any, Any, np.ndarray] | None:
        """The rows of positive weight: X as it is given, the checked others, and the folds."""
        _, X, _, weight = block
        checks = checks.knowing(first_rows=self.first_rows)
        rows = checks(*_without_columns(block))
        if rows is None:
            return None
        if weight is not None:
            X = rows_of(X, positive_rows(np.asarray(weight)))
        return X, rows, folds_by_hash(rows.numbers, self.n)


def _others(block: Given, checks: RowChecks, folds: HashedFolds, fold: int) -> Given:
    """The rows of a block that are not in a fold."""
    found = folds.parts(block, checks)
    number, X, y, weight = block
    if found is None:
        none = slice(0)
        return number, rows_of(X, none), y[:0], None if weight is None else weight[:0]
    X, rows, own = found
    kept = np.flatnonzero(own != fold)
    weight = None if weight is None else rows.weights()[kept]
    return number, rows_of(X, kept), rows.y[kept], weight


class HeldOutBlock(NamedTuple):
    """The rows of a block as the members predict them that are not fitted to their fold.

    `table` has the shape (n, k) or (n, k, K), `y` targets or positions of classes.
    """

    table: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    fold: np.ndarray


def _held_out(
    block: Given, checks: RowChecks, folds: HashedFolds, fits: list[list[Any]], outputs: Outputs
) -> HeldOutBlock | None:
    found = folds.parts(block, checks)
    if found is None:
        return None
    X, rows, fold = found
    classes, table = outputs.classes_of_columns, None
    for k, members in enumerate(fits):
        part = np.flatnonzero(fold == k)
        if not len(part):
            continue
        own = rows_of(X, part)
        given = zip(members, outputs.methods)
        (values,) = outputs.tables([predicted(m, name, own, classes) for m, name in given])
        if table is None:
            table = np.empty((len(rows), *values.shape[1:]))
        table[part] = values
    assert table is not None
    return HeldOutBlock(table, rows.y, rows.weights(), fold)
