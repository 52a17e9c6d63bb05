"""The scores of an additive model in ONNX: trees find the bins, one table has all values.

The tables of all terms are laid out one after the other. The place of a term's value in them is a
sum over the features of the term, which one `TreeEnsembleRegressor` computes for all terms: each
feature of a term has a tree that cuts at the edges of its bins, and whose leaves add the number of
the bin times a stride. These are integers below 2^24, which single precision has. A row is then
one look-up of T values, and their sum, in double precision.

The edges are rounded down to the type of the inputs: x <= e holds for a number x of single
precision if and only if x is at most the largest such number that is not above e. NaN is not at
most anything: it comes out at the right end of a tree, where a last cut at infinity parts it from
the numbers of the last bin. A category that is a number has a bin of no width, (c - 1 ulp, c].
"""

from typing import Any

import numpy as np

from sklearn_ensemble_theory._running import warn_user

from ._onnx_graph import Graph
from ._plain import PlainModel, PlainTerm, rounded_down

# Single precision has all integers up to this one.
MOST_VALUES = 2**24
Cuts = list[list[tuple[np.ndarray, np.ndarray]]]
"""For each term and each of its features the thresholds, and the bins between them."""


def cuts_of_terms(plain: PlainModel, terms: list[PlainTerm], real: np.dtype) -> Cuts:
    """The thresholds as numbers of this type, with a warning for those that become the same."""
    cuts = [[cuts_of(term, a, plain, real) for a in range(len(term.features))] for term in terms]
    merged = {
        j
        for term, each in zip(terms, cuts)
        for j, edges, (thresholds, _) in zip(term.features, term.places, each)
        if plain.categories[j] is None and len(thresholds) <= len(edges)
    }
    if merged:
        warn_user(
            "Single precision does not tell apart some thresholds of "
            f"{', '.join(repr(plain.names[j]) for j in sorted(merged))}: predictions for rows "
            "between them differ from those of `predict`. Use dtype='float64'.",
            UserWarning,
        )
    return cuts


def add_scores(
    graph: Graph,
    plain: PlainModel,
    terms: list[PlainTerm],
    cuts: Cuts,
    x: str,
    place: dict[int, int],
    in_double: bool,
) -> tuple[str, str]:
    """Add the scores of the model, (n, K), and the values of the terms, (n, T) or (n, T, K).

    `place` is the column of x that has a feature; x and the cuts are in double precision or not.
    """
    # Trees find the places of the values, tables have them.
    trees, offset = Trees(), 0
    for t, (term, each) in enumerate(zip(terms, cuts)):
        shape, start = term.values.shape[:-1], offset
        for axis, (j, (thresholds, bins)) in enumerate(zip(term.features, each)):
            stride = int(np.prod(shape[axis + 1 :]))
            trees.add(place[j], thresholds, stride * bins + start, t)
            start = 0
        offset += int(np.prod(shape))
    if offset > MOST_VALUES:
        raise ValueError(f"The terms have {offset} values; ONNX takes at most {MOST_VALUES}.")
    places = graph.trees(x, trees.attributes(), in_double, len(terms))
    table = np.concatenate([term.values.reshape(-1, term.values.shape[-1]) for term in terms])
    single = table.shape[1] == 1
    values = graph.constant(table[:, 0] if single else table)
    each_term = graph.node("Gather", values, graph.cast(places, "INT64"))
    axis = graph.constant(np.array([1]))
    total = graph.node("ReduceSum", each_term, axis, keepdims=int(single))
    return graph.node("Add", total, graph.constant(plain.intercept)), each_term


def is_text(known: list) -> bool:
    """Whether the categories are text; of a feature that had none too."""
    return all(isinstance(value, str) for value in known)


def cuts_of(
    term: PlainTerm, axis: int, plain: PlainModel, real: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Increasing thresholds of a feature of a term; the bins between them and beyond the last."""
    j = term.features[axis]
    known, size = plain.categories[j], term.values.shape[axis]
    if known is None:
        cuts = rounded_down(term.places[axis], real)
        cuts, bins = np.append(cuts, real.type(np.inf)), np.arange(size)
        # Edges that are the same after rounding have no number between them.
        kept = np.concatenate([[True], cuts[1:] > cuts[:-1]])
        return cuts[kept], np.append(bins[:-1][kept], size - 1)
    if is_text(known):
        return np.arange(size - 1, dtype=real) + real.type(0.5), np.arange(size)
    with np.errstate(over="ignore"):
        values = np.array([float(value) for value in known]).astype(real)
    if any(a != b for a, b in zip(known, values.tolist())):
        hint = "; use dtype='float64'" if real.type is np.float32 else ""
        raise ValueError(
            f"Feature {plain.names[j]!r} has categories that are no {real} numbers{hint}."
        )
    order = np.argsort(values)
    values = values[order]
    below = np.nextafter(values, real.type(-np.inf))
    cuts = np.stack([below, values], axis=1).ravel()
    bins = np.stack([np.full(len(order), size - 1), order], axis=1).ravel()
    # Neighbouring numbers have none between them, and nothing is below -infinity.
    kept = np.stack(
        [np.append(True, below[1:] > values[:-1]) & (below < values), np.full(len(order), True)],
        axis=1,
    ).ravel()
    return cuts[kept], np.append(bins[kept], size - 1)


class Trees:
    """Balanced trees that find the place of a value among thresholds."""

    def __init__(self) -> None:
        self.n = 0
        self.nodes: list[tuple[int, int, int, str, float, int, int]] = []
        self.leaves: list[tuple[int, int, int, float]] = []

    def add(self, feature: int, cuts: np.ndarray, weights: np.ndarray, target: int) -> None:
        """A tree that adds ``weights[#{cuts < x}]`` to a target; len(weights) = len(cuts) + 1."""
        tree, self.n = self.n, self.n + 1
        # Ranges of leaves that are still to be divided, with the numbers of their nodes.
        ranges, n_nodes = [(0, len(cuts), 0)], 1
        while ranges:
            low, high, number = ranges.pop()
            if low == high:
                self.nodes.append((tree, number, 0, "LEAF", 0.0, 0, 0))
                self.leaves.append((tree, number, target, float(weights[low])))
                continue
            middle = (low + high) // 2
            left, right, n_nodes = n_nodes, n_nodes + 1, n_nodes + 2
            cut = float(cuts[middle])
            self.nodes.append((tree, number, feature, "BRANCH_LEQ", cut, left, right))
            ranges += [(middle + 1, high, right), (low, middle, left)]

    def attributes(self) -> dict[str, Any]:
        """Those of the operator."""
        trees, numbers, features, modes, cuts, left, right = map(list, zip(*self.nodes))
        leaf_trees, leaf_numbers, targets, weights = map(list, zip(*self.leaves))
        return {
            "nodes_treeids": trees,
            "nodes_nodeids": numbers,
            "nodes_featureids": features,
            "nodes_modes": modes,
            "nodes_values": cuts,
            "nodes_truenodeids": left,
            "nodes_falsenodeids": right,
            "target_treeids": leaf_trees,
            "target_nodeids": leaf_numbers,
            "target_ids": targets,
            "target_weights": weights,
        }
