"""Out-of-bag predictions, of one or several outputs, and their scores.

Of several outputs, the codes of each follow those of the one before.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import type_of_target

from sklearn_ensemble_theory._learners import largest_column
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import range_exponent, shifted_by

Score = Callable[[np.ndarray, np.ndarray], float]


def first_codes(outputs: Sequence[np.ndarray]) -> np.ndarray:
    return np.cumsum([0, *map(len, outputs)])[:-1]


def split_outputs(columns: np.ndarray, classes: np.ndarray | list[np.ndarray]):
    """Columns of the classes of all outputs as users get them: one output has them all."""
    if not isinstance(classes, list):
        return columns
    return np.split(columns, first_codes(classes)[1:], axis=1)


def labels_by_output(
    proba: list[np.ndarray], classes: list[np.ndarray], ties: str = "first"
) -> np.ndarray:
    """The labels of the largest probabilities, of shape (n, k)."""
    pairs = zip(proba, classes)
    return np.column_stack([labels[largest_column(part, ties)] for part, labels in pairs])


def check_metric(oob_score: Callable) -> None:
    """Raise an error unless this is a function of two arguments."""
    try:
        inspect.signature(oob_score).bind(None, None)
        of_two = not inspect.isclass(oob_score)
    except TypeError:
        of_two = False
    except ValueError:  # a compiled function that does not tell its arguments
        of_two = True
    if not of_two:
        raise ValueError(
            "oob_score must be a bool or a function of y and of the predictions, got "
            f"{oob_score!r}."
        )


def out_of_bag_score(
    oob_score: bool | Callable,
    y: np.ndarray,
    classes: np.ndarray | list[np.ndarray] | None,
    ties: str = "first",
) -> Score:
    """`score(rows, predictions)` of out-of-bag predictions on the training rows `rows`.

    `classes` are the labels of the codes in y, a list of those of several outputs; None for
    regression. The metric is R² or accuracy where the user gave none.
    """
    given = oob_score if callable(oob_score) else r2_score if classes is None else accuracy_score
    if given is r2_score and classes is None:
        exponent = range_exponent(y)  # squares of the targets should not overflow

        def r2(rows: np.ndarray, mean: np.ndarray) -> float:
            if len(rows) < 2:  # too few for a coefficient of determination
                return np.nan
            if exponent:
                return r2_score(np.ldexp(y[rows], -exponent), np.ldexp(mean, -exponent))
            return r2_score(y[rows], mean)

        return r2

    def metric(targets: np.ndarray, predictions: np.ndarray) -> float:
        value = given(targets, predictions)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(f"oob_score must return a number, got {value!r}.") from None

    if classes is None:
        return lambda rows, mean: metric(y[rows], mean)
    if not isinstance(classes, list):
        labels = classes[y]
        return lambda rows, mean: metric(labels[rows], classes[largest_column(mean, ties)])

    codes = y - first_codes(classes)
    kind = type_of_target(codes)
    if kind == "multiclass-multioutput":
        raise ValueError(
            f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
            "only the following are supported: continuous, continuous-multioutput, binary, "
            "multiclass, multilabel-indicator."
        )
    # Accuracy is of rows that are right in all outputs, whatever the labels are.
    names = classes if callable(oob_score) else [np.arange(len(labels)) for labels in classes]
    labels = np.column_stack([name[column] for column, name in zip(codes.T, names)])
    return lambda rows, mean: metric(
        labels[rows], labels_by_output(split_outputs(mean, classes), names, ties)
    )


class OutOfBag:
    """Running means of the members' predictions on the rows that they are not fitted to.

    The sums take one member at a time, so that the score of every smaller ensemble costs no more
    than scoring it. They are in units of 2**exponent. `score(rows, predictions)` is that of rows
    that have an estimate; NaN if None.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        score: Score | None,
        exponent: int = 0,
    ) -> None:
        self.total = np.zeros(shape)
        self.n_predictions = np.zeros(shape[0], dtype=np.intp)
        self.score = score
        self.exponent = exponent
        self.scores: list[float] = []

    def continued(self, score: Score | None) -> Self:
        """A copy to add members to; the original stays as it is should the fit fail."""
        copy = type(self)(self.total.shape, score, self.exponent)
        copy.total[:] = self.total
        copy.n_predictions[:] = self.n_predictions
        copy.scores = list(self.scores)
        return copy

    def add(self, outside: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Add a member, then score: the rows that it is not fitted to, and its predictions on them.

        None for a member that is fitted to all rows.
        """
        if outside is not None:
            rows, predictions = outside
            self.total[rows] += np.ldexp(predictions, -self.exponent)
            self.n_predictions[rows] += 1
        known = np.flatnonzero(self.n_predictions)
        score = np.nan
        if self.score is not None and len(known):
            score = self.score(known, self.mean(known))
        self.scores.append(float(score))

    def mean(self, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Mean predictions; NaN for a row that all members are fitted to."""
        counts = self.n_predictions[rows].reshape(-1, *[1] * (self.total.ndim - 1))
        mean = np.full_like(self.total[rows], np.nan)
        np.divide(self.total[rows], counts, out=mean, where=counts > 0)
        return shifted_by(mean, self.exponent)


def out_of_bag_attributes(oob: OutOfBag, classes: Any, keeps_sums: bool) -> dict[str, Any]:
    """The fitted attributes; the sums are kept where a warm start may go on with them."""
    if not oob.n_predictions.all():
        warn_user(
            "Some inputs do not have OOB scores. This probably means too few estimators were "
            "used to compute any reliable oob estimates."
        )
    found: dict[str, Any] = {
        "_oob": oob.continued(score=None) if keeps_sums else None,
        "oob_scores_": np.array(oob.scores),
        "oob_score_": oob.scores[-1],
    }
    mean = oob.mean()
    if classes is None:
        return found | {"oob_prediction_": mean}
    if isinstance(classes, list):
        parts = split_outputs(mean, classes)
        mean = np.zeros((len(mean), max(map(len, classes)), len(classes)))
        for k, part in enumerate(parts):
            mean[:, : part.shape[1], k] = part
    return found | {"oob_decision_function_": mean}
