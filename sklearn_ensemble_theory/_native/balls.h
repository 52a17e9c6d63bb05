/* Sums and changes of the rows and columns of conditional gradients.

   Sums are those of numbers 0, 1, ... 7 mod 8, added in this order. */
#ifndef ENSEMBLE_BALLS_H
#define ENSEMBLE_BALLS_H

#include <math.h>
#include <stddef.h>

#include "several_rows.h"

enum { LANES = 8 };

#define FOR_LANES for (int k = 0; k < LANES; k++)

static inline double sum_of_lanes(const double *lanes)
{
    double sum = 0.0;
    FOR_LANES sum += lanes[k];
    return sum;
}

/* a'b. */
SEVERAL_ROWS static double dot(const double *restrict a, const double *restrict b, ptrdiff_t n)
{
    double lanes[LANES] = { 0 };
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FOR_LANES lanes[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        lanes[0] += a[i] * b[i];
    return sum_of_lanes(lanes);
}

/* The sum of |a|. */
SEVERAL_ROWS static double sum_of_sizes(const double *restrict a, ptrdiff_t n)
{
    double lanes[LANES] = { 0 };
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FOR_LANES lanes[k] += fabs(a[i + k]);
    for (; i < n; i++)
        lanes[0] += fabs(a[i]);
    return sum_of_lanes(lanes);
}

/* The first of the numbers that are largest in size. */
SEVERAL_ROWS static ptrdiff_t largest_size(const double *restrict a, ptrdiff_t n)
{
    double lanes[LANES] = { 0 }, most = 0.0;
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        FOR_LANES lanes[k] = fabs(a[i + k]) > lanes[k] ? fabs(a[i + k]) : lanes[k];
    for (; i < n; i++)
        lanes[0] = fabs(a[i]) > lanes[0] ? fabs(a[i]) : lanes[0];
    FOR_LANES most = lanes[k] > most ? lanes[k] : most;
    for (i = 0; i < n; i++)
        if (fabs(a[i]) == most)
            return i;
    return 0;
}

/* to <- to + a row. */
SEVERAL_ROWS static void add_row(
    double *restrict to, const double *restrict row, double a, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] += a * row[i];
}

/* to <- (1 - share) to + share end. */
SEVERAL_ROWS static void move_towards(
    double *restrict to, const double *restrict end, double share, ptrdiff_t n)
{
    const double rest = 1.0 - share;
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] = rest * to[i] + share * end[i];
}

SEVERAL_ROWS static void multiply(double *restrict to, double a, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] *= a;
}

/* out <- length psi + u + b. */
SEVERAL_ROWS static void scores_along(
    const double *restrict u, const double *restrict psi, double length, double b, ptrdiff_t n,
    double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = length * psi[i] + u[i] + b;
}

/* Of n rows, each with its weight (NULL: 1): the sums of `target`, `second`, |target|. */
SEVERAL_ROWS static void sums_over_rows(
    const double *restrict each, const double *restrict target, const double *restrict second,
    ptrdiff_t n, double *restrict sums)
{
    double lanes[3][LANES] = { { 0 } };
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        double w[LANES] = { 0 }, t[LANES] = { 0 }, s[LANES] = { 0 };
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int k = 0; k < m; k++) {
            w[k] = each ? each[i + k] : 1.0;
            t[k] = target[i + k];
            s[k] = second[i + k];
        }
        FOR_LANES lanes[0][k] += w[k] * t[k];
        FOR_LANES lanes[1][k] += w[k] * s[k];
        FOR_LANES lanes[2][k] += w[k] * fabs(t[k]);
    }
    for (int j = 0; j < 3; j++)
        sums[j] = sum_of_lanes(lanes[j]);
}

/* The sums of target psi, second psi², target, second psi, second: slopes and curvatures in a length
   along psi and a constant. */
SEVERAL_ROWS static void slopes_and_curvatures(
    const double *restrict each, const double *restrict target, const double *restrict second,
    const double *restrict psi, ptrdiff_t n, double *restrict sums)
{
    double lanes[5][LANES] = { { 0 } };
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        double t[LANES] = { 0 }, s[LANES] = { 0 }, p[LANES] = { 0 };
        const int m = n - i < LANES ? (int)(n - i) : LANES;
        for (int k = 0; k < m; k++) {
            const double w = each ? each[i + k] : 1.0;
            t[k] = w * target[i + k];
            s[k] = w * second[i + k];
            p[k] = psi[i + k];
        }
        FOR_LANES lanes[0][k] += t[k] * p[k];
        FOR_LANES lanes[1][k] += (s[k] * p[k]) * p[k];
        FOR_LANES lanes[2][k] += t[k];
        FOR_LANES lanes[3][k] += s[k] * p[k];
        FOR_LANES lanes[4][k] += s[k];
    }
    for (int j = 0; j < 5; j++)
        sums[j] = sum_of_lanes(lanes[j]);
}

/* sums (d,) <- the sums over the rows of x (n, d) times their value and weight; the sum of these
   products without x is returned. */
SEVERAL_ROWS static double products_of_columns(
    const double *restrict x, const double *restrict value, const double *restrict each, double same,
    ptrdiff_t n, ptrdiff_t d, double *restrict sums)
{
    double total = 0.0;
    for (ptrdiff_t j = 0; j < d; j++)
        sums[j] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += 4, x += 4 * d) {
        double v[4] = { 0 };
        const int m = n - i < 4 ? (int)(n - i) : 4;
        for (int k = 0; k < m; k++) {
            v[k] = value[i + k] * (each ? each[i + k] : same);
            total += v[k];
        }
        if (m == 4)
            for (ptrdiff_t j = 0; j < d; j++)
                sums[j] += (v[0] * x[j] + v[1] * x[d + j]) + (v[2] * x[2 * d + j] + v[3] * x[3 * d + j]);
        else
            for (int k = 0; k < m; k++)
                for (ptrdiff_t j = 0; j < d; j++)
                    sums[j] += v[k] * x[k * d + j];
    }
    return total;
}

/* change <- change + a (column - offset) / scale, for a column of x (n, d). */
static void add_column(
    double *restrict change, const double *restrict column, ptrdiff_t d, ptrdiff_t n, double offset,
    double scale, double a)
{
    for (ptrdiff_t i = 0; i < n; i++)
        change[i] += a * ((column[i * d] - offset) / scale);
}
#endif
