/* Loops over cuts and over the cells of a pair that are fast only where the compiler takes several
   of them at a time. */
#ifndef ENSEMBLE_ADDITIVE_H
#define ENSEMBLE_ADDITIVE_H

#include <string.h>

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

/* The bits of numbers that are not negative have the same order, and compilers find the largest of
   several integers at a time. Not a number is 0, a negative number less. */
static inline int64_t bits_of(double value)
{
    int64_t bits, infinite = INT64_C(0x7ff0000000000000);
    memcpy(&bits, &value, sizeof(bits));
    return bits > infinite ? 0 : bits;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A round on the values of all cuts and, behind those, of held-out rows: v <- v - b row. Returns the
   first of the n cuts with the largest |v|, or with signs the largest of max(v up, v down), and this
   size. The largest is kept by blocks, so that values are read once. */
#define STEP_AND_SEARCH(name, size_of)                                                        \
    SEVERAL_ROWS static ptrdiff_t name(                                                       \
        double *restrict v, const double *restrict row, double b, ptrdiff_t n, ptrdiff_t n_all, \
        const double *restrict up, const double *restrict down, double *restrict largest)     \
    {                                                                                         \
        ptrdiff_t best = 0, i;                                                                \
        int64_t size = -1;                                                                    \
        for (ptrdiff_t start = 0; start < n; start += CUTS_OF_BLOCK) {                        \
            ptrdiff_t stop = start + CUTS_OF_BLOCK < n ? start + CUTS_OF_BLOCK : n;           \
            int64_t of_block = 0;                                                             \
            for (i = start; i < stop; i++) {                                                  \
                v[i] -= b * row[i];                                                           \
                of_block = larger(of_block, size_of(v[i], i));                                \
            }                                                                                 \
            if (of_block > size) {                                                            \
                size = of_block;                                                              \
                best = start;                                                                 \
            }                                                                                 \
        }                                                                                     \
        for (i = n; i < n_all; i++)                                                           \
            v[i] -= b * row[i];                                                               \
        while (best < n && larger(0, size_of(v[best], best)) != size)                         \
            best++;                                                                           \
        size = larger(size, 0);                                                               \
        memcpy(largest, &size, sizeof(size));                                                 \
        return best;                                                                          \
    }
#define SIZE(value, i) bits_of((value) < 0 ? -(value) : (value))
#define SIGNED_SIZE(value, i) larger(bits_of((value) * up[i]), bits_of((value) * down[i]))
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

/* Sums along each of m rows of n values, from the first to the last, or from the last to the first
   (step -1). Sums of four rows do not wait for each other. */
static void sums_along_rows(
    const double *from, double *to, ptrdiff_t m, ptrdiff_t n, ptrdiff_t step)
{
    ptrdiff_t first = step > 0 ? 0 : n - 1, x = 0, i, y;
    for (; x + 4 <= m; x += 4) {
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
        for (i = 0, y = x * n + first; i < n; i++, y += step) {
            to[y] = a += from[y];
            to[y + n] = b += from[y + n];
            to[y + 2 * n] = c += from[y + 2 * n];
            to[y + 3 * n] = d += from[y + 3 * n];
        }
    }
    for (; x < m; x++) {
        double a = 0.0;
        for (i = 0, y = x * n + first; i < n; i++, y += step)
            to[y] = a += from[y];
    }
}

SEVERAL_ROWS static double sum_of(const double *restrict v, ptrdiff_t n)
{
    double lane[LANES] = {0}, sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += v[i + l];
    for (; i < n; i++)
        sum += v[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* Sums over all cells at or before each cell, in both directions. */
SEVERAL_ROWS static void cumulate(
    const double *restrict sums, ptrdiff_t m, ptrdiff_t n, double *restrict cumulated)
{
    sums_along_rows(sums, cumulated, m, n, 1);
    for (ptrdiff_t i = n; i < m * n; i++)
        cumulated[i] += cumulated[i - n];
}

/* The sums of one over the weights of the four quadrants of the cuts of a row of cells, from the
   weights before them and those of the last row; 0 if one of them is below a share of all weight. */
SEVERAL_ROWS static void factors_of_cuts(
    const double *restrict before, const double *restrict last, ptrdiff_t n, double min_share,
    double *restrict factor)
{
    double row = before[n], everything = last[n], least = min_share * everything;
    for (ptrdiff_t y = 0; y < n; y++) {
        double a = before[y], b = row - a, c = last[y] - a, d = everything - row - last[y] + a;
        double smallest = a < b ? a : b, other = c < d ? c : d;
        smallest = smallest < other ? smallest : other;
        factor[y] = smallest > 0.0 && smallest >= least ? 1 / a + 1 / b + 1 / c + 1 / d : 0.0;
    }
}

/* Of the cuts of a row of cells, with the sums before them, those of the last row and the factors of
   their four quadrants: what each adds where, see `averaged_step`. */
SEVERAL_ROWS static void values_of_cuts(
    const double *restrict sums, const double *restrict last, const double *restrict factor,
    ptrdiff_t size, ptrdiff_t n, double *restrict corner, double *restrict top,
    double *restrict in_row, double *restrict in_all)
{
    double row = sums[n], everything = last[n];
    for (ptrdiff_t y = 0; y < n; y++) {
        double a = sums[y] * factor[y];
        double b = (row - sums[y]) * factor[size + y];
        double c = (last[y] - sums[y]) * factor[2 * size + y];
        double d = (everything - row - last[y] + sums[y]) * factor[3 * size + y];
        corner[y] = a - b - c + d;
        top[y] += c - d;
        in_row[y] = b - d;
        in_all[y] = d;
    }
}

SEVERAL_ROWS static void change_row(
    double *restrict below, const double *restrict corner, const double *restrict top, double before,
    double share, const double *restrict weight, ptrdiff_t n, double *restrict added,
    double *restrict sums)
{
    for (ptrdiff_t y = 0; y < n; y++) {
        below[y] += corner[y];
        double change = share * (below[y] + before + top[y]);
        added[y] += change;
        sums[y] -= weight[y] * change;
    }
}

/* A step of `averaged_steps` on a table of m x n cells. `work` has room for 2 m n + m + 4 n values, of
   which those behind the first m n are 0 before the first step. */
static void averaged_step(
    double *sums, const double *weight, const double *inverse, ptrdiff_t m, ptrdiff_t n, double share,
    double *added, double *work)
{
    double *cumulated = work, *corner = work + m * n, *left = corner + m * n;
    double *top = left + m, *below = top + n, *in_row = below + n, *in_all = in_row + n;
    const double *last = cumulated + (m - 1) * n;
    ptrdiff_t size = (m - 1) * (n - 1), x, y;
    double constant = 0.0, before = 0.0, total = 0.0;
    cumulate(sums, m, n, cumulated);
    for (y = 0; y < n; y++)
        top[y] = below[y] = 0.0;
    /* A cut's four values are d everywhere, b - d in the rows before it, c - d in the columns before
       it, and a - b - c + d where both are. */
    for (x = 0; x < m - 1; x++) {
        values_of_cuts(cumulated + x * n, last, inverse + x * (n - 1), size, n - 1, corner + x * n,
                       top, in_row, in_all);
        left[x] = sum_of(in_row, n - 1);
        constant += sum_of(in_all, n - 1);
    }
    for (y = n - 1; y >= 0; y--) {
        total += top[y];
        top[y] = total + constant;
    }
    sums_along_rows(corner, corner, m, n, -1);
    for (x = m - 1; x >= 0; x--) {
        before += left[x];
        change_row(below, corner + x * n, top, before, share, weight + x * n, n, added + x * n,
                   sums + x * n);
    }
}

/* A step of `best_steps`; 0 if no cut lowers the squares. `work` has room for (m + 1) n values. */
SEVERAL_ROWS static int best_step(
    double *restrict sums, const double *restrict weight, const double *restrict inverse, ptrdiff_t m,
    ptrdiff_t n, double rate, double *restrict added, double *restrict work)
{
    double *restrict cumulated = work, *restrict gains = work + m * n;
    const double *last = cumulated + (m - 1) * n;
    ptrdiff_t size = (m - 1) * (n - 1), x, y, cut_x = -1, cut_y = -1;
    int64_t best = 0;
    cumulate(sums, m, n, cumulated);
    double everything = last[n - 1];
    for (x = 0; x < m - 1; x++) {
        const double *own = cumulated + x * n, *factor = inverse + x * (n - 1);
        double row = own[n - 1];
        int64_t largest = 0;
        for (y = 0; y < n - 1; y++) {
            double a = own[y], b = row - a, c = last[y] - a, d = everything - row - last[y] + a;
            gains[y] = a * a * factor[y] + b * b * factor[size + y] + c * c * factor[2 * size + y]
                       + d * d * factor[3 * size + y];
        }
        for (y = 0; y < n - 1; y++)
            largest = larger(largest, bits_of(gains[y]));
        if (largest > best) {
            best = largest;
            cut_x = x;
            for (cut_y = 0; bits_of(gains[cut_y]) != largest;)
                cut_y++;
        }
    }
    if (cut_x < 0)
        return 0;
    const double *factor = inverse + cut_x * (n - 1) + cut_y;
    double a = cumulated[cut_x * n + cut_y], row = cumulated[cut_x * n + n - 1];
    double b = rate * (row - a) * factor[size], c = rate * (last[cut_y] - a) * factor[2 * size];
    double d = (everything - row - last[cut_y] + a) * (rate * factor[3 * size]);
    a *= rate * factor[0];
    for (x = 0; x < m; x++) {
        double before = x <= cut_x ? a : c, after = x <= cut_x ? b : d;
        for (y = x * n; y <= x * n + cut_y; y++) {
            added[y] += before;
            sums[y] -= weight[y] * before;
        }
        for (; y < (x + 1) * n; y++) {
            added[y] += after;
            sums[y] -= weight[y] * after;
        }
    }
    return 1;
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
