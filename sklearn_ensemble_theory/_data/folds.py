"""Cross-validation splits of the rows that are fitted, from the splits of the rows that were given.

A splitter or a list of splits refers to the rows that the user passed to `fit`; rows of weight 0
are left out of the fit afterwards. An integer is scikit-learn's default, consecutive folds
(stratified for a classifier), of the rows that are fitted: a row of weight 0 then changes nothing.
"""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv, train_test_split

from sklearn_ensemble_theory._compat import safe_indexing

__all__ = ["fold_numbers", "split_off", "splits_of_rows"]


def splits_of_rows(
    cv: Any,
    X: Any,
    y: np.ndarray,
    kept: slice | np.ndarray = slice(None),
    classifier: bool = False,
    params: Mapping[str, Any] | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits of `cv` as positions among the rows that are fitted.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        As in :func:`sklearn.model_selection.check_cv`; None is 5.
    X : {array, sparse matrix, data frame, list} of n rows
        All rows, those that are not fitted included.
    y : array of shape (n,) or (n, n_targets)
    kept : slice(None) or increasing int array, default=slice(None)
        The rows that are fitted.
    classifier : bool, default=False
        Whether an integer stratifies by class.
    params : mapping, default=None
        Further arguments of the splitter, such as `groups`, for all rows.

    Returns
    -------
    list of (train, test), int arrays of positions among the kept rows

    Raises
    ------
    ValueError
        If there is no split, or a split has row indices that are out of bounds for X, or has no
        fitted row to train or to test on.
    """
    n = len(y)
    by_count = cv is None or isinstance(cv, Integral)
    if by_count and not isinstance(kept, slice):
        X, y, n, kept = safe_indexing(X, kept), y[kept], len(kept), slice(None)
    # All splits are held at once: four bytes for each row and split.
    position = np.full(n, -1, dtype=np.int32 if n < 2**31 else np.int64)
    position[kept] = np.arange(n if isinstance(kept, slice) else len(kept))
    splitter = check_cv(cv, y, classifier=classifier)
    splits = []
    for number, split in enumerate(_pairs(splitter.split(X, y, **(params or {})))):
        train, test = (_positions(rows, position, number) for rows in split)
        if not (len(train) and len(test)):
            raise ValueError(f"Split {number} of cv has no weight to train or to test on.")
        splits.append((train, test))
    if not splits:
        raise ValueError("cv must yield at least one split, it yields none.")
    return splits


def _pairs(splits):
    try:
        yield from ((train, test) for train, test in splits)
    except (TypeError, ValueError) as error:
        if "unpack" not in str(error):
            raise
        raise ValueError(f"cv must yield pairs of row indices (train, test): {error}.") from None


def _positions(rows, position, number):
    """The positions of `rows` among the kept rows; `rows` may be a boolean mask."""
    try:
        rows = np.asarray(rows)
        found = position[rows if rows.size else slice(0)]
    except IndexError:
        raise ValueError(
            f"Split {number} of cv has row indices that are out of bounds for X with "
            f"{len(position)} rows."
        ) from None
    return found[found >= 0]


def fold_numbers(
    cv: Any,
    X: Any,
    y: np.ndarray,
    kept: slice | np.ndarray = slice(None),
    classifier: bool = False,
) -> tuple[np.ndarray, int]:
    """The number of the split that tests on each fitted row, where `cv` tests on no row twice.

    Parameters
    ----------
    cv, X, y, kept, classifier
        As for `splits_of_rows`.

    Returns
    -------
    folds : unsigned integer ndarray of shape (n_kept,)
        Rows that no split tests on have the number `n_splits`.
    n_splits : int

    Raises
    ------
    ValueError
        If a row is in more than one test set, or in neither set of a split.
    """
    splits = splits_of_rows(cv, X, y, kept, classifier=classifier)
    n = X.shape[0] if isinstance(kept, slice) else len(kept)
    folds = np.full(n, len(splits), dtype=np.min_scalar_type(len(splits)))
    for number, (train, test) in enumerate(splits):
        in_test, in_train = np.zeros((2, n), dtype=bool)
        in_test[test] = True
        in_train[train] = True
        if not np.array_equal(in_train, ~in_test):
            raise ValueError(
                f"Split {number} of cv must train on exactly the rows that it does not test on."
            )
        if (folds[in_test] < len(splits)).any():
            raise ValueError("cv must not test on a row in more than one split.")
        folds[in_test] = number
    return folds, len(splits)


def split_off(
    n: int, validation_fraction: Any, seed: int, stratify: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on and those to hold out, by `train_test_split`.

    Raises
    ------
    ValueError
        If there is no such split; the message names `validation_fraction`.
    """
    try:
        train, held_out = train_test_split(
            np.arange(n), test_size=validation_fraction, random_state=seed, stratify=stratify
        )
    except ValueError as error:
        raise ValueError(f"validation_fraction={validation_fraction!r}: {error}") from error
    return train, held_out
