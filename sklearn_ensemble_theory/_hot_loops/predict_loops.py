"""Loops over the rows to predict: the leaves of many trees, and the sums of their values."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit, jit_lean

# Rows of a block: its node outcomes (shallow) or leaves (deep) stay in the first cache.
SHALLOW_BLOCK = 512
DEEP_BLOCK = 1024
# Below so many rows a shallow tree is walked node by node.
FEW_ROWS = 16


@jit
def add_shallow_trees(columns, feature, threshold, missing_left, table, out):
    """Add the values of trees of depth at most 3, in their order.

    The outcomes of all 7 nodes are computed for a block of rows, without branches and in order of
    memory; they are the bits of an index into the table of the tree's values.

    Parameters
    ----------
    columns : float32 array of shape (p, n)
    feature, threshold, missing_left : int32, float32 and uint8 arrays of shape (T, 7)
    table : float64 array of shape (T, 128)
    out : float64 array of shape (n, width)
        Tree t adds to column t mod `width`.
    """
    n, width = out.shape
    outcome = np.empty(SHALLOW_BLOCK, dtype=np.uint8)
    for start in range(0, n, SHALLOW_BLOCK):
        m = min(SHALLOW_BLOCK, n - start)
        for t in range(len(table)):
            values, column = table[t], t % width
            if m < FEW_ROWS:
                for i in range(start, start + m):
                    node, index = 0, 0
                    for _ in range(3):
                        x, cut = columns[feature[t, node], i], threshold[t, node]
                        right = x > cut if missing_left[t, node] else not (x <= cut)
                        index |= right << node
                        node = 2 * node + 1 + right
                    out[i, column] += values[index]
                continue
            for i in range(m):
                outcome[i] = 0
            for node in range(7):
                x, cut = columns[feature[t, node], start : start + m], threshold[t, node]
                bit = np.uint8(1 << node)
                if missing_left[t, node]:
                    for i in range(m):
                        outcome[i] |= bit * np.uint8(x[i] > cut)
                else:
                    for i in range(m):
                        outcome[i] |= bit * np.uint8(not (x[i] <= cut))
            for i in range(m):
                out[start + i, column] += values[outcome[i]]


@jit_lean
def pack_nodes(left, right, feature, missing_left, shift, position, words):
    """Lay out the nodes of a tree so that siblings are neighbours.

    Parameters
    ----------
    left, right, feature : int32 arrays of shape (m,)
        As in `TreeArrays`.
    missing_left : uint8 array of shape (m,)
    shift : int
        Bits that a word keeps for the feature and the direction of missing values.
    position : int32 array of shape (m,)
        Output: where each node goes.
    words : uint32 array of shape (m,)
        Output, in the new order: the position of the left child, the feature, and 1 where missing
        values go to the right. A leaf is its own left child.
    """
    position[0] = 0
    free = 1
    for i in range(len(left)):
        if left[i] >= 0:
            position[left[i]] = free
            position[right[i]] = free + 1
            free += 2
    free = 1
    for i in range(len(left)):
        word = position[i] << shift
        if left[i] >= 0:
            word = (free << shift) | (feature[i] << 1) | (1 - missing_left[i])
            free += 2
        words[position[i]] = np.uint32(word)


@jit_lean
def leaves_in_arrays(rows, children, feature, cuts, missing_left, leaf):
    """The leaf of every row in one tree that is not laid out.

    Parameters
    ----------
    rows : float32 array of shape (n, p)
    children : tuple of two int32 arrays of shape (m,)
        Left and right.
    feature, cuts, missing_left : int32, float64 and uint8 arrays of shape (m,)
        As in `TreeArrays`.
    leaf : int32 array of shape (n,)
        Output.
    """
    left, right = children
    for i in range(len(rows)):
        at = 0
        while left[at] >= 0:
            x = rows[i, feature[at]]
            goes_left = missing_left[at] != 0 if x != x else x <= cuts[at]
            at = left[at] if goes_left else right[at]
        leaf[i] = at


@jit_lean
def next_node(word, cut, x, shift):
    """The child that a row goes to: its left child's position, plus 1 for the right child."""
    right = (x > cut) | ((x != x) & (word & np.uint32(1) != 0))
    return (word >> shift) + np.uint32(right)


@jit_lean
def walk(rows, nodes, cuts, shift, leaf):
    """The position of the leaf of every row in one tree.

    Eight rows go down together, so that the processor waits for the memory of eight nodes at once.

    Parameters
    ----------
    rows : float32 array of shape (n, p)
    nodes : uint32 array of shape (m, 2)
        The words are in column 1, the thresholds in column 0.
    cuts : float32 array of shape (m, 2)
        The same memory.
    shift : int
    leaf : uint32 array of shape (n,)
        Output.
    """
    n = len(rows)
    s, one = np.uint32(shift), np.uint32(1)
    mask = np.uint32((1 << shift) - 1)
    top = nodes[0, 1]
    for i in range(0, n - 7, 8):
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = np.uint32(0)
        w0 = w1 = w2 = w3 = w4 = w5 = w6 = w7 = top
        while True:
            b0 = next_node(w0, cuts[a0, 0], rows[i, (w0 & mask) >> one], s)
            b1 = next_node(w1, cuts[a1, 0], rows[i + 1, (w1 & mask) >> one], s)
            b2 = next_node(w2, cuts[a2, 0], rows[i + 2, (w2 & mask) >> one], s)
            b3 = next_node(w3, cuts[a3, 0], rows[i + 3, (w3 & mask) >> one], s)
            b4 = next_node(w4, cuts[a4, 0], rows[i + 4, (w4 & mask) >> one], s)
            b5 = next_node(w5, cuts[a5, 0], rows[i + 5, (w5 & mask) >> one], s)
            b6 = next_node(w6, cuts[a6, 0], rows[i + 6, (w6 & mask) >> one], s)
            b7 = next_node(w7, cuts[a7, 0], rows[i + 7, (w7 & mask) >> one], s)
            moved = (a0 ^ b0) | (a1 ^ b1) | (a2 ^ b2) | (a3 ^ b3)
            moved |= (a4 ^ b4) | (a5 ^ b5) | (a6 ^ b6) | (a7 ^ b7)
            if moved == 0:
                break
            a0, a1, a2, a3, a4, a5, a6, a7 = b0, b1, b2, b3, b4, b5, b6, b7
            w0, w1, w2, w3 = nodes[a0, 1], nodes[a1, 1], nodes[a2, 1], nodes[a3, 1]
            w4, w5, w6, w7 = nodes[a4, 1], nodes[a5, 1], nodes[a6, 1], nodes[a7, 1]
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a0, a1, a2, a3
        leaf[i + 4], leaf[i + 5], leaf[i + 6], leaf[i + 7] = a4, a5, a6, a7
    for i in range(n - n % 8, n):
        at, before = np.uint32(0), one
        while at != before:
            before, word = at, nodes[at, 1]
            at = next_node(word, cuts[at, 0], rows[i, (word & mask) >> one], s)
        leaf[i] = at


@jit
def add_deep_values(rows, nodes, cuts, starts, shift, values, out):
    """Add one value of every tree, in the order of the trees.

    Parameters
    ----------
    rows : float32 array of shape (n, p)
    nodes, cuts : arrays of shape (m, 2)
        Of all trees, as in `walk`.
    starts : int64 array of shape (T + 1,)
        The nodes of tree t are starts[t] ... starts[t + 1] - 1.
    shift : int
    values : float64 array of shape (m,)
    out : float64 array of shape (n, width)
        Tree t adds to column t mod `width`.
    """
    n, width = out.shape
    leaf = np.empty(DEEP_BLOCK, dtype=np.uint32)
    for t in range(len(starts) - 1):
        a, b = starts[t], starts[t + 1]
        own, column = values[a:b], t % width
        for start in range(0, n, DEEP_BLOCK):
            stop = min(start + DEEP_BLOCK, n)
            walk(rows[start:stop], nodes[a:b], cuts[a:b], shift, leaf)
            for i in range(start, stop):
                out[i, column] += own[leaf[i - start]]


@jit
def add_deep_vectors(rows, nodes, cuts, starts, shift, vectors, out):
    """Add a vector of every tree, in the order of the trees.

    As `add_deep_values`, but for `vectors`: (index, table), an int32 array of shape (m,) and a
    float64 array of shape (r, width), of which row index[node] is added.
    """
    n, width = out.shape
    index, table = vectors
    leaf = np.empty(DEEP_BLOCK, dtype=np.uint32)
    for t in range(len(starts) - 1):
        a, b = starts[t], starts[t + 1]
        own = index[a:b]
        for start in range(0, n, DEEP_BLOCK):
            stop = min(start + DEEP_BLOCK, n)
            walk(rows[start:stop], nodes[a:b], cuts[a:b], shift, leaf)
            for i in range(start, stop):
                r = own[leaf[i - start]]
                for k in range(width):
                    out[i, k] += table[r, k]


@jit
def deep_leaves(rows, nodes, cuts, starts, shift, out):
    """The leaf of every row in every tree, as its place among the nodes of all trees.

    Parameters
    ----------
    rows, nodes, cuts, starts, shift
        As for `add_deep_values`.
    out : int64 array of shape (n, T)
        Output.
    """
    n = len(rows)
    leaf = np.empty(DEEP_BLOCK, dtype=np.uint32)
    for start in range(0, n, DEEP_BLOCK):
        stop = min(start + DEEP_BLOCK, n)
        for t in range(len(starts) - 1):
            a, b = starts[t], starts[t + 1]
            walk(rows[start:stop], nodes[a:b], cuts[a:b], shift, leaf)
            for i in range(start, stop):
                out[i, t] = a + leaf[i - start]
