"""Predictions for Dask collections: lazy, chunk by chunk."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from sklearn_ensemble_theory._chunks.dask_collections import is_collection, meta_of

__all__ = ["by_chunks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def by_chunks(method: Method) -> Method:
    """A method of X that returns a lazy Dask array where X is a Dask collection.

    Each chunk of rows is predicted by itself when it is computed. For other X the method is called
    as it is.
    """

    @wraps(method)
    def predict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(type(X), "__dask_graph__") and is_collection(X):
            return _lazily(method, self, X, args, kwargs)
        return method(self, X, *args, **kwargs)

    # The name in tracebacks, and where scikit-learn looks for the caller of a member.
    predict.__code__ = predict.__code__.replace(co_name=method.__name__)  # type: ignore[attr-defined]
    return cast(Method, predict)


def _lazily(
    method: Callable[..., Any], model: Any, X: Any, args: tuple, kwargs: dict[str, Any]
) -> Any:
    from dask import delayed

    meta = meta_of(X)
    is_array = hasattr(X, "numblocks")
    one = np.ones((1, X.shape[1]), meta.dtype) if is_array else X._meta_nonempty.iloc[:1]
    like = np.asarray(method(model, one, *args, **kwargs))[:0]  # its dtype, and its columns
    call = _Prediction(method, args, kwargs, like)
    if not is_array:
        return X.map_partitions(call, delayed(model, traverse=False), meta=like)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    columns = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    return X.map_blocks(
        call, delayed(model, traverse=False), dtype=like.dtype, meta=like, **columns
    )


class _Prediction:
    """The method for one chunk, of no rows perhaps."""

    def __init__(
        self, method: Callable[..., Any], args: tuple, kwargs: dict[str, Any], like: np.ndarray
    ) -> None:
        self.__name__ = method.__name__  # which Dask shows
        self.args, self.kwargs, self.like = args, kwargs, like

    def __call__(self, X: Any, model: Any) -> np.ndarray:
        if len(X) == 0:
            return self.like
        return np.asarray(getattr(model, self.__name__)(X, *self.args, **self.kwargs))
