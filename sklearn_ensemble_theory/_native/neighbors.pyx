"""Nearest neighbours of many points in Euclidean space, for hundreds of neighbours per query.

A k-d tree of even halves. A query first guesses the distance of its k-th neighbour from every
`SAMPLE_STEP`-th point around it, then collects the points within that distance and counts them:
fewer than k, and the guess was too small. What was found is sorted by squared distance; equal ones
stay in the order of the tree, so the result does not depend on how queries are divided into calls.

Bounds of boxes are rounded like the distances, term by term, so that no box with a point within the
distance is left out.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc

from .arrays cimport require

cdef extern from "neighbors.h" nogil:
    void squares_to(
        const double*, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*)
    void starts_of_row(const double*, Py_ssize_t, double, uint8_t*)

cdef enum:
    SAMPLE_STEP = 16
    # A guess is made from a part of the tree with at least so many points for each neighbour.
    POINTS_PER_NEIGHBOR = 64
    # Leaves hold up to so many times the number of points that is asked for: small leaves save
    # distances, large ones read them in order of memory, which is faster.
    POINTS_PER_LEAF = 5
    # Sorting by the leading bits, in two passes; what they leave is nearly sorted.
    SHORT_DIGIT = 8
    LONG_DIGIT = 11
    LONG_DIGIT_ITEMS = 512
    FEW_ITEMS = 48
    MOVES_PER_ITEM = 16
    MOST_LEVELS = 62

cdef struct Entry:
    double key
    int64_t item

cdef struct Places:
    Py_ssize_t start
    Py_ssize_t stop

cdef struct Tree:
    Py_ssize_t n
    Py_ssize_t d
    Py_ssize_t n_nodes       # node i has the children 2 i + 1 and 2 i + 2
    int64_t* order           # the point at each place
    double* columns          # (d, n): the points by place
    double* sample           # (d, n_sampled): every SAMPLE_STEP-th of them
    Py_ssize_t n_sampled
    double* boxes            # (n_nodes, 2, d): least and largest coordinates
    Places* places           # of each node

cdef struct Work:
    double* squares          # of a leaf, or of sampled points
    Entry* near              # the points found; one more than there are
    Entry* spare
    Py_ssize_t[1 << LONG_DIGIT] counts
    Py_ssize_t[MOST_LEVELS + 2] stack


cdef class PointTree:
    """A k-d tree over the rows of an array of shape (n, d), finite and n, d > 0. O(n d log n).

    Halves are made along the longest side of the box of a node, until a leaf holds at most
    5 `leaf_size` points. Queries only read: they may run in several threads.
    """

    cdef Tree tree
    cdef void* memory

    def __cinit__(self, const double[:, ::1] points, Py_ssize_t leaf_size):
        cdef Py_ssize_t n = points.shape[0], d = points.shape[1], levels = 0, i, c
        cdef Tree* tree = &self.tree
        cdef Entry* entries
        require(n > 0 and d > 0 and leaf_size > 0)
        require_finite(points)
        leaf_size = min(leaf_size, n)  # five times that does not overflow
        while (n >> levels) > POINTS_PER_LEAF * leaf_size:
            levels += 1
        tree.n, tree.d, tree.n_nodes = n, d, (<Py_ssize_t>2 << levels) - 1
        tree.n_sampled = (n + SAMPLE_STEP - 1) // SAMPLE_STEP
        cdef size_t room = (
            (n + d * (n + tree.n_sampled + 2 * tree.n_nodes)) * sizeof(double)
            + tree.n_nodes * sizeof(Places))
        self.memory = PyMem_RawMalloc(room)
        entries = <Entry*>PyMem_RawMalloc(n * sizeof(Entry))
        if self.memory == NULL or entries == NULL:
            PyMem_RawFree(entries)
            raise MemoryError
        tree.columns = <double*>self.memory
        tree.sample = tree.columns + d * n
        tree.boxes = tree.sample + d * tree.n_sampled
        tree.order = <int64_t*>(tree.boxes + 2 * d * tree.n_nodes)
        tree.places = <Places*>(tree.order + n)
        with nogil:
            divide(tree, &points[0, 0], entries)
            for i in range(n):
                tree.order[i] = entries[i].item
                for c in range(d):
                    tree.columns[c * n + i] = points[tree.order[i], c]
            for c in range(d):
                for i in range(tree.n_sampled):
                    tree.sample[c * tree.n_sampled + i] = tree.columns[c * n + i * SAMPLE_STEP]
            PyMem_RawFree(entries)

    def __dealloc__(self):
        PyMem_RawFree(self.memory)

    def nearest(
        self,
        const double[:, ::1] queries,
        double[:, ::1] distances,
        int64_t[:, ::1] found,
    ):
        """The k nearest points of each query, nearest first.

        O(log n + k) points a query are looked at in few dimensions, and sorted in O(k).

        Parameters
        ----------
        queries : float64 array of shape (m, d), finite
        distances, found : float64 and int64 arrays of shape (m, k), 0 < k <= n
            Output: the distances and the numbers of the points.
        """
        cdef Py_ssize_t row, i, count, m = queries.shape[0], k = found.shape[1]
        cdef const Tree* tree = &self.tree
        cdef const double* query
        cdef double limit = 0.0
        cdef Work* work
        cdef size_t room
        require(queries.shape[1] == tree.d and distances.shape[0] == found.shape[0] == m
                and distances.shape[1] == k and 0 < k <= tree.n)
        require_finite(queries)
        if m == 0:
            return
        # The squares of a leaf or of the sample: neither has more points than the tree.
        room = sizeof(Work) + tree.n * sizeof(double) + 2 * (tree.n + 1) * sizeof(Entry)
        work = <Work*>PyMem_RawMalloc(room)
        if work == NULL:
            raise MemoryError
        work.near = <Entry*>(work + 1)
        work.spare = work.near + tree.n + 1
        work.squares = <double*>(work.spare + tree.n + 1)
        with nogil:
            for row in range(m):
                query = &queries[row, 0]
                limit = guess(tree, query, k, limit, work)
                count = collect(tree, query, limit, work)
                while count < k:
                    limit = 2 * limit if 0 < limit < 1e300 else INFINITY
                    count = collect(tree, query, limit, work)
                sort_entries(work.near, count, work.spare, work.counts)
                for i in range(k):
                    distances[row, i] = sqrt(work.near[i].key)
                    found[row, i] = tree.order[work.near[i].item]
            PyMem_RawFree(work)


def leave_out(
    const double[:, ::1] distances,
    const int64_t[:, ::1] points,
    const int64_t[::1] own,
    double[:, ::1] kept_distances,
    int64_t[:, ::1] kept_points,
):
    """Copy k - 1 of the k neighbours of each row: all but one. O(m k).

    The one is the point own[i] of row i, or the last one if that is not among the neighbours.
    """
    cdef Py_ssize_t i, k, after, m = points.shape[0], last = points.shape[1] - 1
    require(last >= 0 and distances.shape[0] == own.shape[0] == m
            and distances.shape[1] == last + 1
            and kept_distances.shape[0] == kept_points.shape[0] == m
            and kept_distances.shape[1] == kept_points.shape[1] == last)
    if last == 0:
        return
    with nogil:
        for i in range(m):
            k = 0
            while k < last and points[i, k] != own[i]:
                k += 1
            after = (last - k) * sizeof(double)  # bytes, as many for a point
            memcpy(&kept_distances[i, 0], &distances[i, 0], k * sizeof(double))
            memcpy(&kept_points[i, 0], &points[i, 0], k * sizeof(int64_t))
            memcpy(&kept_distances[i, 0] + k, &distances[i, 0] + k + 1, after)
            memcpy(&kept_points[i, 0] + k, &points[i, 0] + k + 1, after)


def tie_starts(const double[:, ::1] distances, double share, uint8_t[:, ::1] starts):
    """Whether each neighbour is farther than the one before: distances[k - 1] < share * [k]."""
    cdef Py_ssize_t i, n_columns = distances.shape[1]
    require(n_columns > 0 and starts.shape[0] == distances.shape[0]
            and starts.shape[1] == n_columns)
    with nogil:
        for i in range(distances.shape[0]):
            starts_of_row(&distances[i, 0], n_columns, share, &starts[i, 0])


def count_nearer(
    const int64_t[:, ::1] points,
    const uint8_t[:, ::1] starts,
    const int64_t[::1] counts or None,
    const int64_t[::1] own or None,
    int64_t[::1] nearer,
):
    """How many training rows are certainly nearer than the last group of ties. O(m k).

    Parameters
    ----------
    points : int64 array of shape (m, k)
        Neighbours, the nearest first.
    starts : uint8 array of shape (m, k)
        Whether each is farther than the one before.
    counts : int64 array or None
        The rows of each point, 0 or more; None for one each.
    own : int64 array of shape (m,) or None
        The point of which one row is left out; only with `counts`.
    nearer : int64 array of shape (m,)
        Output.
    """
    cdef Py_ssize_t i, j, last, m = points.shape[0], k = points.shape[1]
    cdef bint has_own = own is not None
    require(k > 0 and nearer.shape[0] == m)
    require_points(points, starts, counts, own)
    with nogil:
        for i in range(m):
            last = k - 1
            while last > 0 and not starts[i, last]:
                last -= 1
            nearer[i] = last
            if counts is None:
                continue
            nearer[i] = 0
            for j in range(last):
                nearer[i] += counts[points[i, j]] - (has_own and points[i, j] == own[i])


def means_by_rank(
    const int64_t[:, ::1] points,
    const uint8_t[:, ::1] starts,
    const int64_t[::1] counts or None,
    const int64_t[::1] own or None,
    const double[::1] sums,
    const double[::1] own_targets or None,
    double[:, ::1] means,
):
    """The mean target at each rank: of all rows that are tied there. O(m k).

    Parameters
    ----------
    points, starts, counts, own
        As in `count_nearer`. Together the neighbours of a row are as many rows as there are ranks.
    sums : float64 array
        Of the targets of each point.
    own_targets : float64 array of shape (m,)
        Those of the rows that are left out; only with `own`.
    means : float64 array of shape (m, n_ranks)
        Output.
    """
    cdef Py_ssize_t i, j, rank, m = points.shape[0], k = points.shape[1]
    cdef Py_ssize_t n_ranks = means.shape[1]
    cdef int64_t point, count, stop
    cdef double total
    cdef bint has_own = own is not None, fit = True
    require(means.shape[0] == m)
    require_points(points, starts, counts, own)
    require(not has_own or (own_targets is not None and own_targets.shape[0] == m))
    require(counts is None or counts.shape[0] == sums.shape[0])
    require_below(points, sums.shape[0])
    with nogil:
        for i in range(m):
            j = rank = 0
            while rank < n_ranks and j < k:
                # Rows that are alone at their distance.
                while counts is None and j + 1 < k and starts[i, j + 1] and rank < n_ranks:
                    means[i, rank] = sums[points[i, j]]
                    j += 1
                    rank += 1
                if rank == n_ranks:
                    break
                total = 0.0
                count = 0
                while True:
                    point = points[i, j]
                    total += sums[point]
                    count += 1 if counts is None else counts[point]
                    if has_own and point == own[i]:
                        total -= own_targets[i]
                        count -= 1
                    j += 1
                    if j == k or starts[i, j]:
                        break
                stop = min(rank + count, n_ranks)
                if count > 1:
                    total /= count
                while rank < stop:
                    means[i, rank] = total
                    rank += 1
            fit &= rank == n_ranks
    require(fit)


cdef int require_points(
    const int64_t[:, ::1] points,
    const uint8_t[:, ::1] starts,
    const int64_t[::1] counts,
    const int64_t[::1] own,
) except -1:
    require(starts.shape[0] == points.shape[0] and starts.shape[1] == points.shape[1])
    require(own is None or (counts is not None and own.shape[0] == points.shape[0]))
    if counts is not None:
        require_below(points, counts.shape[0])
    return 0


cdef int require_below(const int64_t[:, ::1] points, Py_ssize_t n) except -1:
    """Little beside what looks the points up."""
    cdef Py_ssize_t i, j
    cdef bint fit = True
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            fit &= 0 <= points[i, j] < n
    return require(fit)


cdef int require_finite(const double[:, ::1] points) except -1:
    """Without this a search for points within any distance would not end."""
    cdef Py_ssize_t i, c
    cdef bint finite = True
    for i in range(points.shape[0]):
        for c in range(points.shape[1]):
            finite &= points[i, c] - points[i, c] == 0
    return require(finite)


# --- the tree -------------------------------------------------------------------------------------

cdef void partition(
    Entry* entries, Py_ssize_t first, Py_ssize_t last, Py_ssize_t middle
) noexcept nogil:
    """Put the entry that belongs to place `middle` of entries[first ... last] there."""
    cdef Py_ssize_t i, j
    cdef double a, b, c, pivot
    cdef Entry kept
    while last > first:
        # the median of three, so that sorted columns do not take quadratic time
        a, b, c = entries[first].key, entries[(first + last) // 2].key, entries[last].key
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while entries[i].key < pivot:
                i += 1
            while entries[j].key > pivot:
                j -= 1
            if i <= j:
                kept = entries[i]
                entries[i] = entries[j]
                entries[j] = kept
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


cdef void divide(Tree* tree, const double* points, Entry* entries) noexcept nogil:
    """Fill in the boxes and the places of the nodes, and bring the entries into their order."""
    cdef Py_ssize_t d = tree.d, node, start, stop, middle, widest, i, c
    cdef Py_ssize_t[MOST_LEVELS + 2] stack
    cdef Py_ssize_t depth = 1
    cdef double* low
    cdef double* high
    cdef const double* point
    for i in range(tree.n):
        entries[i].item = i
    tree.places[0].start, tree.places[0].stop = 0, tree.n
    stack[0] = 0
    # Depth first: the points of a small part stay in the processor's cache.
    while depth > 0:
        depth -= 1
        node = stack[depth]
        start, stop = tree.places[node].start, tree.places[node].stop
        low = tree.boxes + 2 * d * node
        high = low + d
        for c in range(d):
            low[c], high[c] = INFINITY, -INFINITY
        for i in range(start, stop):
            point = points + entries[i].item * d
            for c in range(d):
                low[c], high[c] = min(low[c], point[c]), max(high[c], point[c])
        if 2 * node + 2 >= tree.n_nodes:
            continue
        widest = 0
        for c in range(1, d):
            # halves, whose difference cannot overflow
            if high[c] / 2 - low[c] / 2 > high[widest] / 2 - low[widest] / 2:
                widest = c
        for i in range(start, stop):
            entries[i].key = points[entries[i].item * d + widest]
        middle = (start + stop) // 2
        partition(entries, start, stop - 1, middle)
        tree.places[2 * node + 1].start, tree.places[2 * node + 1].stop = start, middle
        tree.places[2 * node + 2].start, tree.places[2 * node + 2].stop = middle, stop
        stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
        depth += 2


# --- one query ------------------------------------------------------------------------------------

cdef inline double box_distance(
    const double* low, const double* query, Py_ssize_t d
) noexcept nogil:
    """The square of the distance from a point to a box."""
    cdef double total = 0.0, apart
    cdef const double* high = low + d
    cdef Py_ssize_t c
    for c in range(d):
        apart = max(max(low[c] - query[c], query[c] - high[c]), 0.0)
        total += apart * apart
    return total


cdef double guess(
    const Tree* tree, const double* query, Py_ssize_t k, double earlier, Work* work
) noexcept nogil:
    """A squared distance within which about k points and a few more lie.

    `earlier` is one that another query guessed: where it is enough here too, the sampled points
    beyond it are left out before the selection.
    """
    cdef Py_ssize_t node = 0, nearer, start, stop, m, rank, i, n_near = 0, d = tree.d
    cdef double expected = <double>k / SAMPLE_STEP, limit = 1.5 * earlier
    cdef double* squares = work.squares
    cdef Entry* near = work.near
    while 2 * node + 2 < tree.n_nodes:
        nearer = 2 * node + 1
        if (box_distance(tree.boxes + 2 * d * (nearer + 1), query, d)
                < box_distance(tree.boxes + 2 * d * nearer, query, d)):
            nearer += 1
        if tree.places[nearer].stop - tree.places[nearer].start < POINTS_PER_NEIGHBOR * k:
            break
        node = nearer
    start = (tree.places[node].start + SAMPLE_STEP - 1) // SAMPLE_STEP
    stop = (tree.places[node].stop + SAMPLE_STEP - 1) // SAMPLE_STEP
    m = stop - start
    rank = <Py_ssize_t>(expected + 2 * sqrt(expected)) + 1
    if rank >= m:
        return INFINITY
    squares_to(tree.sample + start, tree.n_sampled, m, query, d, squares)
    # Without a branch: each point is written, and overwritten by the next one if it is too far.
    for i in range(m):
        near[n_near].key = squares[i]
        n_near += squares[i] <= limit
    if n_near <= rank:
        n_near = m
        for i in range(m):
            near[i].key = squares[i]
    partition(near, 0, n_near - 1, rank)
    return near[rank].key


cdef Py_ssize_t collect(
    const Tree* tree, const double* query, double limit, Work* work
) noexcept nogil:
    """Write the points with squared distances up to `limit`; return their number."""
    cdef Py_ssize_t depth = 1, count = 0, d = tree.d, node, start, m, i
    cdef Py_ssize_t* stack = work.stack
    cdef Entry* near = work.near
    cdef double* squares = work.squares
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if box_distance(tree.boxes + 2 * d * node, query, d) > limit:
            continue
        if 2 * node + 2 < tree.n_nodes:
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
            continue
        start = tree.places[node].start
        m = tree.places[node].stop - start
        squares_to(tree.columns + start, tree.n, m, query, d, squares)
        # The last point looked at is written before it is known whether it counts.
        for i in range(m):
            near[count].key = squares[i]
            near[count].item = start + i
            count += squares[i] <= limit
    return count


# --- sorting --------------------------------------------------------------------------------------

cdef inline int64_t bits_of(double key) noexcept nogil:
    """The bits of a number that is not negative: integers in the order of the numbers."""
    cdef int64_t bits
    memcpy(&bits, &key, sizeof(double))
    return bits


cdef bint insertion_sort(Entry* entries, Py_ssize_t n, Py_ssize_t max_moves) noexcept nogil:
    """Sort in place, stably; False where it takes more than `max_moves`."""
    cdef Py_ssize_t i, j, moves = 0
    cdef Entry entry
    for i in range(1, n):
        entry = entries[i]
        j = i
        while j > 0 and entries[j - 1].key > entry.key:
            entries[j] = entries[j - 1]
            j -= 1
        entries[j] = entry
        moves += i - j
        if moves > max_moves:
            return False
    return True


cdef void digit_pass(
    const Entry* source, Py_ssize_t n, int shift, int width, int64_t low, Entry* target,
    Py_ssize_t* counts,
) noexcept nogil:
    """Sort by one digit of the bits minus `low`, stably."""
    cdef Py_ssize_t i, digit, count, total = 0, n_digits = <Py_ssize_t>1 << width
    memset(counts, 0, n_digits * sizeof(Py_ssize_t))
    for i in range(n):
        counts[((bits_of(source[i].key) - low) >> shift) & (n_digits - 1)] += 1
    for digit in range(n_digits):
        count = counts[digit]
        counts[digit] = total
        total += count
    for i in range(n):
        digit = ((bits_of(source[i].key) - low) >> shift) & (n_digits - 1)
        target[counts[digit]] = source[i]
        counts[digit] += 1


cdef void sort_entries(
    Entry* entries, Py_ssize_t n, Entry* spare, Py_ssize_t* counts
) noexcept nogil:
    """Sort n entries by keys that are not negative, in place and stably. O(n)."""
    cdef Py_ssize_t i
    cdef int n_bits = 0, width = LONG_DIGIT if n >= LONG_DIGIT_ITEMS else SHORT_DIGIT, shift
    cdef int64_t low, high
    cdef double least, largest
    if n <= FEW_ITEMS:
        insertion_sort(entries, n, n * n)
        return
    least = largest = entries[0].key
    for i in range(1, n):
        least, largest = min(least, entries[i].key), max(largest, entries[i].key)
    low, high = bits_of(least), bits_of(largest)
    while n_bits < 63 and ((high - low) >> n_bits) > 0:
        n_bits += 1
    shift = max(n_bits - 2 * width, 0)
    digit_pass(entries, n, shift, width, low, spare, counts)
    digit_pass(spare, n, shift + width, width, low, entries, counts)
    if shift == 0 or insertion_sort(entries, n, MOVES_PER_ITEM * n):
        return
    shift = 0
    while shift < n_bits:
        digit_pass(entries, n, shift, width, low, spare, counts)
        digit_pass(spare, n, min(shift + width, 62), width, low, entries, counts)
        shift += 2 * width
