"""Copies of rows, which answer for each other where rows are judged by other rows.

A row that is left out, out of bag or held out in a fold is predicted by a model that was fitted to
its copy: errors come out too small, intervals too narrow, and what is chosen by them fits noise.
`groups` hold copies together. Rows of few categories may be equal by chance, as new rows will be;
they are no copies.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._features import column_of, is_frame
from sklearn_ensemble_theory._running import warn_user

# A smaller share of copies is not worth a warning.
SHARE = 0.1
# So many values of distinct rows are compared to see which rows are equal by chance.
MOST_COMPARED = 2**18
# Tables of fewer distinct rows, or of more rows for each of them, are of a few kinds of rows.
FEWEST_DISTINCT, MOST_COPIES = 20, 10
# The share of copies is found from so many distinct rows.
COUNTED = 2**16
_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
MESSAGE = (
    "{share:.0%} of the rows are copies of an earlier row in X and y. Rows that are {judged} are "
    "predicted by models fitted to their copies, so errors come out too small and intervals too "
    "narrow. {cure}"
)
GROUPS = "Pass groups=... to fit, with one label for all copies of a row."
WEIGHTS = "Fit each row once, with the number of its copies as sample_weight."


def warn_of_copies(
    X: Any,
    y: np.ndarray,
    splits: Iterable[tuple[Any, np.ndarray]] | None = None,
    cure: str = GROUPS,
) -> None:
    """Warn if a tenth of the rows or more are judged by their copies; see `share_of_copies`."""
    if share := share_of_copies(X, y, splits):
        warn_of_share(share, "held out" if splits is not None else "left out", cure)


def warn_of_share(share: float, judged: str, cure: str = GROUPS) -> None:
    """Warn that so many rows are copies, and that rows are `judged` by models of their copies."""
    warn_user(MESSAGE.format(share=share, judged=judged, cure=cure))


def share_of_copies(
    X: Any, y: np.ndarray, splits: Iterable[tuple[Any, np.ndarray]] | None = None
) -> float:
    """The share of rows that are copies of earlier ones, and are judged by them; 0 below a tenth.

    `splits` are (rows that judge, rows that are judged); None lets all other rows judge each row.
    """
    copies = copies_of(X, y)
    if copies is None:
        return 0.0
    share = float(np.mean(copies != np.arange(len(copies))))
    if splits is None:
        return share
    n_tested = n_judged = 0
    is_known = np.zeros(len(copies), dtype=bool)
    for train, test in splits:
        is_known[:] = False
        is_known[copies[train]] = True
        n_tested += len(test)
        n_judged += int(is_known[copies[test]].sum())
    return share if n_judged >= SHARE * n_tested > 0 else 0.0


def copies_of(X: Any, y: np.ndarray) -> np.ndarray | None:
    """The first row that each row is a copy of; None if fewer than a tenth are copies.

    Rows are compared by hashes of their values, a column at a time, until they differ: O(n log n)
    for a target that is different in most rows, and O(n p + n log n log p) at most. None too if
    most copies are equal by chance, see `are_by_chance`.
    """
    y = np.asarray(y)
    n, wanted, n_values = len(y), 1, 0
    targets = np.zeros(n, dtype=np.uint64)
    for number, column in enumerate(y.reshape(n, -1).T):
        targets += hashes(column, -1 - number)
    keys = targets.copy()
    for number, (rows, values) in enumerate(hashed_values(X)):
        if number + 1 == wanted:  # before the first column, the second, the fourth, ...
            if not has_copies(keys):
                return None
            wanted *= 2
        add_to(keys, rows, values)
        n_values += len(values)
    if not has_copies(keys):
        return None
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    copies = first[place]
    is_of_kinds = len(first) < FEWEST_DISTINCT or n >= MOST_COPIES * len(first)
    if is_of_kinds or np.mean(copies != np.arange(n)) < SHARE:
        return None
    some = first[: n * MOST_COMPARED // max(n_values, 1)]
    n_copies = np.bincount(place)[: len(some)] - 1
    by_chance = are_by_chance(safe_indexing(X, some), targets[some])
    return None if 2 * n_copies[by_chance].sum() > n_copies.sum() else copies


def has_copies(keys: np.ndarray) -> bool:
    """Whether a tenth of the keys or more are equal to others before them."""
    parts = len(keys) // COUNTED
    if parts > 1:  # all rows of a part of the keys
        keys = keys[keys % np.uint64(parts) == 0]
    ordered = np.sort(keys)
    return bool(np.count_nonzero(ordered[1:] == ordered[:-1]) >= SHARE * len(keys))


def add_to(keys: np.ndarray, rows: slice | np.ndarray, values: np.ndarray) -> None:
    """Add the hashes of values to the keys of their rows."""
    if isinstance(rows, slice):
        keys += values
    else:
        np.add.at(keys, rows, values)


def are_by_chance(X: Any, targets: np.ndarray) -> np.ndarray:
    """Which of these distinct rows are equal to others because values are few; by hashed `targets`.

    There is a row with the same target and the same values but one, and that one is also a value of
    another row: an equal row is no more than a further row of this kind. Where rows have been
    copied, the distinct ones are as far apart as those of any sample. Of a single column that
    varies there are no other rows with the same value and target, and the target alone decides.
    """
    m, keys = len(targets), targets.copy()
    places: list[np.ndarray] = []
    left_out: list[np.ndarray] = []
    known_rows: dict[bytes, int] = {}
    n_varying = 0
    for rows, values in hashed_values(X):
        if isinstance(rows, slice):
            # The usual value of a column is nothing that could be left out, as 0 in a sparse X.
            known, counts = np.unique(values, return_counts=True)
            values = values - known[counts.argmax()]
            rows = np.flatnonzero(values)
            values = values[rows]
        add_to(keys, rows, values)
        n_varying += len(rows) > 0
        # The two columns of a category with two values are one value.
        twin = known_rows.setdefault(rows.tobytes(), len(places))
        if twin < len(places):
            left_out[twin] = left_out[twin] + values
        else:
            places.append(rows)
            left_out.append(values)
    place, value = np.concatenate(places), np.concatenate(left_out)
    _, same, counts = np.unique(value, return_inverse=True, return_counts=True)
    is_shared = (counts[same] > 1) | (n_varying == 1 and not issparse(X))
    # Keys of rows, and of rows without one value: equal ones are of different rows.
    _, same, counts = np.unique(
        np.concatenate([keys, keys[place] - value]), return_inverse=True, return_counts=True
    )
    has_other = counts[same] > 1
    found = has_other[:m]
    found[place[has_other[m:] & is_shared]] = True
    return found


def hashed_values(X: Any) -> Iterator[tuple[slice | np.ndarray, np.ndarray]]:
    """Hashes of the values of each column; (rows, hashes) of all values but 0 of a sparse X."""
    if issparse(X):
        X = coo_array(copy(X))  # SciPy keeps what it finds about the order of X in the object
        stored = X.data != 0
        yield X.row[stored].astype(np.intp), hashes(X.data[stored], X.col[stored])
    elif is_frame(X):
        for j in range(X.shape[1]):
            yield slice(None), hashes(column_of(X, j), j)
    else:
        rows = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        for j, column in enumerate(rows.reshape(len(rows), -1).T):
            yield slice(None), hashes(column, j)


def hashes(values: Any, column: int | np.ndarray) -> np.ndarray:
    """A number of 64 bits for each value of a column, whose sum tells rows apart."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    elif values.dtype.kind in "mM":
        bits = values.astype(np.int64).view(np.uint64)
    else:
        known: dict[Any, int] = {}
        codes = [known.setdefault(str(value), len(known)) for value in values.ravel().tolist()]
        bits = np.array(codes, dtype=np.uint64)
    salt = np.asarray(column, dtype=np.int64).astype(np.uint64)
    with np.errstate(over="ignore"):
        bits = (bits + np.uint64(0x9E3779B97F4A7C15) * (salt + np.uint64(1))) * _FACTOR
        bits ^= bits >> np.uint64(29)
        bits *= _FACTOR
        bits ^= bits >> np.uint64(32)
        return bits * _FACTOR
