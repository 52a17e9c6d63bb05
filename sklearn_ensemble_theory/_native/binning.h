/* The bins of values, several values at a time. */
#ifndef ENSEMBLE_BINNING_H
#define ENSEMBLE_BINNING_H

#include <string.h>

#include "several_rows.h"

/* Values of a block: what is known of each of them stays in the first cache. */
enum { VALUES_AT_A_TIME = 512 };

/* Increasing edges, and an even grid of cells from the first edge to the last. The cell of x is
   (x - low) * scale, rounded down, from 0 to last. Each operation is monotone also after rounding:
   an edge in a lower cell than that of x is below x, and one in a higher cell above it. */
typedef struct {
    double low, scale, last;
    uint16_t *first; /* the number of edges in lower cells */
    double *edges;   /* then infinity, which no value is above */
    uint32_t half;   /* of a power of 2 that is above the number of edges in any cell */
} Cells;

static inline int32_t cell_of(double x, const Cells *cells)
{
    double place = (x - cells->low) * cells->scale;
    place = place > 0.0 ? place : 0.0; /* NaN too: infinity times 0, where all cells are 0 */
    return (int32_t)(place < cells->last ? place : cells->last);
}

/* The number of edges below each value. A cell's edges are searched by halves, each step for all
   values of a block: no step depends on the one before it, and there are no branches. Edges beyond
   the cell, which are above the value, do no harm. */
#define CODE_VALUES(name, Value, Code)                                                          \
    SEVERAL_ROWS static void name(                                                              \
        const Value *x, ptrdiff_t n, const Cells *cells, Code missing, Code *codes)             \
    {                                                                                           \
        double value[VALUES_AT_A_TIME];                                                         \
        uint32_t bin[VALUES_AT_A_TIME];                                                         \
        const uint16_t *first = cells->first;                                                   \
        const double *edges = cells->edges;                                                     \
        for (ptrdiff_t start = 0; start < n; start += VALUES_AT_A_TIME) {                       \
            int m = n - start < VALUES_AT_A_TIME ? (int)(n - start) : VALUES_AT_A_TIME;         \
            for (int i = 0; i < m; i++)                                                         \
                value[i] = x[start + i];                                                        \
            for (int i = 0; i < m; i++)                                                         \
                bin[i] = (uint32_t)cell_of(value[i], cells);                                    \
            for (int i = 0; i < m; i++)                                                         \
                bin[i] = first[bin[i]];                                                         \
            for (uint32_t half = cells->half; half > 0; half >>= 1)                             \
                for (int i = 0; i < m; i++)                                                     \
                    bin[i] += half & -(uint32_t)(value[i] > edges[bin[i] + half - 1]);          \
            for (int i = 0; i < m; i++)                                                         \
                codes[start + i] = value[i] != value[i] ? missing : (Code)bin[i];               \
        }                                                                                       \
    }
CODE_VALUES(code_floats_1, float, uint8_t)
CODE_VALUES(code_floats_2, float, uint16_t)
CODE_VALUES(code_doubles_1, double, uint8_t)
CODE_VALUES(code_doubles_2, double, uint16_t)

/* --- sorting ----------------------------------------------------------------------------------- */

enum { DIGIT_BITS = 11, N_DIGITS = 3, N_BUCKETS = 1 << DIGIT_BITS };

/* Integers in the order of floats: of negative ones all bits are turned over, of others the sign. */
static inline uint32_t key_of(float x)
{
    uint32_t bits;
    x += 0.0f; /* -0 and 0 are one value */
    memcpy(&bits, &x, sizeof bits);
    bits ^= (bits >> 31) ? UINT32_MAX : (uint32_t)1 << 31;
    return x != x ? UINT32_MAX : bits;
}

static inline float float_of(uint32_t key)
{
    float x;
    key ^= (key >> 31) ? (uint32_t)1 << 31 : UINT32_MAX;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* A number of single precision by its bits, and a double that becomes it: NaN until one is seen. */
typedef struct {
    double value;
    uint32_t bits;
    int32_t is_used;
} Standing;

static inline uint32_t bits_of(double x)
{
    float single = (float)x + 0.0f; /* -0 and 0 are one value */
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

/* The place of these bits in a table of 2^(32 - shift) places, or the free one where they belong. */
static inline Standing *place_of(uint32_t bits, int shift, Standing *table)
{
    uint32_t at = bits * 0x9E3779B1u >> shift, mask = UINT32_MAX >> shift;
    while (table[at].is_used && table[at].bits != bits)
        at = (at + 1) & mask;
    return &table[at];
}

/* Whether no two different ones of n values become one number of the table. */
static inline int all_are_told_apart(
    const char *x, ptrdiff_t n, ptrdiff_t step, int shift, Standing *table)
{
    for (ptrdiff_t i = 0; i < n; i++, x += step) {
        double value;
        memcpy(&value, x, sizeof value);
        uint32_t bits = bits_of(value);
        if (table[bits * 0x9E3779B1u >> shift].value == value)
            continue;
        Standing *found = place_of(bits, shift, table);
        if (!found->is_used || found->value == value)
            continue;
        if (found->value == found->value)
            return 0;
        found->value = value;
    }
    return 1;
}

/* Sort n values, NaN last, by digits from the lowest to the highest. `keys` has room for 2 n. */
SEVERAL_ROWS static void sort_by_digits(const float *x, ptrdiff_t n, uint32_t *keys, float *sorted)
{
    ptrdiff_t place[N_DIGITS][N_BUCKETS] = { { 0 } };
    uint32_t *from = keys, *to = keys + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t key = from[i] = key_of(x[i]);
        for (int d = 0; d < N_DIGITS; d++)
            place[d][key >> d * DIGIT_BITS & (N_BUCKETS - 1)]++;
    }
    for (int d = 0; d < N_DIGITS; d++) {
        ptrdiff_t before = 0;
        for (int b = 0; b < N_BUCKETS; b++) {
            ptrdiff_t size = place[d][b];
            place[d][b] = before;
            before += size;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            uint32_t key = from[i];
            to[place[d][key >> d * DIGIT_BITS & (N_BUCKETS - 1)]++] = key;
        }
        uint32_t *other = from;
        from = to, to = other;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        sorted[i] = float_of(from[i]);
}

#endif
