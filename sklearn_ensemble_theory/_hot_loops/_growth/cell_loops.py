"""The best cut of one feature at a node whose rows are counted by their codes, in many bins.

Every bin has a cell of sums. There may be far more cells than rows: the cells that hold rows are
listed first, and emptied at the end, so that a search takes as long as there are rows. Between
searches all cells and all words are 0.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops._growth.cut_loops import (
    CUT,
    GINI,
    NO_CUT,
    PACKED,
    SQUARED_ERROR,
    UNKNOWN,
    cut_score,
    unpack,
)
from sklearn_ensemble_theory._hot_loops.compilation import jit_part

# With fewer rows than a quarter of the cells, those that hold rows are marked in words of bits.
SHARE_OF_CELLS = 4
WORD_BITS, IN_WORD, WORD = 5, 31, 0xFFFFFFFF
# A word with one bit, multiplied by this number, has the bit's place in the uppermost five bits.
DE_BRUIJN = 0x077CB531
BIT_PLACES = np.empty(32, dtype=np.int64)
for _k in range(32):
    BIT_PLACES[((DE_BRUIJN << _k) & WORD) >> 27] = _k
# A cut whose score, computed without a division, is below the best by more than this is worse.
NEARLY = 1 - 1e-12


@jit_part
def mark(words, code):
    """Set the bit of a code."""
    words[code >> WORD_BITS] |= 1 << (code & IN_WORD)


@jit_part
def marked_cells(words, n_cells, missing, cells):
    """List the marked codes in increasing order, and clear the marks; the number of codes."""
    n_full = 0
    for k in range((n_cells + IN_WORD) >> WORD_BITS):
        word = words[k]
        if word == 0:
            continue
        words[k] = 0
        while word != 0:
            bit = word & -word
            cells[n_full] = (k << WORD_BITS) + BIT_PLACES[((bit * DE_BRUIJN) & WORD) >> 27]
            n_full += 1
            word ^= bit
    word = words[missing >> WORD_BITS]
    if word != 0:
        words[missing >> WORD_BITS] = 0
        cells[n_full] = missing
        n_full += 1
    return n_full


@jit_part
def full_cells(sums, n_cells, missing, cells):
    """The same from the cells themselves."""
    n_full = 0
    for c in range(n_cells):
        cells[n_full] = c
        n_full += sums[c] != 0
    if sums[missing] != 0:
        cells[n_full] = missing
        n_full += 1
    return n_full


@jit_part
def plain_cut_of_cells(h, cells, n_full, bits, total, best):
    """`cut_of_cells` for packed integers, no missing value and no rule."""
    found, at = NO_CUT, 0
    low = (1 << bits) - 1
    s_all, w_all = total[0], total[1]
    q = 0
    for k in range(n_full - 1):
        q += h[cells[k]]
        h[cells[k]] = 0
        s, w = float(q >> bits), float(q & low)
        s2, w2 = s_all - s, w_all - w
        if s * s * w2 + s2 * s2 * w >= best * (w * w2) * NEARLY:
            score = s * s / w + s2 * s2 / w2
            if score > best:
                best, found, at = score, CUT, (cells[k] + cells[k + 1]) // 2
    h[cells[n_full - 1]] = 0
    return found, best, at, UNKNOWN


@jit_part
def cut_of_cells(h, g, full, form, bits, total, rules, constraint, best):
    """The best cut of the cells, if it beats `best`; they are 0 afterwards.

    Parameters
    ----------
    h, g : int64 arrays of shape (missing + 1,)
        The sums in each bin of the integers of the form; the last bin is that of missing values.
        g is not read for PACKED.
    full : (int32 cells, int n_full, int missing)
        The codes of the cells that hold rows, in increasing order; at least two.

    Returns
    -------
    status : int
        NO_CUT or CUT.
    score : float
    code : int
        Rows with at most this code go to the left.
    missing_left : int
        1, 0 or UNKNOWN.
    """
    cells, n_full, missing = full
    has_missing = cells[n_full - 1] == missing
    n_known = n_full - 1 if has_missing else n_full
    found, at, to_left = NO_CUT, 0, 0
    plain = (
        rules[0] in (SQUARED_ERROR, GINI)
        and rules[1] == 0
        and rules[2] == 1
        and rules[3] <= 0
        and constraint[0] == 0
    )
    if plain and form == PACKED and not has_missing:
        return plain_cut_of_cells(h, cells, n_full, bits, total, best)
    for search in range(2 if has_missing else 1):
        # With missing values on the left, they come first. With them on the right, the last cut
        # is between all values and them.
        q = h[missing] if search == 1 else 0
        r = g[missing] if search == 1 else 0
        stop = n_known if has_missing and search == 0 else n_known - 1
        for k in range(stop):
            c = cells[k]
            q += h[c]
            if form != PACKED:
                r += g[c]
            s, w, n = unpack(form, bits, q, r)
            score = cut_score(s, w, n, total, rules, constraint)
            if score > best:
                best, found = score, CUT
                at = missing - 1 if k + 1 == n_known else (c + cells[k + 1]) // 2
                to_left = search if has_missing else UNKNOWN
    for k in range(n_full):
        h[cells[k]] = g[cells[k]] = 0
    return found, best, at, to_left
