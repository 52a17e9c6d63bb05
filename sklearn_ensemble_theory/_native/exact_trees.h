/* The growth of exact trees on ranks: what does not depend on the size of a rank.

   The trees are scikit-learn's, bit for bit. It adds up numbers in the order in which its sorts and
   partitions leave the rows of a node, and a sort that is not stable decides on rows of equal values:
   where sums are rounded, that order is kept. Sums of whole weights are exact in any order. */
#ifndef ENSEMBLE_EXACT_TREES_H
#define ENSEMBLE_EXACT_TREES_H

#include <math.h>
#include <string.h>

#include "forest_trees.h"

#if defined(_MSC_VER)
static inline int lowest_of(uint64_t bits)
{
    unsigned long place;
    _BitScanForward64(&place, bits);
    return (int)place;
}
#else
#define lowest_of(bits) __builtin_ctzll(bits)
#endif

/* Rows of smaller nodes are sorted by keys: a rank times 64 plus the row's place. */
#define SMALL_NODE 40
#define PLACES 63
/* Of fewer rows, keys are parted one by one. */
#define FEW_KEYS 24
/* So many cuts are compared with the best one together. */
#define CUTS_OF_BLOCK 128
/* A cut whose score, computed without a division, is below the best by more than this is worse. */
#define NEARLY (1 - 1e-12)
#define EPSILON 2.220446049250313e-16
/* Values of a node that are no further above the one before are no other values. */
#define LEAST_GAP 1e-7f

/* NUMBERS: real targets. COUNTS: classes of whole weights, by Gini. CLASSES: any others. */
enum { NUMBERS, COUNTS, CLASSES };
enum { CONSTANT, NO_CUT, CUT };

typedef union {
    struct { double wy, w; } number;
    struct { int32_t label, w; } count;
    struct { double w; int32_t label; } real;
} Target;

static inline void set_number(Target *one, double y, double w)
{
    one->number.wy = w * y;
    one->number.w = w;
}

static inline void set_count(Target *one, int64_t label, double w)
{
    one->count.label = (int32_t)label;
    one->count.w = (int32_t)w;
}

static inline void set_class(Target *one, int64_t label, double w)
{
    one->real.label = (int32_t)label;
    one->real.w = w;
}

typedef struct {
    ptrdiff_t n, p;
    int is_wide;                      /* ranks of 4 bytes, not 2 */
    const void *by_column, *by_row;   /* ranks of shape (p, n) and (n, p) */
    const float *values;              /* the distinct values of all columns, one after another */
    const int64_t *first;             /* where those of each column begin, and the end */
    const uint64_t *near;             /* a bit for each value: whether the next is within the gap */
    const int64_t *near_at;           /* where the bits of each column begin; -1 where none is set */
} RankedColumns;

typedef struct {
    int kind, is_entropy, is_random, n_classes, max_features, max_depth, min_split, min_leaf;
    int few_keys;                     /* scikit-learn's sort inserts up to so many keys, ... */
    int natural;                      /* ... and is as deep as the natural logarithm, not the binary */
    float least_gap;                  /* LEAST_GAP, or 0 in early releases; for random cuts */
    double min_weight, min_decrease, total_weight;
    uint32_t state;
} ExactRules;

typedef struct {
    int32_t *left, *right, *feature;
    double *threshold;
    uint8_t *missing_left;
    double *impurity;
    int64_t *n_rows;
    double *weight, *value;
    int count, depth;
} ExactNodes;

/* Sums of a node. square: of the weights of its classes. */
typedef struct { double s, w, yy; int64_t square; } NodeSums;

/* A row with all its copies, whose weights are whole. */
typedef struct { double wy; int32_t w, n_copies; } WholeRow;

/* The best cut so far, between the ranks at and after. unscaled: Σ_side Σ_class W²/W, of counts.
   Of a random cut: the key of the threshold, and how many rows are on the left, which are parted
   where the feature is the last one that was searched. second: the next best score, of rough sums. */
typedef struct {
    double score, unscaled, threshold, second;
    int32_t at, after;
    int is_parted;
} BestCut;

#define NO_BEST {-INFINITY, -INFINITY, 0, -INFINITY, 0, 0, 0}

typedef struct {
    int start, stop, first_distinct, last_distinct, depth, parent, is_left, n_known;
    double impurity;
} NodeTask;

typedef struct {
    RankedColumns columns;
    ExactRules rules;
    ExactNodes nodes;
    int m;                            /* rows of the tree */
    /* Where rows are drawn, the distinct ones, those of a node next to each other; else NULL. */
    int32_t *distinct;
    int n_distinct;
    /* Where rough sums choose the cuts, by row, else NULL; and the largest target. */
    WholeRow *whole_row;
    double largest;
    /* Features by which the rows of a node are sorted, times 2, plus 1 if rows are tied there. */
    int32_t *sorted_by;
    int n_sorted_by;
    /* The rows sorted by a feature, and how many of them are tied before each place. */
    int32_t *sorted, *n_tied;
    Target *target;                   /* by row, as wyy */
    double *wyy;
    int32_t *rows;                    /* those of a node next to each other */
    int32_t *features, *constants;    /* as in scikit-learn's splitter */
    NodeTask *waiting;
    /* The rows of a node in the order of a column, and their ranks. */
    int32_t *order, *rank;
    /* The row of a rank; and of each row the one before it of the same rank, or -1. */
    int32_t *of_rank, *before;
    /* Whether a rank occurs, and whether one of 64 does; empty between searches. */
    uint64_t *marks, *marked;
    uint64_t *keys;
    /* Weights of classes: in the node and left of a cut, for COUNTS and for others; of ranks. */
    int64_t *whole_counts, *left_counts, *cells;
    int32_t *rows_of_cell;
    double *whole, *left;
    /* Of a node of two rows: the score of a cut with each on the left. */
    int32_t first_of_two;
    double alone[2];
} Exact;

static inline uint32_t next_of(uint32_t *state)
{
    uint32_t x = *state ? *state : 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x & 0x7FFFFFFF;
}

static inline void swap_places(int32_t *a, ptrdiff_t i, ptrdiff_t j)
{
    int32_t x = a[i];
    a[i] = a[j];
    a[j] = x;
}

/* The features that a node searches, drawn as scikit-learn's splitter draws them: known constants
   first, those found in this node after them, then what has not been drawn. place: of the last one. */
typedef struct {
    int32_t *features;
    int n_known, n_constant, n_drawn, n_found, n_visited, rest, place;
} FeatureDraw;

static FeatureDraw begin_draw(Exact *g, NodeTask *task)
{
    FeatureDraw d = {g->features, task->n_known, task->n_known, 0, 0, 0, (int)g->columns.p, 0};
    return d;
}

/* The next feature, or -1. */
static inline int next_feature(Exact *g, FeatureDraw *d)
{
    while (d->rest > d->n_constant
           && (d->n_visited < g->rules.max_features || d->n_visited <= d->n_found + d->n_drawn)) {
        d->n_visited++;
        int drawn = d->n_drawn
            + (int)(next_of(&g->rules.state) % (uint32_t)(d->rest - d->n_found - d->n_drawn));
        if (drawn < d->n_known) {
            swap_places(d->features, d->n_drawn++, drawn);
            continue;
        }
        d->place = drawn + d->n_found;
        return d->features[d->place];
    }
    return -1;
}

static inline void put_away(FeatureDraw *d, int is_constant)
{
    swap_places(d->features, d->place, is_constant ? d->n_constant++ : --d->rest);
    d->n_found += is_constant;
}

/* The order of the known constants is that of the parent for both children. */
static void end_draw(Exact *g, FeatureDraw *d, NodeTask *task)
{
    memcpy(d->features, g->constants, d->n_known * sizeof(int32_t));
    memcpy(g->constants + d->n_known, d->features + d->n_known, d->n_found * sizeof(int32_t));
    task->n_known = d->n_constant;
}

/* --- scikit-learn's sort of (rank, row) in one word, of which the row is not compared ------------ */

#define KEY(x) ((uint32_t)((x) >> 32))

static inline void swap_keys(uint64_t *a, ptrdiff_t i, ptrdiff_t j)
{
    uint64_t x = a[i];
    a[i] = a[j];
    a[j] = x;
}

/* A stable sort of at most 15 keys: the place of each is the number of those before it. */
static inline void insertion_sort(uint64_t *a, ptrdiff_t n)
{
    int32_t keys[16], place[8];
    uint64_t old[16];
    if (n < 2)
        return;
    if (n == 2) {
        if (KEY(a[0]) > KEY(a[1]))
            swap_keys(a, 0, 1);
        return;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        old[k] = a[k];
        keys[k] = (int32_t)(KEY(a[k]) << 4 | k);
    }
    for (ptrdiff_t k = n; k < 16; k++)
        keys[k] = 0x7FFFFFFF;
    for (ptrdiff_t first = 0; first < n; first += 8) {
        count_smaller(keys, n, keys + first, place);
        for (int i = 0; i < 8 && first + i < n; i++)
            a[place[i]] = old[first + i];
    }
}

static void sift_down(uint64_t *a, ptrdiff_t start, ptrdiff_t end)
{
    for (ptrdiff_t root = start;;) {
        ptrdiff_t child = 2 * root + 1, largest = root;
        if (child < end && KEY(a[largest]) < KEY(a[child]))
            largest = child;
        if (child + 1 < end && KEY(a[largest]) < KEY(a[child + 1]))
            largest = child + 1;
        if (largest == root)
            return;
        swap_keys(a, root, largest);
        root = largest;
    }
}

static void heap_sort(uint64_t *a, ptrdiff_t n)
{
    for (ptrdiff_t start = (n - 2) / 2; start >= 0; start--)
        sift_down(a, start, n);
    for (ptrdiff_t end = n - 1; end > 0; end--) {
        swap_keys(a, 0, end);
        sift_down(a, 0, end);
    }
}

static inline uint32_t middle_of_three(const uint64_t *a, ptrdiff_t n)
{
    uint32_t x = KEY(a[0]), y = KEY(a[n / 2]), z = KEY(a[n - 1]);
    if (x < y)
        return y < z ? y : x < z ? z : x;
    if (y < z)
        return x < z ? x : z;
    return y;
}

/* `few` is 15, or 1 where keys are not inserted. There may be one word before a and two behind. Where
   `n_tied` is not NULL, parts of the result without tied places are not sorted: the order of equal
   keys elsewhere does not depend on them. */
static void sort_keys(uint64_t *a, ptrdiff_t n, int depth, int few, const int32_t *n_tied)
{
    while (n > few && !(n_tied && n_tied[n] == n_tied[0])) {
        if (depth-- <= 0) {
            heap_sort(a, n);
            return;
        }
        /* Lower keys are swapped to the left, higher ones to the right, equal ones stay; without a
           branch. x is what is at i. What comes after it, and what is last, are read two steps
           before they are needed. */
        uint32_t pivot = middle_of_three(a, n);
        ptrdiff_t i = 0, l = 0, r = n;
        uint64_t x = a[0], next = a[1], last = a[n - 1];
        while (i < r) {
            uint32_t key = KEY(x);
            uint64_t next2 = a[i + 2], last2 = a[r - 2], at_l = a[l];
            uint64_t is_low = -(uint64_t)(key < pivot), is_high = -(uint64_t)(key > pivot);
            ptrdiff_t j = i + (((l - i) & (ptrdiff_t)is_low) | ((r - 1 - i) & (ptrdiff_t)is_high));
            a[i] = x ^ ((x ^ at_l) & is_low);
            a[j] = x;
            x = next ^ ((next ^ last) & is_high);
            next = next2 ^ ((next2 ^ next) & is_high);
            last = last ^ ((last ^ last2) & is_high);
            l -= (ptrdiff_t)is_low;
            r += (ptrdiff_t)is_high;
            i += 1 + (ptrdiff_t)is_high;
        }
        sort_keys(a, l, depth, few, n_tied);
        a += r;
        n -= r;
        n_tied += n_tied ? r : 0;
    }
    if (n <= few)
        insertion_sort(a, n);
}

static inline void sort_as_sklearn(
    uint64_t *a, ptrdiff_t n, const ExactRules *rules, const int32_t *n_tied)
{
    double depth = rules->natural ? log((double)n) : log2((double)n);
    sort_keys(a, n, 2 * (int)depth, rules->few_keys, n_tied);
}

/* --- the best cut between sorted rows -------------------------------------------------------------

   target[ids[k]] is that of the row at place k, of this rank. */

/* The values of a column where some are within the gap, else NULL. */
static inline const float *near_values(const RankedColumns *c, int f)
{
    return c->near_at[f] < 0 ? NULL : c->values + c->first[f];
}

/* Whether all rows of X have different values. */
static inline int is_untied(const RankedColumns *c, int f)
{
    return c->first[f + 1] - c->first[f] == c->n;
}

static inline int has_few_ties(const RankedColumns *c, int f)
{
    return 2 * (c->first[f + 1] - c->first[f]) >= c->n;
}

/* Whether there is no cut between two ranks that follow each other in a node. */
static inline int tied(const float *near, int32_t a, int32_t b)
{
    return a == b || (near && near[b] <= near[a] + LEAST_GAP);
}

static inline int is_near(const RankedColumns *c, int f, int32_t rank)
{
    return (int)(c->near[c->near_at[f] + (rank >> 6)] >> (rank & 63)) & 1;
}

static inline int may_be_leaves(const ExactRules *r, int left, int right, double w, double w2)
{
    return left >= r->min_leaf && right >= r->min_leaf && w >= r->min_weight && w2 >= r->min_weight;
}

static inline int is_better(BestCut *best, double score, int32_t at, int32_t after)
{
    if (!(score > best->score))
        return 0;
    best->score = score;
    best->at = at;
    best->after = after;
    return 1;
}

/* Numbers. Sums run from the left; but where more rows share a value than there are to the right of
   them, they are taken anew, from the right, and run on. */
static inline int scan_numbers(
    const ExactRules *rules, const Target *target, const int32_t *ids, const int32_t *rank, int m,
    const float *near, const int has_ties, const NodeSums *all, BestCut *best)
{
    double s[CUTS_OF_BLOCK], w[CUTS_OF_BLOCK], sum = 0, weight = 0;
    int found = NO_CUT, done = 0, leaf = rules->min_leaf;
    for (int first = 0, size; first < m - 1; first += size) {
        size = m - 1 - first < CUTS_OF_BLOCK ? m - 1 - first : CUTS_OF_BLOCK;
        for (int k = 0; k < size; k++) {
            const Target *one = target + ids[first + k];
            int at = first + k + 1;
            sum += one->number.wy;
            weight += one->number.w;
            if (has_ties) {
                int is_cut = !tied(near, rank[at - 1], rank[at]) & (at >= leaf) & (m - at >= leaf);
                if (is_cut & (at - done > m - at)) {
                    sum = all->s;
                    weight = all->w;
                    for (int i = m - 1; i >= at; i--) {
                        sum -= target[ids[i]].number.wy;
                        weight -= target[ids[i]].number.w;
                    }
                }
                done = is_cut ? at : done;
            }
            s[k] = sum;
            w[k] = weight;
        }
        if (m > SMALL_NODE && !may_score(s, w, size, all->s, all->w, best->score * NEARLY))
            continue;
        for (int k = 0; k < size; k++) {
            double s2 = all->s - s[k], w2 = all->w - w[k];
            int at = first + k + 1;
            if (s[k] * s[k] * w2 + s2 * s2 * w[k] < best->score * (w[k] * w2) * NEARLY
                || (has_ties && tied(near, rank[at - 1], rank[at]))
                || !may_be_leaves(rules, at, m - at, w[k], w2))
                continue;
            if (is_better(best, s[k] * s[k] / w[k] + s2 * s2 / w2, rank[at - 1], rank[at]))
                found = CUT;
        }
    }
    return found;
}

/* Numbers, in any order of the rows that share a value: the sums, and so the scores, are those of
   scikit-learn but for their last digits, by which scores differ by less than the margin. */
static int scan_roughly(
    const Exact *g, int n_distinct, int m, const float *near, int has_ties, const NodeSums *all,
    double margin, BestCut *best)
{
    const int32_t *ids = g->order, *rank = g->rank;
    double s[CUTS_OF_BLOCK], w[CUTS_OF_BLOCK], sum = 0;
    int32_t left[CUTS_OF_BLOCK], n_left = 0;
    int64_t weight = 0;
    int found = NO_CUT;
    for (int first = 0, size; first < n_distinct - 1; first += size) {
        size = n_distinct - 1 - first < CUTS_OF_BLOCK ? n_distinct - 1 - first : CUTS_OF_BLOCK;
        for (int k = 0; k < size; k++) {
            const WholeRow *one = g->whole_row + ids[first + k];
            s[k] = sum += one->wy;
            w[k] = (double)(weight += one->w);
            left[k] = n_left += one->n_copies;
        }
        if (!may_score(s, w, size, all->s, all->w, best->score - 2 * margin))
            continue;
        for (int k = 0; k < size; k++) {
            double s2 = all->s - s[k], w2 = all->w - w[k], least = best->score - 2 * margin;
            int at = first + k + 1;
            if (s[k] * s[k] * w2 + s2 * s2 * w[k] < least * (w[k] * w2)
                || (has_ties && tied(near, rank[at - 1], rank[at]))
                || !may_be_leaves(&g->rules, left[k], m - left[k], w[k], w2))
                continue;
            double score = s[k] * s[k] / w[k] + s2 * s2 / w2, before = best->score;
            if (is_better(best, score, rank[at - 1], rank[at])) {
                best->second = before;
                found = CUT;
            } else if (score > best->second)
                best->second = score;
        }
    }
    return found;
}

/* Cuts whose rough scores differ by more have the same order in scikit-learn; infinite where no
   such number is known. A sum of m terms is wrong by at most m EPSILON / 2 times that of the absolute
   values, and each of both sums by twice this; a score is 2 |s|/w times as wrong as s. */
static double margin_of(const Exact *g, const int32_t *distinct, int n_distinct, int m)
{
    double absolute = 0, wrong;
    for (int k = 0; k < n_distinct; k++)
        absolute += fabs(g->whole_row[distinct[k]].wy);
    if (!(absolute * absolute > 1e-200 && absolute * absolute < 1e290))
        return INFINITY;
    wrong = 2 * EPSILON * (m + 4.0) * absolute;
    return 16 * (g->largest + wrong) * wrong;
}

static inline int try_counts(
    BestCut *best, int64_t left, int64_t right, int64_t w_left, int64_t w_right, int32_t at,
    int32_t after)
{
    double a = (double)left, b = (double)right, w = (double)w_left, w2 = (double)w_right;
    if (a * w2 + b * w < best->unscaled * (w * w2) * NEARLY)
        return NO_CUT;
    if (!is_better(best, -w2 * (1.0 - b / (w2 * w2)) - w * (1.0 - a / (w * w)), at, after))
        return NO_CUT;
    best->unscaled = a / w + b / w2;
    return CUT;
}

/* The squares of the weights of the classes change by one of their terms for each row. */
static inline void move_count(
    int32_t label, int64_t w, const int64_t *whole, int64_t *left, int64_t *squares,
    int64_t *other_squares)
{
    int64_t before = left[label];
    *squares += w * (2 * before + w);
    *other_squares += w * (w - 2 * (whole[label] - before));
    left[label] = before + w;
}

static int scan_counts(
    Exact *g, const Target *target, const int32_t *ids, const int32_t *rank, int m,
    const float *near, const NodeSums *all, BestCut *best)
{
    int64_t *left = g->left_counts, a = 0, b = all->square, w = 0, whole = (int64_t)all->w;
    int found = NO_CUT;
    memset(left, 0, g->rules.n_classes * sizeof(int64_t));
    for (int k = 0; k < m - 1; k++) {
        int32_t more = target[ids[k]].count.w;
        move_count(target[ids[k]].count.label, more, g->whole_counts, left, &a, &b);
        w += more;
        if (!tied(near, rank[k], rank[k + 1])
            && may_be_leaves(&g->rules, k + 1, m - k - 1, (double)w, (double)(whole - w))
            && try_counts(best, a, b, w, whole - w, rank[k], rank[k + 1]) == CUT)
            found = CUT;
    }
    return found;
}

/* The impurity of a side: 1 - Σ W²/w², or -Σ W/w log2 (W/w), over the classes. */
static inline double impurity_of(const double *weights, int n_classes, double w, int is_entropy)
{
    double sum = 0;
    if (!is_entropy) {
        for (int c = 0; c < n_classes; c++)
            sum += weights[c] * weights[c];
        return 1.0 - sum / (w * w);
    }
    for (int c = 0; c < n_classes; c++)
        if (weights[c] > 0) {
            double share = weights[c] / w;
            sum -= share * (log(share) / log(2.0));
        }
    return sum;
}

static int scan_classes(
    Exact *g, const Target *target, const int32_t *ids, const int32_t *rank, int m,
    const float *near, const NodeSums *all, BestCut *best)
{
    const ExactRules *rules = &g->rules;
    double *left = g->left, *right = left + rules->n_classes, w = 0;
    int found = NO_CUT, done = 0, n_classes = rules->n_classes;
    memset(left, 0, n_classes * sizeof(double));
    for (int at = 1; at < m; at++) {
        if (tied(near, rank[at - 1], rank[at]) || at < rules->min_leaf || m - at < rules->min_leaf)
            continue;
        if (at - done <= m - at)
            for (int k = done; k < at; k++) {
                left[target[ids[k]].real.label] += target[ids[k]].real.w;
                w += target[ids[k]].real.w;
            }
        else {
            memcpy(left, g->whole, n_classes * sizeof(double));
            w = all->w;
            for (int k = m - 1; k >= at; k--) {
                left[target[ids[k]].real.label] -= target[ids[k]].real.w;
                w -= target[ids[k]].real.w;
            }
        }
        done = at;
        double w2 = all->w - w;
        if (!may_be_leaves(rules, at, m - at, w, w2))
            continue;
        for (int c = 0; c < n_classes; c++)
            right[c] = g->whole[c] - left[c];
        double a = impurity_of(left, n_classes, w, rules->is_entropy);
        double b = impurity_of(right, n_classes, w2, rules->is_entropy);
        if (is_better(best, -w2 * b - w * a, rank[at - 1], rank[at]))
            found = CUT;
    }
    return found;
}

static inline int scan(
    Exact *g, const Target *target, const int32_t *ids, const int32_t *rank, int m,
    const float *near, int has_ties, const NodeSums *all, BestCut *best)
{
    if (g->rules.kind == COUNTS)
        return scan_counts(g, target, ids, rank, m, near, all, best);
    if (g->rules.kind == CLASSES)
        return scan_classes(g, target, ids, rank, m, near, all, best);
    if (!has_ties)
        return scan_numbers(&g->rules, target, ids, rank, m, NULL, 0, all, best);
    if (!near)
        return scan_numbers(&g->rules, target, ids, rank, m, NULL, 1, all, best);
    return scan_numbers(&g->rules, target, ids, rank, m, near, 1, all, best);
}

/* Of two rows: the score of a cut with each on the left. */
static void score_pair(Exact *g, const int32_t *rows, const NodeSums *all)
{
    const int32_t ids[3] = {rows[0], rows[1], rows[0]}, ranks[2] = {0, 1};
    g->first_of_two = rows[0];
    for (int k = 0; k < 2; k++) {
        BestCut one = NO_BEST;
        scan(g, g->target, ids + k, ranks, 2, NULL, 0, all, &one);
        g->alone[k] = one.score;
    }
}

/* The impurities of both sides where the first n_left rows go left; the weight of the left one. */
static double divide_classes(
    Exact *g, const int32_t *rows, int m, int n_left, const NodeSums *all, double *impurity_left,
    double *impurity_right)
{
    int n_classes = g->rules.n_classes, is_entropy = g->rules.is_entropy;
    double *left = g->left, *right = left + n_classes, w = 0;
    if (n_left <= m - n_left) {
        memset(left, 0, n_classes * sizeof(double));
        for (int k = 0; k < n_left; k++) {
            const Target *one = g->target + rows[k];
            left[one->real.label] += one->real.w;
            w += one->real.w;
        }
    } else {
        memcpy(left, g->whole, n_classes * sizeof(double));
        w = all->w;
        for (int k = m - 1; k >= n_left; k--) {
            const Target *one = g->target + rows[k];
            left[one->real.label] -= one->real.w;
            w -= one->real.w;
        }
    }
    for (int c = 0; c < n_classes; c++)
        right[c] = g->whole[c] - left[c];
    *impurity_left = impurity_of(left, n_classes, w, is_entropy);
    *impurity_right = impurity_of(right, n_classes, all->w - w, is_entropy);
    return w;
}

/* --- random cuts ----------------------------------------------------------------------------------

   Columns are keys: the numbers of single precision as integers of the same order. */

static inline int32_t key_of_float(float x)
{
    int32_t bits;
    x += 0.0f; /* both zeros are the same */
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}

static inline float float_of_key(int32_t key)
{
    float x;
    key = key < 0 ? key ^ 0x7FFFFFFF : key;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* The key of the largest number of single precision that is at most x. */
static inline int32_t key_below(double x)
{
    float single = (float)x;
    return key_of_float(single) - ((double)single > x);
}

static inline double masked(double x, uint64_t mask)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= mask;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What `part` makes of the rows of a node, of which n_left have keys up to `at`, without a loop in
   which each step waits for the one before. On the left, the rows that leave are replaced, in their
   order, by those that come, the last one first. On the right, each row moves down by a place, and
   those that come take the places above the ones that go: that of the end, and of the ones before. */
static void part_by_keys(
    int32_t *rows, int m, const int32_t *keys, int32_t at, int n_left, int32_t *places)
{
    int32_t *leave = places, *come = places + m / 2 + 1, first = rows[n_left];
    int n_leave = 0, n_come = 0, end = m;
    for (int k = 0; k < n_left; k++) {
        leave[n_leave] = k;
        n_leave += keys[k] > at;
    }
    for (int k = m - 1; n_come < n_leave; k--) {
        come[n_come] = k;
        n_come += keys[k] <= at;
    }
    for (int k = 0; k < n_leave; k++) {
        int32_t row = rows[leave[k]];
        rows[leave[k]] = rows[come[k]];
        leave[k] = row;
    }
    for (int k = n_left; k < m - 1; k++)
        rows[k] = rows[k + 1];
    for (int k = 0; k < n_leave; k++) {
        rows[end - 1] = leave[k];
        end = come[k];
    }
    if (end > n_left)
        rows[end - 1] = first;
}

/* The same for few rows, one by one: what comes after x is read two steps before it is needed. The
   sums of the left side, and those of all without the right one, run in the order of the rows. */
static inline int part_few(
    const Exact *g, int32_t *rows, int m, const uint64_t *a, int32_t at, const NodeSums *all,
    double *sums)
{
    uint64_t x = a[0], next = a[1], last = a[m - 1];
    double s = 0, w = 0, rest = all->s, rest_w = all->w;
    int l = 0, r = m;
    for (int k = 0; k < m; k++) {
        uint64_t right = -(uint64_t)((int32_t)(x >> 32) > at), next2 = a[l + 2], last2 = a[r - 2];
        int32_t row = (int32_t)(uint32_t)x;
        const Target *one = g->target + row;
        s += masked(one->number.wy, ~right);
        w += masked(one->number.w, ~right);
        rest -= masked(one->number.wy, right);
        rest_w -= masked(one->number.w, right);
        rows[l + ((r - 1 - l) & (int)right)] = row;
        x = next ^ ((next ^ last) & right);
        next = next2 ^ ((next2 ^ next) & right);
        last = last ^ ((last ^ last2) & right);
        l += 1 + (int)right;
        r += (int)right;
    }
    sums[0] = l <= m - l ? s : rest;
    sums[1] = l <= m - l ? w : rest_w;
    return l;
}

SEVERAL_ROWS static int32_t least_key(const int32_t *keys, ptrdiff_t m)
{
    int32_t low = keys[0];
    for (ptrdiff_t k = 1; k < m; k++)
        low = keys[k] < low ? keys[k] : low;
    return low;
}

SEVERAL_ROWS static int32_t largest_key(const int32_t *keys, ptrdiff_t m)
{
    int32_t high = keys[0];
    for (ptrdiff_t k = 1; k < m; k++)
        high = keys[k] > high ? keys[k] : high;
    return high;
}

SEVERAL_ROWS static int count_up_to(const int32_t *keys, ptrdiff_t m, int32_t at)
{
    int n = 0;
    for (ptrdiff_t k = 0; k < m; k++)
        n += keys[k] <= at;
    return n;
}

/* The counts on the left of a random cut, and their sum; the number of rows. */
static inline int divide_counts(
    Exact *g, const int32_t *rows, int m, const int32_t *keys, int32_t at, double *w)
{
    int64_t *left = g->left_counts, weight = 0, second = 0;
    int n_left = 0, n_classes = g->rules.n_classes;
    if (n_classes != 2)
        memset(left, 0, n_classes * sizeof(int64_t));
    for (int k = 0; k < m; k++) {
        const Target *one = g->target + rows[k];
        int goes_left = keys[k] <= at;
        int32_t more = one->count.w & -goes_left;
        n_left += goes_left;
        weight += more;
        if (n_classes == 2)
            second += more & -one->count.label;
        else
            left[one->count.label] += more;
    }
    if (n_classes == 2) {
        left[0] = weight - second;
        left[1] = second;
    }
    *w = (double)weight;
    return n_left;
}

/* A cut between the smallest and the largest value of a node, drawn as scikit-learn draws it. It
   parts the rows at each feature, and their order is that of the sums. */
static int search_random(
    Exact *g, int f, int32_t *rows, int m, const NodeSums *all, BestCut *best)
{
    const RankedColumns *c = &g->columns;
    const ExactRules *rules = &g->rules;
    const int32_t *column = m <= SMALL_NODE ? (const int32_t *)c->by_row + f
        : (const int32_t *)c->by_column + (size_t)f * c->n;
    size_t step = m <= SMALL_NODE ? (size_t)c->p : 1;
    int32_t low, high, *keys = g->rank;
    uint64_t few[FEW_KEYS + 3];
    low = high = column[rows[0] * step];
    if (m <= FEW_KEYS) {
        few[0] = few[m + 1] = few[m + 2] = 0;
        for (int k = 0; k < m; k++) {
            int32_t key = keys[k] = column[rows[k] * step];
            few[k + 1] = (uint64_t)(uint32_t)key << 32 | (uint32_t)rows[k];
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
    } else {
        for (int k = 0; k < m; k++)
            keys[k] = column[rows[k] * step];
        low = least_key(keys, m);
        high = largest_key(keys, m);
    }
    float first = float_of_key(low), last = float_of_key(high);
    if (last <= first + rules->least_gap)
        return CONSTANT;
    double threshold = ((double)last - (double)first) * (double)next_of(&g->rules.state)
        / (double)0x7FFFFFFF + (double)first, score, w, w2;
    if (threshold == (double)last)
        threshold = (double)first;
    int32_t at = key_below(threshold);
    int n_left;
    if (m == 2) {
        if (keys[0] > keys[1])
            swap_places(rows, 0, 1);
        if (!is_better(best, g->alone[rows[0] != g->first_of_two], at, 1))
            return NO_CUT;
        best->threshold = threshold;
        return CUT;
    }
    if (rules->kind == COUNTS) {
        int64_t *left = g->left_counts, a = 0, b = 0;
        n_left = divide_counts(g, rows, m, keys, at, &w);
        for (int i = 0; i < rules->n_classes; i++) {
            int64_t rest = g->whole_counts[i] - left[i];
            a += left[i] * left[i];
            b += rest * rest;
        }
        w2 = all->w - w;
        score = -w2 * (1.0 - (double)b / (w2 * w2)) - w * (1.0 - (double)a / (w * w));
    } else if (rules->kind == CLASSES) {
        double impurity, impurity2;
        n_left = count_up_to(keys, m, at);
        part_by_keys(rows, m, keys, at, n_left, g->order);
        w = divide_classes(g, rows, m, n_left, all, &impurity, &impurity2);
        w2 = all->w - w;
        score = -w2 * impurity2 - w * impurity;
    } else {
        double sums[2] = {0, 0};
        if (m <= FEW_KEYS)
            n_left = part_few(g, rows, m, few + 1, at, all, sums);
        else {
            n_left = count_up_to(keys, m, at);
            part_by_keys(rows, m, keys, at, n_left, g->order);
            if (n_left <= m - n_left)
                for (int k = 0; k < n_left; k++) {
                    sums[0] += g->target[rows[k]].number.wy;
                    sums[1] += g->target[rows[k]].number.w;
                }
            else {
                sums[0] = all->s;
                sums[1] = all->w;
                for (int k = m - 1; k >= n_left; k--) {
                    sums[0] -= g->target[rows[k]].number.wy;
                    sums[1] -= g->target[rows[k]].number.w;
                }
            }
        }
        double s = sums[0], s2 = all->s - s;
        w = sums[1];
        w2 = all->w - w;
        if (s * s * w2 + s2 * s2 * w < best->score * (w * w2) * NEARLY)
            return NO_CUT;
        score = s * s / w + s2 * s2 / w2;
    }
    if (!may_be_leaves(rules, n_left, m - n_left, w, w2)
        || !is_better(best, score, at, n_left))
        return NO_CUT;
    best->threshold = threshold;
    return CUT;
}

/* --- the sums of a node -------------------------------------------------------------------------- */

static NodeSums sums_of(Exact *g, const int32_t *rows, int m)
{
    NodeSums all = {0, 0, 0, 0};
    int n_classes = g->rules.n_classes;
    if (g->rules.kind == NUMBERS) {
        for (int k = 0; k < m; k++) {
            const Target *one = g->target + rows[k];
            all.s += one->number.wy;
            all.w += one->number.w;
            all.yy += g->wyy[rows[k]];
        }
    } else if (g->rules.kind == COUNTS) {
        int64_t w = 0;
        memset(g->whole_counts, 0, n_classes * sizeof(int64_t));
        for (int k = 0; k < m; k++) {
            const Target *one = g->target + rows[k];
            g->whole_counts[one->count.label] += one->count.w;
        }
        for (int c = 0; c < n_classes; c++) {
            w += g->whole_counts[c];
            all.square += g->whole_counts[c] * g->whole_counts[c];
        }
        all.w = (double)w;
    } else {
        memset(g->whole, 0, n_classes * sizeof(double));
        for (int k = 0; k < m; k++) {
            const Target *one = g->target + rows[k];
            g->whole[one->real.label] += one->real.w;
            all.w += one->real.w;
        }
    }
    return all;
}

static double impurity_of_node(const Exact *g, const NodeSums *all)
{
    double mean = all->s / all->w;
    if (g->rules.kind == NUMBERS)
        return all->yy / all->w - mean * mean;
    if (g->rules.kind == COUNTS)
        return 1.0 - (double)all->square / (all->w * all->w);
    return impurity_of(g->whole, g->rules.n_classes, all->w, g->rules.is_entropy);
}

/* The impurities of both sides, and the decrease of impurity, when the first n_left rows go left. */
static double divide(
    Exact *g, const int32_t *rows, int m, int n_left, const NodeSums *all, double impurity,
    double *impurity_left, double *impurity_right)
{
    const Target *target = g->target;
    double w = 0, w2;
    int from_left = n_left <= m - n_left, n_classes = g->rules.n_classes;
    if (g->rules.kind == NUMBERS) {
        double s = 0, yy = 0;
        if (from_left)
            for (int k = 0; k < n_left; k++) {
                s += target[rows[k]].number.wy;
                w += target[rows[k]].number.w;
            }
        else {
            s = all->s;
            w = all->w;
            for (int k = m - 1; k >= n_left; k--) {
                s -= target[rows[k]].number.wy;
                w -= target[rows[k]].number.w;
            }
        }
        for (int k = 0; k < n_left; k++)
            yy += g->wyy[rows[k]];
        w2 = all->w - w;
        double mean = s / w, mean2 = (all->s - s) / w2;
        *impurity_left = yy / w - mean * mean;
        *impurity_right = (all->yy - yy) / w2 - mean2 * mean2;
    } else if (g->rules.kind == COUNTS) {
        int64_t squares = 0, other = all->square, weight = 0, *left = g->left_counts;
        memset(left, 0, n_classes * sizeof(int64_t));
        for (int k = 0; k < n_left; k++) {
            const Target *one = target + rows[k];
            move_count(one->count.label, one->count.w, g->whole_counts, left, &squares, &other);
            weight += one->count.w;
        }
        w = (double)weight;
        w2 = all->w - w;
        *impurity_left = 1.0 - (double)squares / (w * w);
        *impurity_right = 1.0 - (double)other / (w2 * w2);
    } else {
        w = divide_classes(g, rows, m, n_left, all, impurity_left, impurity_right);
        w2 = all->w - w;
    }
    return (all->w / g->rules.total_weight)
        * (impurity - (w2 / all->w * *impurity_right) - (w / all->w * *impurity_left));
}

/* The next node of the tree, a leaf so far. */
static int add_node(Exact *g, const NodeTask *task, const NodeSums *all)
{
    ExactNodes *t = &g->nodes;
    int node = t->count++, n_classes = g->rules.n_classes;
    if (task->parent >= 0)
        (task->is_left ? t->left : t->right)[task->parent] = node;
    t->left[node] = t->right[node] = -1;
    t->feature[node] = -2;
    t->threshold[node] = -2;
    t->missing_left[node] = 0;
    t->impurity[node] = task->impurity;
    t->n_rows[node] = task->stop - task->start;
    t->weight[node] = all->w;
    if (g->rules.kind == NUMBERS)
        t->value[node] = all->s / all->w;
    for (int c = 0; c < n_classes; c++) {
        double w = g->rules.kind == COUNTS ? (double)g->whole_counts[c] : g->whole[c];
        t->value[(size_t)node * n_classes + c] = w / all->w;
    }
    if (task->depth > t->depth)
        t->depth = task->depth;
    return node;
}

/* --- the growth of a tree, for both sizes of ranks --------------------------------------------- */

#define RANK uint16_t
#define FOR_RANK(name) name##_16
#include "exact_growth.h"
#undef RANK
#undef FOR_RANK
#define RANK uint32_t
#define FOR_RANK(name) name##_32
#include "exact_growth.h"

static void grow_exact(Exact *g)
{
    if (g->columns.is_wide)
        grow_32(g);
    else
        grow_16(g);
}

/* --- ranks --------------------------------------------------------------------------------------- */

typedef struct { uint64_t key; int64_t row; } KeyedRow;

/* Sort by the keys, byte by byte from the lowest; bytes in which all agree are left out. Returns the
   array that has the result. */
static KeyedRow *sort_by_bytes(KeyedRow *a, KeyedRow *b, ptrdiff_t n, int n_bytes)
{
    for (int shift = 0; shift < 8 * n_bytes; shift += 8) {
        ptrdiff_t count[257] = {0};
        for (ptrdiff_t i = 0; i < n; i++)
            count[(a[i].key >> shift & 255) + 1]++;
        if (count[(a[0].key >> shift & 255) + 1] == n)
            continue;
        for (int c = 0; c < 256; c++)
            count[c + 1] += count[c];
        for (ptrdiff_t i = 0; i < n; i++)
            b[count[a[i].key >> shift & 255]++] = a[i];
        KeyedRow *c = a;
        a = b;
        b = c;
    }
    return a;
}

/* The rank of each value among the distinct ones, which are written in their order; their number. */
static ptrdiff_t rank_floats(
    const float *x, ptrdiff_t n, KeyedRow *a, KeyedRow *b, int32_t *rank, float *distinct)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = (KeyedRow){(uint32_t)key_of_float(x[i]) ^ 0x80000000u, i};
    a = sort_by_bytes(a, b, n, 4);
    for (ptrdiff_t k = 0; k < n; k++) {
        if (k == 0 || a[k].key != a[k - 1].key)
            distinct[found++] = x[a[k].row];
        rank[a[k].row] = (int32_t)(found - 1);
    }
    return found;
}

static void keys_of_floats(const float *x, ptrdiff_t n, int32_t *keys)
{
    for (ptrdiff_t i = 0; i < n; i++)
        keys[i] = key_of_float(x[i]);
}
#endif
