"""Many small trees in one block: what a pickle of an ensemble holds in place of its members.

By itself a tree in bins is an estimator and ten arrays, which take longer to dump and to load than
their bytes.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sklearn_ensemble_theory._native.prediction import check_nodes
from sklearn_ensemble_theory.trees._tree_arrays import (
    GrownTree,
    TreeArrays,
    give_grown,
    grown_tree,
)

# Larger trees are dumped as they are, without the copy that a block is.
MOST_NODES = 1000
FIELDS = [
    "left",
    "right",
    "feature",
    "code",
    "threshold",
    "missing_left",
    "impurity",
    "n_rows",
    "weight",
    "value",
]


class BlockOfTrees:
    """The members of an ensemble, if they are small trees in bins that differ in seed and nodes."""

    pattern: Any
    nodes: TreeArrays
    n_features: int
    n_classes: Any
    seeds: list[Any]
    sizes: np.ndarray
    depths: np.ndarray

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    @classmethod
    def of(cls, members: Sequence[Any]) -> Self | None:
        """These members in a block; None where they are others."""
        grown = [grown_tree(member) for member in members if hasattr(member, "__dict__")]
        nodes = [each.arrays for each in grown if each is not None and each.arrays is not None]
        if not 1 < len(nodes) == len(members) or sum(map(len, nodes)) > MOST_NODES * len(nodes):
            return None
        pattern, first = members[0], grown[0]
        assert first is not None
        if not all(_are_alike(pattern, member) for member in members[1:]) or not all(
            _are_alike(first, each, ("arrays",)) for each in grown[1:]
        ):
            return None
        fields: dict[str, Any] = {"depth": max(each.depth for each in nodes)}
        for name in [*FIELDS, "left_bins"]:
            parts = [getattr(each, name) for each in nodes]
            if all(part is None for part in parts):
                continue
            if len({None if part is None else (part.dtype, part.shape[1:]) for part in parts}) > 1:
                return None
            fields[name] = np.concatenate(parts)
        wide = nodes[0].wide
        if not all(_is_same(wide, each.wide) for each in nodes):
            return None
        pattern = copy_of(pattern)
        vars(pattern).pop("_grown")
        return cls(
            pattern=pattern,
            nodes=TreeArrays(**fields, wide=wide),
            n_features=first.n_features,
            n_classes=first.n_classes,
            seeds=[member.random_state for member in members],
            sizes=np.array([len(each) for each in nodes]),
            depths=np.array([each.depth for each in nodes]),
        )

    def members(self) -> list[Any]:
        """The trees; their arrays are parts of those of the block."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        left, right, feature, _ = self.nodes.links()
        check_nodes(left, right, feature, starts, self.n_features)
        names = FIELDS if self.nodes.left_bins is None else [*FIELDS, "left_bins"]
        found, shared = [], vars(self.nodes)
        arrays = [shared[name] for name in names]
        for seed, start, stop, depth in zip(
            self.seeds, starts.tolist(), starts[1:].tolist(), self.depths.tolist()
        ):
            nodes = object.__new__(TreeArrays)  # a frozen record sets its fields one by one
            own = {name: array[start:stop] for name, array in zip(names, arrays)}
            vars(nodes).update(shared, depth=depth, **own)
            member = copy_of(self.pattern)
            member.random_state = seed
            give_grown(member, GrownTree(nodes, self.n_features, self.n_classes))
            found.append(member)
        return found


def copy_of(thing: Any) -> Any:
    """A shallow copy, without the protocol of pickles."""
    found = object.__new__(type(thing))
    vars(found).update(vars(thing))
    return found


def _are_alike(one: Any, other: Any, but: tuple[str, ...] = ("random_state", "_grown")) -> bool:
    """Whether two objects have the same attributes, but for these."""
    if type(one) is not type(other) or vars(one).keys() != vars(other).keys():
        return False
    mine, theirs = vars(one).copy(), vars(other).copy()
    for name in but:
        mine[name] = theirs[name] = None
    try:
        return mine == theirs  # far faster than a loop
    except ValueError:  # of arrays that are not the same object
        return all(_is_same(a, theirs[name]) for name, a in mine.items())


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.dtype.kind != "O" and np.array_equal(a, b)
    simple = isinstance(a, (bool, int, float, str, np.number))
    return type(a) is type(b) and simple and bool(a == b)


class PickledInBlocks:
    """An estimator whose pickles hold its `estimators_` in a block, if they are small trees."""

    def __getstate__(self) -> dict[str, Any]:
        parent: Any = super()
        state: dict[str, Any] = parent.__getstate__()
        members = state.get("estimators_")
        if members is None:
            return state
        flat = members.ravel().tolist() if isinstance(members, np.ndarray) else members
        block = BlockOfTrees.of(flat)
        if block is None:
            return state
        shape = members.shape if isinstance(members, np.ndarray) else None
        return {**state, "estimators_": (block, shape)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.get("estimators_")
        if isinstance(kept, tuple):
            block, shape = kept
            members: Any = block.members()
            if shape is not None:
                array = np.empty(len(members), dtype=object)
                array[:] = members
                members = array.reshape(shape)
            state = {**state, "estimators_": members}
        parent: Any = super()
        parent.__setstate__(state)

    def __copy__(self) -> Self:
        # The members of a shallow copy are those of the model itself.
        found: Self = copy_of(self)
        return found
