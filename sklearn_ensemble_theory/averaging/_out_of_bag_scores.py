"""Scores of out-of-bag predictions, of one or several outputs.

Of several outputs, the codes of each follow those of the one before.
"""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import type_of_target

from sklearn_ensemble_theory._learners import largest_column
from sklearn_ensemble_theory._scaling import range_exponent

Score = Callable[[np.ndarray, np.ndarray], float]


def first_codes(outputs: Sequence[np.ndarray]) -> np.ndarray:
    """The first code of each output, from the classes of the outputs."""
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
