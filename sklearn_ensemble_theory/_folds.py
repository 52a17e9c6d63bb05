"""Which fold holds out which row."""

import numpy as np
from sklearn.model_selection import KFold, check_cv

__all__ = ["fold_numbers"]


def fold_numbers(cv, X, y, random_state=None):
    """The number of the split that tests on each row, as far as `cv` tests on each row once.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        An integer shuffles; None is 5.
    X, y : ndarrays of shape (n, p) and (n,)
    random_state : int, RandomState instance or None

    Returns
    -------
    folds : unsigned integer ndarray of shape (n,)
        Rows that no split tests on have the number `n_splits`.
    n_splits : int

    Raises
    ------
    ValueError
        If a row is tested on twice, or a split leaves rows out of both of its halves.
    """
    n = len(y)
    if cv is None or isinstance(cv, int | np.integer):
        cv = KFold(5 if cv is None else cv, shuffle=True, random_state=random_state)
    splits = list(check_cv(cv).split(X, y))
    folds = np.full(n, len(splits), dtype=np.min_scalar_type(len(splits)))
    for number, (train, test) in enumerate(splits):
        try:
            in_test, in_train = np.zeros((2, n), dtype=bool)
            in_test[test] = True
            in_train[train] = True
        except IndexError:
            raise ValueError(
                f"split {number} of cv names rows that X, of {n} rows, lacks"
            ) from None
        if not np.array_equal(in_train, ~in_test):
            raise ValueError(
                f"split {number} of cv does not train on exactly the rows that it does not test on"
            )
        if (folds[in_test] < len(splits)).any():
            raise ValueError("cv tests on a row in more than one split")
        folds[in_test] = number
    return folds, len(splits)
