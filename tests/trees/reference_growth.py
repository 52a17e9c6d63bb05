"""Trees of boosting grown slowly: the driver of rows in blocks asks, np.bincount answers."""

from contextlib import contextmanager

import numpy as np
import pytest

from .engine import Grid, HistogramGrowth, TreeReply, _weak_learners, goes_left


def exponent_of(total):
    """Of the power of 2 that takes sums of at most `total` to integers that doubles hold."""
    return 52 - int(np.frexp(total)[1])


class ReferenceGrower:
    """Takes the place of `HistogramGrower`."""

    draws_features = False

    def __init__(self, columns, options, n_threads=1):
        self.columns, self.options = columns, options

    def boosts(self):
        return False

    def grow(self, target, weight, rows, seed=None, rank=None):
        columns, options = self.columns, self.options
        if rows is not None:
            columns, target = columns.take_rows(rows), target[rows]
            weight = None if weight is None else weight[rows]
        n, p = columns.codes.shape
        w = np.ones(n) if weight is None else weight
        size, of_weight = np.abs(target) @ w, None
        scaled = np.ldexp(target, exponent_of(size))
        whole = (w == np.rint(w)).all()
        kinds = [np.rint(scaled) * w if whole else np.rint(scaled * w), np.ones(n)]
        if weight is not None:
            of_weight = exponent_of(w.sum())
            kinds.append(np.rint(np.ldexp(w, of_weight)))
        growth = HistogramGrowth(
            columns,
            options,
            np.arange(p) if rank is None else np.argsort(rank),
            Grid(exponent_of(size), size / w.sum()),
            of_weight,
            options.seed if seed is None else seed,
        )
        codes = np.minimum(columns.codes, columns.most_bins).astype(np.intp)
        width = columns.most_bins + columns.any_missing
        node = np.zeros(n, dtype=np.intp)

        def divide(splits):
            for i, feature, code, missing_left, left, right in splits:
                goes = goes_left(columns.codes[:, feature], code, missing_left, columns.missing)
                node[(node == i) & goes] = left
                node[(node == i) & ~goes] = right

        def answer(request):
            divide(request.splits)
            sums = np.empty((len(request.counted), len(kinds), p, width))
            for i, table in zip(request.counted, sums):
                at = node == i
                for values, of_kind in zip(kinds, table):
                    for j in range(p):
                        of_kind[j] = np.bincount(codes[at, j], values[at], width)
            some = [target[node == i] for i in request.ranged]
            return TreeReply(sums, np.array([(-t.min(), t.max()) for t in some]).reshape(-1, 2))

        requests = growth.requests(1)
        try:
            request = next(requests)
            while True:
                request = requests.send(answer(request))
        except StopIteration:
            divide(growth.request().splits)
        moments = (w, w * target, w * target**2)
        of_leaves = [np.bincount(node, values, growth.n_places) for values in moments]
        tree, number = growth.tree(np.column_stack(of_leaves))
        return tree, number[node] if rows is None else tree.leaves(self.columns)


@contextmanager
def reference_trees():
    """In this context the trees of boosting are grown so, one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_weak_learners, "HistogramGrower", ReferenceGrower)
        yield
