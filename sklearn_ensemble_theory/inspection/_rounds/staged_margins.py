"""Margins of classified rows after chosen rounds.

An ensemble that knows the scale of its votes has the method `_staged_margin_scores(X)`: an iterator
over the scores after each round, of shape (n,) for two classes or (n, K), scaled such that two
scores of a row (or the score of two classes itself) differ by at most 1. Others are asked for
probabilities or scores by their public methods.
"""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

# The public methods that give scores, for each response method, and whether they are staged.
METHODS = {
    "auto": [
        ("_staged_margin_scores", True),
        ("staged_predict_proba", True),
        ("predict_proba", False),
        ("staged_decision_function", True),
        ("decision_function", False),
    ],
    "predict_proba": [("staged_predict_proba", True), ("predict_proba", False)],
    "decision_function": [("staged_decision_function", True), ("decision_function", False)],
}
# Margins by these methods are not divided by the largest possible one.
OF_ANY_SCALE = ("staged_decision_function", "decision_function")


def check_rounds(rounds: Sequence[int] | None) -> list[int] | None:
    """The rounds in increasing order, each once; ValueError for other than positive ints."""
    if rounds is None:
        return None
    found = list(np.atleast_1d(np.asarray(rounds, dtype=object)))
    for t in found:
        if not isinstance(t, Integral) or isinstance(t, bool) or t < 1:
            raise ValueError(f"rounds must be positive ints, got {t!r}.")
    if not found:
        raise ValueError("rounds must have at least one element.")
    return sorted({int(t) for t in found})


def n_rows_of(X: Any) -> int:
    """The number of rows of an array, a sparse matrix, a data frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def checked_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """The weights of the rows as floats, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (n_rows,) or not np.all(weight >= 0) or not 0 < weight.sum() < np.inf:
        raise ValueError(
            f"sample_weight must have {n_rows} non-negative finite entries that are not all 0."
        )
    return weight


def codes_of(estimator: Any, y: Any, n_rows: int) -> np.ndarray:
    """The places of the labels y in the classes of a fitted classifier."""
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError(
            f"estimator must be a fitted classifier of one output; got {type(estimator).__name__}."
        )
    if len(classes) < 2:
        raise ValueError("estimator was fitted to one class, for which there are no margins.")
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have {n_rows} entries, one for each row of X; got {y.shape}.")
    codes = np.searchsorted(classes, y)
    known = codes < len(classes)
    if not known.all() or np.any(classes[np.minimum(codes, len(classes) - 1)] != y):
        raise ValueError("y must contain classes that the estimator was fitted to.")
    return codes


def staged_scores(
    estimator: Any, X: Any, response_method: str
) -> tuple[Iterator[np.ndarray], bool]:
    """(the scores after each round, whether margins by them are in [-1, 1])."""
    for name, is_staged in METHODS[response_method]:
        method = getattr(estimator, name, None)
        if method is not None:
            found = method(X) if is_staged else iter([method(X)])
            return found, name not in OF_ANY_SCALE
    raise TypeError(
        f"estimator must have the method {METHODS[response_method][-1][0]}; "
        f"{type(estimator).__name__} does not."
    )


def margins_of(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """y f(x) for one column of scores; else the score of the class minus the best other's."""
    if scores.ndim == 1:
        return (2.0 * codes - 1.0) * scores
    rows = np.arange(len(codes))
    others = np.array(scores, dtype=float)
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def margins_after(
    stages: Iterator[np.ndarray], codes: np.ndarray, rounds: list[int] | None
) -> dict[int, np.ndarray]:
    """The margins after each of the rounds; None for the powers of 10 and the last round.

    Only the stages up to the last of the rounds are computed.
    """
    found: dict[int, np.ndarray] = {}
    power, t, last = 1, 0, None
    for t, scores in enumerate(stages, 1):
        if rounds is None:
            last = margins_of(scores, codes)
            if t == power:
                found[t] = last
                power *= 10
        elif t in rounds:
            found[t] = margins_of(scores, codes)
            if t == rounds[-1]:
                break
    if rounds is not None and len(found) < len(rounds):
        raise ValueError(f"rounds must be at most {t}, the number of rounds; got {rounds[-1]}.")
    if last is not None:
        found[t] = last
    return found
