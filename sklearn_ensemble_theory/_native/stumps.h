/* Rounds of AdaBoost: loops that are fast only where the compiler takes several rows at a time. */
#ifndef ENSEMBLE_STUMPS_H
#define ENSEMBLE_STUMPS_H

#include <string.h>

#include "several_rows.h"

/* So many exponents and their exponentials stay in the first cache. */
enum { BLOCK_ROWS = 2048 };

/* The sum in four parts, which the processor adds up at the same time. */
static inline double sum_in_four(const double *x, int n)
{
    double parts[4] = {0.0, 0.0, 0.0, 0.0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            parts[k] += x[i + k];
    for (; i < n; i++)
        parts[0] += x[i];
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/* exp(x) for x from -700 to 700, without branches: 2^k exp(r) with |r| <= log(2) / 2, and a
   polynomial with a relative error below 3e-16. */
static inline double exponential(double x)
{
    /* Added to a number below 2^51, this rounds it to a whole number, held in the lowest bits. */
    const double rounder = 6755399441055744.0;
    double rounded = x * 1.4426950408889634 + rounder;
    double k = rounded - rounder;
    /* log 2 in two parts: the product of the first with k, which is below 2^20, is exact. */
    double r = (x - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6;
    double value = 1.0 / 6227020800.0;
    int64_t exponent, bits;
    value = value * r + 1.0 / 479001600.0;
    value = value * r + 1.0 / 39916800.0;
    value = value * r + 1.0 / 3628800.0;
    value = value * r + 1.0 / 362880.0;
    value = value * r + 1.0 / 40320.0;
    value = value * r + 1.0 / 5040.0;
    value = value * r + 1.0 / 720.0;
    value = value * r + 1.0 / 120.0;
    value = value * r + 1.0 / 24.0;
    value = value * r + 1.0 / 6.0;
    value = value * r + 0.5;
    value = value * r + 1.0;
    value = value * r + 1.0;
    memcpy(&exponent, &rounded, sizeof exponent);
    memcpy(&bits, &value, sizeof bits);
    bits = (int64_t)((uint64_t)bits + ((uint64_t)exponent << 52));
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* weight = exp(start - score - shift) for some rows, and the sum. `starts` is NULL where all are
   `start`. */
SEVERAL_ROWS static double exponentials(
    const double *restrict score, int n, const double *restrict starts, double start, double shift,
    double *restrict weight)
{
    if (starts)
        for (int i = 0; i < n; i++) {
            double exponent = starts[i] - score[i] - shift;
            weight[i] = exponential(exponent > -700.0 ? exponent : -700.0);
        }
    else
        for (int i = 0; i < n; i++) {
            double exponent = start - score[i] - shift;
            weight[i] = exponential(exponent > -700.0 ? exponent : -700.0);
        }
    return sum_in_four(weight, n);
}

/* The products first: then the compiler takes several rows at a time here too. */
SEVERAL_ROWS static double sum_of_votes(
    const double *restrict weight, const int8_t *restrict votes, int n)
{
    double products[BLOCK_ROWS];
    for (int i = 0; i < n; i++)
        products[i] = weight[i] * votes[i];
    return sum_in_four(products, n);
}

SEVERAL_ROWS static void add_times(
    double *restrict u, const int8_t *restrict votes, ptrdiff_t n, double b)
{
    for (ptrdiff_t i = 0; i < n; i++)
        u[i] += b * votes[i];
}

/* u <- u + b votes, and the least of these numbers, in parts as above. */
SEVERAL_ROWS static double least_after(
    double *restrict u, const int8_t *restrict votes, ptrdiff_t n, double b)
{
    double parts[8], least;
    ptrdiff_t i = 0;
    add_times(u, votes, n, b);
    for (int k = 0; k < 8; k++)
        parts[k] = u[0];
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            parts[k] = u[i + k] < parts[k] ? u[i + k] : parts[k];
    least = parts[0];
    for (int k = 1; k < 8; k++)
        least = parts[k] < least ? parts[k] : least;
    for (; i < n; i++)
        least = u[i] < least ? u[i] : least;
    return least;
}

SEVERAL_ROWS static void scale_by(double *restrict weight, ptrdiff_t n, double factor)
{
    for (ptrdiff_t i = 0; i < n; i++)
        weight[i] *= factor;
}

/* Whether a stump is right in each row, +1 or -1. The lowest bit of a code is the side of the row;
   below `least` the stump says `left`, and elsewhere `right`. */
SEVERAL_ROWS static void votes_of_stump(
    const uint16_t *restrict codes, ptrdiff_t n, uint16_t least, uint16_t left, uint16_t right,
    int8_t *restrict votes)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint16_t wrong = ((codes[i] < least ? left : right) ^ codes[i]) & 1;
        votes[i] = (int8_t)(1 - 2 * wrong);
    }
}

/* Weights in units of 1 / `unit`, rounded. */
SEVERAL_ROWS static void whole_numbers(
    const double *restrict weight, int n, double unit, int64_t *restrict whole)
{
    for (int i = 0; i < n; i++)
        whole[i] = (int64_t)(weight[i] * unit + 0.5);
}

/* Add a move to the scores of some rows: `left` where the code is at most `cut`. The largest code
   of some rows. For codes of one and of two bytes. */
#define LOOPS_OVER_CODES(Code, bytes)                                                       \
    SEVERAL_ROWS static void add_move_##bytes(                                              \
        const Code *restrict codes, int n, int cut, double left, double right,              \
        double *restrict score)                                                             \
    {                                                                                       \
        for (int i = 0; i < n; i++)                                                         \
            score[i] += codes[i] <= cut ? left : right;                                     \
    }                                                                                       \
    SEVERAL_ROWS static int largest_code_##bytes(const Code *codes, int n)                  \
    {                                                                                       \
        Code largest = 0;                                                                   \
        for (int i = 0; i < n; i++)                                                         \
            largest = codes[i] > largest ? codes[i] : largest;                              \
        return largest;                                                                     \
    }
LOOPS_OVER_CODES(uint8_t, 1)
LOOPS_OVER_CODES(uint16_t, 2)

/* Whether the codes of rows are lower than `least`. */
SEVERAL_ROWS static void are_below(
    const uint16_t *restrict codes, ptrdiff_t n, uint16_t least, uint8_t *restrict below)
{
    for (ptrdiff_t i = 0; i < n; i++)
        below[i] = codes[i] < least;
}

#endif
