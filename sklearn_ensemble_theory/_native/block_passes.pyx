"""Passes over the rows of a block while boosted trees grow: nodes of rows, sums in bins, in leaves.

Some rows are looked at together, in arrays that stay in the cache: no pass needs memory for all
rows but what it returns.
"""

from libc.math cimport fabs, llrint, rint
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .arrays cimport require
from .codes cimport all_below
from .histograms cimport CELLS, Cell, Pair, add, count_range
from .losses cimport MULTINOMIAL, Loss, LossRows, sum_losses

import numpy as np

cdef enum:
    # Rows that are sorted by node, and rows whose integers are computed, together.
    SEGMENT = 4096
    SOME = 512
    # Sums of integers stay below 2^62.
    SUM_BITS = 62
    MOST_NODES = 2048
    # So many splits are made one after the other.
    FEW_SPLITS = 16
    # Tables of leaves for every fourth row: no row waits for the one before it.
    N_TABLES = 4

# The types that numbers of rows are kept in.
cdef enum:
    ONES, BYTES, SINGLE, DOUBLE

# What is counted: targets with the number of rows below them in one integer; weights with it, and
# targets; targets, or weights, with the rows in integers of their own.
cdef enum:
    PACKED_TARGETS, PACKED_WEIGHTS, TARGETS, WEIGHTS


# The node of each row.
ctypedef fused Node:
    uint8_t
    uint16_t


cdef struct Column:
    const void* data
    int kind


cdef Column column_of(values, Py_ssize_t n) except *:
    """Numbers of n rows of one of three types, or ones for None; they must be held meanwhile."""
    cdef const int8_t[::1] in_bytes
    cdef const float[::1] in_single
    cdef const double[::1] in_double
    cdef Column column
    column.data, column.kind = NULL, ONES
    if values is None:
        return column
    require(values.shape[0] == n)
    if values.dtype == np.int8:
        in_bytes, column.kind = values, BYTES
        if n > 0:
            column.data = &in_bytes[0]
    elif values.dtype == np.float32:
        in_single, column.kind = values, SINGLE
        if n > 0:
            column.data = &in_single[0]
    else:
        in_double, column.kind = values, DOUBLE
        if n > 0:
            column.data = &in_double[0]
    return column


cdef void gather(
    const Column* column, const int32_t* rows, Py_ssize_t m, double* to
) noexcept nogil:
    """The numbers of m rows."""
    cdef Py_ssize_t k
    cdef const int8_t* in_bytes
    cdef const float* in_single
    cdef const double* in_double
    if column.kind == BYTES:
        in_bytes = <const int8_t*>column.data
        for k in range(m):
            to[k] = in_bytes[rows[k]]
    elif column.kind == SINGLE:
        in_single = <const float*>column.data
        for k in range(m):
            to[k] = in_single[rows[k]]
    else:
        in_double = <const double*>column.data
        for k in range(m):
            to[k] = in_double[rows[k]]


# --- the nodes of rows ----------------------------------------------------------------------------


cdef int check_places(const int32_t[::1] places, Py_ssize_t n, Py_ssize_t n_codes) except -1:
    """Rows without `places` are all rows that have codes."""
    cdef int32_t low = 0, high = -1
    cdef Py_ssize_t k
    if places is None:
        require(n == n_codes)
        return 0
    require(places.shape[0] == n)
    for k in range(n):
        low, high = min(low, places[k]), max(high, places[k])
    require(low == 0 and high < n_codes)
    return 0


cdef struct Splits:
    int number
    const uint8_t* codes
    Py_ssize_t n
    const uint16_t* parent
    const int16_t* split_of
    const int32_t* feature
    const uint8_t* goes
    const uint16_t* children


cdef void follow(
    const Splits* splits, const int32_t* places, Py_ssize_t first, Py_ssize_t last, Node* node
) noexcept nogil:
    """Move rows down, each from split to split."""
    cdef Py_ssize_t i, at
    cdef int s, d
    for i in range(first, last):
        at = places[i] if places != NULL else i
        for d in range(splits.number):
            s = splits.split_of[node[i]]
            if s < 0:
                break
            node[i] = <Node>splits.children[
                2 * s + splits.goes[s * CELLS + splits.codes[splits.feature[s] * splits.n + at]]]


cdef void move_rows(
    const uint8_t* column, const uint8_t* goes, const int32_t* places, Py_ssize_t first,
    Py_ssize_t last, Node parent, Node left, Node right, Node* node
) noexcept nogil:
    """Move the rows of one node, without a branch; those of a cut of values several at a time."""
    cdef int n_left = 0, c, is_left, up = 1 - goes[CELLS - 1]
    cdef Py_ssize_t i
    cdef uint8_t bound
    cdef Node child
    cdef bint is_cut = places == NULL
    while n_left < CELLS - 1 and goes[n_left] == 0:
        n_left += 1
    for c in range(n_left, CELLS - 1):
        is_cut &= goes[c] == 1
    if not is_cut:
        for i in range(first, last):
            c = goes[column[places[i] if places != NULL else i]]
            child = right if c else left
            node[i] = child if node[i] == parent else node[i]
        return
    # Missing values on the left are made the lowest code.
    if n_left + up == 0:
        left = right
    bound = <uint8_t>max(n_left + up - 1, 0)
    for i in range(first, last):
        is_left = <uint8_t>(column[i] + up) <= bound
        child = left if is_left else right
        node[i] = child if node[i] == parent else node[i]


cdef void follow_all(
    const Splits* splits, const int32_t* places, Py_ssize_t n, Node* node
) noexcept nogil:
    """Split after split where they are few, for rows that stay in the cache."""
    cdef Py_ssize_t first, last, c
    cdef int s
    for c in range((n + SEGMENT - 1) // SEGMENT):
        first = c * SEGMENT
        last = min(first + SEGMENT, n)
        if splits.number > FEW_SPLITS:
            follow(splits, places, first, last, node)
            continue
        for s in range(splits.number):
            move_rows(
                splits.codes + splits.feature[s] * splits.n, splits.goes + s * CELLS, places,
                first, last, <Node>splits.parent[s], <Node>splits.children[2 * s],
                <Node>splits.children[2 * s + 1], node)


def follow_splits(
    const uint8_t[:, ::1] codes not None, const int32_t[::1] places or None, node not None,
    const uint16_t[::1] parent not None, const int32_t[::1] feature not None,
    const uint8_t[:, ::1] goes not None, const uint16_t[:, ::1] children not None
):
    """Move rows from nodes to their children. O(n) for each split, or each level of many splits.

    Parameters
    ----------
    codes : uint8 array of shape (p, m)
    places : int32 array of shape (n,) or None
        The rows of the codes; None for all.
    node : uint8 or uint16 array of shape (n,)
        Changed in place.
    parent, feature : uint16 and int32 arrays of shape (n_splits,)
        The nodes that are split, each after that above it, and by what.
    goes : uint8 array of shape (n_splits, 256)
        For each code the child: 0 or 1.
    children : uint16 array of shape (n_splits, 2)
    """
    cdef Py_ssize_t n_splits = feature.shape[0], n = node.shape[0], s, n_nodes
    cdef uint8_t[::1] node_8
    cdef uint16_t[::1] node_16
    cdef int16_t* split_of
    cdef const int32_t* at = NULL
    n_nodes = 256 if node.itemsize == 1 else 65536
    require(n_splits < MOST_NODES and parent.shape[0] == n_splits)
    require(goes.shape[0] == n_splits and goes.shape[1] == CELLS)
    require(children.shape[0] == n_splits and children.shape[1] == 2)
    for s in range(n_splits):
        require(0 <= feature[s] < codes.shape[0])
        require(max(parent[s], children[s, 0], children[s, 1]) < n_nodes)
        require(all_below(&goes[s, 0], CELLS, 2))
    check_places(places, n, codes.shape[1])
    if n_nodes == 256:
        node_8 = node
    else:
        node_16 = node
    if n == 0 or n_splits == 0:
        return
    if places is not None:
        at = &places[0]
    split_of = <int16_t*>malloc(n_nodes * sizeof(int16_t))
    if split_of == NULL:
        raise MemoryError
    memset(split_of, 255, n_nodes * sizeof(int16_t))  # -1
    for s in range(n_splits):
        split_of[parent[s]] = <int16_t>s
    cdef Splits splits = Splits(
        <int>n_splits, &codes[0, 0], codes.shape[1], &parent[0], split_of, &feature[0],
        &goes[0, 0], &children[0, 0])
    with nogil:
        if n_nodes == 256:
            follow_all(&splits, at, n, &node_8[0])
        else:
            follow_all(&splits, at, n, &node_16[0])
        free(split_of)


# --- sums of integers in some columns -------------------------------------------------------------


cdef void add_in_column(
    const uint8_t* column, const int32_t* rows, const int32_t* group, const Cell* values,
    Py_ssize_t m, Cell* table
) noexcept nogil:
    cdef Py_ssize_t i
    if group == NULL:
        for i in range(m):
            add(table + column[rows[i]], values[i])
    else:
        for i in range(m):
            add(table + group[i] * CELLS + column[rows[i]], values[i])


def add_in_columns(
    const uint8_t[:, ::1] codes not None, const int32_t[::1] rows not None,
    const int32_t[::1] group or None, const int64_t[:, ::1] values not None,
    const int32_t[::1] features not None, int64_t[:, :, :, ::1] table not None
):
    """Add integers of some rows to the bins of some columns. O(rows features).

    Parameters
    ----------
    codes : uint8 array of shape (p, n)
    rows : int32 array of shape (m,)
        The numbers of the rows.
    group : int32 array of shape (m,) or None
        The group of each row, such as its class; None for one group.
    values : int64 array of shape (m, 1) or (m, 2)
    features : int32 array of shape (k,)
    table : int64 array of shape (k, groups, 256, values)
    """
    cdef Py_ssize_t m = rows.shape[0], k = features.shape[0], n = codes.shape[1], i, j
    cdef Py_ssize_t n_groups = table.shape[1], kinds = values.shape[1]
    cdef const int32_t* own = NULL
    require(values.shape[0] == m and 1 <= kinds <= 2)
    require(table.shape[0] == k and table.shape[2] == CELLS and table.shape[3] == kinds)
    require(group is None or group.shape[0] == m)
    for i in range(m):
        require(0 <= rows[i] < n)
        require(group is None or 0 <= group[i] < n_groups)
    for j in range(k):
        require(0 <= features[j] < codes.shape[0])
    if m == 0 or k == 0 or n_groups == 0:
        return
    if group is not None:
        own = &group[0]
    with nogil:
        for j in range(k):
            if kinds == 1:
                add_in_column(
                    &codes[features[j], 0], &rows[0], own, &values[0, 0], m, &table[j, 0, 0, 0])
            else:
                add_in_column(
                    &codes[features[j], 0], &rows[0], own, <const Pair*>&values[0, 0], m,
                    <Pair*>&table[j, 0, 0, 0])


# --- sums over rows -------------------------------------------------------------------------------


cdef struct Units:
    double scale, weight_scale
    bint whole  # the target is rounded before it is weighted
    int mode, bits
    double most  # sums of sizes that fit into packed integers


# Some rows of a node.
cdef struct Some:
    double[SOME] target
    double[SOME] weight
    double[SOME] y
    double[SOME] u
    int32_t[SOME] at


cdef class RowTargets:
    """The targets and the weights of the rows of a block, computed when they are needed.

    Parameters
    ----------
    loss : Loss or None
        With one score; the targets are its negative gradients.
    y : int8, float32 or float64 array of shape (n,), or None
    u : float64 array of shape (n,) or None
        The scores; as y, None without a loss.
    target : float64 array of shape (n,) or None
        The targets without a loss.
    weight : int8, float32 or float64 array of shape (n,), or None
        None where all rows weigh 1.
    """

    cdef object held
    cdef Loss loss
    cdef Column y, u, target, weight
    cdef readonly Py_ssize_t n

    def __init__(self, Loss loss or None, y, u, target, weight):
        self.n = len(target if loss is None else y)
        require((loss is None) == (y is None) == (u is None))
        require((loss is None) == (target is not None))
        require(loss is None or loss.options.kind != MULTINOMIAL)
        self.held, self.loss = (y, u, target, weight), loss
        self.y, self.u = column_of(y, self.n), column_of(u, self.n)
        self.target, self.weight = column_of(target, self.n), column_of(weight, self.n)
        require(self.u.kind in (ONES, DOUBLE))

    cdef int fill(self, const int32_t* rows, Py_ssize_t m, Some* to) except -1 nogil:
        """The targets of m rows, and their weights if there are any."""
        cdef LossRows of_loss
        if self.weight.kind != ONES:
            gather(&self.weight, rows, m, to.weight)
        if self.target.kind != ONES:
            gather(&self.target, rows, m, to.target)
            return 0
        gather(&self.y, rows, m, to.y)
        gather(&self.u, rows, m, to.u)
        of_loss = LossRows(
            &self.loss.options, &to.y[0], &to.u[0], NULL, 1.0, m, 1, 1)
        sum_losses(&of_loss, to.target)
        return 0

    def count(
        self, const uint8_t[:, ::1] codes not None, const int32_t[::1] places or None,
        node not None, const int16_t[::1] slot not None, double scale, double weight_scale,
        bint whole, int mode, int bits, int64_t[:, :, :, ::1] tables not None
    ):
        """Add up integers of the rows of some nodes in each bin; whether they have fitted. O(n p).

        Parameters
        ----------
        codes, places
            As in `follow_splits`.
        node : uint8 or uint16 array of shape (n,)
        slot : int16 array of shape (256,), or (65536,) for uint16
            The number of the table of a node; -1 for none.
        scale, weight_scale : float
            The integers of 1.
        whole : bool
            Whether targets are rounded before they are weighted.
        mode : int
            0: targets and numbers of rows, in the lower `bits`; 1: targets, and weights and numbers
            of rows; 2: targets, and numbers of rows; 3: weights, and numbers of rows.
        bits : int
        tables : int64 array of shape (n_slots, p, 256, 1 or 2)
        """
        cdef Py_ssize_t p = codes.shape[0], k
        cdef int n_slots = <int>tables.shape[0], size = node.itemsize
        cdef int width = 1 if mode == PACKED_TARGETS else 2
        require(0 < n_slots <= MOST_NODES and 0 <= mode <= WEIGHTS and 0 <= bits < SUM_BITS)
        require(tables.shape[1] == p and tables.shape[2] == CELLS and tables.shape[3] == width)
        require(node.shape[0] == self.n and slot.shape[0] == (256 if size == 1 else 65536))
        for k in range(slot.shape[0]):
            require(-1 <= slot[k] < n_slots)
        check_places(places, self.n, codes.shape[1])
        cdef const uint8_t[::1] node_8
        cdef const uint16_t[::1] node_16
        if size == 1:
            node_8 = node
        else:
            node_16 = node
        if p == 0 or self.n == 0:
            tables[:] = 0
            return True
        cdef Units units = Units(
            scale, weight_scale, whole, mode, bits, 2.0 ** (SUM_BITS - bits))
        cdef const int32_t* at = &places[0] if places is not None else NULL
        cdef int64_t* table = &tables[0, 0, 0, 0]
        cdef bint fits
        cdef const uint8_t* own = &codes[0, 0]
        cdef Py_ssize_t m = codes.shape[1]
        with nogil:
            memset(table, 0, n_slots * p * CELLS * width * sizeof(int64_t))
            if size == 1 and mode == PACKED_TARGETS:
                fits = count_nodes(
                    self, own, m, p, at, &node_8[0], &slot[0], n_slots, &units, table)
            elif size == 1:
                fits = count_nodes(
                    self, own, m, p, at, &node_8[0], &slot[0], n_slots, &units, <Pair*>table)
            elif mode == PACKED_TARGETS:
                fits = count_nodes(
                    self, own, m, p, at, &node_16[0], &slot[0], n_slots, &units, table)
            else:
                fits = count_nodes(
                    self, own, m, p, at, &node_16[0], &slot[0], n_slots, &units, <Pair*>table)
        return fits

    def sum_leaves(self, node not None, double[:, ::1] sums not None):
        """Write sums of weights, of targets and of their squares in each node. O(n).

        Parameters
        ----------
        node : uint8 or uint16 array of shape (n,)
        sums : float64 array of shape (n_nodes, 3)
        """
        cdef Py_ssize_t n_nodes = sums.shape[0], c, t
        cdef int node_size = node.itemsize
        cdef const uint8_t[::1] node_8
        cdef const uint16_t[::1] node_16
        cdef double* tables
        require(sums.shape[1] == 3 and node.shape[0] == self.n)
        sums[:] = 0.0
        if self.n == 0:
            return
        if node_size == 1:
            node_8 = node
            require(all_below(&node_8[0], self.n, n_nodes))
        else:
            node_16 = node
            require(all_below(&node_16[0], self.n, n_nodes))
        tables = <double*>calloc(N_TABLES * 3 * n_nodes, sizeof(double))
        if tables == NULL:
            raise MemoryError
        try:
            with nogil:
                if node_size == 1:
                    add_leaves(self, &node_8[0], 3 * n_nodes, tables)
                else:
                    add_leaves(self, &node_16[0], 3 * n_nodes, tables)
                for t in range(N_TABLES):
                    for c in range(3 * n_nodes):
                        (&sums[0, 0])[c] += tables[3 * n_nodes * t + c]
        finally:
            free(tables)


cdef int add_leaves(
    RowTargets rows, const Node* node, Py_ssize_t size, double* tables
) except -1 nogil:
    cdef Some some
    cdef int32_t[SOME] numbers
    cdef Py_ssize_t start, c, k, m
    cdef double x, w
    cdef double* own
    for k in range(SOME):
        some.weight[k] = 1.0
    for c in range((rows.n + SOME - 1) // SOME):
        start = c * SOME
        m = min(rows.n - start, <Py_ssize_t>SOME)
        for k in range(m):
            numbers[k] = <int32_t>(start + k)
        rows.fill(numbers, m, &some)
        for k in range(m):
            own = tables + (k % N_TABLES) * size + 3 * node[start + k]
            x, w = some.target[k], some.weight[k]
            own[0] += w
            own[1] += w * x
            own[2] += w * x * x
    return 0


cdef void list_rows(
    const Node* node, const int16_t* slot, int n_slots, Py_ssize_t start, Py_ssize_t stop,
    int32_t* ends, int32_t* rows, int32_t* room
) noexcept nogil:
    """List the rows of slot after slot; each ends where the next one begins."""
    cdef Py_ssize_t i, k
    cdef int s
    cdef int32_t m = 0, n_own, at
    cdef int32_t* listed = rows if n_slots == 1 else room
    # Without a branch, which could not be predicted.
    for i in range(start, stop):
        listed[m] = <int32_t>i
        m += slot[node[i]] >= 0
    ends[0], ends[1] = 0, m
    if n_slots == 1:
        return
    n_own = m
    memset(ends, 0, (n_slots + 1) * sizeof(int32_t))
    for k in range(n_own):
        ends[slot[node[room[k]]] + 1] += 1
    m = 0
    for s in range(1, n_slots + 1):
        at = ends[s]
        ends[s] = m
        m += at
    for k in range(n_own):
        s = slot[node[room[k]]] + 1
        rows[ends[s]] = room[k]
        ends[s] += 1


cdef bint round_rows(
    const Some* some, Py_ssize_t m, const Units* units, bint weighted, double* size, Cell* values
) noexcept nogil:
    """The integers of m rows; False if their sums would not fit."""
    cdef Py_ssize_t k
    cdef double x
    cdef int64_t moment, mass = 0
    for k in range(m):
        x = some.target[k] * units.scale
        if not weighted:
            moment = llrint(x)
        elif units.whole:
            moment = <int64_t>(rint(x) * some.weight[k])
        else:
            moment = llrint(x * some.weight[k])
        if units.mode == PACKED_WEIGHTS or units.mode == WEIGHTS:
            mass = llrint(some.weight[k] * units.weight_scale)
        if Cell is int64_t:
            size[0] += fabs(<double>moment)
            values[k] = <int64_t>((<uint64_t>moment << units.bits) + 1)
        elif units.mode == PACKED_WEIGHTS:
            size[0] += fabs(<double>mass)
            values[k] = Pair(moment, <int64_t>((<uint64_t>mass << units.bits) + 1))
        elif units.mode == TARGETS:
            values[k] = Pair(moment, 1)
        else:
            values[k] = Pair(mass, 1)
    return size[0] < units.most


cdef bint count_nodes(
    RowTargets rows, const uint8_t* codes, Py_ssize_t n, Py_ssize_t p, const int32_t* places,
    const Node* node, const int16_t* slot, int n_slots, const Units* units, Cell* tables
) except -1 nogil:
    cdef Some some
    cdef Cell[SOME] values
    cdef int32_t[SEGMENT] listed, room
    cdef int32_t[MOST_NODES + 2] ends
    cdef const int32_t* own
    cdef const int32_t* at
    cdef Py_ssize_t start, stop, first, m, c, b, k
    cdef int s
    cdef bint weighted = rows.weight.kind != ONES, is_whole
    cdef double size = 0.0
    for k in range(SOME):
        some.weight[k] = 1.0
    for c in range((rows.n + SEGMENT - 1) // SEGMENT):
        start = c * SEGMENT
        stop = min(start + SEGMENT, rows.n)
        list_rows(node, slot, n_slots, start, stop, ends, listed, room)
        is_whole = ends[n_slots] == stop - start and n_slots == 1 and places == NULL
        for s in range(n_slots):
            for b in range((ends[s + 1] - ends[s] + SOME - 1) // SOME):
                first = ends[s] + b * SOME
                m = min(ends[s + 1] - first, <Py_ssize_t>SOME)
                own = at = listed + first
                rows.fill(own, m, &some)
                if not round_rows(&some, m, units, weighted, &size, values):
                    return False
                if is_whole:  # neighbouring rows
                    count_range(codes + own[0], n, NULL, values, m, tables + s * p * CELLS, 0, p)
                    continue
                if places != NULL:
                    for k in range(m):
                        some.at[k] = places[own[k]]
                    at = some.at
                count_range(codes, n, at, values, m, tables + s * p * CELLS, 0, p)
    return True
