"""Batches of rows from any iterable: fits in a memory that holds one batch, without Dask.

`FitsBatches` is the base of estimators that fit them. They have `_fit_chunks`, which reads rows in
blocks; `BatchBlocks` are blocks that are read again in each pass. Sums are added in the order of
`DaskBlocks`, so that both give the same bits.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import compress, count
from os import PathLike
from typing import Any, Self, cast
from zlib import crc32

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory._blocks import (
    TreeSum,
    any_collection,
    applied,
    split_arguments,
    tree_sum,
)
from sklearn_ensemble_theory._door import check_for_blocks, fit_blocks, fitted_twin
from sklearn_ensemble_theory._features import Features, is_frame, refuse_unread
from sklearn_ensemble_theory._rows import columns_of
from sklearn_ensemble_theory._running import reworded
from sklearn_ensemble_theory._typing import BatchesLike, Estimator

Given = tuple[int, Any, Any, Any]
NEW_ITERATOR = (
    "give a list, or a function without arguments that returns a new iterator at each call, such "
    "as lambda: (read(file) for file in files)"
)
SAME_BATCHES = (
    "every pass needs the same batches in the same order, which must not be shuffled: "
    f"{NEW_ITERATOR}"
)
FROM_FILES = (
    "give a function that reads the files, such as pyarrow.dataset.dataset(path).to_batches or "
    "lambda: (pandas.read_parquet(path) for path in paths)"
)
# What the messages of fits in blocks call Dask's chunks, and what it is here.
WORDS = (("Dask collections", "batches"), ("each chunk", "each batch"))


class FitsBatches:
    """Base of estimators that can be fitted to batches of rows; before `ReadsOnce`."""

    def fit_batches(
        self,
        batches: BatchesLike,
        *,
        target: str | None = None,
        sample_weight: str | None = None,
    ) -> Self:
        """Fit the model to batches of rows, of which one is in memory at a time.

        The model is the same as from `fit` with a Dask collection of these chunks; Dask is not
        needed. The user guide lists how often each estimator reads the rows
        (:ref:`passes-over-chunks`).

        Parameters
        ----------
        batches : iterable, or callable without arguments that returns an iterable
            Pairs (X, y) or triples (X, y, weights), or data frames if `target` is given. X is an
            array, a pandas or polars data frame, or a table or record batch of pyarrow. Each pass
            over the rows iterates anew, or calls the function again, and must see the same batches
            in the same order. A generator object ends after one pass and is refused.
        target : str, default=None
            The name of the column of targets; all other columns are features.
        sample_weight : str, default=None
            The name of the column of weights; only with `target`.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        TypeError
            If `batches` can be read only once, or a batch is not a pair, a triple or a data frame.
        ValueError
            If batches have different columns, differ from one pass to the next, or have rows that
            `fit` would refuse. The message names the batch; the first has the number 0.
        """
        source = BatchSource(batches, target, sample_weight)
        with in_words_of_batches():
            meta, has_weights = source.first()
            with fitted_twin(cast(Estimator, self), meta) as fresh:
                check_for_blocks(fresh)
                fit_blocks(fresh, BatchBlocks(source), meta, has_weights)
        return self


@contextmanager
def in_words_of_batches() -> Iterator[None]:
    """Errors of fits in blocks speak of batches."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text = re.sub(r"\(in chunk (\d+) of the rows", r"(in batch \1", str(error))
        for word, here in WORDS:
            text = text.replace(word, here)
        if text == str(error):
            raise
        raise reworded(error, text) from error


# --- blocks ---------------------------------------------------------------------------------------


class BatchBlocks:
    """Blocks that are read one after the other: `blocks` is iterated anew for each result.

    No loop here has a name for a block while the next one is read.
    """

    def __init__(self, blocks: Iterable[Any]) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return sum(map(_one, self.blocks))

    def grouped(self) -> Self:
        return self

    def repeated(self, value: Any) -> "BatchBlocks":
        return BatchBlocks([value] * len(self))

    def taken(self, numbers: Sequence[int]) -> "BatchBlocks":
        is_wanted = map(set(numbers).__contains__, count())
        return BatchBlocks(list(compress(self.blocks, is_wanted)))

    def joined(self, others: "BatchBlocks") -> "BatchBlocks":
        return BatchBlocks([*self.blocks, *others.blocks])

    def lazily(self, function: Callable[..., Any], *args: Any) -> "BatchBlocks":
        """The results as blocks, which are computed at each read and not kept."""
        return BatchBlocks(_Results(self, function, args))

    def map(self, function: Callable[..., Any], *args: Any) -> "BatchBlocks":
        return BatchBlocks(self.each(function, *args))

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return list(_Results(self, function, args))

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return tree_sum(_Results(self, function, args))

    def step(self, function: Callable[..., Any], *args: Any) -> tuple["BatchBlocks", Any]:
        total, kept = TreeSum(), []
        for pair in _Results(self, function, args):
            kept.append(None if pair is None else pair[0])
            total.add(None if pair is None else pair[1])
        return BatchBlocks(kept), total.value()


class _Results:
    """The results of a function of each block, computed anew in each iteration."""

    def __init__(self, blocks: BatchBlocks, function: Callable[..., Any], args: tuple) -> None:
        parts, shared = split_arguments(args, BatchBlocks)
        self.parts = [blocks, *parts]
        self.function = partial(applied, function, shared)

    def __iter__(self) -> Iterator[Any]:
        return map(self.function, *(each.blocks for each in self.parts))


def _one(block: Any) -> int:
    return 1


# --- what the user gives --------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchColumns:
    """What all batches have in common: the columns of X, which are categorical, and weights."""

    features: Features
    categorical: tuple[bool, ...]
    has_weights: bool

    @classmethod
    def of(cls, X: Any, weight: Any) -> "BatchColumns":
        features = Features.of(X)
        flags = features.flags("from_dtype", X)
        return cls(features, tuple(flags.tolist()), weight is not None)

    def check(self, other: "BatchColumns") -> None:
        """A ValueError if another batch does not fit; this is the first one."""
        own, others = self.features, other.features
        if (own.names is None) != (others.names is None):
            here, first = ("no names", "names") if own.names else ("names", "none")
            raise ValueError(
                f"the columns of X have {here}, and {first} in batch 0; give data frames in all "
                "batches or in none."
            )
        if own.names is not None and others.names is not None and own.names != others.names:
            missing = [name for name in own.names if name not in others.names]
            more = [name for name in others.names if name not in own.names]
            what = "its columns in another order"
            if missing or more:
                found = [f"no column {name!r}" for name in missing[:3]]
                found += [f"a column {name!r} more" for name in more[:3]]
                what = " and ".join(found)
            raise ValueError(
                f"X has {what}, compared with batch 0; select the columns "
                f"{list(own.names[:20])!r:.300} in each batch."
            )
        if own.n != others.n:
            raise ValueError(
                f"X has {others.n} columns, and {own.n} in batch 0; give the same columns in each "
                "batch."
            )
        for j, (one, here) in enumerate(zip(self.categorical, other.categorical)):
            if one != here:
                raise ValueError(
                    f"column {own.label(j)} is {'not ' * one}categorical, and is "
                    f"{'not ' * here}so in batch 0; cast it to the same dtype in each batch."
                )
        if self.has_weights != other.has_weights:
            raise ValueError(
                f"there are {'no ' * self.has_weights}weights, and {'no ' * other.has_weights}"
                "weights in batch 0; give weights in all batches or in none."
            )


class BatchSource:
    """Batches as the user gives them, as blocks (number, X, y, weight) that are the same each time.

    `marks` has the number of rows of each batch and a checksum of its targets.
    """

    def __init__(self, given: Any, target: str | None, weight: str | None) -> None:
        for name, column in (("target", target), ("sample_weight", weight)):
            if not (column is None or isinstance(column, str)):
                raise TypeError(
                    f"{name} must be the name of a column; got {type(column).__name__}. Arrays go "
                    "into the batches, as pairs (X, y) or triples (X, y, weights)."
                )
        if weight is not None and target is None:
            raise ValueError(
                "sample_weight names a column of data frames, which need target, the name of the "
                "column of targets, too; otherwise give triples (X, y, weights)."
            )
        _check_is_read_again(given)
        self.given, self.target, self.weight = given, target, weight
        self.n_batches: int | None = None
        self.columns: BatchColumns | None = None
        self.marks: list[tuple[int, int]] = []

    def first(self) -> tuple[Any, bool]:
        """An array or frame like X of the first batch, without rows; and whether it has weights."""
        batches = _Pass(self, self._begun())
        try:
            _, X, _, weight = next(batches)
        finally:
            batches.close()
        return X.head(0) if is_frame(X) else X[:0].copy(), weight is not None

    def __iter__(self) -> Iterator[Given]:
        return _Pass(self, self._begun())

    def _begun(self) -> Iterator[Any]:
        if not callable(self.given):
            return iter(self.given)
        found = self.given()
        try:
            return iter(found)
        except TypeError:
            raise TypeError(
                f"batches is a function that returns {type(found).__name__}, which cannot be "
                "iterated; it must return an iterator over batches."
            ) from None

    def checked(self, number: int, batch: Any) -> Given:
        try:
            X, y, weight = self._parts(batch)
            columns = BatchColumns.of(X, weight)
            if self.columns is None:
                self.columns = columns
            self.columns.check(columns)
            self._check_mark(number, _mark(len(X), y))
        except (TypeError, ValueError) as error:
            raise reworded(error, f"{str(error).rstrip('.')} (in batch {number})") from error
        return number, X, y, weight

    def ended(self, n_batches: int) -> None:
        """Check that all passes have the same number of batches."""
        if n_batches == 0 and not self.marks:
            raise ValueError(
                "batches has no batches: the list is empty, or the iterator ends at once."
            )
        if self.n_batches is None and n_batches == len(self.marks):
            self.n_batches = n_batches
        if n_batches != self.n_batches:
            raise ValueError(
                f"batches ended after {n_batches} batches, and had {len(self.marks)} before; "
                f"{SAME_BATCHES}."
            )

    def _check_mark(self, number: int, mark: tuple[int, int]) -> None:
        if number == len(self.marks) and self.n_batches is None:
            self.marks.append(mark)
        elif number >= len(self.marks) or mark != self.marks[number]:
            raise ValueError(f"batches has other rows than in an earlier pass; {SAME_BATCHES}.")

    def _parts(self, batch: Any) -> tuple[Any, Any, Any]:
        if isinstance(batch, (str, PathLike)):
            raise TypeError(f"a batch must hold rows; got the name {str(batch)!r}: {FROM_FILES}.")
        if self.target is not None:
            return self._of_columns(in_memory_table(batch))
        if not (isinstance(batch, (tuple, list)) and len(batch) in (2, 3)):
            kind = type(batch).__name__
            raise TypeError(
                f"a batch must be a pair (X, y) or a triple (X, y, weights); got {kind}. Of data "
                "frames, name the column of targets: target='...'."
            )
        X, y, weight = (*batch, None)[:3]
        if y is None:
            raise ValueError("y is None; give pairs (X, y) with a target for each row.")
        y, weight = of_arrow(y), of_arrow(weight)
        return in_memory_table(X), y, weight

    def _of_columns(self, frame: Any) -> tuple[Any, Any, Any]:
        if not is_frame(frame):
            raise TypeError(
                f"a batch must be a data frame where target={self.target!r} names its column; got "
                f"{type(frame).__name__}. Give pairs (X, y) without target."
            )
        names, found = list(frame.columns), []
        for parameter, name in (("target", self.target), ("sample_weight", self.weight)):
            if name is not None and names.count(name) != 1:
                raise ValueError(
                    f"{parameter}={name!r} must be the name of one column; the columns are "
                    f"{names!r:.300}."
                )
            found.append(None if name is None else frame[name])
        others = [j for j, name in enumerate(names) if name not in (self.target, self.weight)]
        return columns_of(frame, np.array(others, dtype=np.intp)), *found


class _Pass:
    """An iterator over the checked batches."""

    def __init__(self, source: BatchSource, batches: Iterator[Any]) -> None:
        self.source, self.batches, self.number = source, batches, 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Given:
        number = self.number
        try:
            batch = next(self.batches)
        except StopIteration:
            self.source.ended(number)
            raise
        except Exception as error:
            error.add_note(f"(while batch {number} was read; the first one has the number 0)")
            raise
        self.number += 1
        return self.source.checked(number, batch)

    def close(self) -> None:
        """End the pass before its end: generators, files and readers are closed."""
        close = getattr(self.batches, "close", None)
        if callable(close):
            close()


def _check_is_read_again(given: Any) -> None:
    """A TypeError for what is no batches, or what ends after one pass."""
    if any_collection(given):
        raise TypeError("batches is a Dask collection; give it to fit, which reads its chunks.")
    if isinstance(given, (str, PathLike)):
        raise TypeError(
            f"batches must be an iterable of batches; got the name {str(given)!r}: {FROM_FILES}."
        )
    if isinstance(given, (bytes, dict)) or hasattr(given, "shape") or _is_lazy(given):
        cure = "lambda: frame.collect_batches()" if _is_lazy(given) else "[(X, y)]"
        raise TypeError(
            f"batches must be an iterable of batches; got one {type(given).__name__}. Use for "
            f"example batches={cure}."
        )
    if callable(given):
        return
    try:
        iterator = iter(given)
    except TypeError:
        cure = ": give its method to_batches" if hasattr(given, "to_batches") else ""
        raise TypeError(
            f"batches must be an iterable of batches, or a function that returns one; got "
            f"{type(given).__name__}{cure}."
        ) from None
    if iterator is given:
        raise TypeError(
            f"batches is a {type(given).__name__}, which ends after one pass, but the fit may read "
            f"the rows several times: {NEW_ITERATOR}."
        )


def _is_lazy(given: Any) -> bool:
    return type(given).__name__ == "LazyFrame"


def of_arrow(data: Any) -> Any:
    """Tables, record batches and columns of pyarrow by pandas; all others as they are."""
    if type(data).__module__.partition(".")[0] != "pyarrow":
        return data
    try:
        return data.to_pandas()
    except ImportError as error:
        raise TypeError(
            "batches of pyarrow are read through pandas, which is not installed; install it, or "
            "give polars frames: polars.from_arrow(batch)."
        ) from error


def in_memory_table(X: Any) -> Any:
    """X as a data frame or a dense array of two dimensions."""
    X = of_arrow(X)
    if any_collection(X):
        raise TypeError("X is a Dask collection; call .compute() on it, or give all of it to fit.")
    if issparse(X):
        raise TypeError("X is sparse, and batches must be dense: use X.toarray() in each batch.")
    refuse_unread(X)
    if is_frame(X):
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got an array of shape {X.shape}."
        )
    return X


def _mark(n_rows: int, y: Any) -> tuple[int, int]:
    """The number of rows, and a checksum of targets that are no objects."""
    values = np.asarray(y)
    if values.dtype.kind in "OV" or values.size == 0:
        return n_rows, 0
    return n_rows, crc32(values.tobytes())
