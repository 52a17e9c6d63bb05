/* Order statistics of inference: loops that are fast only where the compiler takes several numbers
   at a time. */
#ifndef ENSEMBLE_INFERENCE_H
#define ENSEMBLE_INFERENCE_H

#include <string.h>

#include "several_rows.h"

/* Queries whose sums are side by side, and bytes that are looked up in one pass over the rows:
   their tables, of 256 numbers for each query, stay in the processor's cache. */
enum { LANES = 128, BYTES = 4, CODES = 256 };

/* Rows of which none is collected are passed over in blocks. */
enum { PASSED = 32 };

/* Rows that are looked at together, so that what is written of them stays in the first cache. */
enum { ROWS = 64 };

/* --- numbers of one query --------------------------------------------------------------------- */

SEVERAL_ROWS static void values_of(
    const float *restrict sums, const float *restrict inverse, const float *restrict residuals,
    ptrdiff_t n, float *restrict value)
{
    for (ptrdiff_t i = 0; i < n; i++)
        value[i] = sums[i] * inverse[i] + residuals[i];
}

SEVERAL_ROWS static ptrdiff_t n_at_most(const float *value, ptrdiff_t n, float limit)
{
    ptrdiff_t total = 0;
    /* In parts, whose counts fit into the size of a float: as many of them are added at a time. */
    for (ptrdiff_t start = 0, stop; start < n; start = stop) {
        int32_t count = 0;
        stop = n - start < INT32_MAX ? n : start + INT32_MAX;
        for (ptrdiff_t i = start; i < stop; i++)
            count += value[i] <= limit;
        total += count;
    }
    return total;
}

static inline int is_between(const float *value, ptrdiff_t n, float low, float high)
{
    int32_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        count += (value[i] >= low) & (value[i] <= high);
    return count != 0;
}

/* Write the first `most` rows with low <= value <= high; returns how many there are. */
SEVERAL_ROWS static ptrdiff_t collect(
    const float *value, ptrdiff_t n, float low, float high, int64_t *rows, ptrdiff_t most)
{
    ptrdiff_t size = 0;
    for (ptrdiff_t start = 0; start < n; start += PASSED) {
        ptrdiff_t m = n - start < PASSED ? n - start : PASSED;
        if (!(m == PASSED ? is_between(value + start, PASSED, low, high)
                          : is_between(value + start, m, low, high)))
            continue;
        /* Every row is written, and the next one over it where it does not count: a branch on what
           a row has would often be guessed wrongly. */
        for (ptrdiff_t i = start; i < start + m; i++) {
            if (size < most)
                rows[size] = i;
            size += (value[i] >= low) & (value[i] <= high);
        }
    }
    return size;
}

/* The number of this rank, from 0 on, among n, which are put into another order (Hoare). */
#define SMALLEST(name, Number)                                             \
    static Number name(Number *value, ptrdiff_t n, ptrdiff_t rank)         \
    {                                                                      \
        ptrdiff_t first = 0, last = n - 1;                                 \
        while (first < last) {                                             \
            Number pivot = value[(first + last) / 2];                      \
            ptrdiff_t i = first, j = last;                                 \
            while (i <= j) {                                               \
                while (value[i] < pivot)                                   \
                    i++;                                                   \
                while (value[j] > pivot)                                   \
                    j--;                                                   \
                if (i <= j) {                                              \
                    Number swapped = value[i];                             \
                    value[i++] = value[j];                                 \
                    value[j--] = swapped;                                  \
                }                                                          \
            }                                                              \
            if (rank <= j)                                                 \
                last = j;                                                  \
            else if (rank >= i)                                            \
                first = i;                                                 \
            else                                                           \
                break;                                                     \
        }                                                                  \
        return value[rank];                                                \
    }
SMALLEST(smallest_float, float)
SMALLEST(smallest_double, double)

/* The 16 sums that each half of a byte can stand for; t has four numbers for a half, the first for
   the highest bit. */
SEVERAL_ROWS static void fill_halves(
    const double *restrict t, ptrdiff_t n_halves, double *restrict sums)
{
    for (ptrdiff_t h = 0; h < n_halves; h++, t += 4, sums += 16) {
        /* In registers: what was just written to memory could not be read four at a time. */
        double low[4] = {0.0, 0.0 + t[3], 0.0 + t[2], 0.0 + t[3] + t[2]}, with[4];
        for (int k = 0; k < 4; k++) {
            with[k] = low[k] + t[1];
            sums[k] = low[k];
            sums[4 + k] = with[k];
            sums[8 + k] = low[k] + t[0];
            sums[12 + k] = with[k] + t[0];
        }
    }
}

static inline double sum_of_halves(const uint8_t *codes, ptrdiff_t n_bytes, const double *sums)
{
    double total = 0.0;
    for (ptrdiff_t g = 0; g < n_bytes; g++, sums += 32)
        total += sums[codes[g] >> 4] + sums[16 + (codes[g] & 15)];
    return total;
}

/* --- sums of LANES queries from tables -------------------------------------------------------- */

/* For each code of a byte the sum of the predictions of its bits, in units, rounded. `t` has eight
   lines of LANES numbers, the first for the highest bit; `sums` has room for CODES lines. */
SEVERAL_ROWS static void fill_table(
    const double *restrict t, double inverse, double *restrict sums, int16_t *restrict table)
{
    memset(sums, 0, LANES * sizeof *sums);
    for (int bit = 0; bit < 8; bit++) {
        const double *restrict own = t + (7 - bit) * LANES;
        for (int code = 0; code < 1 << bit; code++) {
            const double *restrict without = sums + code * LANES;
            double *restrict with = sums + (code + (1 << bit)) * LANES;
            for (int q = 0; q < LANES; q++)
                with[q] = without[q] + own[q];
        }
    }
    /* Shifted to positive numbers, where dropping the fraction rounds. */
    for (int k = 0; k < CODES * LANES; k++)
        table[k] = (int16_t)((int32_t)(sums[k] * inverse + 32768.5) - 32768);
}

/* Add what BYTES bytes of a row stand for. As unsigned numbers, which wrap around without harm. */
static inline void add_line(
    const uint16_t *restrict a, const uint16_t *restrict b, const uint16_t *restrict c,
    const uint16_t *restrict d, uint16_t *restrict total)
{
    for (int q = 0; q < LANES; q++)
        total[q] = (uint16_t)(total[q] + a[q] + b[q] + c[q] + d[q]);
}

/* The same for some rows, whose codes for the bytes are lines of n numbers. */
SEVERAL_ROWS static void add_lines(
    const int16_t *tables, const uint8_t *codes, ptrdiff_t n, const int64_t *rows, ptrdiff_t m,
    int16_t *sums)
{
    const uint16_t *table = (const uint16_t *)tables;
    for (ptrdiff_t at = 0; at < m; at++) {
        int64_t i = rows[at];
        add_line(table + codes[i] * LANES, table + (CODES + codes[n + i]) * LANES,
                 table + (2 * CODES + codes[2 * n + i]) * LANES,
                 table + (3 * CODES + codes[3 * n + i]) * LANES, (uint16_t *)sums + i * LANES);
    }
}

/* The smallest and the largest sum of each of m rows, side by side. */
SEVERAL_ROWS static void extremes(
    const int16_t *restrict sums, const int64_t *restrict rows, ptrdiff_t m, int16_t *restrict ends)
{
    for (ptrdiff_t at = 0; at < m; at++) {
        const int16_t *line = sums + rows[at] * LANES;
        int16_t low = line[0], high = line[0];
        for (int q = 0; q < LANES; q++) {
            low = line[q] < low ? line[q] : low;
            high = line[q] > high ? line[q] : high;
        }
        ends[2 * at] = low;
        ends[2 * at + 1] = high;
    }
}

/* out[q, at] = scale sums[rows[at], q], for the first queries: lines of queries become columns. */
static void turn_lines(
    const int16_t *restrict sums, const int64_t *restrict rows, ptrdiff_t m, float scale,
    ptrdiff_t n_queries, float *restrict out)
{
    for (ptrdiff_t start = 0; start < m; start += ROWS) {
        ptrdiff_t stop = m - start < ROWS ? m : start + ROWS;
        for (ptrdiff_t q = 0; q < n_queries; q++)
            for (ptrdiff_t at = start; at < stop; at++)
                out[q * m + at] = scale * (float)sums[rows[at] * LANES + q];
    }
}

#endif
