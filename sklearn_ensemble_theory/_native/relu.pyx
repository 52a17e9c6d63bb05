"""The best hinge over all columns: sums over bins, gains at their edges, rows of the best bins.

The loops of `erm._hinges`, which explains the notation. Sums over rows add in their order; sums
over bins add from the top edge down.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memset
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc

from .arrays cimport require
from .codes cimport all_below

cdef enum:
    # So many bins are searched in the order of their bounds; then the best gain hardly changes.
    IN_ORDER_OF_BOUNDS = 64

# Knots whose bound is below this share under the best gain are not looked at; far above rounding.
cdef double KNOT_MARGIN = 1e-9

ctypedef fused Row:
    int32_t
    int64_t

cdef struct Columns:
    Py_ssize_t n
    Py_ssize_t p
    Py_ssize_t n_bins
    const uint16_t* codes        # (p, n)
    const double* below          # (p, n)
    const Py_ssize_t* starts     # (p, n_bins + 1)
    const double* edges          # (p, n_bins + 1)
    const uint8_t* inside        # (2 p, n_bins)
    const double* span           # (p,); NULL where N²/D is maximised, not |N|

cdef struct Squares:             # NULL where |N| is maximised
    const double* above          # (2 p, n_bins + 1): Q, E and D at every edge
    const double* lever
    const double* square
    double floor                 # the least D that is not rounding

cdef struct BinSums:             # of values
    double[2] parts              # of positive ones, and of negative ones without their sign
    double below                 # times the distance to the upper edge

cdef struct Tables:
    double* mass                 # (2 p, n_bins + 1): S and N at every edge
    double* first
    double* gains                # (2 p, n_gains): at the edges, then in bins without an inside
    double* bounds               # (2 p, n_bins): of the gains inside the bins
    Py_ssize_t n_gains

cdef struct Knot:
    Py_ssize_t row
    double z
    double N
    double D
    double gain

cdef struct Bin:
    Py_ssize_t row
    Py_ssize_t number
    double bound


def bin_moments(
    const uint16_t[:, ::1] codes,
    const double[:, ::1] below,
    const double[::1] values,
    double[:, :, ::1] out,
):
    """Add the sums of values, values * below and values * below² to every bin. O(n p).

    Parameters
    ----------
    codes, below : uint16 and float64 arrays of shape (p, n)
    values : float64 array of shape (n,)
    out : float64 array of shape (p, n_bins, 3)
    """
    cdef Py_ssize_t i, j, p = codes.shape[0], n = values.shape[0]
    cdef double first, u
    cdef double* cell
    require(codes.shape[1] == below.shape[1] == n and below.shape[0] == out.shape[0] == p
            and out.shape[2] == 3)
    require(p == 0 or n == 0 or all_below(&codes[0, 0], p * n, out.shape[1]))
    with nogil:
        for j in range(p):
            for i in range(n):
                cell = &out[j, codes[j, i], 0]
                u = below[j, i]
                first = values[i] * u
                cell[0] += values[i]
                cell[1] += first
                cell[2] += first * u


def best_hinge(
    const Row[:, ::1] order,
    const uint16_t[:, ::1] codes,
    const double[:, ::1] below,
    const Py_ssize_t[:, ::1] starts,
    const double[:, ::1] edges,
    const uint8_t[:, ::1] inside,
    const double[::1] span or None,
    const double[:, ::1] above or None,
    const double[:, ::1] lever or None,
    const double[:, ::1] square or None,
    const double[::1] moment,
    const double[::1] weight,
    double floor,
    double constant,
    double tolerance,
):
    """(row, z, N, D, gain) of the best hinge; None if none beats the constant.

    O(n p) and, for each of the few bins that can hold a better knot than the best edge, O(rows).

    Parameters
    ----------
    order, codes, below, starts, edges, inside : arrays
        Of a `HingeIndex`.
    span : float64 array of shape (p,), or None
        The ranges of the columns: |N| is maximised, in units of x. None maximises N²/D.
    above, lever, square : float64 arrays of shape (2 p, n_bins + 1), or None
        Q, E and D at every edge; not used with `span`.
    moment, weight : float64 arrays of shape (n,)
    floor : float
        The least D that is not rounding.
    constant : float
        The gain of the constant.
    tolerance : float
        Gains that differ by less than this share of the best one are tied: the first hinge wins.
    """
    cdef Columns columns
    cdef Squares squares
    cdef Tables tables
    cdef Knot best
    cdef bint is_square = span is None
    cdef int found
    cdef Py_ssize_t j, b, p = codes.shape[0], n = moment.shape[0], n_bins = edges.shape[1] - 1
    require(n > 0 and p > 0 and n_bins > 0 and weight.shape[0] == n
            and order.shape[0] == below.shape[0] == starts.shape[0] == edges.shape[0] == p
            and order.shape[1] == codes.shape[1] == below.shape[1] == n
            and starts.shape[1] == n_bins + 1
            and inside.shape[0] == 2 * p and inside.shape[1] == n_bins)
    require(is_square or span.shape[0] == p)
    require(not is_square
            or (above.shape[0] == lever.shape[0] == square.shape[0] == 2 * p
                and above.shape[1] == lever.shape[1] == square.shape[1] == n_bins + 1))
    require(all_below(&codes[0, 0], p * n, n_bins))
    for j in range(p):
        for b in range(n_bins):
            require(0 <= starts[j, b] <= starts[j, b + 1] <= n)
    columns = Columns(
        n=n, p=p, n_bins=n_bins, codes=&codes[0, 0], below=&below[0, 0], starts=&starts[0, 0],
        edges=&edges[0, 0], inside=&inside[0, 0], span=NULL)
    if is_square:
        squares = Squares(
            above=&above[0, 0], lever=&lever[0, 0], square=&square[0, 0], floor=floor)
    else:
        columns.span = &span[0]
    tables.n_gains = 2 * n_bins + 1 if is_square else n_bins + 1
    tables.mass = <double*>PyMem_RawMalloc(
        2 * p * (2 * (n_bins + 1) + tables.n_gains + n_bins) * sizeof(double)
        + 2 * p * n_bins * (sizeof(Bin) + sizeof(Knot)) + 2 * n_bins * sizeof(BinSums))
    if tables.mass == NULL:
        raise MemoryError
    cdef Bin* bins
    cdef Knot* knots
    cdef BinSums* sums
    with nogil:
        tables.first = tables.mass + 2 * p * (n_bins + 1)
        tables.gains = tables.first + 2 * p * (n_bins + 1)
        tables.bounds = tables.gains + 2 * p * tables.n_gains
        bins = <Bin*>(tables.bounds + 2 * p * n_bins)
        knots = <Knot*>(bins + 2 * p * n_bins)
        sums = <BinSums*>(knots + 2 * p * n_bins)
        for j in range(p):
            if j % 2 == 0:
                signed_sums(&columns, j, &moment[0], sums)
            gains_of_row(&columns, &squares, j, sums + j % 2 * n_bins, &tables)
            gains_of_row(&columns, &squares, j + p, sums + j % 2 * n_bins, &tables)
        found = search(&columns, &squares, &order[0, 0], &moment[0], &weight[0], constant,
                       tolerance, &tables, bins, knots, &best)
        PyMem_RawFree(tables.mass)
    require(found >= 0)
    return (best.row, best.z, best.N, best.D, best.gain) if found else None


# --- sums and gains by bin ------------------------------------------------------------------------

cdef void signed_sums(
    const Columns* columns, Py_ssize_t j, const double* values, BinSums* sums
) noexcept nogil:
    """Sums of values by their sign, and of values * below, in the bins of columns j and j + 1."""
    cdef Py_ssize_t i, n = columns.n, n_columns = min(columns.p - j, 2)
    cdef const uint16_t* codes = columns.codes + j * n
    cdef const double* below = columns.below + j * n
    cdef double value, size
    cdef bint sign
    cdef BinSums* cell
    cdef BinSums* next_cell
    cdef BinSums* next_sums = sums + columns.n_bins
    memset(sums, 0, n_columns * columns.n_bins * sizeof(BinSums))
    if n_columns == 1:
        for i in range(n):
            cell = sums + codes[i]
            cell.parts[values[i] < 0] += fabs(values[i])
            cell.below += values[i] * below[i]
        return
    for i in range(n):  # each value is read once for both columns
        value, size = values[i], fabs(values[i])
        sign = value < 0
        cell, next_cell = sums + codes[i], next_sums + codes[n + i]
        cell.parts[sign] += size
        cell.below += value * below[i]
        next_cell.parts[sign] += size
        next_cell.below += value * below[n + i]


cdef inline double best_between(
    double N, double S, double D, double E, double Q, double h
) noexcept nogil:
    """Where N(u)²/D(u) is largest in [0, h]; see `_hinges.best_between`."""
    cdef double bottom = N * Q - S * E
    if D <= 0 or fabs(bottom) <= 1e-14 * (fabs(N) * Q + fabs(S) * E):
        return h
    return min(max((S * D - N * E) / bottom, 0.0), h)


cdef inline double in_atomic_bin(
    const Squares* squares, const Tables* tables, Py_ssize_t n_bins, Py_ssize_t row, Py_ssize_t b,
    bint mirrored, double width, Knot* knot,
) noexcept nogil:
    """u of the best knot of a bin whose rows lie at one edge; its N and D are written."""
    cdef Py_ssize_t at = row * (n_bins + 1) + b, atom = at + 1 if mirrored else at
    cdef double N = tables.first[at + 1], S = tables.mass[atom], D = squares.square[at + 1]
    cdef double E = squares.lever[at + 1], Q = squares.above[atom]
    cdef double u = best_between(N, S, D, E, Q, width)
    knot.N = N + S * u
    knot.D = D + (2 * E + Q * u) * u
    return u


cdef void gains_of_row(
    const Columns* columns, const Squares* squares, Py_ssize_t row, const BinSums* sums,
    const Tables* tables,
) noexcept nogil:
    """Fill in the sums above the edges, the gains at them and the bounds inside the bins."""
    cdef Py_ssize_t n_bins = columns.n_bins, b, bin_, k
    cdef bint mirrored = row >= columns.p, is_square = columns.span == NULL
    cdef Py_ssize_t j = row - columns.p if mirrored else row
    cdef const double* edges = columns.edges + j * (n_bins + 1)
    cdef const uint8_t* inside = columns.inside + row * n_bins
    cdef double* mass = tables.mass + row * (n_bins + 1)
    cdef double* first = tables.first + row * (n_bins + 1)
    cdef double* bounds = tables.bounds + row * n_bins
    cdef double* gains = tables.gains + row * tables.n_gains
    cdef const double* square = NULL
    cdef double width, own, lift, size, factor = 1.0, floor = 0.0
    cdef Knot knot
    if is_square:
        square = squares.square + row * (n_bins + 1)
        floor = squares.floor
    else:
        factor = columns.span[j]
    mass[n_bins] = first[n_bins] = 0.0
    for b in range(n_bins - 1, -1, -1):
        bin_ = n_bins - 1 - b if mirrored else b
        width = edges[bin_ + 1] - edges[bin_]
        own = sums[bin_].parts[0] - sums[bin_].parts[1]
        lift = sums[bin_].below if mirrored else width * own - sums[bin_].below
        mass[b] = mass[b + 1] + own
        first[b] = first[b + 1] + (lift + width * mass[b + 1])
        bounds[b] = -INFINITY
        if inside[b]:
            # N is at most the larger of its two ends and its deviation, D least at the upper edge.
            size = max(fabs(first[b]), fabs(first[b + 1]))
            size += max(sums[bin_].parts[0], sums[bin_].parts[1]) * width / 4
            if not is_square:
                bounds[b] = size * factor
            elif floor < square[b + 1]:
                bounds[b] = size * size / square[b + 1]
            else:
                bounds[b] = INFINITY
    if not is_square:
        for k in range(n_bins + 1):
            gains[k] = fabs(first[k]) * factor
        return
    for k in range(n_bins + 1):
        gains[k] = first[k] * first[k] / square[k] if floor < square[k] else 0.0
    gains += n_bins + 1
    for b in range(n_bins):
        gains[b] = -1.0
        if not inside[b]:
            bin_ = n_bins - 1 - b if mirrored else b
            width = edges[bin_ + 1] - edges[bin_]
            in_atomic_bin(squares, tables, n_bins, row, b, mirrored, width, &knot)
            gains[b] = knot.N * knot.N / knot.D if floor < knot.D else 0.0


# --- the search -----------------------------------------------------------------------------------

cdef int search(
    const Columns* columns, const Squares* squares, const Row* order, const double* moment,
    const double* weight, double constant, double tolerance, const Tables* tables, Bin* bins,
    Knot* knots, Knot* chosen,
) noexcept nogil:
    """Edges first, then the insides of bins that can hold a better knot, the best bound first.

    1 where one is better than the constant, else 0; -1 where `order` holds a number that is no row.
    """
    cdef Py_ssize_t n_bins = columns.n_bins, n_rows = 2 * columns.p, n_gains = tables.n_gains
    cdef Py_ssize_t row, b, k, turn, other, n_likely = 0, n_knots = 0
    cdef double best = constant, slack
    cdef bint found = False
    cdef Bin kept
    for k in range(n_rows * n_gains):
        best = max(best, tables.gains[k])
    for row in range(n_rows):
        for b in range(n_bins):
            bins[n_likely] = Bin(row, b, tables.bounds[row * n_bins + b])
            n_likely += bins[n_likely].bound > best
    for turn in range(n_likely):
        if turn < IN_ORDER_OF_BOUNDS:
            k = turn
            for other in range(turn + 1, n_likely):
                if bins[other].bound > bins[k].bound:
                    k = other
            kept = bins[turn]
            bins[turn] = bins[k]
            bins[k] = kept
        if bins[turn].bound < best:
            continue
        if not search_bin(columns, squares, order, &bins[turn], tables, moment, weight,
                          best - KNOT_MARGIN * fabs(best), &knots[n_knots]):
            return -1
        best = max(best, knots[n_knots].gain)
        n_knots += 1
    slack = tolerance * fabs(best)
    if not best > constant + slack:
        return 0
    # Of tied hinges the first row, and in it the first knot, but edges before insides.
    for k in range(n_rows * n_gains):
        if tables.gains[k] >= best - slack:
            at_edge(columns, squares, k // n_gains, k % n_gains, tables, chosen)
            found = True
            break
    for k in range(n_knots):
        if knots[k].gain >= best - slack and (
                not found or knots[k].row < chosen.row
                or knots[k].row == chosen.row and knots[k].z < chosen.z):
            chosen[0] = knots[k]
            found = True
    return found


cdef inline double edge(
    const Columns* columns, Py_ssize_t j, bint mirrored, Py_ssize_t k
) noexcept nogil:
    """z of the k-th edge of a column in its own orientation."""
    cdef const double* edges = columns.edges + j * (columns.n_bins + 1)
    return 1 - edges[columns.n_bins - k] if mirrored else edges[k]


cdef void at_edge(
    const Columns* columns, const Squares* squares, Py_ssize_t row, Py_ssize_t k,
    const Tables* tables, Knot* knot,
) noexcept nogil:
    """Write the hinge of an edge, or of a bin without an inside."""
    cdef Py_ssize_t n_bins = columns.n_bins, b, bin_
    cdef bint mirrored = row >= columns.p
    cdef Py_ssize_t j = row - columns.p if mirrored else row
    cdef const double* edges = columns.edges + j * (n_bins + 1)
    cdef double width
    knot.row, knot.gain = row, tables.gains[row * tables.n_gains + k]
    if k <= n_bins:
        knot.z, knot.N = edge(columns, j, mirrored, k), tables.first[row * (n_bins + 1) + k]
        knot.D = squares.square[row * (n_bins + 1) + k] if columns.span == NULL else 1.0
        return
    b = k - n_bins - 1
    bin_ = n_bins - 1 - b if mirrored else b
    width = edges[bin_ + 1] - edges[bin_]
    knot.z = edge(columns, j, mirrored, b + 1) - in_atomic_bin(
        squares, tables, n_bins, row, b, mirrored, width, knot)


cdef bint search_bin(
    const Columns* columns, const Squares* squares, const Row* order, const Bin* likely,
    const Tables* tables, const double* moment, const double* weight, double enough, Knot* knot,
) noexcept nogil:
    """Write the best knot inside a bin; the gain is -inf if none reaches `enough`.

    False where `order` holds a number that is no row.
    """
    cdef Py_ssize_t n_bins = columns.n_bins, row = likely.row, b = likely.number
    cdef bint mirrored = row >= columns.p
    cdef Py_ssize_t j = row - columns.p if mirrored else row
    cdef Py_ssize_t bin_ = n_bins - 1 - b if mirrored else b
    cdef const Py_ssize_t* starts = columns.starts + j * (n_bins + 1)
    cdef const double* edges = columns.edges + j * (n_bins + 1)
    cdef const double* below = columns.below + j * columns.n
    cdef const Row* rows = order + j * columns.n + starts[bin_]
    cdef Py_ssize_t m = starts[bin_ + 1] - starts[bin_]
    cdef double width = edges[bin_ + 1] - edges[bin_]
    cdef bint fits
    if columns.span == NULL:
        fits = inside_least_squares(
            columns.n, rows, m, below, mirrored, width, row * (n_bins + 1) + b + 1, squares, tables,
            moment, weight, enough, knot)
    else:
        fits = inside_inner_product(
            columns.n, rows, m, below, mirrored, width, row * (n_bins + 1) + b + 1, tables, moment,
            knot)
        knot.gain *= columns.span[j]
    knot.row, knot.z = row, edge(columns, j, mirrored, b + 1) - knot.z
    return fits


cdef bint inside_least_squares(
    Py_ssize_t n, const Row* rows, Py_ssize_t m, const double* below, bint mirrored, double width,
    Py_ssize_t upper, const Squares* squares, const Tables* tables, const double* moment,
    const double* weight, double enough, Knot* best,
) noexcept nogil:
    """Write N, D and the gain of the best knot inside a bin; z is its distance to the upper edge.

    `below` is the distance to the upper edge in the column's own orientation. S, Q, E are the sums
    over the rows of the bin above a knot, NV and V what they take from N and add to D.
    """
    cdef double S_upper = tables.mass[upper], N_upper = tables.first[upper]
    cdef double Q_upper = squares.above[upper], E_upper = squares.lever[upper]
    cdef double D_upper = squares.square[upper], floor = squares.floor
    cdef double S = 0.0, NV = 0.0, Q = 0.0, E = 0.0, V = 0.0, knot = 0.0
    cdef double N, D, level, end, room, to_end, S_here, Q_here, u, gain, w, wt
    cdef Py_ssize_t i, row = 0
    best.z, best.N, best.D, best.gain = 0.0, 0.0, 0.0, -INFINITY
    for i in range(m + 1):
        end = width
        if i < m:
            row = rows[i] if mirrored else rows[m - 1 - i]
            if not 0 <= row < n:
                return False
            end = max(width - below[row], 0.0) if mirrored else below[row]
        N = N_upper + knot * (S_upper + S) - NV
        level = E_upper + knot * (Q_upper + Q) - E
        D = D_upper + knot * (2 * E_upper + knot * Q_upper)
        D += max(knot * (knot * Q - 2 * E) + V, 0.0)
        S_here, Q_here, room = S_upper + S, Q_upper + Q, max(end - knot, 0.0)
        to_end = N + S_here * room
        # N² is largest at an end and D least here, which excludes most knots without a division.
        if not floor < D or max(N * N, to_end * to_end) >= enough * D:
            u = best_between(N, S_here, D, level, Q_here, room)
            N, D = N + S_here * u, D + (2 * level + Q_here * u) * u
            gain = N * N / D if floor < D else 0.0
            if gain > best.gain:
                best.z, best.N, best.D, best.gain = knot + u, N, D, gain
        if i < m:
            w, wt, knot = weight[row], moment[row], end
            S += wt
            NV += wt * knot
            Q += w
            E += w * knot
            V += w * (knot * knot)
    return True


cdef bint inside_inner_product(
    Py_ssize_t n, const Row* rows, Py_ssize_t m, const double* below, bint mirrored, double width,
    Py_ssize_t upper, const Tables* tables, const double* moment, Knot* best,
) noexcept nogil:
    """Write N and |N| of the best knot inside a bin; z is its distance to the upper edge."""
    cdef double S_upper = tables.mass[upper], N_upper = tables.first[upper]
    cdef double S = 0.0, NV = 0.0, N, knot
    cdef Py_ssize_t i, row
    best.z, best.N, best.D, best.gain = 0.0, 0.0, 1.0, -1.0
    for i in range(m):
        row = rows[i] if mirrored else rows[m - 1 - i]
        if not 0 <= row < n:
            return False
        knot = max(width - below[row], 0.0) if mirrored else below[row]
        S += moment[row]
        NV += moment[row] * knot
        N = N_upper + knot * S_upper + (knot * S - NV)
        if fabs(N) > best.gain:
            best.z, best.N, best.gain = knot, N, fabs(N)
    return True
