"""The growth of a tree by histograms, shared out among threads.

The same steps in the same order as `boosted_tree_loops.grow_by_histograms`, with the same result to
the last bit: rows are parted in chunks, and features are counted and searched in blocks. Leaves of
one level are cut together, so that threads meet a few times for each level and not for each leaf.
"""

from typing import Any

import numpy as np

from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam, shares

__all__ = ["LEAST_SHARED_VALUES", "fill_in_threads", "grow_in_threads"]

# Fewer values are counted by one thread: threads would wait for each other.
LEAST_SHARED_VALUES = 2**21
_ALONE = ThreadTeam(1)


def grow_in_threads(
    team: ThreadTeam,
    data: Any,
    integers: Any,
    values: Any,
    rows: Any,
    n_rows: int,
    tables: np.ndarray,
    *,
    nodes: Any,
    options: Any,
) -> int:
    """Grow a tree; see `boosted_tree_loops.grow_by_histograms`."""
    return _SharedGrowth(team, data, integers, values, rows, tables, nodes, options).grow(n_rows)


class _SharedGrowth:
    def __init__(self, team, data, integers, values, rows, tables, nodes, options):
        self.team, self.data, self.integers, self.values = team, data, integers, values
        self.rows, self.tables, self.nodes = rows, tables, nodes
        self.plan, self.limits, self.rules, self.least = options
        self.n_forms = tables.shape[1]
        # Columns are counted in pairs.
        pairs = shares((len(data[0]) + 1) // 2, team.n_threads)
        self.blocks = [(2 * a, min(2 * b, len(data[0]))) for a, b in pairs]
        self.whole = [(0, len(data[0]))]
        self.n_nodes = self.n_tables = self.n_leaves = 1

    def grow(self, n_rows):
        from sklearn_ensemble_theory._hot_loops._growth import boosted_tree_loops as loops

        best_first, most = self.limits[1] > 0, self.limits[1]
        waiting = self._root(loops, n_rows)
        while waiting and (not best_first or self.n_leaves < most):
            if best_first:
                gains = [(-self.nodes[2][i, 2], i) for i in waiting]
                ready = [min(gains)[1]]
                waiting.remove(ready[0])
            else:
                ready, waiting = waiting, []
            waiting += self._expand(loops, ready)
        return self.n_nodes

    def _root(self, loops, n_rows):
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        codes, n_bins = self.data[:2]
        is_all = n_rows == 0
        for form in range(self.n_forms):
            q, table = self.integers[form], self.tables[0, form]
            if is_all:
                tasks = [(codes, q, table, *block) for block in self.blocks]
                self.team.run(steps.count_all, tasks)
            else:
                chosen = self.rows[0][:n_rows]
                tasks = [(codes, chosen, q[chosen], table, *block) for block in self.blocks]
                self.team.run(steps.count_rows, tasks)
        totals = np.empty(3, np.int64)
        loops.total_of_table(self.tables, n_bins, self.plan, totals)
        loops.start_tree(self.nodes, totals, n_rows or len(self.integers[0]), is_all)
        if not self._may_be_cut(loops, 0):
            return []
        found = np.empty((1, 6), np.int64), np.empty((1, 1))
        steps.find_cuts(
            self.data,
            self.tables,
            self.nodes,
            0,
            self.plan,
            self.rules,
            0,
            len(codes),
            (found[0][0], found[1][0]),
        )
        return [0] if self._takes(loops, 0, found) else []

    def _takes(self, loops, node, found):
        status = loops.take_cut(node, self.nodes, found, self.least, self.rules, self.data[3])
        doubtful = status == loops.DOUBTFUL
        if doubtful and loops.all_equal(node, self.nodes, self.rows, self.integers[2]):
            return False
        return status != loops.NONE

    def _may_be_cut(self, loops, node):
        spans, sums = self.nodes[:2]
        return loops.may_be_cut(spans[node], sums[node], self.limits, self.rules)

    def _expand(self, loops, ready):
        """Cut these leaves; the children that can be cut in turn."""
        parents, allowed = [], {}
        for node in ready:
            loops.add_children(node, self.n_nodes, self.nodes, self.data[2], self.rules)
            pair = self.n_nodes, self.n_nodes + 1
            self.n_nodes += 2
            self.n_leaves += 1
            for child in pair:
                allowed[child] = self._may_be_cut(loops, child)
            if any(allowed[child] for child in pair):
                parents.append((node, pair))
        if not parents or (self.limits[1] and self.n_leaves >= self.limits[1]):
            return []
        self._part(loops, [node for node, _ in parents])
        return self._search(loops, parents, allowed)

    def _part(self, loops, parents):
        """Part the rows of these nodes, in chunks where there are fewer nodes than threads."""
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        counted, parted, owners = [], [], []
        in_chunks = len(parents) < self.team.n_threads and self._is_large(parents)
        for node in parents:
            start, stop, which = self.nodes[0][node, :3].tolist()
            column, cut = self._cut_of(node)
            shared = column, cut >> 2, int(cut & 3 == 1), self.rows[which]
            to_rows = self.rows[loops.other_array(which)]
            for first, last in self._parts(start, stop) if in_chunks else [(start, stop)]:
                counted.append((*shared, first, last))
                parted.append((*shared, first, last, to_rows))
                owners.append((node, start, stop))
        if in_chunks:
            on_left = self.team.run(steps.count_left, counted)
        tasks, n_left, n_right = [], dict.fromkeys(parents, 0), dict.fromkeys(parents, 0)
        for k, ((node, start, stop), task) in enumerate(zip(owners, parted)):
            tasks.append((*task, start + n_left[node], stop - 1 - n_right[node]))
            if in_chunks:
                n_left[node] += on_left[k]
                n_right[node] += task[5] - task[4] - on_left[k]
        ends = self._team_for(parents).run(steps.part_rows, tasks)
        for (node, start, _), end in zip(owners, ends):
            n_left[node] = end - start
        for node in parents:
            loops.place_children(node, n_left[node], self.nodes)

    def _parts(self, start, stop):
        """A range of rows in parts for the threads."""
        return [(start + a, start + b) for a, b in shares(stop - start, self.team.n_threads)]

    def _is_large(self, parents):
        """Whether the rows of these nodes are worth the time in which threads meet."""
        spans = self.nodes[0]
        n_rows = sum(int(spans[node, 1] - spans[node, 0]) for node in parents)
        return n_rows * len(self.data[0]) >= LEAST_SHARED_VALUES

    def _team_for(self, parents):
        return self.team if self._is_large(parents) else _ALONE

    def _cut_of(self, node):
        spans = self.nodes[0]
        return self.data[0][spans[node, 7]], int(spans[node, 8])

    def _search(self, loops, parents, allowed):
        from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

        spans = self.nodes[0]
        gathered, tasks, found, offset = [], [], {}, 0
        is_large = self._is_large([node for node, _ in parents])
        team, blocks = (self.team, self.blocks) if is_large else (_ALONE, self.whole)
        in_parts = is_large and len(parents) < self.team.n_threads
        for node, (left, right) in parents:
            small = int(loops.smaller_child(node, self.nodes))
            large = left + right - small
            spans[small, 3], spans[large, 3] = self.n_tables, spans[node, 3]
            self.n_tables += 1
            start, stop, which = spans[small, :3].tolist()
            rows, size = self.rows[which], stop - start
            values = tuple(
                self.values[form][offset : offset + size] if form < self.n_forms else one
                for form, one in enumerate(self.values)
            )
            offset += size
            for form in range(self.n_forms):
                for first, last in self._parts(start, stop) if in_parts else [(start, stop)]:
                    out = values[form][first - start : last - start]
                    gathered.append((self.integers[form], rows, first, last, out))
            for child in (left, right):
                n_blocks = len(blocks)
                found[child] = np.empty((n_blocks, 6), np.int64), np.empty((n_blocks, 1))
            for k, (first, last) in enumerate(blocks):
                block = (
                    first,
                    last,
                    (found[small][0][k], found[small][1][k]),
                    (found[large][0][k], found[large][1][k]),
                )
                wanted = allowed[small], allowed[large]
                shared = self.data, self.tables, self.nodes, values, rows[start:stop], self.plan
                tasks.append((small, large, *shared, wanted, self.rules, block))
        team.run(steps.gather, gathered)
        team.run(loops.search_children, tasks)
        return [
            child
            for _, pair in parents
            for child in pair
            if allowed[child] and self._takes(loops, child, found[child])
        ]


def fill_in_threads(
    team: ThreadTeam,
    data: Any,
    rows: Any,
    nodes: Any,
    number: np.ndarray,
    node_of_row: np.ndarray,
    gradient: np.ndarray,
    *,
    weight: np.ndarray,
) -> np.ndarray:
    """Write the leaf of each row; the sums of weights, gradients and squares in the leaves, (m, 3).

    The rows of a node are one task, so that sums do not depend on the threads.
    """
    from sklearn_ensemble_theory._hot_loops._growth import histogram_loops as steps

    spans = nodes[0]
    moments = np.zeros((len(number), 3))
    leaves, pairs = [], []
    for node, (start, stop, which, _, _, left, right) in enumerate(
        spans[: len(number), :7].tolist()
    ):
        if stop == start:
            continue  # its rows are those of its parent, not parted
        shared = node_of_row, gradient, weight
        if left < 0:
            leaves.append((node, (rows[which], start, stop, int(number[node]), *shared)))
        elif spans[left, 0] == spans[left, 1]:
            column, cut = data[0][spans[node, 7]], int(spans[node, 8])
            ids = int(number[left]), int(number[right])
            task = (column, cut >> 2, int(cut & 3 == 1), rows[which], start, stop, ids, *shared)
            pairs.append((left, right, task))
    found = team.run(steps.fill_leaf, [task for _, task in leaves])
    for (node, _), both in zip(leaves, found):
        moments[node] += both
    found = team.run(steps.fill_leaves, [task for _, _, task in pairs])
    for (left, right, _), both in zip(pairs, found):
        moments[left] += both[0]
        moments[right] += both[1]
    return moments
