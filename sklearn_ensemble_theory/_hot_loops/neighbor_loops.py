"""Nearest neighbours of many points in Euclidean space, for hundreds of neighbours per query.

A k-d tree of even halves. A query first guesses the distance of its k-th neighbour from every
`SAMPLE_STEP`-th point around it, then collects the points within that distance and counts them:
fewer than k, and the guess was too small. The points found are sorted by the bits of their squared
distances, which are in the order of the numbers.

Bounds of boxes are rounded like the distances, term by term, so that no box with a point within the
distance is left out.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

SAMPLE_STEP = 16
# A guess is made from a part of the tree with at least so many points for each neighbour wanted.
POINTS_PER_NEIGHBOR = 64
# Sorting by the leading bits, in two passes; what they leave is nearly sorted.
SHORT_DIGIT, LONG_DIGIT = 8, 11
LONG_DIGIT_ITEMS = 512
FEW_ITEMS = 48
MOVES_PER_ITEM = 16


@jit
def _partition(keys, items, first, last, middle):
    """Put the entry that belongs to place `middle` of keys[first:last + 1] there."""
    while last > first:
        # the median of three, so that sorted columns do not take quadratic time
        a, b, c = keys[first], keys[(first + last) // 2], keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                items[i], items[j] = items[j], items[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@jit
def build_tree(points, n_levels):
    """A tree of 2^n_levels leaves over the rows of an array of shape (n, d).

    Returns
    -------
    order : int array of shape (n,)
        The point at each place of the tree.
    columns : array of shape (d, n)
        The points by place.
    sample : array of shape (d, ceil(n / SAMPLE_STEP))
        Every SAMPLE_STEP-th of them.
    boxes : array of shape (n_nodes, 2, d)
        Least and largest coordinates of each node; node i has the children 2 i + 1 and 2 i + 2.
    places : int array of shape (n_nodes, 2)
        First and last + 1 place of each node.
    """
    n, d = points.shape
    n_nodes = 2 ** (n_levels + 1) - 1
    order, keys = np.arange(n), np.empty(n)
    boxes, places = np.empty((n_nodes, 2, d)), np.zeros((n_nodes, 2), np.int64)
    places[0, 1] = n
    # depth first: the points of a small part stay in the processor's cache
    stack, depth = np.zeros(n_levels + 2, np.int64), 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        start, stop = places[node, 0], places[node, 1]
        low, high = boxes[node, 0], boxes[node, 1]
        for c in range(d):
            low[c], high[c] = np.inf, -np.inf
        for i in range(start, stop):
            for c in range(d):
                x = points[order[i], c]
                low[c], high[c] = min(low[c], x), max(high[c], x)
        if 2 * node + 2 >= n_nodes:
            continue
        widest = 0
        for c in range(1, d):
            if high[c] / 2 - low[c] / 2 > high[widest] / 2 - low[widest] / 2:
                widest = c
        for i in range(start, stop):
            keys[i] = points[order[i], widest]
        middle = (start + stop) // 2
        _partition(keys, order, start, stop - 1, middle)
        places[2 * node + 1, 0], places[2 * node + 1, 1] = start, middle
        places[2 * node + 2, 0], places[2 * node + 2, 1] = middle, stop
        stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
        depth += 2
    columns = np.empty((d, n))
    for i in range(n):
        for c in range(d):
            columns[c, i] = points[order[i], c]
    sample = columns[:, ::SAMPLE_STEP].copy()
    return order, columns, sample, boxes, places


@jit
def _box_distance(box, query):
    """The square of the distance from a point to a box."""
    total = 0.0
    for c in range(len(query)):
        apart = max(max(box[0, c] - query[c], query[c] - box[1, c]), 0.0)
        total += apart * apart
    return total


@jit
def _squares(columns, start, stop, query, out):
    """Squared distances to the points at some places."""
    first, out = columns[0, start:stop], out[: stop - start]
    for i in range(len(out)):
        apart = first[i] - query[0]
        out[i] = apart * apart
    for c in range(1, len(query)):
        column = columns[c, start:stop]
        for i in range(len(out)):
            apart = column[i] - query[c]
            out[i] += apart * apart


@jit
def _guess(tree, query, k, earlier, values, items):
    """A squared distance within which about k points and a few more lie.

    `earlier` is one that another query guessed: where it is enough here too, the sampled points
    beyond it are left out before the selection.
    """
    sample, boxes, places = tree[2], tree[3], tree[4]
    node = 0
    while 2 * node + 2 < len(boxes):
        left, right = 2 * node + 1, 2 * node + 2
        nearer = left
        if _box_distance(boxes[right], query) < _box_distance(boxes[left], query):
            nearer = right
        if places[nearer, 1] - places[nearer, 0] < POINTS_PER_NEIGHBOR * k:
            break
        node = nearer
    start = (places[node, 0] + SAMPLE_STEP - 1) // SAMPLE_STEP
    stop = (places[node, 1] + SAMPLE_STEP - 1) // SAMPLE_STEP
    expected = k / SAMPLE_STEP
    rank = int(expected + 2 * np.sqrt(expected)) + 1
    if rank >= stop - start:
        return np.inf
    _squares(sample, start, stop, query, values)
    n_near, limit = 0, 1.5 * earlier
    near = values[stop - start :]
    for i in range(stop - start):
        near[n_near] = values[i]
        n_near += values[i] <= limit
    if n_near <= rank:
        near, n_near = values, stop - start
    _partition(near, items, 0, n_near - 1, rank)
    return near[rank]


@jit
def _collect(tree, query, limit, stack, leaf, squares, at):
    """Write the squared distances up to `limit`, and their places; return their number."""
    columns, boxes, places = tree[1], tree[3], tree[4]
    depth, count = 1, 0
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if _box_distance(boxes[node], query) > limit:
            continue
        if 2 * node + 2 < len(boxes):
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
            continue
        start, stop = places[node, 0], places[node, 1]
        _squares(columns, start, stop, query, leaf)
        for i in range(stop - start):
            squares[count] = leaf[i]
            at[count] = start + i
            count += leaf[i] <= limit
    return count


@jit
def _insertion_sort(keys, items, n, max_moves):
    """Sort in place; False where it takes more than `max_moves`."""
    moves = 0
    for i in range(1, n):
        key, item = keys[i], items[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j], items[j] = keys[j - 1], items[j - 1]
            j -= 1
        keys[j], items[j] = key, item
        moves += i - j
        if moves > max_moves:
            return False
    return True


@jit
def _digit_pass(n, shift, mask, low, source, target, counts):
    """Sort by one digit of `keys - low`, stably."""
    keys, items = source
    new_keys, new_items = target
    counts[: mask + 1] = 0
    for i in range(n):
        counts[((keys[i] - low) >> shift) & mask] += 1
    total = 0
    for digit in range(mask + 1):
        total, counts[digit] = total + counts[digit], total
    for i in range(n):
        digit = ((keys[i] - low) >> shift) & mask
        place = counts[digit]
        new_keys[place], new_items[place] = keys[i], items[i]
        counts[digit] = place + 1


@jit
def sort_pairs(keys, items, n, spare, counts):
    """Sort n non-negative int64 keys in place, and the items with them.

    Parameters
    ----------
    keys, items : int64 arrays of length n or more
    n : int
    spare : tuple of two int64 arrays like them
    counts : int64 array of length 2^LONG_DIGIT
    """
    if n <= FEW_ITEMS:
        _insertion_sort(keys, items, n, n * n)
        return
    low = high = keys[0]
    for i in range(1, n):
        low, high = min(low, keys[i]), max(high, keys[i])
    n_bits = 0
    while n_bits < 63 and ((high - low) >> n_bits) > 0:
        n_bits += 1
    width = LONG_DIGIT if n >= LONG_DIGIT_ITEMS else SHORT_DIGIT
    mask = (1 << width) - 1
    shift = max(n_bits - 2 * width, 0)
    here, there = (keys, items), spare
    _digit_pass(n, shift, mask, low, here, there, counts)
    _digit_pass(n, shift + width, mask, low, there, here, counts)
    if shift == 0 or _insertion_sort(keys, items, n, MOVES_PER_ITEM * n):
        return
    for shift in range(0, n_bits, 2 * width):
        _digit_pass(n, shift, mask, low, here, there, counts)
        _digit_pass(n, min(shift + width, 62), mask, low, there, here, counts)


@jit
def nearest_points(tree, queries, k, distances, found):
    """The k nearest points of each query, nearest first.

    Parameters
    ----------
    tree : result of `build_tree`
    queries : array of shape (m, d), C order
    k : int
        At most the number of points.
    distances, found : arrays of shape (m, k)
        Filled with the distances and the numbers of the points.
    """
    order, columns, boxes = tree[0], tree[1], tree[3]
    n = columns.shape[1]
    # The last point looked at is written before it is known whether it counts.
    squares, at = np.empty(n + 1), np.empty(n + 1, np.int64)
    keys = squares.view(np.int64)
    spare = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    counts, stack = np.empty(2**LONG_DIGIT, np.int64), np.empty(128, np.int64)
    leaf = np.empty(n // ((len(boxes) + 1) // 2) + 2)
    limit = 0.0
    for row in range(len(queries)):
        query = queries[row]
        limit = _guess(tree, query, k, limit, squares, at)
        count = _collect(tree, query, limit, stack, leaf, squares, at)
        while count < k:
            limit = 2 * limit if limit > 0 and limit < 1e300 else np.inf
            count = _collect(tree, query, limit, stack, leaf, squares, at)
        sort_pairs(keys, at, count, spare, counts)
        for i in range(k):
            distances[row, i] = np.sqrt(squares[i])
            found[row, i] = order[at[i]]


@jit
def leave_out(distances, points, own, kept):
    """Copy all neighbours of each row but one to `kept`, arrays (distances, points).

    The one is the point own[i] of row i, or the last one if that is not among the neighbours.
    """
    kept_distances, kept_points = kept
    last = points.shape[1] - 1
    for i in range(len(points)):
        skipped = 0
        for k in range(last):
            if not skipped and points[i, k] == own[i]:
                skipped = 1
            kept_distances[i, k] = distances[i, k + skipped]
            kept_points[i, k] = points[i, k + skipped]


@jit
def tie_starts(distances, share, starts):
    """Whether each neighbour is farther than the one before: distances[k - 1] < share * [k]."""
    for i in range(len(distances)):
        starts[i, 0] = True
        for k in range(1, distances.shape[1]):
            starts[i, k] = distances[i, k - 1] < share * distances[i, k]
