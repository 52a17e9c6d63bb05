"""The rows of one block for base learners, checked as `fit` of their ensemble does in memory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse
from scipy.stats import chi2
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_consistent_length

from sklearn_ensemble_theory._categories import (
    CategoricalColumns,
    encoded,
    give_encoder,
    numbered_learner,
    tree_categories_of_blocks,
)
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    LabelTotals,
    Rows,
    check_usual_units,
    checked_target,
    checked_weights,
    joined_labels,
    validate_data,
)
from sklearn_ensemble_theory._running import reworded, warn_user
from sklearn_ensemble_theory._typing import Estimator

# Chunks that are random samples are said not to be with this probability.
BY_CHANCE = 1e-6
# Forests of chunks lose accuracy where more of the variance of a feature, or of y, is between them:
# .01 of R² on Friedman's function in 8 chunks that are sorted by a feature and noise.
LARGE_SHARE, LARGE_SHARE_OF_Y = 0.25, 0.1


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
class ChunkSpread:
    """How much columns of numbers differ between chunks, and inside of them; they add up.

    For each column: the number of values that are not missing, and their mean; the sum of squares
    of the values about the mean of their chunk, and that of these means about the mean of all.
    """

    n: np.ndarray
    mean: np.ndarray
    within: np.ndarray
    between: np.ndarray
    n_chunks: int = 1

    @classmethod
    def of(cls, columns: Any) -> "ChunkSpread":
        """Of one chunk, dense or CSR. O(n p)."""
        with np.errstate(all="ignore"):
            if issparse(columns):
                n = np.full(columns.shape[1], float(columns.shape[0]))
                mean = np.asarray(columns.mean(axis=0)).ravel()
                squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
                within = np.maximum(squares - n * mean**2, 0.0)
            else:
                n = np.full(columns.shape[1], float(len(columns)))
                mean = columns.sum(axis=0, dtype=float) / n
                if not np.isfinite(mean).all():  # rows with missing values, which take longer
                    found = np.isfinite(columns)
                    n = found.sum(axis=0).astype(float)
                    mean = columns.sum(axis=0, dtype=float, where=found) / np.maximum(n, 1)
                    columns = np.where(found, columns, mean)
                columns = columns - mean
                within = np.einsum("ij,ij->j", columns, columns)
        return cls(n, mean, within, np.zeros(len(n)))

    def __add__(self, other: "ChunkSpread") -> "ChunkSpread":
        n = np.maximum(self.n + other.n, 1)
        with np.errstate(all="ignore"):
            step, share = other.mean - self.mean, other.n / n
            return ChunkSpread(
                self.n + other.n,
                self.mean + share * step,
                self.within + other.within,
                self.between + other.between + self.n * share * step**2,
                self.n_chunks + other.n_chunks,
            )

    def shares(self) -> np.ndarray:
        """The share of each column's variance that is between chunks; 0 if that may be chance.

        The statistic of an analysis of variance: for chunks that are random samples n times the
        share is about chi-squared, with a degree of freedom less than there are chunks.
        """
        with np.errstate(all="ignore"):
            total = self.within + self.between
            # Less is rounding of the means of equal values.
            share = np.where(total > self.n * (1e-12 * self.mean) ** 2, self.between / total, 0.0)
            by_chance = chi2.isf(BY_CHANCE / len(share), self.n_chunks - 1) / self.n
            return np.where(share > by_chance, share, 0.0)


def share_of_labels(counts: np.ndarray) -> float:
    """The same for labels, from how many of each every chunk has, (C, K): Light and Margolin (1971)

    It is the share of Gini's impurity that is between chunks, "tau" of Goodman and Kruskal.
    """
    n, (n_chunks, n_classes) = counts.sum(), counts.shape
    if n_chunks < 2 or n_classes < 2:
        return 0.0
    total = n - (counts.sum(axis=0) ** 2).sum() / n
    within = n - ((counts**2).sum(axis=1) / counts.sum(axis=1)).sum()
    share = 1 - within / total
    by_chance = chi2.isf(BY_CHANCE, (n_chunks - 1) * (n_classes - 1)) / (n * (n_classes - 1))
    return float(share) if share > by_chance else 0.0


@dataclass(frozen=True)
class RowFacts:
    """What a first pass over the chunks finds.

    - lengths: the number of rows of each chunk with rows of positive weight, by its number.
    - weights: the sum of their weights; the number of rows where there are none.
    - top_weight: the largest weight; 1 without weights.
    - top_target: the largest absolute value of a regressor's targets, of all rows.
    - target: what `encode_y` would say of y of all rows.
    - spread, spread_of_y: of the columns of X, if they are numbers, and of a regressor's targets.
    - labels: how many rows have each label of a chunk with one column of labels, by its number.
    """

    lengths: dict[int, int]
    weights: dict[int, float]
    weighted: bool
    top_weight: float
    top_target: float
    target: dict[str, Any]
    spread: ChunkSpread | None
    spread_of_y: ChunkSpread | None
    labels: dict[int, LabelTotals]

    def __add__(self, other: "RowFacts") -> "RowFacts":
        return RowFacts(
            self.lengths | other.lengths,
            self.weights | other.weights,
            self.weighted,
            max(self.top_weight, other.top_weight),
            max(self.top_target, other.top_target),
            _joined_targets(self.target, other.target),
            _joined_spreads(self.spread, other.spread),
            _joined_spreads(self.spread_of_y, other.spread_of_y),
            self.labels | other.labels,
        )

    def warn_of_order(self, features: Features, cure: str = "") -> None:
        """Warn where chunks are no random samples of the rows, of which each member sees one.

        `cure` is another one than a shuffle of the rows.
        """
        found = []
        if self.spread is not None:
            shares = self.spread.shares()
            j = int(np.argmax(shares))
            if shares[j] > LARGE_SHARE:
                found.append((shares[j], f"feature {features.label(j)}"))
        of_y = 0.0
        if self.spread_of_y is not None:
            of_y = float(self.spread_of_y.shares().max())
        elif self.labels:
            classes = self.target["classes_"]
            counts = np.zeros((len(self.labels), len(classes)))
            for row, own in zip(counts, self.labels.values()):
                row[np.searchsorted(classes, own.labels)] = own.totals
            of_y = share_of_labels(counts)
        if of_y > LARGE_SHARE_OF_Y:
            found.append((of_y, "y"))
        if found:
            share, what = max(found)
            warn_user(
                f"The chunks are no random samples of the rows: {share:.0%} of the variance of "
                f"{what} is between chunks, such as of sorted rows. Each member is fitted to one "
                "chunk and predicts the others badly. Shuffle the rows before the fit: a Dask data "
                "frame by rows.shuffle(name) with a column of random numbers, arrays by X[order] "
                "and y[order] with a random order; or put them into one chunk if one worker has "
                "the memory. The user guide, 'Larger than memory', has the lines."
                f"{cure}"
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
    of_classes = "classes_" in block.target
    top_target = 0.0 if of_classes else float(np.abs(block.y).max())
    spread = spread_of_y = None
    labels = {}
    if block.has_weight:
        if issparse(block.X) or getattr(getattr(block.X, "dtype", None), "kind", "O") in "fiub":
            spread = ChunkSpread.of(block.X)
        if not of_classes:
            spread_of_y = ChunkSpread.of(block.y.reshape(n, -1))
        elif isinstance(block.target["classes_"], np.ndarray):
            own = block.target["classes_"]
            labels[number] = LabelTotals(own, np.bincount(block.y, minlength=len(own)))
    return RowFacts(
        lengths,
        weights,
        weight is not None,
        top_weight,
        top_target,
        block.target,
        spread,
        spread_of_y,
        labels,
    )


def _joined_spreads(one: ChunkSpread | None, other: ChunkSpread | None) -> ChunkSpread | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


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
