/* Loops of prediction that are fast only where the compiler takes several rows at a time. */
#ifndef ENSEMBLE_PREDICTION_H
#define ENSEMBLE_PREDICTION_H

#include <float.h>
#include <string.h>

#include "several_rows.h"

/* Rows of a block: the leaves that they passed (small trees) or reached (deep ones) stay in the first
   cache. */
enum { SMALL_BLOCK = 512, DEEP_BLOCK = 1024 };

/* The inner node of a small tree. Its leaves are numbered from left to right; where a row goes to the
   right it has passed all leaves on the left, those of the bits `passed`. */
typedef struct { int32_t feature; float cut; uint32_t passed; uint32_t missing_left; } SmallNode;

/* Categories have the codes 0 ... 254, and missing values 255; a set of codes has a bit for each. A
   small node that has set k has `missing_left` FIRST_SET + k. */
enum { SET_BYTES = 32, NO_CATEGORY = 255, FIRST_SET = 2 };

static inline int category_of(float x)
{
    return x >= 0 && x < NO_CATEGORY ? (int)x : NO_CATEGORY;
}

static inline int is_in_set(const uint8_t *set, int code)
{
    return set[code >> 3] >> (code & 7) & 1;
}

/* The leaves of one tree that m rows have passed: no branches, and all in order of memory. */
SEVERAL_ROWS static void passed_leaves(
    const float *columns, ptrdiff_t n, int m, const SmallNode *nodes, ptrdiff_t n_nodes,
    const uint8_t *sets, uint32_t *restrict passed)
{
    for (int i = 0; i < m; i++)
        passed[i] = 0;
    for (ptrdiff_t k = 0; k < n_nodes; k++) {
        const float *restrict x = columns + nodes[k].feature * n;
        float cut = nodes[k].cut;
        uint32_t bits = nodes[k].passed;
        if (nodes[k].missing_left >= FIRST_SET) {
            const uint8_t *set = sets + (nodes[k].missing_left - FIRST_SET) * SET_BYTES;
            uint32_t of_code[NO_CATEGORY + 1];
            /* A table pays for many rows. */
            if (m <= NO_CATEGORY / 4) {
                for (int i = 0; i < m; i++)
                    passed[i] |= is_in_set(set, category_of(x[i])) ? 0 : bits;
                continue;
            }
            for (int c = 0; c <= NO_CATEGORY; c++)
                of_code[c] = is_in_set(set, c) ? 0 : bits;
            for (int i = 0; i < m; i++)
                passed[i] |= of_code[category_of(x[i])];
            continue;
        }
        /* No comparison holds for NaN: the negated one sends it to the right. */
        if (nodes[k].missing_left)
            for (int i = 0; i < m; i++)
                passed[i] |= x[i] > cut ? bits : 0;
        else
            for (int i = 0; i < m; i++)
                passed[i] |= !(x[i] <= cut) ? bits : 0;
    }
}

/* A row is in the first leaf that it has not passed. The last one no row passes. */
static inline int first_not_passed(uint32_t passed)
{
#if defined(_MSC_VER)
    unsigned long first;
    _BitScanForward(&first, ~passed);
    return (int)first;
#else
    return __builtin_ctz(~passed);
#endif
}

/* Tree t has the inner nodes starts[t] ... starts[t + 1] - 1 and one leaf more than that, whose
   vectors of k numbers begin at starts[t] + t. */
static void add_small(
    const float *columns, ptrdiff_t n, const SmallNode *nodes, const int64_t *starts,
    const uint8_t *sets, ptrdiff_t first, ptrdiff_t stop, const double *values, ptrdiff_t k,
    double *out, ptrdiff_t width)
{
    uint32_t passed[SMALL_BLOCK];
    for (ptrdiff_t start = 0; start < n; start += SMALL_BLOCK) {
        int m = (int)(n - start < SMALL_BLOCK ? n - start : SMALL_BLOCK);
        for (ptrdiff_t t = first; t < stop; t++) {
            const double *leaves = values + (starts[t] + t) * k;
            double *sums = out + start * width + (k == 1 ? t % width : 0);
            passed_leaves(
                columns + start, n, m, nodes + starts[t], starts[t + 1] - starts[t], sets, passed);
            if (k == 1)
                for (int i = 0; i < m; i++)
                    sums[i * width] += leaves[first_not_passed(passed[i])];
            else
                for (int i = 0; i < m; i++)
                    for (ptrdiff_t j = 0; j < k; j++)
                        sums[i * width + j] += leaves[first_not_passed(passed[i]) * k + j];
        }
    }
}

/* Trees of at most 256 leaves over codes of one byte. For a row, each group of eight leaves has a byte
   with a bit for each leaf that the row has passed. A node over several groups is as many records.
   Rows whose code plus `shift`, which makes a missing value 0, is above `cut` pass the leaves. */
typedef struct { uint32_t column; uint8_t cut, shift, group, bits; } PassedByte;

/* The codes of a block are in the first cache, each column's one after the other, from a multiple of
   64 bytes on. A loop has the same number of rows always: some may not be there. */
enum { CODED_BLOCK = 512, MOST_GROUPS = 32, ALIGNED = 64 };

#define FOR_ROWS_OF_BLOCK(i) for (int i = 0; i < CODED_BLOCK; i++)

SEVERAL_ROWS static void passed_bytes(
    const uint8_t *codes, const PassedByte *nodes, ptrdiff_t n_nodes, uint8_t *passed)
{
    for (ptrdiff_t k = 0; k < n_nodes; k++) {
        const uint8_t *restrict x = codes + (ptrdiff_t)nodes[k].column * CODED_BLOCK;
        uint8_t *restrict group = passed + nodes[k].group * CODED_BLOCK;
        uint8_t cut = nodes[k].cut, shift = nodes[k].shift, bits = nodes[k].bits;
        FOR_ROWS_OF_BLOCK(i)
            group[i] |= bits & (uint8_t) - ((uint8_t)(x[i] + shift) > cut);
    }
}

/* The first leaf that each row has not passed: in the first group that is not all ones. */
SEVERAL_ROWS static void first_leaves(
    const uint8_t *restrict passed, int n_groups, uint8_t *restrict bits, uint8_t *restrict leaf)
{
    FOR_ROWS_OF_BLOCK(i)
        leaf[i] = 0, bits[i] = 255;
    for (int g = n_groups - 1; g >= 0; g--) {
        const uint8_t *restrict group = passed + g * CODED_BLOCK;
        FOR_ROWS_OF_BLOCK(i) {
            leaf[i] = group[i] != 255 ? (uint8_t)(8 * g) : leaf[i];
            bits[i] = group[i] != 255 ? group[i] : bits[i];
        }
    }
    FOR_ROWS_OF_BLOCK(i) {
        uint8_t first = (uint8_t)(~bits[i] & (bits[i] + 1));
        leaf[i] = (uint8_t)(
            leaf[i] + (first & 0xAA ? 1 : 0) + (first & 0xCC ? 2 : 0) + (first & 0xF0 ? 4 : 0));
    }
}

/* Tree t has the records starts[t] ... starts[t + 1] - 1, and from leaves[t] on the values of its leaves.
   The trees of one sum follow each other, so that it stays in the first cache. */
static void add_coded(
    const uint8_t *codes, ptrdiff_t n, ptrdiff_t p, const PassedByte *nodes, const int64_t *starts,
    const int64_t *leaves, ptrdiff_t first, ptrdiff_t stop, const double *values, double *out,
    ptrdiff_t width)
{
    uint8_t room[(MOST_GROUPS + 2) * CODED_BLOCK + ALIGNED];
    uint8_t *passed = room + (ALIGNED - (uintptr_t)room % ALIGNED);
    uint8_t *leaf = passed + MOST_GROUPS * CODED_BLOCK, *bits = leaf + CODED_BLOCK;
    double sums[CODED_BLOCK];
    for (ptrdiff_t start = 0; start < n; start += CODED_BLOCK, codes += p * CODED_BLOCK) {
        ptrdiff_t m = n - start < CODED_BLOCK ? n - start : CODED_BLOCK;
        for (ptrdiff_t k = first; k < stop && k < first + width; k++) {
            double *of_rows = out + start * width + k % width;
            for (ptrdiff_t i = 0; i < m; i++)
                sums[i] = of_rows[i * width];
            for (ptrdiff_t t = k; t < stop; t += width) {
                const double *value = values + leaves[t];
                int n_groups = (int)((leaves[t + 1] - leaves[t] + 7) / 8);
                memset(passed, 0, (size_t)n_groups * CODED_BLOCK);
                passed_bytes(codes, nodes + starts[t], starts[t + 1] - starts[t], passed);
                first_leaves(passed, n_groups, bits, leaf);
                for (ptrdiff_t i = 0; i < m; i++)
                    sums[i] += value[leaf[i]];
            }
            for (ptrdiff_t i = 0; i < m; i++)
                of_rows[i * width] = sums[i];
        }
    }
}

/* A node of a laid-out tree. `word`: the position of its left child, whose right sibling is next to
   it, then the feature, and in the last bit 1 where missing values go right. A leaf is its own left
   child and no row goes to its right. The cut of a node of categories is NaN, and the last bits of
   this NaN are the number of its set. */
typedef struct { float cut; uint32_t word; } PackedNode;

enum { SET_BITS = 22 };

static inline uint32_t next_node(PackedNode node, float x, int shift, const uint8_t *sets)
{
    uint32_t right = (uint32_t)((x > node.cut) | ((x != x) & (node.word & 1)));
    if (sets && node.cut != node.cut) {
        uint32_t number;
        memcpy(&number, &node.cut, sizeof number);
        number &= ((uint32_t)1 << SET_BITS) - 1;
        right = !is_in_set(sets + (ptrdiff_t)number * SET_BYTES, category_of(x));
    }
    return (node.word >> shift) + right;
}

#define EIGHT_TIMES(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)

/* Where the values of a block of rows are that may not be 0: for each column the rows, from starts[j]
   on; and 0 as it is read there. `starts` is NULL where this is not known. */
typedef struct { const int32_t *starts, *rows; const float *zero; } StoredValues;

/* Send rows from the root down as if all their values were 0, until so many have left this path that
   the values of a column are more; at[i] is then the node of row i. A node costs its column's values,
   and not the rows. */
static void follow_zeros(
    const float *rows, ptrdiff_t n, ptrdiff_t p, StoredValues stored, const PackedNode *nodes,
    int shift, const uint8_t *sets, uint32_t *restrict at)
{
    uint32_t mask = ((uint32_t)1 << shift) - 1, here = 0;
    ptrdiff_t n_here = n;
    uint8_t has_left[DEEP_BLOCK] = {0};
    for (;;) {
        uint32_t j = (nodes[here].word & mask) >> 1;
        uint32_t next = next_node(nodes[here], stored.zero[j], shift, sets);
        if (next == here || stored.starts[j + 1] - stored.starts[j] > n_here)
            break;
        for (int32_t e = stored.starts[j]; e < stored.starts[j + 1]; e++) {
            int32_t i = stored.rows[e];
            uint32_t own = next_node(nodes[here], rows[i * p + j], shift, sets);
            if (own != next && !has_left[i]) {
                has_left[i] = 1, at[i] = own, n_here--;
            }
        }
        here = next;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        at[i] = has_left[i] ? at[i] : here;
}

/* The position of the leaf of each row, from the root on, or on from where they are. Eight rows go
   down together, so that the processor waits for the memory of eight nodes at once. */
static inline void walk(
    const float *rows, ptrdiff_t n, ptrdiff_t p, const PackedNode *nodes, int shift,
    const uint8_t *sets, int goes_on, uint32_t *restrict leaf)
{
    uint32_t mask = ((uint32_t)1 << shift) - 1;
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const float *x = rows + i * p;
#define BEGIN(k) uint32_t at##k = goes_on ? leaf[i + k] : 0; PackedNode node##k = nodes[at##k];
#define STEP(k)                                                                      \
    uint32_t next##k = next_node(node##k, x[k * p + ((node##k.word & mask) >> 1)], shift, sets); \
    moved |= at##k ^ next##k;
#define MOVE(k) at##k = next##k; node##k = nodes[next##k];
#define END(k) leaf[i + k] = at##k;
        EIGHT_TIMES(BEGIN)
        for (;;) {
            uint32_t moved = 0;
            EIGHT_TIMES(STEP)
            if (!moved)
                break;
            EIGHT_TIMES(MOVE)
        }
        EIGHT_TIMES(END)
#undef BEGIN
#undef STEP
#undef MOVE
#undef END
    }
    for (; i < n; i++) {
        uint32_t at = goes_on ? leaf[i] : 0, before = at + 1;
        while (at != before) {
            before = at;
            at = next_node(nodes[at], rows[i * p + ((nodes[at].word & mask) >> 1)], shift, sets);
        }
        leaf[i] = at;
    }
}

/* Without sets, the compiler leaves out what is for them. */
static void find_leaves(
    const float *rows, ptrdiff_t n, ptrdiff_t p, StoredValues stored, const PackedNode *nodes,
    int shift, const uint8_t *sets, uint32_t *restrict leaf)
{
    if (stored.starts) {
        follow_zeros(rows, n, p, stored, nodes, shift, sets, leaf);
        walk(rows, n, p, nodes, shift, sets, 1, leaf);
    } else if (sets)
        walk(rows, n, p, nodes, shift, sets, 0, leaf);
    else
        walk(rows, n, p, nodes, shift, NULL, 0, leaf);
}

/* Tree after tree, in blocks of rows: leaves[i] = position of the leaf of row i of the block. There is
   only one where stored values are known. */
#define FOR_BLOCKS_OF_ROWS(start, m)                                                   \
    for (ptrdiff_t start = 0, m; start < n                                              \
         && (m = n - start < DEEP_BLOCK ? n - start : DEEP_BLOCK, 1); start += DEEP_BLOCK)

static void add_values_of_leaves(
    const float *rows, ptrdiff_t n, ptrdiff_t p, StoredValues stored, const PackedNode *nodes,
    const int64_t *starts, ptrdiff_t n_trees, int shift, const uint8_t *sets, const double *values,
    double *out, ptrdiff_t width)
{
    uint32_t leaf[DEEP_BLOCK];
    for (ptrdiff_t t = 0; t < n_trees; t++)
        FOR_BLOCKS_OF_ROWS(start, m) {
            find_leaves(rows + start * p, m, p, stored, nodes + starts[t], shift, sets, leaf);
            for (ptrdiff_t i = 0; i < m; i++)
                out[(start + i) * width + t % width] += values[starts[t] + leaf[i]];
        }
}

static void add_vectors_of_leaves(
    const float *rows, ptrdiff_t n, ptrdiff_t p, StoredValues stored, const PackedNode *nodes,
    const int64_t *starts, ptrdiff_t n_trees, int shift, const uint8_t *sets, const int32_t *index,
    const double *table, double *out, ptrdiff_t width)
{
    uint32_t leaf[DEEP_BLOCK];
    for (ptrdiff_t t = 0; t < n_trees; t++)
        FOR_BLOCKS_OF_ROWS(start, m) {
            find_leaves(rows + start * p, m, p, stored, nodes + starts[t], shift, sets, leaf);
            for (ptrdiff_t i = 0; i < m; i++) {
                const double *vector = table + index[starts[t] + leaf[i]] * width;
                for (ptrdiff_t k = 0; k < width; k++)
                    out[(start + i) * width + k] += vector[k];
            }
        }
}

static void places_of_leaves(
    const float *rows, ptrdiff_t n, ptrdiff_t p, StoredValues stored, const PackedNode *nodes,
    const int64_t *starts, ptrdiff_t n_trees, int shift, const uint8_t *sets, int64_t *out)
{
    uint32_t leaf[DEEP_BLOCK];
    FOR_BLOCKS_OF_ROWS(start, m)
        for (ptrdiff_t t = 0; t < n_trees; t++) {
            find_leaves(rows + start * p, m, p, stored, nodes + starts[t], shift, sets, leaf);
            for (ptrdiff_t i = 0; i < m; i++)
                out[(start + i) * n_trees + t] = starts[t] + leaf[i];
        }
}
/* A tree that is not laid out: its fields where they are, some bytes apart, with indices of 4 or of 8
   bytes. NULL may be `sets`, a line for each node; `is_wide`, whether it reads a column in double
   precision; `columns`, those of X that it was fitted to; and `places`, what the numbers of a leaf are
   added to, nothing for -1. */
enum { LEFT, RIGHT, FEATURE, CUT, MISSING_LEFT, N_FIELDS };

typedef struct {
    const char *field[N_FIELDS];
    ptrdiff_t step[N_FIELDS];
    ptrdiff_t n_nodes, n_columns, n_wide;
    int has_wide_indices;
    const int64_t *columns, *places;
    const uint8_t *sets, *is_wide;
    const char *value;
    ptrdiff_t value_step, number_step, n_values;
} LooseTree;

/* Rows in single precision, or in double precision. */
typedef struct { ptrdiff_t n, p; const float *single; const double *double_; } LooseRows;

#define FIELD(type, name, at) (*(const type *)(tree->field[name] + (at) * tree->step[name]))

static inline double value_as_read(
    const LooseTree *tree, const LooseRows *X, ptrdiff_t i, ptrdiff_t feature)
{
    ptrdiff_t at = i * X->p + (tree->columns ? tree->columns[feature] : feature);
    double x;
    if (X->single)
        return X->single[at];
    x = X->double_[at];
    if (feature < tree->n_wide && tree->is_wide[feature])
        return x;
    return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : (float)x;
}

/* The leaf of a row, or -1 where the nodes are no tree. Each step is checked, at no cost beside the
   memory that it waits for: no node is read that the row does not pass. */
#define LEAF_OF_ROW(name, Index)                                                               \
    static ptrdiff_t name(const LooseTree *tree, const LooseRows *X, ptrdiff_t i)              \
    {                                                                                          \
        ptrdiff_t at = 0, n_columns = tree->columns ? tree->n_columns : X->p;                  \
        for (ptrdiff_t depth = 0; depth < tree->n_nodes; depth++) {                            \
            Index left = FIELD(Index, LEFT, at), right = FIELD(Index, RIGHT, at);              \
            Index feature = FIELD(Index, FEATURE, at);                                         \
            double cut = FIELD(double, CUT, at), x;                                            \
            int goes_left;                                                                     \
            if (left < 0)                                                                      \
                return at;                                                                     \
            if (feature < 0 || feature >= n_columns)                                           \
                return -1;                                                                     \
            x = value_as_read(tree, X, i, feature);                                            \
            if (cut != cut && tree->sets)                                                      \
                goes_left = is_in_set(tree->sets + at * SET_BYTES, category_of((float)x));     \
            else                                                                               \
                goes_left = x != x ? FIELD(uint8_t, MISSING_LEFT, at) != 0 : x <= cut;         \
            at = goes_left ? left : right;                                                     \
            if (at < 0 || at >= tree->n_nodes)                                                 \
                return -1;                                                                     \
        }                                                                                      \
        return -1;                                                                             \
    }
LEAF_OF_ROW(leaf_by_4_bytes, int32_t)
LEAF_OF_ROW(leaf_by_8_bytes, int64_t)

static inline ptrdiff_t leaf_of_row(const LooseTree *tree, const LooseRows *X, ptrdiff_t i)
{
    return tree->has_wide_indices ? leaf_by_8_bytes(tree, X, i) : leaf_by_4_bytes(tree, X, i);
}

/* Whether the row reaches a leaf, whose numbers, times a factor, are added. */
static inline int add_leaf_of_row(
    const LooseTree *tree, const LooseRows *X, ptrdiff_t i, double factor, double *sums)
{
    ptrdiff_t leaf = leaf_of_row(tree, X, i);
    const char *value;
    if (leaf < 0)
        return 0;
    value = tree->value + leaf * tree->value_step;
    if (!tree->places)
        *sums += *(const double *)value * factor;
    else
        for (ptrdiff_t k = 0; k < tree->n_values; k++, value += tree->number_step)
            if (tree->places[k] >= 0)
                sums[tree->places[k]] += *(const double *)value * factor;
    return 1;
}

/* A node of a tree over codes of bins. Rows with at most the code `cut`, or with the code
   `missing`, go to the first child, others to the second. A leaf is its own children. */
typedef struct { int32_t feature, cut, missing, child[2]; } CodedNode;

/* Rows at a node go to its children. For codes of one and of two bytes. */
#define DIVIDE(name, Code)                                                                     \
    SEVERAL_ROWS static void name(                                                             \
        const Code *restrict codes, int n, const CodedNode *node, int number,                  \
        int32_t *restrict at)                                                                  \
    {                                                                                          \
        int32_t cut = node->cut, missing = node->missing;                                      \
        int32_t left = node->child[0], right = node->child[1];                                 \
        for (int i = 0; i < n; i++) {                                                          \
            int32_t code = codes[i];                                                           \
            int32_t child = ((code > cut) & (code != missing)) ? right : left;                 \
            at[i] = at[i] == number ? child : at[i];                                           \
        }                                                                                      \
    }
DIVIDE(divide_1, uint8_t)
DIVIDE(divide_2, uint16_t)

#endif
