"""The rows of one block for base learners, checked as `fit` of their ensemble does in memory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_consistent_length

from sklearn_ensemble_theory._categories import (
    CategoricalColumns,
    encoded,
    give_encoder,
    numbered_learner,
    tree_categories_of_blocks,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    Rows,
    check_usual_units,
    checked_target,
    checked_weights,
    joined_labels,
    validate_data,
)
from sklearn_ensemble_theory._running import reworded
from sklearn_ensemble_theory._typing import Estimator


@dataclass(frozen=True)
class LearnerBlock(Rows):
    """All rows of one block, those of weight 0 too; y are codes of the block's own classes."""

    target: dict[str, Any] = field(default_factory=dict)

    @property
    def has_weight(self) -> bool:
        return self.weight is None or bool(self.weight.any())


@dataclass(frozen=True)
class LearnerRows:
    """The checks of the rows.

    - model: the ensemble, not fitted.
    - encode_y: (y as numbers, its description) from the ensemble and y.
    - options: of `validate_data`.
    - as_frame: base learners get data frames as they are.
    - encoder: makes numbers of the categories, where there are any.
    """

    model: Estimator
    encode_y: Callable[[Any, np.ndarray], tuple[np.ndarray, dict]]
    options: Mapping[str, Any]
    n_features: int
    as_frame: bool = False
    encoder: CategoricalColumns | None = None

    @classmethod
    def of(
        cls,
        model: Estimator,
        encode_y: Callable[[Any, np.ndarray], tuple[np.ndarray, dict]],
        rows: ChunkedRows,
        learner: Any,
        options: Mapping[str, Any],
        **more: Any,
    ) -> tuple["LearnerRows", Any]:
        """The checks of rows for a learner, and the learner for what they give."""
        encoder = tree_categories_of_blocks(rows.given, rows.meta, learner)
        if encoder is not None:
            give_encoder(model, encoder)
            options = {**options, "learner": clone(learner).set_params(categorical_features=None)}
        else:
            options = {**options, "learner": learner}
        read = cls(model, encode_y, options, rows.checks.n_features, encoder=encoder, **more)
        return read, numbered_learner(learner, encoder)

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> LearnerBlock | None:
        """The rows; None if there are none."""
        with naming_chunk(number):
            check_consistent_length(X, y, weight)
            if X.shape[0] == 0:
                return None
            if X.shape[1] != self.n_features:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {self.n_features} in its metadata."
                )
            model = copy(self.model)  # which validation gives the names of the features
            if self.encoder is not None:
                X = encoded(self.encoder, X)
            y = checked_target(y, is_real=isinstance(model, RegressorMixin))
            X, y = validate_data(
                model, X, y, as_frame=self.as_frame, multi_output=True, **self.options
            )
            X = X.tocsr() if hasattr(X, "tocsr") else X
            y, target = self.encode_y(model, y)
            if weight is not None:
                weight = np.asarray(weight)
                if weight.any():
                    weight = checked_weights(weight, X)
                    check_usual_units(weight)
            return LearnerBlock(X, y, weight, range(len(y)), block=number, target=target)


@contextmanager
def naming_chunk(number: int) -> Iterator[None]:
    """Errors of the rows end with the number of their chunk."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise reworded(error, f"{error} (in chunk {number} of the rows)") from error


def of_learner_rows(
    given: tuple[int, Any, Any, Any], read: LearnerRows, function: Callable[..., Any], *args: Any
) -> Any:
    """`function(block, *args)` of a chunk as it was given; None if it has no rows."""
    block = read(*given)
    return None if block is None else function(block, *args)


@dataclass(frozen=True)
class RowFacts:
    """What a first pass over the chunks finds.

    - lengths: the number of rows of each chunk with rows of positive weight, by its number.
    - weights: the sum of their weights; the number of rows where there are none.
    - top_weight: the largest weight; 1 without weights.
    - top_target: the largest absolute value of a regressor's targets, of all rows.
    - target: what `encode_y` would say of y of all rows.
    """

    lengths: dict[int, int]
    weights: dict[int, float]
    weighted: bool
    top_weight: float
    top_target: float
    target: dict[str, Any]

    def __add__(self, other: "RowFacts") -> "RowFacts":
        return RowFacts(
            self.lengths | other.lengths,
            self.weights | other.weights,
            self.weighted,
            max(self.top_weight, other.top_weight),
            max(self.top_target, other.top_target),
            _joined_targets(self.target, other.target),
        )

    @property
    def chunks(self) -> list[int]:
        """The numbers of the chunks with rows of positive weight; a ValueError if there is none."""
        if not self.lengths:
            raise ValueError("sample_weight must be positive for at least one row.")
        return sorted(self.lengths)


def facts_of_block(block: LearnerBlock) -> RowFacts:
    weight, number, n = block.weight, block.block, len(block)
    lengths, weights = {}, {}
    if block.has_weight:
        lengths[number] = n
        weights[number] = float(n if weight is None else weight.sum())
    top_weight = 1.0 if weight is None else float(weight.max())
    top_target = 0.0 if "classes_" in block.target else float(np.abs(block.y).max())
    return RowFacts(lengths, weights, weight is not None, top_weight, top_target, block.target)


def recoded(codes: np.ndarray, own: dict[str, Any], known: dict[str, Any]) -> np.ndarray:
    """Codes among the classes of all rows, from codes among those of a chunk."""
    if "classes_" not in own:
        return codes
    if isinstance(own["classes_"], np.ndarray):
        return np.searchsorted(known["classes_"], own["classes_"])[codes]
    places, start = [], 0
    for labels, all_labels in zip(own["classes_"], known["classes_"]):
        places.append(start + np.searchsorted(all_labels, labels))
        start += len(all_labels)
    return np.concatenate(places)[codes]


def _joined_targets(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    if "classes_" not in first:
        return first
    one, other = first["classes_"], second["classes_"]
    if isinstance(one, np.ndarray):
        classes = joined_labels(one, other)
        return {**first, "classes_": classes, "n_classes_": len(classes)}
    outputs = [joined_labels(*pair) for pair in zip(one, other)]
    return {**first, "classes_": outputs, "n_classes_": [len(labels) for labels in outputs]}


class RowsNotKeptError(ValueError, AttributeError):
    """The rows are needed; an AttributeError too, so that properties of them count as absent."""


class RowsInChunks:
    """In place of a `SamplingScheme` or of `TrainingRows`: every use is an error."""

    _reason = (
        "which a fit of Dask collections does not keep: there are no out-of-bag predictions, "
        "standard errors, intervals or importances of training rows. Fit arrays in memory for them."
    )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # such as those that copies and pickles ask for
            raise AttributeError(name)
        raise RowsNotKeptError(
            f"This requires the training rows and the draws of the members, {self._reason}"
        )


class RowsOfSeveralFits(RowsInChunks):
    """The same where members of one ensemble were drawn from other rows, or in another way."""

    _reason = (
        "which are not the same for all members, as warm_start=True went on with other rows, "
        "weights, or parameters of the draws. Use warm_start=False."
    )

    def __init__(self, rows: Any = None) -> None:
        self.rows = rows  # of the last fit, with which the next one compares its own
