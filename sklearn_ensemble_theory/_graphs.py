"""Graphs of Dask: many calls as one graph, and chunks that are read in the task that needs them.

A task takes about a millisecond of Dask's scheduler and client, and the layers of a graph for each
of many delayed objects more than that. So all calls of a pass are one layer here, all results are
one collection, and a chunk is no task of its own if this changes nothing: if no other chunk needs
what it is made of, except sources such as a file.
"""

import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

# In the place of what all calls share.
COMMON = object()
# Common arguments of at most so many bytes go with each task, without a task of their own.
SMALL = 2**15


@dataclass(frozen=True)
class Common:
    """What all tasks share: an object in which Dask looks for no keys."""

    value: Any


def itself(common: Any) -> Any:
    return common


def delayed_calls(
    calls: Sequence[tuple],
    dependencies: list[Any],
    common: Any = None,
    size: int = 1,
    places: tuple[int, ...] = (),
) -> list[Any]:
    """Delayed calls as one graph, which takes a fraction of the time of `dask.delayed` for each.

    A call is (function, arguments): keys of the dependencies, lists of them, or objects. The key of
    a call ends with its number, `size` times, and `places`.
    """
    name = f"{calls[0][0].__name__}-{uuid4().hex}"
    graph: dict[Any, tuple] = {}
    if not _is_small(common):  # one object for all tasks, which is sent to a worker once
        graph[f"{name}-common"] = (itself, common)
        common = f"{name}-common"
    keys = [(name, number, *places) for number in range(0, size * len(calls), size)]
    for key, call in zip(keys, calls):
        graph[key] = tuple(common if each is COMMON else each for each in call)
    return _in_layer(name, keys, graph, dependencies)


def array_of_calls(
    calls: Sequence[tuple],
    dependencies: list[Any],
    common: Any,
    like: np.ndarray,
    lengths: tuple[float, ...] | None = None,
) -> Any:
    """A Dask array of the results of `delayed_calls`, which are like this one; None is unknown."""
    from dask.array import Array
    from dask.utils import ensure_dict

    found = delayed_calls(calls, dependencies, common, places=(0,) * (like.ndim - 1))
    graph = {key: _under_key(key, task) for key, task in ensure_dict(found[0].dask).items()}
    columns = tuple((n,) for n in like.shape[1:])
    chunks = (lengths or (np.nan,) * len(found), *columns)
    return Array(graph, found[0].key[0], chunks, meta=like)


def _under_key(key: Any, task: Any) -> Any:
    """The task with the key that it has in its graph, which Dask's arrays ask of it.

    Aliases in frames of delayed objects have another one.
    """
    if type(task).__name__ != "Alias" or task.key == key:
        return task
    return type(task)(key, task.target)


def _is_small(common: Any) -> bool:
    try:
        return len(pickle.dumps(common)) <= SMALL
    except (AttributeError, TypeError, pickle.PicklingError):  # functions of a session
        return False


def _in_layer(
    name: str, keys: Iterable[Any], graph: dict[Any, Any], dependencies: Sequence[Any] = ()
) -> list[Any]:
    """Delayed objects of one more layer, whose graphs are one object."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    below = _merged(dependencies)
    needed = {layer for each in dependencies for layer in each.__dask_layers__()}
    layers = {**below.layers, name: graph}
    whole = HighLevelGraph(layers, {**below.dependencies, name: needed})
    return [Delayed(key, whole, layer=name) for key in keys]


def _merged(delayed: Iterable[Any]) -> Any:
    from dask.highlevelgraph import HighLevelGraph

    # `dask` may be a new object at each read: it is kept while its address is its name.
    found = [each.dask for each in delayed]
    graphs = {id(graph): graph for graph in found}
    return HighLevelGraph.merge(*graphs.values()) if graphs else HighLevelGraph({}, {})


class _Results:
    """Many delayed objects as one collection."""

    def __init__(self, delayed: Sequence[Any]) -> None:
        self.keys, self.graph = [each.key for each in delayed], _merged(delayed)
        self.__dask_scheduler__ = delayed[0].__dask_scheduler__

    def __dask_graph__(self) -> Any:
        return self.graph

    def __dask_keys__(self) -> list[Any]:
        return self.keys

    def __dask_layers__(self) -> tuple[str, ...]:
        return tuple(self.graph.layers)

    def __dask_tokenize__(self) -> Any:
        return self.keys

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **options: Any) -> Any:
        from dask.core import flatten

        return graph.cull(set(flatten(keys)))

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple]:
        return list, ()

    def __dask_postpersist__(self) -> tuple[Callable[..., Any], tuple]:
        return _kept, (self.keys,)


def _kept(graph: Any, keys: list[Any], **options: Any) -> list[Any]:
    name = f"kept-{uuid4().hex}"
    return _in_layer(name, keys, {key: graph[key] for key in keys})


def persisted(delayed: Sequence[Any]) -> list[Any]:
    """The results, kept where they are computed."""
    import dask

    (found,) = dask.persist(_Results(delayed), traverse=False)
    return list(found)


def computed(delayed: Sequence[Any]) -> list[Any]:
    import dask

    (found,) = dask.compute(_Results(delayed), traverse=False)
    return list(found)


def futures_of(kept: Sequence[Any]) -> list[Any] | None:
    """The futures of persisted objects; None without a cluster."""
    if "distributed" not in sys.modules:
        return None
    from distributed import futures_of

    by_key = {future.key: future for future in futures_of([_Results(kept)])}
    return [by_key[one.key] for one in kept] if by_key else None


def values_of(kept: Sequence[Any]) -> list[Any]:
    """The values of persisted objects, without a task for each."""
    futures = futures_of(kept)
    return computed(kept) if futures is None else list(futures[0].client.gather(futures))


def n_threads() -> int:
    """Those of the current scheduler's workers, at present."""
    from dask.base import get_scheduler
    from dask.system import CPU_COUNT

    client: Any = getattr(get_scheduler(), "__self__", None)
    return sum(client.nthreads().values()) if hasattr(client, "nthreads") else int(CPU_COUNT)


# --- chunks that are read inside a task -----------------------------------------------------------


@dataclass(frozen=True)
class OwnGraph:
    """What one delayed object is made of, in the order in which it is computed.

    `sources` are the keys of what others need, too.
    """

    graph: dict[Any, Any]
    sources: list[Any]

    def read(self, values: Sequence[Any]) -> Any:
        """The object, by the values of the sources."""
        known, found = dict(zip(self.sources, values)), None
        for key, task in self.graph.items():
            found = known[key] = _value(task, known)
        return found


def _value(task: Any, known: dict[Any, Any]) -> Any:
    if hasattr(task, "dependencies"):
        return task(known)
    from dask.core import _execute_task  # until 2024.11

    return _execute_task(task, known)


def own_graphs(delayed: Sequence[Any]) -> list[OwnGraph] | None:
    """The graphs of delayed objects apart; None if Dask is to compute their parts as tasks.

    These are parts that several objects need, such as those of a shuffle, or that are on workers.
    O(tasks).
    """
    from dask.core import get_dependencies
    from dask.utils import ensure_dict

    graph = ensure_dict(_merged(delayed))
    if "distributed" in sys.modules:
        from distributed import futures_of

        if futures_of(list(graph.values())):
            return None
    if "ray" in sys.modules and any(map(_is_of_ray, graph.values())):
        return None
    try:
        from dask._task_spec import convert_legacy_graph
    except ImportError:
        below = {key: get_dependencies(graph, key) for key in graph}
    else:
        graph = convert_legacy_graph(graph)
        below = {key: set(task.dependencies) for key, task in graph.items()}
        if not set().union(*below.values()) <= graph.keys():  # of workers
            return None
    parts = [_in_order(each.key, below) for each in delayed]
    n_users = Counter(key for part in parts for key in part)
    shared = {key for key, n in n_users.items() if n > 1}
    if any(below[key] for key in shared):
        return None
    return [
        OwnGraph(
            {key: graph[key] for key in part if key not in shared},
            [key for key in part if key in shared],
        )
        for part in parts
    ]


def _is_of_ray(task: Any) -> bool:
    """Whether a task has an object in Ray's store, which its scheduler puts in its place."""
    from ray import ObjectRef

    parts = task if isinstance(task, tuple) else getattr(task, "args", ())
    return any(isinstance(one, ObjectRef) for one in (task, getattr(task, "value", None), *parts))


def _in_order(key: Any, below: dict[Any, set[Any]]) -> list[Any]:
    """The keys that this one needs, each after those that it needs itself, and the key."""
    found: dict[Any, None] = {}
    stack = [key]
    while stack:
        missing = [each for each in below[stack[-1]] if each not in found]
        if missing:
            stack += missing
        else:
            found[stack.pop()] = None
    return list(found)
