"""Rounds of additive models: tables of binned columns, products of cuts, steps on tables of pairs.

Every sum over rows adds in their order, however the rows are divided into blocks. Codes are those
of bins, (p, n): the rows of one column lie next to each other.
"""

from array import array

from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset
from libc.math cimport fabs, sqrt
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc

from .arrays cimport require
from .codes cimport all_below

cdef extern from "additive.h" nogil:
    void cells_of_8_bits(
        const uint32_t*, uint32_t, const uint8_t*, Py_ssize_t, uint32_t*)
    void cells_of_16_bits(
        const uint32_t*, uint32_t, const uint16_t*, Py_ssize_t, uint32_t*)
    void scale_train_products(
        const double*, const double*, Py_ssize_t, double, double, double, const double*,
        const double*, double*)
    void scale_held_products(
        const double*, Py_ssize_t, double, double, double, double, double, const double*,
        const double*, const double*, double*)
    Py_ssize_t step_and_search(
        double*, const double*, double, Py_ssize_t, Py_ssize_t, const double*, const double*,
        double*)
    Py_ssize_t step_and_search_signed(
        double*, const double*, double, Py_ssize_t, Py_ssize_t, const double*, const double*,
        double*)
    void cumulate(const double*, Py_ssize_t, Py_ssize_t, double*)
    void factors_of_cuts(const double*, const double*, Py_ssize_t, double, double*)
    void averaged_step(
        double*, const double*, const double*, Py_ssize_t, Py_ssize_t, double, double*, double*)
    bint best_step(
        double*, const double*, const double*, Py_ssize_t, Py_ssize_t, double, double*, double*)
    double sum_of_changes(const double*, const double*, const double*, Py_ssize_t)
    double weighted_squares(const double*, const double*, Py_ssize_t)
    void subtract_rows(double*, const double*, const double*, Py_ssize_t, Py_ssize_t)

cdef enum:
    # The codes of so many rows stay in the processor's cache while all columns are counted.
    BLOCK_ROWS = 1 << 14
    # And so do their coarse codes while all pairs are.
    PAIR_BLOCK_ROWS = 1 << 13
    # The cells of so many rows are computed at a time, and stay in the first cache.
    CELL_ROWS = 1 << 10
    COLUMNS_AT_ONCE = 4

ctypedef fused Code:
    uint8_t
    uint16_t

ctypedef fused OtherCode:
    uint8_t
    uint16_t

# What counts rows; weights are summed in float64.
ctypedef fused Cell:
    int32_t
    int64_t
    double


# --- tables of the combined bins of two columns ---------------------------------------------------

def add_tables(
    const uint32_t[::1] first,
    Py_ssize_t n_first,
    const Code[:, :] codes,
    const Py_ssize_t[::1] others,
    const Py_ssize_t[::1] n_bins,
    const double[::1] weight or None,
    Cell[::1] tables,
):
    """Add the rows, or their weights, in every pair of bins of one column and some others.

    O(n k) for k other columns; integers, or sums in the order of the rows.

    Parameters
    ----------
    first : uint32 array of shape (n,)
        Bins of the one column, less than `n_first`.
    codes : uint8 or uint16 array of shape (p, n)
    others : intp array of shape (k,)
        The other columns.
    n_bins : intp array of shape (p,)
        The numbers of bins of all columns.
    weight : float64 array of shape (n,), or None
        Only with tables of float64.
    tables : int32, int64 or float64 array
        Added to: tables of shape (n_first, bins), of one column after the other.
    """
    cdef Py_ssize_t n = first.shape[0], start, m, k, j, size = 0
    check_codes(codes, n_bins, n)
    require(0 < n_first and (weight is None or weight.shape[0] == n and Cell is double))
    for k in range(others.shape[0]):
        j = others[k]
        require(0 <= j < n_bins.shape[0])
        size = end_of_table(size, n_first, n_bins[j], tables.shape[0])
    require(size == tables.shape[0])
    if n == 0 or others.shape[0] == 0:
        return
    require(all_below(&first[0], n, n_first))
    cdef Cell* table
    cdef const double* w = NULL
    cdef bint fits = True
    with nogil:
        start = 0
        while fits and start < n:
            m = min(n - start, BLOCK_ROWS)
            if weight is not None:
                w = &weight[start]
            table = &tables[0] if size > 0 else NULL
            for k in range(others.shape[0]):
                j = others[k]
                fits = fits and all_below(&codes[j, start], m, n_bins[j])
                if fits:
                    add_block(&first[start], &codes[j, start], n_bins[j], w, m, table)
                table += n_first * n_bins[j]
            start += m
    require(fits)


def add_stump_sums(
    const Code[:, :] codes,
    const Py_ssize_t[::1] n_bins,
    const double[::1] y,
    const double[::1] weight or None,
    const uint32_t[::1] fold or None,
    double[:, ::1] moments,
    double[::1] targets,
    Cell[::1] tables,
):
    """Add all sums of a block of rows from which a model of stumps is fitted. O(n p^2).

    Columns of a single bin have no tables. Integers, or sums in the order of the rows.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
    n_bins : intp array of shape (p,)
    y : float64 array of shape (n,)
    weight : float64 array of shape (n,), or None
        Only with tables of float64.
    fold : uint32 array of shape (n,), or None
        Numbers less than k; without them k = 1.
    moments : float64 array of shape (3, k)
        Added to: weights, weighted targets and weighted squares.
    targets : float64 array
        Added to: weighted targets by fold and bin, of one column after the other.
    tables : int32, int64 or float64 array
        Added to: weights by fold and the bins of two columns, of one pair after the other: the
        first column with all after it, the second one, and so on.
    """
    cdef Py_ssize_t n = y.shape[0], p = n_bins.shape[0], n_folds = moments.shape[1]
    cdef Py_ssize_t i, j, r, start, m, size = 0
    cdef const double* w = NULL
    cdef double own
    check_codes(codes, n_bins, n)
    require(moments.shape[0] == 3 and n_folds > 0
            and (weight is None or weight.shape[0] == n and Cell is double)
            and (n_folds == 1 if fold is None else fold.shape[0] == n)
            and (fold is None or n == 0 or all_below(&fold[0], n, n_folds)))
    for i in range(p):
        if n_bins[i] > 1:
            size = end_of_table(size, n_folds, n_bins[i], targets.shape[0])
    require(size == targets.shape[0])
    size = 0
    for i in range(p):
        for j in range(i + 1, p):
            if n_bins[i] > 1 and n_bins[j] > 1:
                size = end_of_table(size, n_folds * n_bins[i], n_bins[j], tables.shape[0])
    require(size == tables.shape[0])
    if n == 0:
        return
    for i in range(p):
        require(all_below(&codes[i, 0], n, n_bins[i]))
    # What is in all tables of a column and others: fold and bin of each row, and its target.
    cdef uint32_t* cells = <uint32_t*>PyMem_RawMalloc(
        BLOCK_ROWS * (2 * sizeof(uint32_t) + sizeof(double)))
    if cells == NULL:
        raise MemoryError
    cdef uint32_t* folds = cells + BLOCK_ROWS
    cdef double* wy = <double*>(folds + BLOCK_ROWS)
    cdef double* target
    cdef Cell* table
    with nogil:
        memset(folds, 0, BLOCK_ROWS * sizeof(uint32_t))
        start = 0
        while start < n:
            m = min(n - start, BLOCK_ROWS)
            if fold is not None:
                memcpy(folds, &fold[start], m * sizeof(uint32_t))
            for r in range(m):
                own = 1.0 if weight is None else weight[start + r]
                wy[r] = own * y[start + r]
                moments[0, folds[r]] += own
                moments[1, folds[r]] += wy[r]
                moments[2, folds[r]] += wy[r] * y[start + r]
            target = &targets[0] if targets.shape[0] > 0 else NULL
            for i in range(p):
                if n_bins[i] > 1:
                    add_block(folds, &codes[i, start], n_bins[i], wy, m, target)
                    target += n_folds * n_bins[i]
            start += m
        # Column after column, so that its tables with all others stay in the cache.
        table = &tables[0] if tables.shape[0] > 0 else NULL
        for i in range(p):
            if n_bins[i] <= 1:
                continue
            size = start = 0
            while start < n:
                m = min(n - start, BLOCK_ROWS)
                if fold is not None:
                    memcpy(folds, &fold[start], m * sizeof(uint32_t))
                if weight is not None:
                    w = &weight[start]
                extend(folds, n_bins[i], &codes[i, start], m, cells)
                size = 0
                for j in range(i + 1, p):
                    if n_bins[j] > 1:
                        add_block(cells, &codes[j, start], n_bins[j], w, m, table + size)
                        size += n_folds * n_bins[i] * n_bins[j]
                start += m
            table += size
        PyMem_RawFree(cells)


cdef Py_ssize_t end_of_table(
    Py_ssize_t start, Py_ssize_t n_first, Py_ssize_t n_bins, Py_ssize_t stop
) except -1:
    """Where a table of shape (n_first, n_bins) ends that begins at `start`, at most at `stop`."""
    require(n_first >= 0 and n_bins >= 0
            and (n_first == 0 or n_bins <= min(stop - start, <int64_t>UINT32_MAX) // n_first))
    return start + n_first * n_bins


cdef inline void extend(
    const uint32_t* before, Py_ssize_t n_bins, const Code* code, Py_ssize_t m, uint32_t* cells
) noexcept nogil:
    if Code is uint8_t:
        cells_of_8_bits(before, <uint32_t>n_bins, code, m, cells)
    else:
        cells_of_16_bits(before, <uint32_t>n_bins, code, m, cells)


cdef void add_block(
    const uint32_t* first, const Code* code, Py_ssize_t n_bins, const double* weight,
    Py_ssize_t n, Cell* table,
) noexcept nogil:
    """Add n rows, or their weights, to the table of two columns.

    Cells are computed for several rows at once, before the first of them is changed.
    """
    cdef uint32_t[CELL_ROWS] cells
    cdef Py_ssize_t start = 0, m, i
    while start < n:
        m = min(n - start, CELL_ROWS)
        extend(first + start, n_bins, code + start, m, cells)
        if weight == NULL:
            for i in range(m):
                table[cells[i]] += 1
        elif Cell is double:
            for i in range(m):
                table[cells[i]] += weight[start + i]
        start += m


# --- cuts -----------------------------------------------------------------------------------------

def cumulate_tables(
    const Cell[::1] tables,
    Py_ssize_t n_rows,
    bint cumulate_rows,
    const Py_ssize_t[::1] others,
    const Py_ssize_t[::1] offsets,
    const uint8_t[::1] categorical,
    double[:, :, ::1] sums,
):
    """Turn sums over the bins of one column and of some others into sums over cuts.

    O(1) for each entry of the tables. First the rows of a table are cumulated, then its columns.

    Parameters
    ----------
    tables : int32, int64 or float64 array
        Tables of shape (k, n_rows, bins), of one of the other columns after the other.
    n_rows : int
        The bins of the one column; 1 where there is none.
    cumulate_rows : bool
        Whether the cuts of the one column are thresholds.
    others : intp array of shape (q,)
        The other columns.
    offsets : intp array of shape (p + 1,)
        Where the cuts of each column begin; a column with B - 1 cuts has B bins.
    categorical : bool array of shape (p,)
        The cuts of these columns are single bins.
    sums : float64 array of shape (k, g, P)
        The result for the first g rows of each table, in the cuts of the other columns.
    """
    cdef Py_ssize_t n_groups = sums.shape[0], n_kept = sums.shape[1], n_cuts = sums.shape[2]
    cdef Py_ssize_t i, j, k, a, b, n_bins, widest = 0, size = 0
    cdef double total
    cdef const Cell* row
    cdef double* out
    require(n_kept <= n_rows <= <int64_t>UINT32_MAX and n_groups <= <int64_t>UINT32_MAX // 2
            and offsets.shape[0] == categorical.shape[0] + 1)
    for i in range(others.shape[0]):
        j = others[i]
        require(0 <= j < categorical.shape[0]
                and 0 <= offsets[j] <= offsets[j + 1] <= n_cuts)
        n_bins = offsets[j + 1] - offsets[j] + 1
        size = end_of_table(size, n_groups * n_rows, n_bins, tables.shape[0])
        widest = max(widest, n_bins)
    require(size == tables.shape[0])
    if size == 0 or n_cuts == 0 or n_kept == 0:
        return
    cdef Cell* column = <Cell*>PyMem_RawMalloc(widest * sizeof(Cell))
    if column == NULL:
        raise MemoryError
    with nogil:
        row = &tables[0]
        for i in range(others.shape[0]):
            j = others[i]
            n_bins = offsets[j + 1] - offsets[j] + 1
            for k in range(n_groups):
                memset(column, 0, widest * sizeof(Cell))
                for a in range(n_rows):
                    if a < n_kept:
                        for b in range(n_bins):
                            column[b] = column[b] + row[b] if cumulate_rows else row[b]
                        out = &sums[k, a, 0] + offsets[j]
                        total = 0.0
                        for b in range(n_bins - 1):
                            total = <double>column[b] if categorical[j] else total + column[b]
                            out[b] = total
                    row += n_bins
        PyMem_RawFree(column)


def count_cut(
    const Code[:, :] codes,
    Py_ssize_t column,
    Py_ssize_t code,
    const uint16_t[::1] group or None,
    const double[::1] weight or None,
    const Py_ssize_t[::1] offsets,
    const uint8_t[::1] categorical,
    const double[:, ::1] left_weight,
    double[:, ::1] sums,
):
    """The weight of the rows left of one cut and of each other cut, group by group. O(n p + k P).

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
    column, code : int
        The cut: rows with at most this code in the column, or with just this one if it is
        categorical.
    group : uint16 array of shape (n,), or None
        Numbers less than k; without them k = 1.
    weight : float64 array of shape (n,), or None
    offsets : intp array of shape (p + 1,)
        Where the cuts of each column begin; a column with B - 1 cuts has B bins.
    categorical : bool array of shape (p,)
        The cuts of these columns are single bins.
    left_weight : float64 array of shape (k, P)
        The weight of the rows left of each cut.
    sums : float64 array of shape (k, P)
        The result.
    """
    cdef Py_ssize_t n = codes.shape[1], p = codes.shape[0], n_groups = sums.shape[0]
    cdef Py_ssize_t i, j, k, g, c, m = 0, n_columns, widest = 1, first
    cdef Py_ssize_t[COLUMNS_AT_ONCE] others
    cdef const Code* chosen[COLUMNS_AT_ONCE]
    cdef double total
    cdef double* table
    require(0 <= column < p and offsets.shape[0] == p + 1 and categorical.shape[0] == p
            and n <= <int64_t>UINT32_MAX and (group is None or group.shape[0] == n)
            and (weight is None or weight.shape[0] == n)
            and (n <= 1 or codes.strides[1] == sizeof(Code))
            and n_groups > 0 and left_weight.shape[0] == n_groups
            and offsets[0] == 0 and offsets[p] == sums.shape[1] == left_weight.shape[1])
    require(group is not None or n_groups == 1)
    for j in range(p):
        require(offsets[j] <= offsets[j + 1])
        widest = max(widest, offsets[j + 1] - offsets[j] + 1)
    require(0 <= code < offsets[column + 1] - offsets[column])
    for j in range(p):
        require(n == 0 or all_below(&codes[j, 0], n, offsets[j + 1] - offsets[j] + 1))
    require(group is None or n == 0 or all_below(&group[0], n, n_groups))
    # The rows left of the cut, their weights and groups; and a table of each of some columns.
    cdef Py_ssize_t size = COLUMNS_AT_ONCE * n_groups * widest
    table = <double*>PyMem_RawMalloc(
        (size + n) * sizeof(double) + (n + 1) * (sizeof(uint32_t) + sizeof(uint16_t)))
    if table == NULL:
        raise MemoryError
    cdef double* weights = table + size
    cdef uint32_t* left = <uint32_t*>(weights + n)
    cdef uint16_t* groups = <uint16_t*>(left + n + 1)
    with nogil:
        for i in range(n):
            left[m] = <uint32_t>i
            if categorical[column]:
                m += codes[column, i] == code
            else:
                m += codes[column, i] <= code
        for i in range(m):
            weights[i] = 1.0 if weight is None else weight[left[i]]
            groups[i] = 0 if group is None else group[left[i]]
        j = 0
        while j < p:
            n_columns = 0
            while j < p and n_columns < COLUMNS_AT_ONCE:
                if j != column and offsets[j] < offsets[j + 1]:
                    others[n_columns] = j
                    chosen[n_columns] = &codes[j, 0] if n > 0 else NULL
                    n_columns += 1
                j += 1
            # A column more than there are is counted in vain.
            for k in range(n_columns, COLUMNS_AT_ONCE):
                chosen[k] = chosen[0] if n_columns > 0 else NULL
            if n_columns > 0:
                memset(table, 0, size * sizeof(double))
                count_left(&chosen[0], left, weights, groups, m, widest, table)
            for k in range(n_columns):
                first = offsets[others[k]]
                for g in range(n_groups):
                    total = 0.0
                    for c in range(offsets[others[k] + 1] - first):
                        if categorical[others[k]]:
                            total = table[COLUMNS_AT_ONCE * (g * widest + c) + k]
                        else:
                            total += table[COLUMNS_AT_ONCE * (g * widest + c) + k]
                        sums[g, first + c] = total
        # The rows left of two thresholds of one column are those left of the lower one.
        first = offsets[column]
        for g in range(n_groups):
            for c in range(offsets[column + 1] - first):
                if categorical[column]:
                    sums[g, first + c] = left_weight[g, first + c] if c == code else 0.0
                else:
                    sums[g, first + c] = left_weight[g, first + min(c, code)]
    PyMem_RawFree(table)


cdef void count_left(
    const Code** codes, const uint32_t* left, const double* weights, const uint16_t* groups,
    Py_ssize_t m, Py_ssize_t widest, double* table,
) noexcept nogil:
    """Sum weights by the group and the bins of four columns, which do not wait for each other."""
    cdef Py_ssize_t i
    cdef size_t row
    cdef double w
    cdef double* own
    cdef const Code* first = codes[0]
    cdef const Code* second = codes[1]
    cdef const Code* third = codes[2]
    cdef const Code* fourth = codes[3]
    for i in range(m):
        row, w = left[i], weights[i]
        own = table + COLUMNS_AT_ONCE * widest * <size_t>groups[i]
        own[COLUMNS_AT_ONCE * <size_t>first[row]] += w
        own[COLUMNS_AT_ONCE * <size_t>second[row] + 1] += w
        own[COLUMNS_AT_ONCE * <size_t>third[row] + 2] += w
        own[COLUMNS_AT_ONCE * <size_t>fourth[row] + 3] += w


def scale_cut_products(
    const double[:, ::1] total,
    const double[:, ::1] held or None,
    double weight,
    double held_weight,
    const double[::1] left,
    const double[::1] scale,
    const double[::1] held_left or None,
    Py_ssize_t first,
    double[:, ::1] out,
):
    """Products of centred and scaled columns z = s (u - a), from those of the columns u. O(g P).

    Parameters
    ----------
    total : float64 array of shape (g, P)
        u'Wu* of some columns with all, over all rows.
    held : float64 array of shape (g, P), or None
        The same over the held-out rows, where there are any: they are no training rows.
    weight, held_weight : float
        The weights of the training rows and of the held-out ones.
    left, scale : float64 arrays of shape (P,)
        w'u over the training rows, of which a is the mean; and s.
    held_left : float64 array of shape (P,), or None
        w'u over the held-out rows.
    first : int
        The number of the first of the columns.
    out : float64 array of shape (g, P) or (g, 2 P)
        Products over the training rows, then over the held-out ones.
    """
    cdef Py_ssize_t i, g = total.shape[0], n = scale.shape[0]
    cdef bint has_held = held is not None
    require(total.shape[1] == left.shape[0] == n and out.shape[0] == g
            and out.shape[1] == (2 * n if has_held else n)
            and 0 <= first and g <= n - first)
    require(not has_held or held_left is not None and held.shape[0] == g
            and held.shape[1] == held_left.shape[0] == n)
    with nogil:
        for i in range(g):
            scale_train_products(
                &total[i, 0], &held[i, 0] if has_held else NULL, n, weight, left[first + i],
                scale[first + i], &left[0], &scale[0], &out[i, 0])
            if has_held:
                scale_held_products(
                    &held[i, 0], n, weight, held_weight, left[first + i], held_left[first + i],
                    scale[first + i], &left[0], &held_left[0], &scale[0], &out[i, 0] + n)


def tabulate_cuts(
    const double[::1] coefficients,
    const double[::1] scale,
    const double[::1] share,
    const double[::1] valid_share,
    const Py_ssize_t[::1] offsets,
    const uint8_t[::1] categorical,
    const uint8_t[::1] missing,
    double[::1] tables,
):
    """Tabulate a sum of columns of cuts, of mean zero, feature by feature. O(P).

    Parameters
    ----------
    coefficients : float64 array of shape (P,)
    scale, share, valid_share : float64 arrays of shape (P,)
        A column is ``scale * (u - share)``, with the indicator u of a single bin, of the values
        that are present, or of those at or below a threshold minus `valid_share` times the former.
    offsets : intp array of shape (p + 1,)
        Where the cuts of each feature begin; a feature with B - 1 cuts has B bins.
    categorical, missing : bool arrays of shape (p,)
        The cuts of the former are single bins; the last cut of the latter separates their last bin.
    tables : float64 array of shape (P + p,)
        The result: the values in the bins, of one feature after the other.
    """
    cdef Columns columns = Columns(scale, share, valid_share, offsets, categorical, missing)
    cdef Py_ssize_t j, k
    require(coefficients.shape[0] == scale.shape[0]
            and tables.shape[0] == scale.shape[0] + categorical.shape[0])
    with nogil:
        for j in range(categorical.shape[0]):
            k = offsets[j]
            while k < offsets[j + 1] and coefficients[k] == 0:
                k += 1
            if k < offsets[j + 1]:
                columns.tabulate(j, &coefficients[offsets[j]], &tables[offsets[j] + j])
            else:
                memset(&tables[offsets[j] + j], 0, (k - offsets[j] + 1) * sizeof(double))


def add_entries(
    const Code[:, :] codes,
    const double[::1] tables,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] used,
    double[:] values,
):
    """Add to each row the entries of its bins in the tables of some columns. O(n q).

    Sums in the order of the columns.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
    tables : float64 array
        The tables of all columns, one after the other.
    starts : intp array of shape (p + 1,)
        Where the table of each column begins.
    used : intp array of shape (q,)
        The columns.
    values : float64 array of shape (n,)
        Added to.
    """
    cdef Py_ssize_t n = values.shape[0], p = codes.shape[0], i, j, k, m = used.shape[0]
    cdef const double* first
    cdef const double* second
    cdef const Code* a
    cdef const Code* b
    require(codes.shape[1] == n and (n <= 1 or codes.strides[1] == sizeof(Code))
            and starts.shape[0] == p + 1)
    for k in range(m):
        j = used[k]
        require(0 <= j < p and 0 <= starts[j] <= starts[j + 1] <= tables.shape[0])
        require(n == 0 or all_below(&codes[j, 0], n, starts[j + 1] - starts[j]))
    if n == 0:
        return
    with nogil:
        for k in range(0, m - 1, 2):  # two columns at a time: values are read less
            first, a = &tables[starts[used[k]]], &codes[used[k], 0]
            second, b = &tables[starts[used[k + 1]]], &codes[used[k + 1], 0]
            for i in range(n):
                values[i] = (values[i] + first[a[i]]) + second[b[i]]
        if m % 2:
            first, a = &tables[starts[used[m - 1]]], &codes[used[m - 1], 0]
            for i in range(n):
                values[i] += first[a[i]]


cdef class Columns:
    """The columns of all cuts; see `tabulate_cuts`."""

    cdef const double[::1] scale, share, valid_share
    cdef const Py_ssize_t[::1] offsets
    cdef const uint8_t[::1] categorical, missing
    cdef Py_ssize_t widest  # the most bins of a feature

    def __init__(self, scale, share, valid_share, offsets, categorical, missing):
        cdef Py_ssize_t j
        self.scale, self.share, self.valid_share = scale, share, valid_share
        self.offsets, self.categorical, self.missing = offsets, categorical, missing
        require(self.share.shape[0] == self.valid_share.shape[0] == self.scale.shape[0]
                and self.categorical.shape[0] == self.missing.shape[0]
                and self.offsets.shape[0] == self.missing.shape[0] + 1 and self.offsets[0] == 0
                and self.offsets[self.missing.shape[0]] == self.scale.shape[0])
        self.widest = 1
        for j in range(self.missing.shape[0]):
            require(self.offsets[j] <= self.offsets[j + 1])
            self.widest = max(self.widest, self.offsets[j + 1] - self.offsets[j] + 1)

    cdef void tabulate(self, Py_ssize_t j, const double* coefficients, double* table) noexcept nogil:
        """The table of a feature with cuts."""
        cdef Py_ssize_t first = self.offsets[j], n = self.offsets[j + 1] - first, c
        cdef const double* scale = &self.scale[first]
        cdef const double* share = &self.share[first]
        cdef const double* valid_share = &self.valid_share[first]
        cdef double own, sum_left = 0.0, mean = 0.0, of_valid = 0.0
        table[n] = 0.0
        # Bin b lies left of the thresholds b, b + 1, ...
        for c in range(n - 1, -1, -1):
            own = coefficients[c] * scale[c]
            sum_left = own if self.categorical[j] else sum_left + own
            table[c] = sum_left
            mean += own * share[c]
            of_valid += own * valid_share[c]
        if self.missing[j] and not self.categorical[j]:
            # The column of a threshold is 0 for missing values, and that of the last cut is none.
            of_valid -= coefficients[n - 1] * scale[n - 1] * valid_share[n - 1]
            for c in range(n):
                table[c] -= of_valid
        for c in range(n + 1):
            table[c] -= mean


cdef void sum_columns(
    const Code** code, Py_ssize_t n_columns, const uint8_t* held, const double* values,
    Py_ssize_t n, double* table,
) noexcept nogil:
    """Sum values by the bins, the group and the number of up to four columns.

    With few bins a sum waits for that of the row before; four columns do not wait for each other.
    """
    cdef Py_ssize_t i, k
    cdef size_t a, b, c, d
    cdef double value
    cdef double* group
    cdef const Code* first = code[0]
    cdef const Code* second = code[1]
    cdef const Code* third = code[2]
    cdef const Code* fourth = code[3]
    if n_columns == COLUMNS_AT_ONCE and held == NULL:
        for i in range(n):
            a, b, c, d, value = first[i], second[i], third[i], fourth[i], values[i]
            table[COLUMNS_AT_ONCE * a] += value
            table[COLUMNS_AT_ONCE * b + 1] += value
            table[COLUMNS_AT_ONCE * c + 2] += value
            table[COLUMNS_AT_ONCE * d + 3] += value
    elif n_columns == COLUMNS_AT_ONCE:
        for i in range(n):
            a, b, c, d, value = first[i], second[i], third[i], fourth[i], values[i]
            group = table + COLUMNS_AT_ONCE * <size_t>held[i]
            group[2 * COLUMNS_AT_ONCE * a] += value
            group[2 * COLUMNS_AT_ONCE * b + 1] += value
            group[2 * COLUMNS_AT_ONCE * c + 2] += value
            group[2 * COLUMNS_AT_ONCE * d + 3] += value
    else:
        for k in range(n_columns):
            if held == NULL:
                for i in range(n):
                    table[COLUMNS_AT_ONCE * <size_t>code[k][i] + k] += values[i]
            else:
                for i in range(n):
                    table[COLUMNS_AT_ONCE * (2 * <size_t>code[k][i] + held[i]) + k] += values[i]


# --- rounds ---------------------------------------------------------------------------------------

cdef class Residuals:
    """The residuals of a model as their products with all cuts, and what subtracts from them.

    Parameters
    ----------
    values : float64 array of shape (P,) or (2 P,)
        Products over the training rows, then over held-out ones. They are changed in place.
    offsets : intp array of shape (p + 1,)
        Where the cuts of each feature begin.
    """

    cdef double[::1] values
    cdef const Py_ssize_t[::1] offsets
    cdef Py_ssize_t n_cuts
    cdef bint has_held

    cdef int begin(self, values, offsets) except -1:
        cdef Py_ssize_t n
        self.values, self.offsets = values, offsets
        require(self.offsets.shape[0] > 0)
        self.n_cuts = self.offsets[self.offsets.shape[0] - 1]
        n = self.values.shape[0]
        require(n == self.n_cuts or n == 2 * self.n_cuts)
        self.has_held = n > self.n_cuts
        return 0

    cdef int subtract(
        self, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const double* steps
    ) except -1:
        """Subtract the sum of the columns of the cuts start, ..., stop - 1 of a feature by steps."""
        raise NotImplementedError


cdef class TableResiduals(Residuals):
    """Residuals that are changed by products of columns.

    Parameters
    ----------
    values, offsets
        See `Residuals`.
    row_of, rows_of : callable
        Of a cut, and of a feature: the products of the column, or of those of all its cuts, with
        all others, (P,) or (2 P,) as `values`, one cut after the other.
    """

    cdef object row_of, rows_of

    def __init__(self, values, offsets, row_of, rows_of):
        self.begin(values, offsets)
        self.row_of, self.rows_of = row_of, rows_of

    cdef int subtract(
        self, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const double* steps
    ) except -1:
        cdef Py_buffer view
        cdef Py_ssize_t n = self.values.shape[0], first = start, n_rows = 1
        # A single cut may be counted without the others of its feature.
        if stop - start == 1:
            rows = self.row_of(start)
        else:
            rows = self.rows_of(j)
            first, n_rows = self.offsets[j], self.offsets[j + 1] - self.offsets[j]
        PyObject_GetBuffer(rows, &view, PyBUF_SIMPLE)
        try:
            require(view.len == n_rows * n * <Py_ssize_t>sizeof(double))
            subtract_rows(&self.values[0], <const double*>view.buf + (start - first) * n, steps,
                          stop - start, n)
        finally:
            PyBuffer_Release(&view)
        return 0


cdef class RowResiduals(Residuals):
    """Residuals of rows, which are summed again after each step. O(n p + P).

    Parameters
    ----------
    values, offsets
        See `Residuals`; replaced by the products with `residual`.
    codes : uint8 or uint16 array of shape (p, n)
    residual, weight : float64 arrays of shape (n,)
        The residuals, which are changed in place, have the mean zero over the training rows.
    is_held : uint8 array of shape (n,)
        1 for held-out rows, 0 for others.
    preference : float64 array of shape (P,)
        Factors of the products over the training rows.
    scale, share, valid_share, categorical, missing
        See `tabulate_cuts`.
    """

    cdef const uint8_t[:, :] codes_of_8_bits
    cdef const uint16_t[:, :] codes_of_16_bits
    cdef bint has_8_bits
    cdef double[::1] residual, weighted, table, sums
    cdef const double[::1] weight, preference
    cdef const uint8_t[::1] is_held
    cdef Columns columns

    def __init__(self, values, offsets, codes, residual, weight, is_held, preference, scale, share,
                 valid_share, categorical, missing):
        cdef Py_ssize_t j, n, p
        self.begin(values, offsets)
        self.columns = Columns(scale, share, valid_share, offsets, categorical, missing)
        self.residual, self.weight, self.is_held = residual, weight, is_held
        self.preference = preference
        n, p = self.residual.shape[0], self.columns.missing.shape[0]
        self.has_8_bits = codes.dtype.itemsize == 1
        if self.has_8_bits:
            self.codes_of_8_bits = codes
            check_codes_of_rows(self.codes_of_8_bits, self.offsets, n)
        else:
            self.codes_of_16_bits = codes
            check_codes_of_rows(self.codes_of_16_bits, self.offsets, n)
        require(codes.shape[0] == p and n > 0 and self.weight.shape[0] == n
                and self.is_held.shape[0] == n and self.preference.shape[0] == self.n_cuts
                and all_below(&self.is_held[0], n, 2 if self.has_held else 1))
        self.weighted = array("d", bytes(8 * n))
        self.table = array("d", bytes(8 * self.columns.widest))
        n = COLUMNS_AT_ONCE * (1 + self.has_held) * self.columns.widest
        self.sums = array("d", bytes(8 * n))
        self.sum()

    cdef int subtract(
        self, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const double* steps
    ) except -1:
        cdef Py_ssize_t first = self.offsets[j], n = self.offsets[j + 1] - first
        # The steps of all cuts of the feature, in the room of sums.
        cdef double* all_steps = &self.sums[0]
        with nogil:
            memset(all_steps, 0, n * sizeof(double))
            memcpy(all_steps + (start - first), steps, (stop - start) * sizeof(double))
            self.columns.tabulate(j, all_steps, &self.table[0])
            n = self.residual.shape[0]
            if self.has_8_bits:
                subtract_entries(&self.residual[0], &self.codes_of_8_bits[j, 0], &self.table[0], n)
            else:
                subtract_entries(&self.residual[0], &self.codes_of_16_bits[j, 0], &self.table[0], n)
            self.sum()
        return 0

    cdef void sum(self) noexcept nogil:
        """Sum the products with all cuts from the residuals."""
        cdef Py_ssize_t n = self.residual.shape[0], p = self.columns.missing.shape[0], i, j = 0, k
        cdef Py_ssize_t n_columns, n_groups = 1 + self.has_held
        cdef Py_ssize_t[COLUMNS_AT_ONCE] column
        cdef const uint8_t* first[COLUMNS_AT_ONCE]
        cdef const uint16_t* second[COLUMNS_AT_ONCE]
        cdef const uint8_t* held = &self.is_held[0] if self.has_held else NULL
        cdef double total = 0.0
        for i in range(n):
            self.weighted[i] = self.weight[i] * self.residual[i]
        if self.has_held:
            for i in range(n):
                total += self.weighted[i] if held[i] else 0.0
        memset(first, 0, sizeof(first))
        memset(second, 0, sizeof(second))
        while j < p:
            n_columns = 0
            while j < p and n_columns < COLUMNS_AT_ONCE:
                if self.offsets[j] < self.offsets[j + 1]:
                    column[n_columns] = j
                    if self.has_8_bits:
                        first[n_columns] = &self.codes_of_8_bits[j, 0]
                    else:
                        second[n_columns] = &self.codes_of_16_bits[j, 0]
                    n_columns += 1
                j += 1
            memset(&self.sums[0], 0, self.sums.shape[0] * sizeof(double))
            if self.has_8_bits:
                sum_columns(first, n_columns, held, &self.weighted[0], n, &self.sums[0])
            else:
                sum_columns(second, n_columns, held, &self.weighted[0], n, &self.sums[0])
            for k in range(n_columns):
                self.scale_sums(column[k], &self.sums[k], COLUMNS_AT_ONCE * n_groups,
                                &self.values[0], 0.0)
                if self.has_held:
                    self.scale_sums(column[k], &self.sums[COLUMNS_AT_ONCE + k],
                                    2 * COLUMNS_AT_ONCE, &self.values[self.n_cuts], total)

    cdef void scale_sums(
        self, Py_ssize_t j, const double* sums, Py_ssize_t stride, double* values, double total
    ) noexcept nogil:
        """Turn the sums over the bins of a feature into products with its cuts."""
        cdef Py_ssize_t first = self.offsets[j], n = self.offsets[j + 1] - first, c
        cdef const double* scale = &self.columns.scale[first]
        cdef const double* share = &self.columns.share[first]
        cdef double sum_left = 0.0, of_valid
        cdef bint is_held = values != &self.values[0]
        values += first
        for c in range(n):
            sum_left = sums[c * stride] if self.columns.categorical[j] else sum_left + sums[c * stride]
            values[c] = sum_left
        if self.columns.missing[j] and not self.columns.categorical[j]:
            of_valid = values[n - 1]
            for c in range(n - 1):
                values[c] -= self.columns.valid_share[first + c] * of_valid
        for c in range(n):
            if is_held:
                values[c] = scale[c] * (values[c] - share[c] * total)
            else:
                values[c] = scale[c] * values[c] * self.preference[first + c]


cdef void subtract_entries(
    double* residual, const Code* code, const double* table, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        residual[i] -= table[code[i]]


def smooth(
    Residuals residuals,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] offsets,
    const double[::1] gain,
    const double[::1] rate,
    double floor,
    int32_t[::1] chosen,
    double[::1] steps,
    double[::1] falls,
    double[::1] held,
    double[::1] coefficients,
):
    """Smoothing rounds. O(P) each, and what it costs to subtract from the residuals.

    Parameters
    ----------
    residuals : TableResiduals or RowResiduals
        Replaced by those after the rounds.
    starts, features : intp arrays of shape (C,)
        Candidates: neighbouring cuts of a feature, the first of them and the feature.
    offsets : intp array of shape (C + 1,)
        Where the factors of the cuts of each candidate begin.
    gain, rate : float64 arrays
        The factors of the squares of products, of which the sum decides; and those of products,
        which are the steps.
    floor : float
        Rounds end where no sum is above this.
    chosen, falls, held : int32 and float64 arrays of shape (T,)
        The result of each of T rounds: its candidate, by how much it lowers the sum of squares
        over the training rows, and changes that over the held-out ones.
    steps : float64 array
        The steps of all rounds, one round after the other; with room for T of the longest.
    coefficients : float64 array of shape (P,)
        Added to: the sum of all steps.

    Returns
    -------
    n_rounds : int
        How many rounds there were.
    """
    cdef Py_ssize_t n_candidates = starts.shape[0], n = residuals.n_cuts, i, k, t, width, best
    cdef Py_ssize_t start, widest = 0
    cdef double largest, sum_of_squares, fall, of_held
    cdef double* values
    cdef double* step
    require(features.shape[0] == n_candidates and offsets.shape[0] == n_candidates + 1
            and offsets[0] == 0 and offsets[n_candidates] == gain.shape[0] == rate.shape[0]
            and falls.shape[0] == held.shape[0] == chosen.shape[0]
            and coefficients.shape[0] == n)
    for i in range(n_candidates):
        width, k = offsets[i + 1] - offsets[i], features[i]
        require(0 <= k < residuals.offsets.shape[0] - 1 and 0 <= width <= gain.shape[0])
        require(0 <= residuals.offsets[k] <= starts[i]
                and starts[i] + width <= residuals.offsets[k + 1] <= n)
        widest = max(widest, width)
    require(steps.shape[0] >= chosen.shape[0] * widest)
    if n == 0 or chosen.shape[0] == 0 or widest == 0:
        return 0
    values, step = &residuals.values[0], &steps[0]
    for t in range(chosen.shape[0]):
        best, largest = -1, floor
        for i in range(n_candidates):
            width = offsets[i + 1] - offsets[i]
            if width == 0:
                continue
            sum_of_squares = weighted_squares(values + starts[i], &gain[offsets[i]], width)
            if sum_of_squares > largest:
                best, largest = i, sum_of_squares
        if best < 0:
            return t
        start, width = starts[best], offsets[best + 1] - offsets[best]
        # |r - Zb|^2 = |r|^2 - 2 b'c + b'Qb
        fall = of_held = 0.0
        for k in range(width):
            step[k] = rate[offsets[best] + k] * values[start + k]
            coefficients[start + k] += step[k]
            fall += step[k] * values[start + k]
            if residuals.has_held:
                of_held -= step[k] * values[n + start + k]
        residuals.subtract(features[best], start, start + width, step)
        for k in range(width):
            fall += step[k] * values[start + k]
            if residuals.has_held:
                of_held -= step[k] * values[n + start + k]
        chosen[t], falls[t], held[t] = <int32_t>best, fall, of_held
        step += width
    return chosen.shape[0]


def boost_stumps(
    double[::1] values,
    list views,
    rows,
    const double[::1] rate,
    const double[:, ::1] signs or None,
    sets,
    double floor,
    int32_t[::1] chosen,
    double[::1] steps,
    double[::1] held,
):
    """Rounds of boosting by stumps on the products of residuals with all cuts. O(P) each.

    Parameters
    ----------
    values : float64 array of shape (P,) or (2 P,)
        Products over the training rows, then over held-out ones; replaced by those after the
        rounds.
    views : list of P float64 arrays or None
        The products of the column of each cut with all others, of the shape of `values`, where they
        are known.
    rows : callable
        Of another cut, or of P plus the number of a set: these products. It may change the list.
    rate : float64 array of shape (P + 1,)
        The share of a product that is a step; at last that of a set.
    signs : float64 array of shape (2, P), or None
        The size of a product v is the larger one of v times either factor; without them it is |v|.
    sets : CategorySets or None
        Of the features whose cuts are found as sets of categories; their own `signs` are 0.
    floor : float
        Rounds end before a step of no more than this.
    chosen, steps, held : int32 and float64 arrays of shape (T,)
        The result of each of T rounds: its cut, its step, and the product of its column with the
        held-out residuals before the round.

    Returns
    -------
    n_rounds : int
        How many rounds there were.
    """
    cdef Py_ssize_t n = rate.shape[0] - 1, n_all = values.shape[0], t, k, q
    cdef double b, size, best, of_held
    cdef const double* up = NULL
    cdef const double* down = NULL
    cdef bint has_held = n_all > n
    cdef SetSearch search = None
    require(n > 0 and (n_all == n or n_all == 2 * n) and steps.shape[0] == chosen.shape[0]
            and held.shape[0] == chosen.shape[0] and len(views) == n
            and (signs is None or signs.shape[0] == 2 and signs.shape[1] == n))
    if signs is not None:
        up, down = &signs[0, 0], &signs[1, 0]
    if sets is not None:
        search = SetSearch(sets, n, has_held)
    cdef KnownRows known = KnownRows(views, rows, n_all)
    # A step of 0 finds the first cut.
    k = next_cut(&values[0], &rate[0], 0.0, n, n, up, down, &size)
    for t in range(chosen.shape[0]):
        best, q, b = size, -1, rate[k] * values[k]
        if search is not None:
            q = search.best(&values[0], &best)
            if q >= 0:
                b = rate[n] * search.value
        if -floor <= b <= floor or not best > 0:
            return t
        if q < 0:
            of_held = values[n + k] if has_held else 0.0
        else:
            of_held = search.held_product(&values[n], q) if has_held else 0.0
            k = search.number(q)
        chosen[t], steps[t], held[t] = k, b, of_held
        k = next_cut(&values[0], known.row(k), b, n, n_all, up, down, &size)
    return chosen.shape[0]


cdef class KnownRows:
    """The addresses of rows in a list; to ask each array for its own would cost a round."""

    cdef list views
    cdef object rows, last
    cdef Py_ssize_t size
    cdef const double** address  # NULL for those not asked for

    def __cinit__(self, list views, rows, Py_ssize_t size):
        self.views, self.rows, self.size = views, rows, size
        self.address = <const double**>PyMem_RawCalloc(len(views), sizeof(void*))
        if self.address == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.address)

    cdef const double* row(self, Py_ssize_t k) except NULL:
        """The row of a cut or set, until the next one is asked for."""
        if k < len(self.views) and self.address[k] != NULL:
            return self.address[k]
        if k >= len(self.views) or self.views[k] is None:
            self.last = self.rows(k)
            # Others may have been forgotten.
            memset(self.address, 0, len(self.views) * sizeof(void*))
            return self.address_of(self.last)
        self.address[k] = self.address_of(self.views[k])
        return self.address[k]

    cdef const double* address_of(self, row) except NULL:
        cdef Py_buffer view
        PyObject_GetBuffer(row, &view, PyBUF_SIMPLE)
        cdef const double* found = <const double*>view.buf
        cdef bint fits = view.len == self.size * <Py_ssize_t>sizeof(double)
        PyBuffer_Release(&view)
        require(fits)
        return found


cdef inline Py_ssize_t next_cut(
    double* values, const double* row, double b, Py_ssize_t n, Py_ssize_t n_all,
    const double* up, const double* down, double* size,
) noexcept nogil:
    if up == NULL:
        return step_and_search(values, row, b, n, n_all, up, down, size)
    return step_and_search_signed(values, row, b, n, n_all, up, down, size)


cdef class SetSearch:
    """The sets of categories that lower the squares most, of all features with categories.

    A set has the lowest or the highest mean residuals, which are shrunk for the search: that of a
    category of weight w is multiplied by w / (w + `sets.smooth`). Its number is asked for by its members, one
    byte each, which `sets.numbers` has for sets that are known, and `sets.add` gives to others.
    """

    cdef object numbers, add
    cdef const Py_ssize_t[::1] offsets, cuts
    cdef const double[::1] unit, scale, weight, rest
    cdef Py_ssize_t[::1] order
    cdef double[::1] sums
    cdef uint8_t[::1] members
    cdef double value, set_scale, smooth

    def __init__(self, sets, Py_ssize_t n_cuts, bint has_held):
        cdef Py_ssize_t q, i, start, stop
        self.numbers, self.add = sets.numbers, sets.add
        self.offsets, self.cuts, self.unit, self.scale = (
            sets.offsets, sets.cuts, sets.unit, sets.scale)
        self.weight, self.rest, self.smooth = sets.weight, sets.rest, sets.smooth
        require(self.offsets.shape[0] == self.rest.shape[0] + 1 and self.offsets[0] == 0
                and self.offsets[self.rest.shape[0]] == self.cuts.shape[0]
                and self.unit.shape[0] == self.scale.shape[0] == self.weight.shape[0]
                and self.unit.shape[0] == self.cuts.shape[0])
        for i in range(self.cuts.shape[0]):
            require(0 <= self.cuts[i] < n_cuts)
        for q in range(self.rest.shape[0]):
            require(self.offsets[q] <= self.offsets[q + 1])
        # One more for the rows without a category.
        size = self.cuts.shape[0] + self.rest.shape[0]
        self.order, self.sums = sets.order, sets.sums
        self.members = bytearray(size)
        require(self.order.shape[0] == self.sums.shape[0] == size)
        for q in range(self.rest.shape[0]):
            start, stop = self.offsets[q] + q, self.offsets[q + 1] + q + 1
            for i in range(start, stop):
                self.order[i] = i - start

    cdef Py_ssize_t best(self, const double* values, double* size):
        """The feature of a set that is larger than `size`, or -1."""
        cdef Py_ssize_t q, found = -1
        for q in range(self.rest.shape[0]):
            if self.best_of(q, values, size):
                found = q
        return found

    cdef bint best_of(self, Py_ssize_t q, const double* values, double* size) noexcept:
        cdef Py_ssize_t first = self.offsets[q], n = self.offsets[q + 1] - first, i, m, at = -1
        cdef double* sums = &self.sums[first + q]
        cdef Py_ssize_t* order = &self.order[first + q]
        cdef uint8_t* members = &self.members[first + q]
        cdef double total = 0.0, all_sums = 0.0, shrunk = 0.0, left = 0.0, left_sum = 0.0
        cdef double product, value, best = 0.0, scale = 0.0
        cdef bint has_rest = self.rest[q] > 0, turned
        # Sums of residuals in the categories, from the products with their columns; those of all
        # rows have the sum 0.
        for i in range(n):
            sums[i] = values[self.cuts[first + i]] / self.unit[first + i]
            all_sums += sums[i]
            total += self.weight[first + i]
        m = n
        if has_rest:
            sums[n], m, total = -all_sums, n + 1, total + self.rest[q]
        if m < 2:
            return False
        for i in range(m):
            sums[i] /= 1.0 + self.smooth / self.weight_of(q, i, n)
            shrunk += sums[i]
        self.sort(q, m)
        for i in range(m - 1):
            left += self.weight_of(q, order[i], n)
            left_sum += sums[order[i]]
            product = left * (total - left)
            if product > 0:
                # Shrunk residuals have a mean, from which those of the set differ.
                value = (left_sum - shrunk * left / total) * sqrt(total / product)
                if fabs(value) > fabs(best):
                    best, at, scale = value, i, sqrt(total / product)
        if at < 0 or not fabs(best) > size[0]:
            return False
        # The product of the set's column with the residuals as they are.
        size[0], left_sum = fabs(best), 0.0
        for i in range(m):
            members[order[i]] = i <= at
            if i <= at:
                left_sum += sums[order[i]] * (1.0 + self.smooth / self.weight_of(q, order[i], n))
        best = left_sum * scale
        # One name for a set and its complement.
        turned = members[n] if has_rest else members[0]
        if turned:
            best = -best
            for i in range(m):
                members[i] = not members[i]
        self.value, self.set_scale = best, scale
        return True

    cdef inline double weight_of(self, Py_ssize_t q, Py_ssize_t i, Py_ssize_t n) noexcept:
        return self.weight[self.offsets[q] + i] if i < n else self.rest[q]

    cdef void sort(self, Py_ssize_t q, Py_ssize_t m) noexcept:
        """Order categories by their means, equal ones by their numbers: Shell's algorithm.

        It starts at the order of the round before, which has changed little.
        """
        cdef Py_ssize_t first = self.offsets[q], n = self.offsets[q + 1] - first, gap, i, k, own
        cdef double* sums = &self.sums[first + q]
        cdef Py_ssize_t* order = &self.order[first + q]
        cdef double mean, other
        gap = 1
        while 3 * gap + 1 < m // 4:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, m):
                own = order[i]
                mean = sums[own] / self.weight_of(q, own, n)
                k = i
                while k >= gap:
                    other = sums[order[k - gap]] / self.weight_of(q, order[k - gap], n)
                    if other < mean or (other == mean and order[k - gap] < own):
                        break
                    order[k] = order[k - gap]
                    k -= gap
                order[k] = own
            gap //= 3

    cdef double held_product(self, const double* held, Py_ssize_t q) noexcept:
        cdef Py_ssize_t first = self.offsets[q], i
        cdef double total = 0.0
        for i in range(self.offsets[q + 1] - first):
            if self.members[first + q + i]:
                total += held[self.cuts[first + i]] / self.scale[first + i]
        return self.set_scale * total

    cdef Py_ssize_t number(self, Py_ssize_t q):
        cdef Py_ssize_t first = self.offsets[q], n = self.offsets[q + 1] - first
        members = (<char*>&self.members[first + q])[:n]
        found = self.numbers[q].get(members)
        return self.add(q, members) if found is None else found


# --- rows in the cells of pairs -------------------------------------------------------------------

def add_pair_tables(
    const Code[:, :] codes,
    const uint16_t[:, ::1] maps,
    const Py_ssize_t[::1] n_bins,
    const Py_ssize_t[:, ::1] pairs,
    const double[::1] u,
    const double[::1] v,
    const double[::1] w,
    double[:, ::1] tables,
):
    """Sum three values of the rows in every cell of many pairs of columns. O(n (p + P)).

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (p, n)
    maps : uint16 array of shape (p, m)
        The coarse bin of each code of each column.
    n_bins : intp array of shape (p,)
        Numbers of coarse bins.
    pairs : intp array of shape (P, 2)
    u, v, w : float64 arrays of shape (n,)
    tables : float64 array of shape (cells, 3)
        Added to: the cells (a, b) of one pair after the other, in the order a B + b.
    """
    cdef Py_ssize_t p = codes.shape[0], n = u.shape[0], t, j, i, m, begin, a, b, size = 0
    cdef bint fits = True
    cdef uint16_t* coarse
    cdef uint8_t* used
    cdef double* table
    require(codes.shape[1] == v.shape[0] == w.shape[0] == n and maps.shape[0] == p
            and n_bins.shape[0] == p and (n <= 1 or codes.strides[1] == sizeof(Code))
            and pairs.shape[1] == 2 and tables.shape[1] == 3)
    for j in range(p):
        require(0 <= n_bins[j] <= 1 << 16)
        require(n_bins[j] == 0 or maps.shape[1] == 0
                or all_below(&maps[j, 0], maps.shape[1], n_bins[j]))
    for t in range(pairs.shape[0]):
        a, b = pairs[t, 0], pairs[t, 1]
        require(0 <= a < p and 0 <= b < p and n_bins[a] > 0 and n_bins[b] > 0)
        size += n_bins[a] * n_bins[b]
    require(size == tables.shape[0])
    if n == 0 or pairs.shape[0] == 0:
        return
    coarse = <uint16_t*>PyMem_RawMalloc(p * (PAIR_BLOCK_ROWS * sizeof(uint16_t) + 1))
    if coarse == NULL:
        raise MemoryError
    with nogil:
        used = <uint8_t*>(coarse + p * PAIR_BLOCK_ROWS)
        memset(used, 0, p)
        for t in range(pairs.shape[0]):
            used[pairs[t, 0]] = used[pairs[t, 1]] = 1
        begin = 0
        while begin < n:
            m = min(n - begin, PAIR_BLOCK_ROWS)
            for j in range(p):
                if used[j]:
                    fits = fits and all_below(&codes[j, begin], m, maps.shape[1])
                    for i in range(m if fits else 0):
                        coarse[j * PAIR_BLOCK_ROWS + i] = maps[j, codes[j, begin + i]]
            if not fits:
                break
            table = &tables[0, 0]
            for t in range(pairs.shape[0]):
                a, b = pairs[t, 0], pairs[t, 1]
                add_three(coarse + a * PAIR_BLOCK_ROWS, coarse + b * PAIR_BLOCK_ROWS, n_bins[b],
                          &u[begin], &v[begin], &w[begin], m, table)
                table += 3 * n_bins[a] * n_bins[b]
            begin += m
        PyMem_RawFree(coarse)
    require(fits)


cdef void add_three(
    const uint16_t* a, const uint16_t* b, Py_ssize_t n_bins, const double* u, const double* v,
    const double* w, Py_ssize_t n, double* table,
) noexcept nogil:
    cdef uint32_t[CELL_ROWS] first, cells
    cdef Py_ssize_t start = 0, m, i
    cdef double* cell
    while start < n:
        m = min(n - start, CELL_ROWS)
        for i in range(m):
            first[i] = a[start + i]
        cells_of_16_bits(first, <uint32_t>n_bins, b + start, m, cells)
        for i in range(m):
            cell = table + 3 * <size_t>cells[i]
            cell[0] += u[start + i]
            cell[1] += v[start + i]
            cell[2] += w[start + i]
        start += m


def sum_cells(
    const double[::1] values,
    const double[::1] weight or None,
    const uint8_t[::1] is_held,
    const Code[::1] a,
    const OtherCode[::1] b,
    double[:, :, ::1] sums,
):
    """Sum weighted values in the cells of one pair, rows held out apart from the others. O(n).

    Parameters
    ----------
    values : float64 array of shape (n,)
    weight : float64 array of shape (n,), or None
    is_held : bool or uint8 array of shape (n,)
        1 for the rows held out, 0 for others.
    a, b : uint8 or uint16 arrays of shape (n,)
        Bins.
    sums : float64 array of shape (2, A, B)
        Added to: sums over the other rows, then over those held out.
    """
    cdef Py_ssize_t i, m, start = 0, n = values.shape[0]
    cdef uint32_t[CELL_ROWS] first, cells
    cdef double* table
    require(sums.shape[0] == 2 and sums.shape[1] * sums.shape[2] <= <int64_t>UINT32_MAX // 2
            and is_held.shape[0] == n and (weight is None or weight.shape[0] == n))
    check_cells(a, b, n, sums.shape[1], sums.shape[2])
    if n == 0:
        return
    require(all_below(&is_held[0], n, 2))
    table = &sums[0, 0, 0]
    with nogil:
        while start < n:
            m = min(n - start, CELL_ROWS)
            for i in range(m):
                first[i] = is_held[start + i]
            extend(first, sums.shape[1], &a[start], m, cells)
            memcpy(first, cells, m * sizeof(uint32_t))
            extend(first, sums.shape[2], &b[start], m, cells)
            if weight is None:
                for i in range(m):
                    table[cells[i]] += values[start + i]
            else:
                for i in range(m):
                    table[cells[i]] += values[start + i] * weight[start + i]
            start += m


def subtract_cells(
    double[::1] values,
    const Code[::1] a,
    const OtherCode[::1] b,
    const double[:, ::1] table,
):
    """Subtract from each row the entry of its cell in a table of shape (A, B). O(n)."""
    cdef Py_ssize_t i, n = values.shape[0], n_columns = table.shape[1]
    cdef const double* entries
    check_cells(a, b, n, table.shape[0], n_columns)
    if n == 0:
        return
    entries = &table[0, 0]
    with nogil:
        for i in range(0, n - 3, 4):  # four rows at a time: a fifth faster
            values[i] -= entries[a[i] * n_columns + b[i]]
            values[i + 1] -= entries[a[i + 1] * n_columns + b[i + 1]]
            values[i + 2] -= entries[a[i + 2] * n_columns + b[i + 2]]
            values[i + 3] -= entries[a[i + 3] * n_columns + b[i + 3]]
        for i in range(n - n % 4, n):
            values[i] -= entries[a[i] * n_columns + b[i]]


# --- steps on the table of a pair -----------------------------------------------------------------

def averaged_steps(
    double[:, ::1] sums,
    const double[:, ::1] weight,
    const double[:, :, ::1] inverse,
    double rate,
    Py_ssize_t n_steps,
    double[:, ::1] added,
):
    """Steps by `rate` times the mean of the four means over all cuts into quadrants. O(A B) each.

    Parameters
    ----------
    sums : float64 array of shape (A, B)
        Sums of the residuals in the cells; replaced by those after the steps.
    weight : float64 array of shape (A, B)
        Weights of the cells.
    inverse : float64 array of shape (4, A - 1, B - 1)
        One over the weight of each quadrant of each cut, 0 for cuts that may not be used.
    rate : float
    n_steps : int
    added : float64 array of shape (A, B)
        The sum of all steps is added to it.
    """
    cdef Py_ssize_t n_rows = sums.shape[0], n_columns = sums.shape[1], x, y, step, n_cuts = 0, size
    cdef double *work
    check_quadrants(sums, weight, inverse, added)
    for x in range(n_rows - 1):
        for y in range(n_columns - 1):
            n_cuts += inverse[0, x, y] > 0
    if n_cuts == 0:
        return
    size = 2 * n_rows * n_columns + n_rows + 4 * n_columns
    work = <double*>PyMem_RawCalloc(size, sizeof(double))
    if work == NULL:
        raise MemoryError
    with nogil:
        for step in range(n_steps):
            averaged_step(&sums[0, 0], &weight[0, 0], &inverse[0, 0, 0], n_rows, n_columns,
                          rate / n_cuts, &added[0, 0], work)
    PyMem_RawFree(work)


def best_steps(
    double[:, ::1] sums,
    const double[:, ::1] weight,
    const double[:, :, ::1] inverse,
    double rate,
    Py_ssize_t n_steps,
    double[:, ::1] added,
):
    """Steps by `rate` times the four means of the cut that lowers the squares most.

    O(A B) each; the arguments are those of `averaged_steps`. Of equal cuts the first is taken.
    """
    cdef Py_ssize_t n_rows = sums.shape[0], n_columns = sums.shape[1], step
    cdef double *work
    check_quadrants(sums, weight, inverse, added)
    if n_rows == 1 or n_columns == 1:
        return
    work = <double*>PyMem_RawMalloc((n_rows + 1) * n_columns * sizeof(double))
    if work == NULL:
        raise MemoryError
    with nogil:
        for step in range(n_steps):
            if not best_step(&sums[0, 0], &weight[0, 0], &inverse[0, 0, 0], n_rows, n_columns, rate,
                             &added[0, 0], work):
                break
    PyMem_RawFree(work)


def change_of_squares(
    const double[:, ::1] table, const double[:, ::1] weight, const double[:, ::1] sums
):
    """How a table that is added changes the sum of squares. O(A B).

    Parameters
    ----------
    table : float64 array of shape (A, B)
    weight, sums : float64 arrays of shape (A, B)
        The weight of the rows in each cell, and the sums of their residuals.
    """
    cdef Py_ssize_t n_rows = table.shape[0], n_columns = table.shape[1]
    require(weight.shape[0] == sums.shape[0] == n_rows
            and weight.shape[1] == sums.shape[1] == n_columns)
    if n_rows * n_columns == 0:
        return 0.0
    return sum_of_changes(&table[0, 0], &weight[0, 0], &sums[0, 0], n_rows * n_columns)


def largest_gains(
    const double[:, :, ::1] sums,
    const double[:, :, ::1] weight,
    double min_share,
    double[::1] gains,
):
    """By how much the squares fall by the means in the quadrants of the best cut. O(N A B).

    Parameters
    ----------
    sums : float64 array of shape (N, A, B)
        Sums of the residuals in the cells of N tables, which add up to 0 along both axes.
    weight : float64 array of shape (N, A, B) or (1, A, B)
        Weights of the cells.
    min_share : float
        Cuts with a quadrant below this share of all weight are none.
    gains : float64 array of shape (N,)
        The result, 0 without a cut.
    """
    cdef Py_ssize_t n_tables = sums.shape[0], n_rows = sums.shape[1], n_columns = sums.shape[2]
    cdef Py_ssize_t t, x, y
    cdef double total, gain, best
    cdef double* before
    cdef double* cumulated
    cdef double* factor
    require(gains.shape[0] == n_tables and weight.shape[1] == n_rows and n_rows > 0
            and weight.shape[2] == n_columns and n_columns > 0
            and (weight.shape[0] == n_tables or weight.shape[0] == 1))
    before = <double*>PyMem_RawMalloc((2 * n_rows + 1) * n_columns * sizeof(double))
    if before == NULL:
        raise MemoryError
    with nogil:
        cumulated = before + n_columns
        factor = cumulated + n_rows * n_columns
        for t in range(n_tables):
            if weight.shape[0] > 1 or t == 0:
                cumulate(&weight[t, 0, 0], n_rows, n_columns, cumulated)
                for x in range(n_rows - 1):
                    factors_of_cuts(cumulated + x * n_columns,
                                    cumulated + (n_rows - 1) * n_columns, n_columns - 1,
                                    min_share, factor + x * n_columns)
            best = 0.0
            memset(before, 0, n_columns * sizeof(double))
            for x in range(n_rows - 1):
                total = 0.0
                for y in range(n_columns - 1):
                    total += sums[t, x, y]
                    before[y] += total
                for y in range(n_columns - 1):
                    gain = before[y] * before[y] * factor[x * n_columns + y]
                    if gain > best:
                        best = gain
            gains[t] = best
    PyMem_RawFree(before)


# --- checks ---------------------------------------------------------------------------------------

cdef int check_codes(const Code[:, :] codes, const Py_ssize_t[::1] n_bins, Py_ssize_t n) except -1:
    return require(codes.shape[0] == n_bins.shape[0] and codes.shape[1] == n
                   and (n <= 1 or codes.strides[1] == sizeof(Code)))


cdef int check_codes_of_rows(
    const Code[:, :] codes, const Py_ssize_t[::1] offsets, Py_ssize_t n
) except -1:
    cdef Py_ssize_t j
    require(codes.shape[0] == offsets.shape[0] - 1 and codes.shape[1] == n
            and (n <= 1 or codes.strides[1] == sizeof(Code)))
    for j in range(codes.shape[0]):
        require(n == 0 or all_below(&codes[j, 0], n, offsets[j + 1] - offsets[j] + 1))
    return 0


cdef int check_cells(
    const Code[::1] a, const OtherCode[::1] b, Py_ssize_t n, Py_ssize_t n_rows,
    Py_ssize_t n_columns,
) except -1:
    require(a.shape[0] == b.shape[0] == n)
    return require(n == 0 or all_below(&a[0], n, n_rows) and all_below(&b[0], n, n_columns))


cdef int check_quadrants(
    const double[:, ::1] sums, const double[:, ::1] weight, const double[:, :, ::1] inverse,
    const double[:, ::1] added,
) except -1:
    cdef Py_ssize_t n_rows = sums.shape[0], n_columns = sums.shape[1]
    return require(n_rows > 0 and n_columns > 0 and inverse.shape[0] == 4
                   and weight.shape[0] == added.shape[0] == inverse.shape[1] + 1 == n_rows
                   and weight.shape[1] == added.shape[1] == inverse.shape[2] + 1 == n_columns)
