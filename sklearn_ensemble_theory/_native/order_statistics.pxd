"""The least pinball loss of the rows on one side of a cut, while rows come and go.

Rows are numbered in the order of their targets t. With S the weighted sum of the targets of a side,
W its weight and tau the quantile, the least pinball loss of the side is

    tau S - G,    G = sum of the targets over the lowest weight of tau W,

so that a cut is best where the sum of G over both sides is largest. Row `place` is the first one up
to which there is a weight of at least tau W: when a row comes or goes, it moves a few rows. The
rows of a side are bits, with a bit in a word above for each word that is not 0: the next row is
found in O(log64 n), mostly in the same word, and the words stay in the processor's first cache.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from .growth cimport lowest_bit

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int highest_bit(uint64_t word)
    {
        unsigned long place;
        _BitScanReverse64(&place, word);
        return (int)place;
    }
    #else
    #define highest_bit(word) (63 - __builtin_clzll(word))
    #endif
    """
    # The place of the highest bit of a word that is not 0.
    int highest_bit(uint64_t) noexcept nogil

cdef enum:
    # Sets of numbers below 64^5.
    LEVELS = 5


# The weighted target, the weight and the target of a row, all in units in which sums are exact.
cdef struct Ranked:
    double s, w, t


cdef struct Places:
    uint64_t* words[LEVELS]
    int n_levels


cdef struct Side:
    Places rows
    double s, w  # of all rows
    double below_s, below_w  # of those up to `place`
    Py_ssize_t place


cdef inline Py_ssize_t n_words(Py_ssize_t n) noexcept nogil:
    """Of a level with n bits; the last one stays 0."""
    return ((n + 63) >> 6) + 1


cdef inline void make_empty(Places* a, Py_ssize_t n) noexcept nogil:
    """Room for the numbers below n, none of which is in the set."""
    a.n_levels = 0
    while True:
        memset(a.words[a.n_levels], 0, n_words(n) * sizeof(uint64_t))
        a.n_levels += 1
        n = (n + 63) >> 6
        if n <= 1:
            break


cdef inline void make_full(Places* a, Py_ssize_t n) noexcept nogil:
    cdef int level
    make_empty(a, n)
    for level in range(a.n_levels):
        memset(a.words[level], 0xFF, (n >> 6) * sizeof(uint64_t))
        a.words[level][n >> 6] = ((<uint64_t>1) << (n & 63)) - 1
        n = (n + 63) >> 6


cdef inline void put_place(Places* a, Py_ssize_t k) noexcept nogil:
    cdef int level
    cdef uint64_t word
    for level in range(a.n_levels):
        word = a.words[level][k >> 6]
        a.words[level][k >> 6] = word | (<uint64_t>1 << (k & 63))
        if word != 0:
            break
        k >>= 6


cdef inline void take_place(Places* a, Py_ssize_t k) noexcept nogil:
    cdef int level
    cdef uint64_t word
    for level in range(a.n_levels):
        word = a.words[level][k >> 6] & ~(<uint64_t>1 << (k & 63))
        a.words[level][k >> 6] = word
        if word != 0:
            break
        k >>= 6


cdef inline bint has_place(const Places* a, Py_ssize_t k) noexcept nogil:
    return a.words[0][k >> 6] >> (k & 63) & 1


cdef inline Py_ssize_t next_row(const Places* a, Py_ssize_t k) noexcept nogil:
    """The first row from k on; there must be one. Every level ends with a word of 0."""
    cdef int level = 1
    cdef uint64_t word = a.words[0][k >> 6] >> (k & 63)
    if word != 0:
        return k + lowest_bit(word)
    while level < a.n_levels:
        k = (k >> 6) + 1
        word = a.words[level][k >> 6] >> (k & 63)
        if word != 0:
            k += lowest_bit(word)
            break
        level += 1
    while level > 0:
        level -= 1
        k = (k << 6) + lowest_bit(a.words[level][k])
    return k


cdef inline Py_ssize_t row_before(const Places* a, Py_ssize_t k) noexcept nogil:
    """The last row before k; there must be one."""
    cdef int level = 1
    cdef uint64_t word = a.words[0][k >> 6] & ((<uint64_t>1 << (k & 63)) - 1)
    if word != 0:
        return (k & ~<Py_ssize_t>63) + highest_bit(word)
    while level < a.n_levels:
        k >>= 6
        word = a.words[level][k >> 6] & ((<uint64_t>1 << (k & 63)) - 1)
        if word != 0:
            k = (k & ~<Py_ssize_t>63) + highest_bit(word)
            break
        level += 1
    while level > 0:
        level -= 1
        k = (k << 6) + highest_bit(a.words[level][k])
    return k


cdef inline void add_row(Side* a, Py_ssize_t k, const Ranked* row) noexcept nogil:
    cdef double below = 1.0 if k <= a.place else 0.0
    put_place(&a.rows, k)
    a.s += row.s
    a.w += row.w
    a.below_s += below * row.s
    a.below_w += below * row.w


cdef inline void drop_row(Side* a, Py_ssize_t k, const Ranked* row) noexcept nogil:
    cdef double below = 1.0 if k <= a.place else 0.0
    take_place(&a.rows, k)
    a.s -= row.s
    a.w -= row.w
    a.below_s -= below * row.s
    a.below_w -= below * row.w


cdef inline double lowest_sum(Side* a, const Ranked* rows, double tau) noexcept nogil:
    """G of a side that has rows, whose place is moved to its quantile."""
    cdef double least = tau * a.w
    cdef Py_ssize_t k = a.place
    while a.below_w < least:
        k = next_row(&a.rows, k + 1)
        a.below_s += rows[k].s
        a.below_w += rows[k].w
    while True:
        if has_place(&a.rows, k):
            if a.below_w - rows[k].w < least:
                break
            a.below_s -= rows[k].s
            a.below_w -= rows[k].w
        k = row_before(&a.rows, k)
    a.place = k
    return a.below_s + rows[k].t * (least - a.below_w)
