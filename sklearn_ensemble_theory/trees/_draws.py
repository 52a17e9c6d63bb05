"""Random numbers of the growth of a tree."""

import numpy as np


class FeatureDraws:
    """The features drawn at each node, by the generator and in the order of scikit-learn's trees.

    scikit-learn does not count features that are constant in the node, and remembers which are for
    the nodes below.
    """

    def __init__(self, seed: int, max_features: int, n_features: int) -> None:
        self.max_features = max_features
        self.state = seed or 1
        self.order = list(range(n_features))
        self.constant = [0] * n_features
        self.n_constant: dict[int, int] = {}

    def next(self) -> int:
        """A number of 31 bits."""
        s = self.state
        s ^= (s << 13) & 0xFFFFFFFF
        s ^= s >> 17
        s ^= (s << 5) & 0xFFFFFFFF
        self.state = s
        return s & 0x7FFFFFFF

    def between(self, low: int, high: int) -> int:
        return low + self.next() % (high - low)

    def features(
        self,
        i: int,
        parent: int,
        n_values: np.ndarray,
        has_missing: np.ndarray,
        ruled_out: np.ndarray | None = None,
    ) -> np.ndarray:
        """A mask of the features to search in node i.

        `i` and `parent` are any names of the nodes; a parent's features are drawn before its
        children's. `n_values` (p,) are the numbers of distinct values in the node; features that
        are `ruled_out` do not count among those drawn.
        """
        is_constant = (n_values == 0) | ((n_values == 1) & ~has_missing)
        order, allowed = self.order, np.zeros(len(self.order), dtype=bool)
        if ruled_out is None:
            ruled_out = np.zeros(len(order), dtype=bool)
        n_known = n_constant = self.n_constant.get(parent, 0)
        n_found = n_drawn = n_visited = n_searched = 0
        end = len(order)
        while end > n_constant and (n_visited < self.max_features or not n_searched):
            at = self.between(n_drawn, end - n_found)
            if at < n_known:
                n_visited += not ruled_out[order[at]]
                order[n_drawn], order[at] = order[at], order[n_drawn]
                n_drawn += 1
                continue
            at += n_found
            if ruled_out[order[at]]:
                end -= 1
                order[end], order[at] = order[at], order[end]
                continue
            n_visited += 1
            if is_constant[order[at]]:
                order[at], order[n_constant] = order[n_constant], order[at]
                n_found += 1
                n_constant += 1
                continue
            allowed[order[at]] = True
            end -= 1
            n_searched += 1
            order[end], order[at] = order[at], order[end]
        order[:n_known] = self.constant[:n_known]
        self.constant[n_known:n_constant] = order[n_known:n_constant]
        self.n_constant[i] = n_constant
        return allowed
