"""Cross-validation splits of the rows that are fitted, from the splits of the rows that were given.

A splitter or a list of splits refers to the rows that the user passed to `fit`; rows of weight 0
are left out of the fit afterwards. An integer is scikit-learn's default, consecutive folds
(stratified for a classifier), of the rows that are fitted: a row of weight 0 then changes nothing.

Rows in blocks have no order that all of them know at once: their folds are given by a hash of the
row's number, so that they are the same however the rows are cut into chunks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    train_test_split,
)
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_ensemble_theory._blocks import added
from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._copies import GROUPS, WEIGHTS, warn_of_copies
from sklearn_ensemble_theory._rows import Rows

Split = tuple[np.ndarray, np.ndarray]
"""The rows to train on, and those to test on."""


def splits_of_rows(
    cv: Any,
    X: Any,
    y: np.ndarray,
    kept: slice | range | np.ndarray = slice(None),
    classifier: bool = False,
    *,
    parameter: str = "cv",
    **params: Any,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits (train, test) of `cv`, as positions among the rows that are fitted.

    Every fit that takes splits checks them here. Splits need not be a partition: a row may be held
    out several times or never. A fit that needs a partition asks `folds_of_splits` in addition. A
    ValueError if there is no split, if one has no fitted row to train or to test on or rows that X
    does not have, or if there are too few groups for the folds.

    - cv: as in :func:`sklearn.model_selection.check_cv`; None is 5.
    - X, y and `params`: of all rows, those that are not fitted included.
    - kept: the rows that are fitted, as `Rows.numbers` has them; a range for all of them.
    - classifier: whether an integer stratifies by class.
    - parameter: the user's name of `cv`, for messages.
    - params: further arguments of the splitter; None is left out. With `groups` an integer is that
      of folds of whole groups.
    """
    n, takes_groups = len(y), "groups" in params
    params = {name: value for name, value in params.items() if value is not None}
    by_count = cv is None or isinstance(cv, Integral)
    if isinstance(kept, range):
        kept = slice(None)
    if by_count and not isinstance(kept, slice):
        params = {name: value[kept] for name, value in params.items()}
        X, y, n, kept = safe_indexing(X, kept), y[kept], len(kept), slice(None)
    # All splits are held at once: four bytes for each row and split.
    position = np.full(n, -1, dtype=np.int32 if n < 2**31 else np.int64)
    position[kept] = np.arange(n if isinstance(kept, slice) else len(kept))
    splitter = check_cv(cv, y, classifier=classifier)
    if "groups" not in params and get_routing_for_object(splitter).consumes("split", ("groups",)):
        raise ValueError(
            f"{parameter}={type(splitter).__name__} splits by groups, which fit was not given: "
            "pass fit(X, y, groups=...), with a label for each row; in a search by metadata "
            "routing (set_fit_request(groups=True))."
        )
    if by_count and "groups" in params:
        by_class, n_splits = isinstance(splitter, StratifiedKFold), splitter.get_n_splits()
        splitter = (StratifiedGroupKFold if by_class else GroupKFold)(n_splits)
        n_groups = len(np.unique(params["groups"]))
        if n_groups < n_splits:
            raise ValueError(f"groups has {n_groups} groups, but {parameter} is {n_splits} folds.")
    # Sets are translated one split at a time; a row of weight 0 has no position and drops out.
    splits = []
    made = by_count or hasattr(cv, "split")
    pairs = _splits_by(splitter, parameter, X, y, **params) if made else splitter.cv
    for number, split in enumerate(pairs):
        place = f"Split {number} of {parameter}"
        try:
            train, test = split
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{parameter} must yield pairs of row indices (train, test): {error}."
            ) from None
        train, test = (_positions(rows, position, place) for rows in (train, test))
        if not (len(train) and len(test)):
            raise ValueError(f"{place} has no weight to train or to test on.")
        splits.append((train, test))
    if not splits:
        raise ValueError(f"{parameter} must yield at least one split, it yields none.")
    rows = X if isinstance(kept, slice) else safe_indexing(X, kept)
    warn_of_copies(rows, y[kept], splits, GROUPS if takes_groups else WEIGHTS)
    return splits


def _splits_by(splitter, parameter, *args, **params):
    try:
        yield from splitter.split(*args, **params)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ValueError(f"The splits of {parameter}: {error}") from error


def _positions(rows, position, place):
    """The positions of `rows` among the kept rows; `rows` may be a boolean mask."""
    rows = np.asarray(rows)
    try:
        found = position[rows if rows.size else slice(0)]
    except IndexError:
        raise ValueError(
            f"{place} has row indices that are out of bounds for X with {len(position)} rows."
        ) from None
    return found[found >= 0]


def fold_numbers(
    cv: Any,
    X: Any,
    y: np.ndarray,
    kept: slice | range | np.ndarray = slice(None),
    classifier: bool = False,
    groups: np.ndarray | None = None,
    *,
    at_most: bool = False,
    parameter: str = "cv",
) -> tuple[np.ndarray | None, int]:
    """The number of the split that tests on each fitted row, and the number of splits.

    For a `cv` that tests on no row twice, or a ValueError; the arguments are those of
    `splits_of_rows`. Rows that no split tests on have the number `n_splits`. An integer draws the
    folds of the rows that are fitted, in the order of y, from a fixed seed: they are those of the
    table, whatever the order of its rows, but for rows of equal y. Those of a classifier are
    stratified. With `at_most` an integer is the largest number: there are no more folds than rows,
    and none of a single row.
    """
    n = len(y) if isinstance(kept, slice | range) else len(kept)
    if groups is None and (cv is None or isinstance(cv, Integral)):
        y = np.unique(y[kept], return_inverse=True)[1]  # labels may be of any type
        splitter = check_cv(cv, y, classifier=classifier)
        n_splits = splitter.get_n_splits()
        if at_most:
            n_splits = min(n_splits, n)
            if n_splits < 2:
                return None, 0
        else:
            next(
                _splits_by(splitter, parameter, y[:, None], y)
            )  # scikit-learn's checks of the number
        # Folds that are balanced in a real y would differ less than samples do, and so would the
        # models from which standard errors are computed: only classes are dealt out evenly.
        drawn = np.random.RandomState(0).permutation(n)
        order = np.lexsort((drawn, y)) if classifier else np.argsort(y, kind="stable")[drawn]
        folds = np.empty(n, np.min_scalar_type(n_splits))
        folds[order] = np.arange(n) % n_splits
        sides = ((folds != k, np.flatnonzero(folds == k)) for k in range(n_splits))
        rows = X if isinstance(kept, slice | range) else safe_indexing(X, kept)
        warn_of_copies(rows, y, sides)
        return folds, n_splits
    splits = splits_of_rows(cv, X, y, kept, classifier, parameter=parameter, groups=groups)
    return folds_of_splits(splits, n, parameter), len(splits)


def is_number_of_folds(cv: Any) -> bool:
    """Whether `cv` is a number, or None for the default one."""
    return cv is None or isinstance(cv, Integral)


def are_folds(splits: list[Split], n: int, *, each_row: bool = False) -> bool:
    """Whether splits of n rows test on no row twice, or each row once, and train on all others."""
    tested = np.concatenate([np.unique(test) for _, test in splits])
    if each_row and len(tested) != n:
        return False
    return len(np.unique(tested)) == len(tested) and all(
        np.array_equal(np.setdiff1d(np.arange(n), test), np.unique(train)) for train, test in splits
    )


def folds_of_splits(
    splits: list[tuple[np.ndarray, np.ndarray]],
    n: int,
    parameter: str = "cv",
    *,
    each_row: bool = False,
) -> np.ndarray:
    """The number of the split that tests on each of n rows, one at most; their count if none."""
    once = (
        f"{parameter} requires splits that test on each row once, as KFold has; give a number of "
        "folds."
    )
    folds = np.full(n, len(splits), dtype=np.min_scalar_type(len(splits)))
    for number, (train, test) in enumerate(splits):
        in_test, in_train = np.zeros((2, n), dtype=bool)
        in_test[test] = True
        in_train[train] = True
        if not np.array_equal(in_train, ~in_test):
            raise ValueError(
                f"Split {number} of {parameter} must train on exactly the rows that it does not "
                "test on."
            )
        if (folds[in_test] < len(splits)).any():
            twice = f"{parameter} must not test on a row in more than one split."
            raise ValueError(once if each_row else twice)
        folds[in_test] = number
    if each_row and (folds == len(splits)).any():
        raise ValueError(once)
    return folds


def drawn_splits(
    cv: Any,
    X: Any,
    y: np.ndarray,
    kept: slice | range | np.ndarray,
    classifier: bool,
    groups: np.ndarray | None,
    parameter: str = "cv",
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits of `splits_of_rows`, where an integer draws the folds as `fold_numbers` does."""
    if groups is not None or not (cv is None or isinstance(cv, Integral)):
        return splits_of_rows(cv, X, y, kept, classifier, parameter=parameter, groups=groups)
    folds, n_splits = fold_numbers(cv, X, y, kept, classifier, parameter=parameter)
    assert folds is not None  # as many as were asked for
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_splits)]


def lost_class(place: str, known: np.ndarray, labels: np.ndarray) -> ValueError:
    """The error of a split whose training rows, of labels `known`, lack one of all rows' labels."""
    label = np.setdiff1d(labels, known)[0]
    cure = "give splits that stratify by class, such as StratifiedKFold, or a number of folds"
    n = int(np.count_nonzero(labels == label))
    if n == 1:
        cure = (
            "no splits can train and test on it, so leave out classes of a single row, merge them "
            "with others, or set the parameter that is chosen by cross-validation to a number"
        )
    rows = "one row" if n == 1 else f"{n} rows"
    return ValueError(f"{place} trains on no row of the class {label!s}, which has {rows}: {cure}.")


def training_on_each_class(
    splits: list[Split], y: np.ndarray, groups: np.ndarray | None = None
) -> list[Split]:
    """The splits, each of which trains on rows of all classes: on those it would lose as well.

    A class of a single row, or of a single group, is then in no test set. Whole groups are moved.
    A split that is left without rows to test on is left out. y has positions of the classes.
    """
    found = []
    for train, test in splits:
        lost = np.setdiff1d(y[test], y[train])
        if len(lost):
            moved = np.isin(y[test], lost)
            if groups is not None:
                moved = np.isin(groups[test], groups[test][moved])
            train, test = np.sort(np.concatenate([train, test[moved]])), test[~moved]
        if len(test):
            found.append((train, test))
    return found


def split_off(
    n: int,
    validation_fraction: Any,
    seed: int,
    stratify: np.ndarray | None,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and those to hold out: a share of the rows, or of their groups."""
    rows = np.arange(n)
    try:
        if groups is not None:
            by_group = GroupShuffleSplit(1, test_size=validation_fraction, random_state=seed)
            return next(by_group.split(rows, groups=groups))
        train, held_out = train_test_split(
            rows, test_size=validation_fraction, random_state=seed, stratify=stratify
        )
    except ValueError as error:
        raise ValueError(f"validation_fraction={validation_fraction!r}: {error}") from error
    return train, held_out


# --- rows in blocks -------------------------------------------------------------------------------

# So few rows are hashed at a time that they stay in the processor's cache.
_HASHED_ROWS = 2**12


def folds_by_hash(rows: range | np.ndarray, n_splits: int) -> np.ndarray:
    """The fold, 0 to `n_splits` - 1, that tests on each row, by its number over all chunks."""
    folds = np.empty(len(rows), np.min_scalar_type(n_splits))
    for start in range(0, len(rows), _HASHED_ROWS):
        part = slice(start, start + _HASHED_ROWS)
        folds[part] = hashes(row_numbers(rows[part]).astype(np.uint64)) % np.uint64(n_splits)
    return folds


class Draw(NamedTuple):
    """Rows drawn by a hash of their numbers over all chunks: each with the probability `share`."""

    seed: int
    share: float

    def of(self, rows: range | np.ndarray) -> np.ndarray:
        """Whether each row is drawn."""
        drawn = np.empty(len(rows), dtype=bool)
        for part, uniform in uniform_parts(rows, self.seed):
            drawn[part] = uniform < self.share
        return drawn


def uniform_parts(rows: range | np.ndarray, seed: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Numbers in [0, 1) for rows, by a hash of their numbers and of the seed, some at a time."""
    own = hashes(np.array([seed], np.uint64))
    for start in range(0, len(rows), _HASHED_ROWS):
        part = slice(start, start + _HASHED_ROWS)
        found = hashes(hashes(row_numbers(rows[part]).astype(np.uint64)) ^ own)
        yield part, (found >> np.uint64(11)) * 2.0**-53


def row_numbers(rows: range | np.ndarray) -> np.ndarray:
    """Numbers of rows as an array; NumPy goes through a range one by one."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows


def hashes(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64, in place: neighbouring numbers have unrelated hashes."""
    with np.errstate(over="ignore"):
        x += np.uint64(1)
        x *= np.uint64(0x9E3779B97F4A7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


def checked_n_splits(cv: Any) -> int:
    """The number of folds, at least 2; 5 for None."""
    n_splits = 5 if cv is None else cv
    if not isinstance(n_splits, Integral) or n_splits < 2:
        raise ValueError(
            "cv must be an integer of at least 2 for rows in chunks, whose folds are drawn by a "
            f"hash of their numbers; got {cv!r}."
        )
    return int(n_splits)


def first_rows_of(lengths: Mapping[int, int]) -> dict[int, int]:
    """The number of the first row of each chunk, from the numbers of rows of each."""
    first, total = {}, 0
    for number in sorted(lengths):
        first[number] = total
        total += lengths[number]
    return first


@dataclass(frozen=True)
class FoldSums:
    """Sums over the rows of each fold; None for a fold without rows."""

    folds: list[Any]

    def __add__(self, other: "FoldSums") -> "FoldSums":
        return FoldSums([added(pair) for pair in zip(self.folds, other.folds)])


def sums_by_fold(
    block: Rows,
    n_folds: int,
    fold_of: Callable[[Any], np.ndarray],
    function: Callable[..., Any],
    *args: Any,
) -> FoldSums:
    """`function(part, *args)` of the rows of each fold of a block; `fold_of` gives the folds."""
    if n_folds == 1:
        return FoldSums([function(block, *args)])
    fold, found = fold_of(block.numbers), []
    for number in range(n_folds):
        own = np.flatnonzero(fold == number)
        found.append(function(block.take(own), *args) if len(own) else None)
    return FoldSums(found)
