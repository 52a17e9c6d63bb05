/* The least pinball loss of the rows on both sides of a cut, while rows move from right to left.

   Rows are numbered in the order of their targets t. With S the weighted sum of the targets of a
   side, W its weight and tau the quantile, the least pinball loss of the side is

       tau S - G,    G = the least sum of targets over parts of the rows of weight tau W,

   so that a cut is best where the sum of G over both sides is largest. The place of a side is the
   row up to which there is just a weight of tau W: when a row comes or goes, it moves a few rows.
   From any place there is a bound of G, by which most cuts are worse than the best one: places are
   then left where they are. The rows of a side are bits, with a bit in a word above for each word
   that is not 0: the next row is mostly in the same word, and the words stay in the first cache. */
#ifndef ENSEMBLE_ORDER_STATISTICS_H
#define ENSEMBLE_ORDER_STATISTICS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "several_rows.h"

#if defined(_MSC_VER)
static inline int first_bit(uint64_t word)
{
    unsigned long place;
    _BitScanForward64(&place, word);
    return (int)place;
}
static inline int last_bit(uint64_t word)
{
    unsigned long place;
    _BitScanReverse64(&place, word);
    return (int)place;
}
#else
#define first_bit(word) __builtin_ctzll(word)
#define last_bit(word) (63 - __builtin_clzll(word))
#endif

/* The weighted target, the weight and the target of a row, in units in which sums are exact. */
typedef struct Ranked {
    double s, w, t;
} Ranked;

/* --- sets of rows ------------------------------------------------------------------------------ */

enum { LEVELS = 5 }; /* of numbers below 64^5 */

typedef struct Places {
    uint64_t *words[LEVELS]; /* each level ends with a word of 0 */
    int n_levels;
} Places;

static inline ptrdiff_t n_words(ptrdiff_t n)
{
    return ((n + 63) >> 6) + 1;
}

/* Of the numbers below n: none, or all of them. */
static inline void make_set(Places *a, ptrdiff_t n, int full)
{
    a->n_levels = 0;
    if (n < 64) { /* mostly, and calls of memset take longer */
        a->words[0][0] = full ? ((uint64_t)1 << n) - 1 : 0;
        a->words[0][1] = 0;
        a->n_levels = 1;
        return;
    }
    do {
        uint64_t *words = a->words[a->n_levels++];
        ptrdiff_t whole = full ? n >> 6 : 0;
        memset(words, 0xFF, whole * sizeof *words);
        memset(words + whole, 0, (n_words(n) - whole) * sizeof *words);
        if (full)
            words[whole] = ((uint64_t)1 << (n & 63)) - 1;
        n = (n + 63) >> 6;
    } while (n > 1);
}

static inline void put_place(Places *a, ptrdiff_t k)
{
    for (int level = 0; level < a->n_levels; level++, k >>= 6) {
        uint64_t *word = a->words[level] + (k >> 6), before = *word;
        *word = before | (uint64_t)1 << (k & 63);
        if (before)
            break;
    }
}

static inline void take_place(Places *a, ptrdiff_t k)
{
    for (int level = 0; level < a->n_levels; level++, k >>= 6) {
        uint64_t *word = a->words[level] + (k >> 6);
        *word &= ~((uint64_t)1 << (k & 63));
        if (*word)
            break;
    }
}

/* Of several numbers; those below 64 are first put together. */
static inline uint64_t word_of(const int32_t *places, ptrdiff_t n)
{
    uint64_t word = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        word |= (uint64_t)1 << places[k];
    return word;
}

static inline void put_places(Places *a, const int32_t *places, ptrdiff_t n)
{
    if (a->n_levels == 1)
        a->words[0][0] |= word_of(places, n);
    else
        for (ptrdiff_t k = 0; k < n; k++)
            put_place(a, places[k]);
}

static inline void move_places(Places *from, Places *to, const int32_t *places, ptrdiff_t n)
{
    put_places(to, places, n);
    if (from->n_levels == 1)
        from->words[0][0] &= ~word_of(places, n);
    else
        for (ptrdiff_t k = 0; k < n; k++)
            take_place(from, places[k]);
}

static inline int has_place(const Places *a, ptrdiff_t k)
{
    return a->words[0][k >> 6] >> (k & 63) & 1;
}

/* The first number from k on; there must be one. */
static inline ptrdiff_t place_from(const Places *a, ptrdiff_t k)
{
    uint64_t word = a->words[0][k >> 6] >> (k & 63);
    if (word)
        return k + first_bit(word);
    int level = 1;
    for (; level < a->n_levels; level++) {
        k = (k >> 6) + 1;
        word = a->words[level][k >> 6] >> (k & 63);
        if (word) {
            k += first_bit(word);
            break;
        }
    }
    while (level-- > 0)
        k = (k << 6) + first_bit(a->words[level][k]);
    return k;
}

/* The last number before k; there must be one. */
static inline ptrdiff_t place_before(const Places *a, ptrdiff_t k)
{
    uint64_t word = a->words[0][k >> 6] & (((uint64_t)1 << (k & 63)) - 1);
    if (word)
        return (k >> 6 << 6) + last_bit(word);
    int level = 1;
    for (; level < a->n_levels; level++) {
        k >>= 6;
        word = a->words[level][k >> 6] & (((uint64_t)1 << (k & 63)) - 1);
        if (word) {
            k = (k >> 6 << 6) + last_bit(word);
            break;
        }
    }
    while (level-- > 0)
        k = (k << 6) + last_bit(a->words[level][k]);
    return k;
}

/* --- two sides ----------------------------------------------------------------------------------

   Numbers of the left and of the right side are computed together, without a branch that depends
   on the data. */

#if defined(__GNUC__)
typedef double Two __attribute__((vector_size(16)));
#define OF(a, side) ((a)[side])
#else
typedef struct Two {
    double of[2];
} Two;
#define OF(a, side) ((a).of[side])
#endif

typedef struct RankedSides {
    Two s, w;             /* of all rows of the side */
    Two below_s, below_w; /* of those up to its place */
    Two at_s, at_w, at_t; /* of the row at the place; sums of 0 where the side does not have it */
    Two place;
    Places left, right; /* the rows, as far as they have been put into the sets */
} RankedSides;

static inline void set_place(RankedSides *a, int side, ptrdiff_t k, const Ranked *row, int is_in)
{
    OF(a->place, side) = (double)k;
    OF(a->at_s, side) = is_in ? row->s : 0.0;
    OF(a->at_w, side) = is_in ? row->w : 0.0;
    OF(a->at_t, side) = row->t;
}

/* All rows are on the right, with these sums up to row k, which becomes the place of both sides. */
static inline void start_sides(
    RankedSides *a, double s, double w, double below_s, double below_w, ptrdiff_t k, const Ranked *row)
{
    a->s = (Two){0.0, s};
    a->w = (Two){0.0, w};
    a->below_s = (Two){0.0, below_s};
    a->below_w = (Two){0.0, below_w};
    set_place(a, 0, k, row, 0);
    set_place(a, 1, k, row, 1);
}

/* `move_row`: row k to the left, in the sums.

   `bound_of`: no less than the sum of G over both sides, by places that need not be quantiles: the
   rows up to the place and equal parts of those above it, or less of the row at the place, or equal
   parts of those below it. G is convex in tau W, so that it is the largest of these lines; where
   there are no rows for one of them, it is 0 / 0, which is not larger. */
#if defined(__GNUC__)
typedef int64_t TwoMasks __attribute__((vector_size(16)));

static inline Two where(TwoMasks mask, Two a)
{
    return (Two)((TwoMasks)a & mask);
}

static inline Two larger(Two a, Two b)
{
    TwoMasks is_first = (TwoMasks)(a > b);
    return (Two)(((TwoMasks)a & is_first) | ((TwoMasks)b & ~is_first));
}

static inline void move_row(RankedSides *a, ptrdiff_t k, const Ranked *row)
{
    Two s = {row->s, -row->s}, w = {row->w, -row->w}, number = {(double)k, (double)k};
    TwoMasks below = (TwoMasks)(number <= a->place), at = (TwoMasks)(number == a->place);
    a->s += s;
    a->w += w;
    a->below_s += where(below, s);
    a->below_w += where(below, w);
    a->at_s += where(at, s);
    a->at_w += where(at, w);
}

static inline double bound_of(const RankedSides *a, double tau)
{
    Two least = tau * a->w, more = least - a->below_w;
    Two above = a->below_s + more * ((a->s - a->below_s) / (a->w - a->below_w));
    Two at = a->below_s + more * a->at_t;
    Two below = (a->below_s - a->at_s) / (a->below_w - a->at_w) * least;
    Two bound = larger(below, larger(above, at));
    return OF(bound, 0) + OF(bound, 1);
}
#else
static inline void move_row(RankedSides *a, ptrdiff_t k, const Ranked *row)
{
    for (int side = 0; side < 2; side++) {
        double s = side ? -row->s : row->s, w = side ? -row->w : row->w;
        double below = k <= OF(a->place, side), at = k == OF(a->place, side);
        OF(a->s, side) += s;
        OF(a->w, side) += w;
        OF(a->below_s, side) += below * s;
        OF(a->below_w, side) += below * w;
        OF(a->at_s, side) += at * s;
        OF(a->at_w, side) += at * w;
    }
}

static inline double bound_of(const RankedSides *a, double tau)
{
    double sum = 0.0;
    for (int side = 0; side < 2; side++) {
        double s = OF(a->s, side), w = OF(a->w, side);
        double below_s = OF(a->below_s, side), below_w = OF(a->below_w, side);
        double least = tau * w, more = least - below_w;
        double above = below_s + more * ((s - below_s) / (w - below_w));
        double at = below_s + more * OF(a->at_t, side);
        double below = (below_s - OF(a->at_s, side)) / (below_w - OF(a->at_w, side)) * least;
        double bound = above > at ? above : at;
        sum += below > bound ? below : bound;
    }
    return sum;
}
#endif

/* Move rows to the left in the order of their codes, from `first` on, until a cut after one of them
   may have a score of at least `least`; the place of this row, or `stop`. There is no cut before
   `from`. */
SEVERAL_ROWS static ptrdiff_t next_candidate(
    RankedSides *sides, const Ranked *rows, const int32_t *places, const uint16_t *codes,
    ptrdiff_t first, ptrdiff_t from, ptrdiff_t stop, double tau, double least)
{
    RankedSides a = *sides;
    ptrdiff_t k = first;
    for (; k < stop; k++) {
        move_row(&a, places[k], rows + places[k]);
        if (k >= from && codes[k + 1] != codes[k] && bound_of(&a, tau) >= least)
            break;
    }
    *sides = a;
    return k;
}

static inline double weight_of(const RankedSides *a, int side)
{
    return OF(a->w, side);
}

/* G of a side, whose place is moved to its quantile. */
static inline double lowest_sum(RankedSides *a, int side, const Ranked *rows, double tau)
{
    const Places *set = side ? &a->right : &a->left;
    double least = tau * OF(a->w, side), s = OF(a->below_s, side), w = OF(a->below_w, side);
    ptrdiff_t k = (ptrdiff_t)OF(a->place, side);
    while (w < least) {
        k = place_from(set, k + 1);
        s += rows[k].s;
        w += rows[k].w;
    }
    for (;;) {
        if (has_place(set, k)) {
            if (w - rows[k].w < least)
                break;
            s -= rows[k].s;
            w -= rows[k].w;
        }
        k = place_before(set, k);
    }
    set_place(a, side, k, rows + k, 1);
    OF(a->below_s, side) = s;
    OF(a->below_w, side) = w;
    return s + rows[k].t * (least - w);
}
#endif
