"""Quantiles from the rows in leaves, and order statistics of sums over members outside of rows.

The sums over the members outside of a row are looked up: a row has a byte for every eight members,
whose bits are the members outside of it. For each byte the 256 sums of predictions that it can
stand for are written down once, for LANES queries, and then looked up for all rows: an eighth of
the additions, of integers of 16 bits. Callers compute again, in double precision, the rows that
their rounding leaves in doubt.
"""

from libc.math cimport INFINITY, fabsf
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

from .arrays cimport require

cdef extern from "inference.h" nogil:
    enum:
        LANES_ "LANES"
        BYTES_ "BYTES"
        CODES
        ROWS
    void values_of(const float*, const float*, const float*, Py_ssize_t, float*)
    Py_ssize_t n_at_most(const float*, Py_ssize_t, float)
    Py_ssize_t collect(const float*, Py_ssize_t, float, float, int64_t*, Py_ssize_t)
    float smallest_float(float*, Py_ssize_t, Py_ssize_t)
    double smallest_double(double*, Py_ssize_t, Py_ssize_t)
    void fill_halves(const double*, Py_ssize_t, double*)
    double sum_of_halves(const uint8_t*, Py_ssize_t, const double*)
    void fill_table(const double*, double, double*, int16_t*)
    void add_lines(
        const int16_t*, const uint8_t*, Py_ssize_t, const int64_t*, Py_ssize_t, int16_t*)
    void extremes(const int16_t*, const int64_t*, Py_ssize_t, int16_t*)
    void turn_lines(
        const int16_t*, const int64_t*, Py_ssize_t, float, Py_ssize_t, float*)

LANES, BYTES = LANES_, BYTES_

cdef enum:
    # A search by halves ends where so few numbers are left.
    FEW = 128
    # Ranges of ranks that the rows of a query are divided into at a time, 2^DIVIDED of them, and so
    # few rows that they are sorted by insertion instead.
    DIVIDED = 8
    INSERTED = 16

# Larger numbers are infinite: so few are looked for beyond it.
cdef float TOP = 1e30


# --- order statistics of sums that are known ------------------------------------------------------


def rows_near_rank(
    const float[:, ::1] sums,
    const float[::1] inverse,
    const float[::1] residuals,
    Py_ssize_t rank,
    float start,
    const float[::1] error,
    int64_t[::1] below,
    int64_t[::1] near,
    int64_t[:, ::1] rows,
):
    """The rows near the rank-th smallest number sums * inverse + residuals of each query.

    About ten passes over the rows of a query, without writing the numbers of all queries down. The
    search of a query begins where that of the query before it ended.

    Parameters
    ----------
    sums : float32 array of shape (q, n)
    inverse, residuals : float32 arrays of shape (n,)
    rank : int
        From 1 to n.
    start : float
        A first guess.
    error : float32 array of shape (q,)
        How far from the number of this rank a row is near.
    below, near : int64 arrays of shape (q,)
        Output: how many numbers are certainly smaller, and how many rows are near.
    rows : int64 array of shape (q, most)
        Output: the rows near it in increasing order. Where they are more than `most` the line is
        not complete.
    """
    cdef Py_ssize_t j, at, kept, size, n_below, place
    cdef Py_ssize_t q = sums.shape[0], n = sums.shape[1], most = rows.shape[1]
    cdef float guess = start, width = 1.0 / 256, found, number, low, high
    cdef float* value = NULL
    cdef float* own = NULL
    require(inverse.shape[0] == n and residuals.shape[0] == n and error.shape[0] == q
            and below.shape[0] == q and near.shape[0] == q and rows.shape[0] == q
            and 1 <= rank <= n and most > 0)
    if q == 0:
        return
    value = <float*>malloc(n * sizeof(float))
    own = <float*>malloc(most * sizeof(float))
    if value == NULL or own == NULL:
        free(value)
        free(own)
        raise MemoryError
    with nogil:
        for j in range(q):
            values_of(&sums[j, 0], &inverse[0], &residuals[0], n, value)
            bracket(value, n, rank, guess, width, &low, &high)
            low, high = low - error[j], high + error[j]
            size = collect(value, n, low, high, &rows[j, 0], most)
            n_below = n_at_most(value, n, high) - size
            place = rank - 1 - n_below
            if size > most or not 0 <= place < size:  # the second where numbers are NaN
                below[j], near[j] = 0, max(size, most + 1)
                continue
            for at in range(size):
                own[at] = value[rows[j, at]]
            found = smallest_float(own, size, place)
            if -TOP < found < TOP:
                # The width follows how far the numbers of successive queries are apart.
                width = max(<float>0.5 * width + fabsf(found - guess), error[j])
                guess = found
            kept = 0
            for at in range(size):
                number = value[rows[j, at]]
                if number < found - error[j]:
                    n_below += 1
                elif number <= found + error[j]:
                    rows[j, kept] = rows[j, at]
                    kept += 1
            below[j], near[j] = n_below, kept
        free(value)
        free(own)


cdef void bracket(
    const float* value, Py_ssize_t n, Py_ssize_t rank, float guess, float width, float* low,
    float* high
) noexcept nogil:
    """From where to where there are few numbers, among them the rank-th smallest.

    Many where numbers tie. `high` is infinite where the number looked for is.
    """
    cdef float grown = width, middle
    cdef Py_ssize_t n_low, n_high, count
    low[0], high[0] = guess - width, guess + width
    n_low, n_high = n_at_most(value, n, low[0]), n_at_most(value, n, high[0])
    while n_low >= rank and low[0] >= -TOP:
        grown = grown * 4
        high[0], n_high = low[0], n_low
        low[0] = low[0] - grown
        n_low = n_at_most(value, n, low[0])
    grown = width
    while n_high < rank:
        if not high[0] <= TOP:
            low[0], high[0] = high[0], INFINITY
            return
        grown = grown * 4
        low[0], n_low = high[0], n_high
        high[0] = high[0] + grown
        n_high = n_at_most(value, n, high[0])
    while n_high - n_low > FEW:
        middle = low[0] + (high[0] - low[0]) * <float>0.5
        if middle <= low[0] or middle >= high[0]:
            break
        count = n_at_most(value, n, middle)
        if count >= rank:
            high[0], n_high = middle, count
        else:
            low[0], n_low = middle, count


def exact_order_statistics(
    const uint8_t[:, ::1] bits,
    const double[:, ::1] t,
    const double[::1] signed,
    const double[::1] residuals,
    const int64_t[::1] kept,
    const int64_t[:, ::1] rows,
    const int64_t[::1] count,
    const int64_t[::1] rank,
    double[::1] ends,
):
    """The order statistics of sign mu_i + R_i, from the rows near each of them.

    O(G) for a row near one of them, and O(G) tables of 16 numbers for a query. A sum is that of its
    half bytes in their order.

    Parameters
    ----------
    bits : uint8 array of shape (n, G)
    t : float64 array of shape (q, 8 G)
        Predictions of the members, the first of eight in the highest bit of a byte.
    signed, residuals : float64 arrays of shape (n,)
        Sign over the number of members outside, and R_i.
    kept : int64 array
        The rows that `rows` are counted in.
    rows : int64 array of shape (q, most)
    count, rank : int64 arrays of shape (q,)
        How many rows there are, and which number of theirs is looked for, from 0 on. Queries
        without a row are passed over.
    ends : float64 array of shape (q,)
        Output.
    """
    cdef Py_ssize_t j, at, i, q = t.shape[0], n = bits.shape[0], G = bits.shape[1]
    cdef double* half = NULL
    cdef double* value = NULL
    require(t.shape[1] == 8 * G and signed.shape[0] == n and residuals.shape[0] == n
            and rows.shape[0] == q and count.shape[0] == q and rank.shape[0] == q
            and ends.shape[0] == q)
    for j in range(q):
        require(count[j] == 0 or 0 <= rank[j] < count[j] <= rows.shape[1])
        for at in range(count[j]):
            i = rows[j, at]
            require(0 <= i < kept.shape[0] and 0 <= kept[i] < n)
    half = <double*>malloc((2 * G * 16 + 1) * sizeof(double))
    value = <double*>malloc((rows.shape[1] + 1) * sizeof(double))
    if half == NULL or value == NULL:
        free(half)
        free(value)
        raise MemoryError
    with nogil:
        for j in range(q):
            if count[j] == 0:
                continue
            fill_halves(&t[j, 0], 2 * G, half)
            for at in range(count[j]):
                i = kept[rows[j, at]]
                value[at] = signed[i] * sum_of_halves(&bits[i, 0], G, half) + residuals[i]
            ends[j] = smallest_double(value, count[j], rank[j])
        free(half)
        free(value)


# --- sums from tables -----------------------------------------------------------------------------


def byte_tables(const double[:, ::1] t, double unit, int16_t[:, :, ::1] tables):
    """The sums that each byte stands for, in units, rounded. O(256 G LANES).

    Parameters
    ----------
    t : float64 array of shape (8 G or more, LANES)
        Predictions of the members, the first of eight in the highest bit of a byte; 0 beyond the
        last. No sum of them is beyond 32767 units.
    unit : float
    tables : int16 array of shape (G, 256, LANES)
        Output.
    """
    cdef Py_ssize_t g, G = tables.shape[0]
    cdef double* sums
    require(t.shape[0] >= 8 * G and t.shape[1] == LANES_ and tables.shape[1] == CODES
            and tables.shape[2] == LANES_)
    sums = <double*>malloc(CODES * LANES_ * sizeof(double))
    if sums == NULL:
        raise MemoryError
    with nogil:
        for g in range(G):
            fill_table(&t[8 * g, 0], 1.0 / unit, sums, &tables[g, 0, 0])
        free(sums)


def add_tables(
    const int16_t[:, :, ::1] tables,
    const uint8_t[:, ::1] codes,
    const int64_t[::1] rows,
    Py_ssize_t first,
    Py_ssize_t last,
    int16_t[:, ::1] sums,
):
    """Add to the sums of some rows what their bytes from `first` to `last` stand for.

    O((last - first) LANES) for a row.

    Parameters
    ----------
    tables : int16 array of shape (G, 256, LANES)
    codes : uint8 array of shape (G, n)
    rows : int64 array
    first, last : int
        Multiples of BYTES.
    sums : int16 array of shape (n, LANES)
    """
    cdef Py_ssize_t g, n = sums.shape[0]
    require(tables.shape[0] == codes.shape[0] and tables.shape[1] == CODES
            and tables.shape[2] == LANES_ and codes.shape[1] == n and sums.shape[1] == LANES_
            and 0 <= first <= last <= codes.shape[0] and first % BYTES_ == last % BYTES_ == 0)
    require_rows(rows, n)
    if rows.shape[0] == 0:
        return
    with nogil:
        g = first
        while g < last:
            add_lines(&tables[g, 0, 0], &codes[g, 0], n, &rows[0], rows.shape[0], &sums[0, 0])
            g += BYTES_


def undecided(
    const int16_t[:, ::1] sums,
    int64_t[::1] rows,
    double unit,
    const double[::1] inverse,
    const double[::1] residuals,
    double up,
    double down,
    const double[:, ::1] bands,
    int64_t[::1] below,
):
    """Move the rows that may be inside of a band to the front; returns how many they are.

    O(LANES) for a row.

    Parameters
    ----------
    sums : int16 array of shape (n, LANES)
        Of the members so far, in units.
    rows : int64 array
        Changed in place.
    unit : float
    inverse, residuals : float64 arrays of shape (n,)
    up, down : float
        What the other members can add, and take away, at most.
    bands : float64 array of shape (2, 2)
        From where to where: of mu_i + R_i, and of -mu_i + R_i.
    below : int64 array of shape (2,)
        The rows below the bands, of those left out, are added.
    """
    cdef Py_ssize_t start, at, i, m, kept = 0, n = sums.shape[0]
    cdef double lowest, highest, r
    cdef int16_t[2 * ROWS] ends
    cdef bint first_below, second_below
    require(sums.shape[1] == LANES_ and inverse.shape[0] == n and residuals.shape[0] == n
            and bands.shape[0] == 2 and bands.shape[1] == 2 and below.shape[0] == 2)
    require_rows(rows, n)
    with nogil:
        start = 0
        while start < rows.shape[0]:
            m = min(<Py_ssize_t>ROWS, rows.shape[0] - start)
            extremes(&sums[0, 0], &rows[start], m, ends)
            for at in range(m):
                i = rows[start + at]
                lowest = (unit * ends[2 * at] - down) * inverse[i]
                highest = (unit * ends[2 * at + 1] + up) * inverse[i]
                r = residuals[i]
                first_below = highest + r < bands[0, 0]
                second_below = r - lowest < bands[1, 0]
                if ((first_below or lowest + r > bands[0, 1])
                        and (second_below or r - highest > bands[1, 1])):
                    below[0] += first_below
                    below[1] += second_below
                else:
                    rows[kept] = i
                    kept += 1
            start += m
    return kept


def turn(
    const int16_t[:, ::1] sums, const int64_t[::1] rows, float unit, float[:, ::1] out
):
    """out[q, at] = unit sums[rows[at], q] for the first queries, of shape (queries, len(rows))."""
    require(sums.shape[1] == LANES_ and out.shape[0] <= LANES_ and out.shape[1] == rows.shape[0])
    require_rows(rows, sums.shape[0])
    if out.shape[0] and rows.shape[0]:
        with nogil:
            turn_lines(&sums[0, 0], &rows[0], rows.shape[0], unit, out.shape[0], &out[0, 0])


cdef int require_rows(const int64_t[::1] rows, Py_ssize_t n) except -1:
    """Little beside a loop that takes LANES steps for a row."""
    cdef Py_ssize_t at
    cdef bint fit = True
    for at in range(rows.shape[0]):
        fit &= 0 <= rows[at] < n
    return require(fit)


# --- rows of leaves -------------------------------------------------------------------------------


def fill_leaves(
    const int32_t[::1] leaves,
    const int64_t[::1] rows,
    const double[::1] weights,
    const int32_t[::1] rank,
    Py_ssize_t n_trees,
    int64_t[::1] sizes,
    int32_t[::1] ranks,
    double[::1] shares,
):
    """The rows of one tree in the order of their leaves, and in a leaf in that of their ranks.

    O(n + n_nodes): rows are put into their leaves in the order of their ranks.

    Parameters
    ----------
    leaves : int32 array of shape (n,)
        The node of each row.
    rows : int64 array of shape (k,)
        Those that the tree was fitted to, each once.
    weights : float64 array of shape (k,)
    rank : int32 array of shape (n,)
        Different numbers from 0 to n - 1.
    n_trees : int
        In each leaf the shares sum to 1 / n_trees.
    sizes : int64 array of shape (n_nodes,)
        Output: the number of rows of each node.
    ranks, shares : int32 and float64 arrays of shape (k,)
        Output.
    """
    cdef Py_ssize_t at, i, node, end, k = rows.shape[0], n = rank.shape[0]
    cdef Py_ssize_t n_nodes = sizes.shape[0]
    cdef bint fit = True
    cdef int32_t* place = NULL
    cdef int64_t* start = NULL
    cdef double* total = NULL
    require(leaves.shape[0] == n and weights.shape[0] == k and ranks.shape[0] == k
            and shares.shape[0] == k and n < 2147483647 and n_trees > 0)
    place = <int32_t*>calloc(n + 1, sizeof(int32_t))
    start = <int64_t*>malloc((n_nodes + 1) * sizeof(int64_t))
    total = <double*>calloc(n_nodes + 1, sizeof(double))
    if place == NULL or start == NULL or total == NULL:
        free(place)
        free(start)
        free(total)
        raise MemoryError
    with nogil:
        for node in range(n_nodes):
            sizes[node] = 0
        for at in range(k):
            i = rows[at]
            if not (0 <= i < n and 0 <= rank[i] < n and 0 <= leaves[i] < n_nodes
                    and place[rank[i]] == 0):
                fit = False
                break
            place[rank[i]] = <int32_t>(at + 1)
            sizes[leaves[i]] += 1
            total[leaves[i]] += weights[at]
        if fit:
            end = 0
            for node in range(n_nodes):
                start[node] = end
                end += sizes[node]
                total[node] *= n_trees
            for i in range(n):
                if place[i] == 0:
                    continue
                at = place[i] - 1
                node = leaves[rows[at]]
                ranks[start[node]] = <int32_t>i
                shares[start[node]] = weights[at] / total[node]
                start[node] += 1
        free(place)
        free(start)
        free(total)
    require(fit)


def leaf_quantiles(
    const int64_t[:, ::1] leaves,
    const int64_t[::1] first,
    const int32_t[::1] rank,
    const double[::1] share,
    Py_ssize_t n,
    const double[::1] levels,
    int64_t[:, ::1] out,
):
    """The rank of the target at which the shares of a query's rows reach each level.

    O(s) for the s rows in the leaves of a query: they are divided by their ranks, and only those
    around a level are sorted. The sums of shares are equal to those in any other order up to
    rounding.

    Parameters
    ----------
    leaves : int64 array of shape (m, T)
        Nodes over the whole ensemble.
    first : int64 array of shape (n_nodes + 1,)
        The rows of node k are first[k] ... first[k + 1] - 1.
    rank : int32 array
        Ranks of the targets of the rows.
    share : float64 array of the same shape
    n : int
        Number of training rows.
    levels : float64 array of shape (k,)
        In increasing order.
    out : int64 array of shape (m, k)
        Output.
    """
    cdef Py_ssize_t i, t, at, stop, node, size, most = 0, m = leaves.shape[0], T = leaves.shape[1]
    cdef Py_ssize_t n_nodes = first.shape[0] - 1, n_levels = levels.shape[0]
    cdef bint fit = True
    cdef int32_t low, high
    cdef Search found
    cdef Shared* entries = NULL
    require(share.shape[0] == rank.shape[0] and out.shape[0] == m and out.shape[1] == n_levels
            and n >= 0)
    for i in range(m):
        size = 0
        for t in range(T):
            node = leaves[i, t]
            require(0 <= node < n_nodes and 0 <= first[node] <= first[node + 1] <= rank.shape[0])
            size += first[node + 1] - first[node]
        most = max(most, size)
    if m == 0 or n_levels == 0:
        return
    # And as many to divide them.
    entries = <Shared*>malloc((2 * most + 1) * sizeof(Shared))
    if entries == NULL:
        raise MemoryError
    with nogil:
        for i in range(m):
            size, low, high = 0, 2147483647, -1
            for t in range(T):
                node = leaves[i, t]
                stop = first[node + 1]
                for at in range(first[node], stop):
                    entries[size].rank, entries[size].share = rank[at], share[at]
                    low, high = min(low, rank[at]), max(high, rank[at])
                    size += 1
            if size > 0 and not 0 <= low <= high < n:
                fit = False
                break
            found = Search(&levels[0], n_levels, &out[i, 0], 0, 0.0)
            reach(&found, entries, size, entries + most, low, high)
            while found.n_found < n_levels:  # the shares sum to 1 up to rounding
                found.out[found.n_found] = max(high, 0)
                found.n_found += 1
        free(entries)
    require(fit)


# A row in the leaf of a tree.
cdef struct Shared:
    int32_t rank
    double share


# A walk over the rows of a query in the order of their targets.
cdef struct Search:
    const double* levels
    Py_ssize_t n_levels
    int64_t* out
    Py_ssize_t n_found
    double reached  # the shares so far


cdef bint reach(
    Search* search, Shared* entries, Py_ssize_t size, Shared* spare, int64_t low, int64_t high
) noexcept nogil:
    """Go on over rows of ranks from low to high, which are reordered; whether all levels are found.

    `spare` has room for as many.
    """
    cdef Py_ssize_t[(1 << DIVIDED) + 1] ends
    cdef Py_ssize_t at, start, place, count, n_ranges
    cdef Shared entry
    cdef double total
    cdef int shift = 0
    if size <= INSERTED or low == high:
        if low < high:
            for at in range(1, size):
                entry = entries[at]
                place = at
                while place > 0 and entries[place - 1].rank > entry.rank:
                    entries[place] = entries[place - 1]
                    place -= 1
                entries[place] = entry
        for at in range(size):
            search.reached += entries[at].share
            while search.reached >= search.levels[search.n_found]:
                search.out[search.n_found] = entries[at].rank
                search.n_found += 1
                if search.n_found == search.n_levels:
                    return True
        return False
    while (high - low) >> shift >= 1 << DIVIDED:
        shift += 1
    n_ranges = ((high - low) >> shift) + 1
    for at in range(n_ranges + 1):
        ends[at] = 0
    for at in range(size):
        ends[((entries[at].rank - low) >> shift) + 1] += 1
    for at in range(n_ranges):
        ends[at + 1] += ends[at]
    for at in range(size):
        place = (entries[at].rank - low) >> shift
        spare[ends[place]] = entries[at]
        ends[place] += 1
    start = 0
    for place in range(n_ranges):
        count = ends[place] - start
        total = search.reached
        for at in range(start, ends[place]):
            total += spare[at].share
        if total < search.levels[search.n_found]:
            search.reached = total
        elif count > 0 and reach(
            search, spare + start, count, entries + start,
            low + (place << shift), low + ((place + 1) << shift) - 1
        ):
            return True
        start = ends[place]
    return False


def most_shared(
    const int64_t[:, ::1] leaves,
    const int64_t[::1] first,
    const int32_t[::1] rows,
    const int64_t[::1] excluded,
    int32_t[::1] counts,
    int64_t[::1] places,
    int32_t[:, ::1] shared,
    int64_t[:, ::1] found,
):
    """The rows that share the most leaves with each query; of equal ones the lowest numbers first.

    O(s + n) for s rows in the leaves of a query, and no more memory than is given.

    Parameters
    ----------
    leaves : int64 array of shape (m, T)
        Nodes over the whole ensemble.
    first : int64 array of shape (n_nodes + 1,)
        The rows of node k are rows[first[k]] ... rows[first[k + 1] - 1], each at most once.
    rows : int32 array
        Numbers of rows from 0 to n - 1.
    excluded : int64 array of shape (m,)
        A row that is not a neighbour of the query; -1 is none.
    counts : int32 array of shape (n,)
        Overwritten.
    places : int64 array of shape (T + 1,)
        Overwritten.
    shared, found : int32 and int64 arrays of shape (m, k)
        Output: numbers of leaves, and of rows. k is at most n, and n - 1 where a row is excluded.
    """
    cdef Py_ssize_t i, t, j, at, count, least, left, m = leaves.shape[0], T = leaves.shape[1]
    cdef Py_ssize_t n = counts.shape[0], k = found.shape[1], n_nodes = first.shape[0] - 1
    cdef int64_t node
    cdef bint fit = True
    require(excluded.shape[0] == m and places.shape[0] == T + 1 and 0 < k <= n)
    require(found.shape[0] == m and shared.shape[0] == m and shared.shape[1] == k)
    for at in range(rows.shape[0]):
        require(0 <= rows[at] < n)
    for i in range(m):
        require(-1 <= excluded[i] < n and (excluded[i] < 0 or k < n))
        for t in range(T):
            node = leaves[i, t]
            require(0 <= node < n_nodes and 0 <= first[node] <= first[node + 1] <= rows.shape[0])
    with nogil:
        for i in range(m):
            for j in range(n):
                counts[j] = 0
            for t in range(T):
                node = leaves[i, t]
                for at in range(first[node], first[node + 1]):
                    counts[rows[at]] += 1
            for t in range(T + 1):
                places[t] = 0
            for j in range(n):
                if counts[j] > T:
                    fit = False
                    break
                places[counts[j]] += 1
            if not fit:
                break
            if excluded[i] >= 0:
                places[counts[excluded[i]]] -= 1
            # The least count that is needed, and where the rows of each count begin.
            at = 0
            least = T
            while at + places[least] < k:
                count = places[least]
                places[least] = at
                at += count
                least -= 1
            places[least] = at
            left = k
            for j in range(n):
                count = counts[j]
                if count < least or j == excluded[i] or places[count] >= k:
                    continue
                at = places[count]
                places[count] += 1
                found[i, at] = j
                shared[i, at] = <int32_t>count
                left -= 1
                if left == 0:
                    break
    require(fit)
