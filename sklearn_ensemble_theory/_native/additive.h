/* Loops over cuts and over the cells of a pair that are fast only where the compiler takes several
   of them at a time. */
#ifndef ENSEMBLE_ADDITIVE_H
#define ENSEMBLE_ADDITIVE_H

#include "several_rows.h"

/* The cell of each row in a table with one more axis, of so many bins. */
#define CELLS_OF_ROWS(name, type)                                                             \
    SEVERAL_ROWS static void name(                                                            \
        const uint32_t *restrict before, uint32_t n_bins, const type *restrict code,          \
        ptrdiff_t m, uint32_t *restrict cells)                                                \
    {                                                                                         \
        for (ptrdiff_t i = 0; i < m; i++)                                                     \
            cells[i] = before[i] * n_bins + code[i];                                          \
    }
CELLS_OF_ROWS(cells_of_8_bits, uint8_t)
CELLS_OF_ROWS(cells_of_16_bits, uint16_t)

/* One row of `scale_cut_products`: of the cut with the weight `own` of its left side, and `scale`.
   Without rows held out `held` is NULL. */
SEVERAL_ROWS static void scale_train_products(
    const double *restrict total, const double *restrict held, ptrdiff_t n, double weight,
    double own, double scale, const double *restrict left, const double *restrict scales,
    double *restrict out)
{
    double factor = scale / weight;
    if (held)
        for (ptrdiff_t k = 0; k < n; k++)
            out[k] = ((total[k] - held[k]) * weight - own * left[k]) * factor * scales[k];
    else
        for (ptrdiff_t k = 0; k < n; k++)
            out[k] = (total[k] * weight - own * left[k]) * factor * scales[k];
}

SEVERAL_ROWS static void scale_held_products(
    const double *restrict held, ptrdiff_t n, double weight, double held_weight, double own,
    double own_held, double scale, const double *restrict left, const double *restrict held_left,
    const double *restrict scales, double *restrict out)
{
    double share = own / weight;
    for (ptrdiff_t k = 0; k < n; k++) {
        double of_other = left[k] / weight;
        double centred = held[k] - share * (held_left[k] - of_other * held_weight);
        out[k] = (centred - own_held * of_other) * scale * scales[k];
    }
}

enum { CUTS_OF_BLOCK = 64, LANES = 8 };

/* A round on the values of all cuts and, behind those, of held-out rows: v <- v - b row. Returns the
   first of the n cuts with the largest |v|, or with signs the largest of max(v up, v down), and this
   size. The largest is kept by blocks, so that values are read once. */
#define STEP_AND_SEARCH(name, size_of)                                                        \
    SEVERAL_ROWS static ptrdiff_t name(                                                       \
        double *restrict v, const double *restrict row, double b, ptrdiff_t n, ptrdiff_t n_all, \
        const double *restrict up, const double *restrict down, double *restrict largest)     \
    {                                                                                         \
        ptrdiff_t best = 0, i;                                                                \
        double size = -1.0;                                                                   \
        for (ptrdiff_t start = 0; start < n; start += CUTS_OF_BLOCK) {                        \
            ptrdiff_t stop = start + CUTS_OF_BLOCK < n ? start + CUTS_OF_BLOCK : n;           \
            double lane[LANES] = {0}, of_block = 0.0;                                         \
            for (i = start; i + LANES <= stop; i += LANES)                                    \
                for (int l = 0; l < LANES; l++) {                                             \
                    double own = v[i + l] - b * row[i + l];                                   \
                    v[i + l] = own;                                                           \
                    double s = size_of(own, i + l);                                           \
                    lane[l] = s > lane[l] ? s : lane[l];                                      \
                }                                                                             \
            for (; i < stop; i++) {                                                           \
                v[i] -= b * row[i];                                                           \
                double s = size_of(v[i], i);                                                  \
                of_block = s > of_block ? s : of_block;                                       \
            }                                                                                 \
            for (int l = 0; l < LANES; l++)                                                   \
                of_block = lane[l] > of_block ? lane[l] : of_block;                           \
            if (of_block > size) {                                                            \
                size = of_block;                                                              \
                best = start;                                                                 \
            }                                                                                 \
        }                                                                                     \
        for (i = n; i < n_all; i++)                                                           \
            v[i] -= b * row[i];                                                               \
        if (n)                                                                                \
            while (size_of(v[best], best) != size)                                            \
                best++;                                                                       \
        *largest = size;                                                                      \
        return best;                                                                          \
    }
#define SIZE(value, i) ((value) < 0 ? -(value) : (value))
#define SIGNED_SIZE(value, i)                                                                 \
    ((value) * up[i] > (value) * down[i] ? (value) * up[i] : (value) * down[i])
STEP_AND_SEARCH(step_and_search, SIZE)
STEP_AND_SEARCH(step_and_search_signed, SIGNED_SIZE)

/* The sum of factor * v^2. */
SEVERAL_ROWS static double weighted_squares(
    const double *restrict v, const double *restrict factor, ptrdiff_t n)
{
    double lane[LANES] = {0}, sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += v[i + l] * v[i + l] * factor[i + l];
    for (; i < n; i++)
        sum += v[i] * v[i] * factor[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* The sum of d (w d - 2 s): how a table d that is added changes the sum of squares. */
SEVERAL_ROWS static double sum_of_changes(
    const double *restrict d, const double *restrict w, const double *restrict s, ptrdiff_t n)
{
    double lane[LANES] = {0}, sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += d[i + l] * (w[i + l] * d[i + l] - 2.0 * s[i + l]);
    for (; i < n; i++)
        sum += d[i] * (w[i] * d[i] - 2.0 * s[i]);
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* v <- v - b'rows for m rows of n values; four rows at a time, so that v is read and written less. */
SEVERAL_ROWS static void subtract_rows(
    double *restrict v, const double *restrict rows, const double *restrict b, ptrdiff_t m,
    ptrdiff_t n)
{
    ptrdiff_t k, i;
    for (k = 0; k + 4 <= m; k += 4) {
        const double *row = rows + k * n;
        for (i = 0; i < n; i++)
            v[i] -= (b[k] * row[i] + b[k + 1] * row[n + i])
                    + (b[k + 2] * row[2 * n + i] + b[k + 3] * row[3 * n + i]);
    }
    for (; k < m; k++)
        for (i = 0; i < n; i++)
            v[i] -= b[k] * rows[k * n + i];
}
#endif
