"""Dask collections: whether X is one, and its chunks beside those of y and of the weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._chunks.blocks import DaskBlocks

__all__ = ["any_collection", "is_collection", "meta_of", "row_blocks"]


def is_collection(X: Any) -> bool:
    """Whether X is an array, data frame or column of Dask. Dask is not imported for it."""
    if not hasattr(type(X), "__dask_graph__"):
        return False
    from dask import is_dask_collection

    return bool(is_dask_collection(X))


def any_collection(*data: Any) -> bool:
    """Whether one of them is a Dask collection."""
    return any(hasattr(type(one), "__dask_graph__") and is_collection(one) for one in data)


def meta_of(X: Any) -> Any:
    """An array or data frame like X without rows.

    Raises
    ------
    ValueError
        If X does not have rows and columns.
    """
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; got {X!r}.")
    meta = X._meta
    if hasattr(meta, "columns"):
        return meta
    return np.empty((0, X.shape[1]), dtype=X.dtype)


def row_blocks(X: Any, y: Any, sample_weight: Any = None) -> DaskBlocks:
    """Blocks (number, X, y, weight) of the chunks of rows.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features) or dask data frame
    y, sample_weight : dask array or series, or array of known chunks; or None
        In the chunks of X; arrays whose chunks are known and others are cut again.

    Raises
    ------
    TypeError or ValueError
        If the chunks of the others are not those of X.
    """
    lengths = None
    if hasattr(X, "numblocks"):
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        lengths = X.chunks[0]
    if lengths is None:
        joined = _one_frame(X, y, sample_weight)
        if joined is not None:
            return joined
    parts = _delayed(X)
    columns = [parts]
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        columns.append(_parts_like(column, name, parts, lengths))
    from dask import delayed

    block = delayed(_block, pure=False)
    return DaskBlocks([block(number, *each) for number, each in enumerate(zip(*columns))])


def _one_frame(X: Any, y: Any, weight: Any) -> DaskBlocks | None:
    """The blocks of one data frame with y and the weights as columns; None where X has no part.

    Columns of one table are then read together. Dask may also read single columns of several files
    as one chunk, so that y, read alone, would not have the chunks of X. Frames whose divisions are
    known are joined by their index, which is left to `_parts_like` where the chunks agree.
    """
    others = {"y": y, "weight": weight}
    others = {f"__{name}__": one for name, one in others.items() if one is not None}
    if not all(
        hasattr(one, "divisions") and getattr(one, "ndim", 0) == 1 for one in others.values()
    ):
        return None
    if X.known_divisions and all(one.npartitions == X.npartitions for one in others.values()):
        return None
    try:
        frame = X.assign(**others)
    except (NotImplementedError, ValueError):  # of another table
        return None
    from dask import delayed

    block = delayed(_split_block, pure=False)
    return DaskBlocks(
        [block(number, part, [*others]) for number, part in enumerate(_delayed(frame))]
    )


def _split_block(number: int, frame: Any, names: list[str]) -> tuple[int, Any, Any, Any]:
    y, weight = (frame[name] if name in names else None for name in ("__y__", "__weight__"))
    return number, frame.drop(columns=names), y, weight


def _block(number: int, X: Any, y: Any, weight: Any) -> tuple[int, Any, Any, Any]:
    return number, X, y, weight


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _parts_like(column: Any, name: str, parts: Sequence[Any], lengths: Any) -> list[Any]:
    """The chunks of y or of the weights, beside those of X."""
    if column is None:
        return [None] * len(parts)
    if not is_collection(column):
        if lengths is None or np.isnan(lengths).any():
            raise TypeError(
                f"{name} must be a Dask collection in the chunks of X; got "
                f"{type(column).__name__}, of which the chunks of X, of unknown lengths, cannot be "
                "cut."
            )
        column = np.asarray(column)
        if len(column) != sum(lengths):
            raise ValueError(f"X has {sum(lengths)} rows, but {name} has {len(column)}.")
        return np.split(column, np.cumsum(lengths)[:-1])
    if hasattr(column, "rechunk"):
        if column.ndim == 2 and column.numblocks[1] > 1:
            column = column.rechunk({1: -1})
        known = lengths is not None and not np.isnan([*lengths, *column.chunks[0]]).any()
        if known and column.chunks[0] != lengths:
            if sum(column.chunks[0]) != sum(lengths):
                raise ValueError(
                    f"X has {sum(lengths)} rows, but {name} has {sum(column.chunks[0])}."
                )
            column = column.rechunk({0: lengths})
    found = _delayed(column)
    if len(found) != len(parts):
        raise ValueError(
            f"{name} has {len(found)} chunks of rows, but X has {len(parts)}; they must be cut at "
            "the same rows."
        )
    return found
