"""The moments of rows in chunks, and of the splits that the number of rounds is chosen by."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import add

import numpy as np
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._blocks import added
from sklearn_ensemble_theory._folds import (
    first_rows_of,
    folds_by_hash,
    held_out_by_hash,
    row_counts,
    sums_by_fold,
)
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.boosting._pursuit.column_moments import (
    ColumnMoments,
    check_columns,
    moments_of_chunk,
)

Split = tuple[ColumnMoments, ColumnMoments]


def moments_of_splits(
    rows: ChunkedRows,
    centre: bool,
    *,
    n_splits: int = 0,
    held_out: float = 0.0,
    random_state: RandomStateLike = None,
) -> tuple[ColumnMoments, Iterable[Split] | None]:
    """The moments of the rows to fit to, and those of (training, held-out) rows of each split.

    None for no splits. All are in the same units. One pass over the rows; with splits one more,
    for their numbers.

    Parameters
    ----------
    rows : ChunkedRows
    centre : bool
    n_splits : int, default=0
        Folds of cross-validation; those without rows make no split.
    held_out : float in [0, 1), default=0
        Share of the rows to hold out of the fit where there is no cross-validation.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of these rows.

    Raises
    ------
    ValueError
        If X has too many columns, or no row is left to train or to validate on.
    """
    n_folds = n_splits or (2 if held_out else 1)
    check_columns(rows.checks.n_features, n_folds)
    if n_folds == 1:
        return rows.sum(moments_of_chunk, centre), None
    if n_splits:
        fold_of = partial(folds_by_hash, n_splits=n_splits)
    else:
        seed = check_random_state(random_state).randint(2**31 - 1)
        fold_of = partial(held_out_by_hash, share=held_out, seed=seed)
    rows = rows.knowing(first_rows=first_rows_of(rows.sum(row_counts).lengths))
    folds = rows.sum(sums_by_fold, n_folds, fold_of, moments_of_chunk, centre).folds
    folds = [moments for moments in folds if moments is not None]
    if len(folds) < 2:
        name = f"cv={n_splits}" if n_splits else f"validation_fraction={held_out}"
        raise ValueError(
            f"{name} of {folds[0].n_rows} rows leaves no row to train or to validate on."
        )
    unit = np.max([moments.unit for moments in folds], axis=0)
    folds = [moments.in_units(unit) for moments in folds]
    if not n_splits:
        train, held = folds
        return train, [(train, held)]
    return added(folds), _splits(folds)


def _splits(folds: Sequence[ColumnMoments]) -> Iterator[Split]:
    """(The others, this one) for each fold; sums, because differences would lose digits."""
    before = [None, *accumulate(folds[:-1], add)]
    after = [*accumulate(folds[:0:-1], add)][::-1] + [None]
    for first, held, last in zip(before, folds, after):
        yield added([first, last]), held
