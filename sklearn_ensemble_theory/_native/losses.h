/* Losses of rows, their negative gradients and second derivatives.

   The exponential function is written out, because the compiler then takes several rows at a time;
   it is exact to two units in the last place. NaN stays NaN. */
#ifndef ENSEMBLE_LOSSES_H
#define ENSEMBLE_LOSSES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "loss_options.h"
#include "several_rows.h"

/* Rows of a block, which stays in the first cache, and rows whose series are computed together: one
   step need not wait for the step before it in the same row. */
enum { BLOCK = 256, TOGETHER = 16 };

/* As in boosting/losses/_base.py. */
#define MAX_EXPONENT 700.0

/* The first number where it is NaN. */
static inline double smaller(double x, double bound) { return bound < x ? bound : x; }
static inline double larger(double x, double bound) { return bound > x ? bound : x; }

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define ROWS for (int k = 0; k < TOGETHER; k++)

/* x[i] becomes exp(x[i]) for x <= 709, exp(-708) below -708. There is room for n rounded up to a
   multiple of TOGETHER. */
SEVERAL_ROWS static void exp_of_rows(double *restrict x, ptrdiff_t n)
{
    /* A double beside 1.5 2^52 has no fraction, and its integer stands in the lowest bits. */
    const double rounder = 6755399441055744.0;
    for (ptrdiff_t i = n; i % TOGETHER; i++)
        x[i] = 0.0;
    for (ptrdiff_t i = 0; i < n; i += TOGETHER, x += TOGETHER) {
        /* x = m log 2 + r with an integer m, and exp(x) = 2^m exp(r). */
        double r[TOGETHER], p[TOGETHER], power[TOGETHER];
        ROWS {
            double bounded = larger(x[k], -708.0);
            double shifted = bounded * 1.4426950408889634 + rounder, m = shifted - rounder;
            /* log 2 in two parts: the product of the first with an integer below 2^11 is exact. */
            r[k] = (bounded - m * 0.693145751953125) - m * 1.42860682030941723212e-6;
            power[k] = double_of((bits_of(shifted) + 1023) << 52);
        }
        /* Taylor's series to the 13th power: |r| <= log(2) / 2. */
        ROWS p[k] = r[k] * (1.0 / 6227020800) + 1.0 / 479001600;
#define TERM(c) ROWS p[k] = p[k] * r[k] + c;
        TERM(1.0 / 39916800) TERM(1.0 / 3628800) TERM(1.0 / 362880) TERM(1.0 / 40320)
        TERM(1.0 / 5040) TERM(1.0 / 720) TERM(1.0 / 120) TERM(1.0 / 24) TERM(1.0 / 6) TERM(0.5)
#undef TERM
        ROWS x[k] = (p[k] * r[k] * r[k] + r[k] + 1.0) * power[k];
    }
}

/* log(1 + e) for 0 <= e <= 1: twice the series of artanh(e / (2 + e)). Room as above, e known
   there. */
SEVERAL_ROWS static void log1p_of_rows(
    const double *restrict e, ptrdiff_t n, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i += TOGETHER, e += TOGETHER, out += TOGETHER) {
        double s[TOGETHER], z[TOGETHER], p[TOGETHER];
        ROWS s[k] = e[k] / (2.0 + e[k]);
        ROWS z[k] = s[k] * s[k];
        ROWS p[k] = z[k] * (1.0 / 35) + 1.0 / 33;
#define TERM(c) ROWS p[k] = p[k] * z[k] + 1.0 / c;
        TERM(31) TERM(29) TERM(27) TERM(25) TERM(23) TERM(21) TERM(19) TERM(17) TERM(15) TERM(13)
        TERM(11) TERM(9) TERM(7) TERM(5) TERM(3)
#undef TERM
        ROWS out[k] = 2.0 * s[k] + 2.0 * s[k] * z[k] * p[k];
    }
}

/* exp((2 - power) u) and exp((1 - power) u) of n <= BLOCK rows, of TWEEDIE. */
SEVERAL_ROWS static void exp_of_both_terms(
    const LossOptions *options, const double *restrict u, ptrdiff_t n, double *restrict rising,
    double *restrict falling)
{
    const double up = 2.0 - options->power, down = 1.0 - options->power;
    for (ptrdiff_t i = 0; i < n; i++) {
        rising[i] = smaller(up * u[i], MAX_EXPONENT);
        falling[i] = smaller(down * u[i], MAX_EXPONENT);
    }
    if (up > 0)
        exp_of_rows(rising, n);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            rising[i] = 1.0;
    exp_of_rows(falling, n);
}

/* The losses of n <= BLOCK rows with one score each, and their negative gradients. `value` has room
   for BLOCK rows. */
SEVERAL_ROWS static void losses_of_rows(
    const LossOptions *options, const double *restrict y, const double *restrict u, ptrdiff_t n,
    double *restrict target, double *restrict value)
{
    const double delta = options->delta;
    const double rising = 2.0 - options->power, falling = options->power - 1.0;
    const Kink above = options->above, below = options->below;
    double e[BLOCK];
    switch (options->kind) {
    case SQUARED:
        for (ptrdiff_t i = 0; i < n; i++) {
            double r = y[i] - u[i];
            target[i] = r;
            value[i] = 0.5 * (r * r);
        }
        break;
    case HUBER:
        for (ptrdiff_t i = 0; i < n; i++) {
            double r = y[i] - u[i], size = fabs(r), near = smaller(size, delta);
            target[i] = smaller(larger(r, -delta), delta);
            value[i] = near * (size - near / 2);
        }
        break;
    case KINK:
        for (ptrdiff_t i = 0; i < n; i++) {
            double left = y[i] > 0 ? above.left : below.left;
            double right = y[i] > 0 ? above.right : below.right;
            double gap = u[i] - y[i], slope = gap < 0 ? left : right;
            value[i] = slope * gap;
            /* A subgradient: the middle of the two slopes at the kink itself. */
            target[i] = gap != 0 ? -slope : -(left + right) / 2;
        }
        break;
    case POISSON:
        for (ptrdiff_t i = 0; i < n; i++)
            value[i] = smaller(u[i], MAX_EXPONENT);
        exp_of_rows(value, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            double rate = value[i];
            target[i] = y[i] - rate;
            value[i] = rate - y[i] * u[i];
        }
        break;
    case TWEEDIE:
        exp_of_both_terms(options, u, n, e, value);
        for (ptrdiff_t i = 0; i < n; i++) {
            double rate = e[i], events = y[i] * value[i];
            target[i] = events - rate;
            value[i] = (rising > 0 ? rate / rising : u[i]) + events / falling;
        }
        break;
    case BINOMIAL:
        for (ptrdiff_t i = 0; i < n; i++)
            e[i] = -fabs(u[i]);
        exp_of_rows(e, n);
        log1p_of_rows(e, n, value);
        for (ptrdiff_t i = 0; i < n; i++) {
            /* Of success and of failure: 1 minus the other has lost its digits where it is small. */
            double share = 1.0 / (1.0 + e[i]), rare = e[i] * share;
            double p = u[i] < 0 ? rare : share, q = u[i] < 0 ? share : rare;
            target[i] = y[i] * q - (1.0 - y[i]) * p;
            value[i] += u[i] < 0 ? -y[i] * u[i] : (1.0 - y[i]) * u[i];
        }
        break;
    case LOGISTIC:
        for (ptrdiff_t i = 0; i < n; i++)
            e[i] = -fabs(y[i] * u[i]);
        exp_of_rows(e, n);
        log1p_of_rows(e, n, value);
        for (ptrdiff_t i = 0; i < n; i++) {
            double margin = y[i] * u[i], share = 1.0 / (1.0 + e[i]);
            target[i] = y[i] * ((margin < 0 ? 1.0 : e[i]) * share);
            value[i] += larger(-margin, 0.0);
        }
        break;
    case EXPONENTIAL:
        for (ptrdiff_t i = 0; i < n; i++)
            value[i] = smaller(-y[i] * u[i], MAX_EXPONENT);
        exp_of_rows(value, n);
        for (ptrdiff_t i = 0; i < n; i++)
            target[i] = y[i] * value[i];
        break;
    case MULTINOMIAL: /* see losses_of_classes */
        break;
    }
}

/* Second derivatives of n <= BLOCK rows, from the scores and the negative gradients; not for HUBER
   and KINK. `second` has room for BLOCK rows. */
SEVERAL_ROWS static void curvatures_of_rows(
    const LossOptions *options, const double *restrict u, const double *restrict target, ptrdiff_t n,
    double *restrict second)
{
    const double power = options->power;
    switch (options->kind) {
    case POISSON:
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = smaller(u[i], MAX_EXPONENT);
        exp_of_rows(second, n);
        break;
    case TWEEDIE: /* (2 - p) a + (p - 1) b where the negative gradient is b - a: one power less */
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = smaller((2.0 - power) * u[i], MAX_EXPONENT);
        exp_of_rows(second, n);
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = larger(second[i] + (power - 1.0) * target[i], 0.0);
        break;
    case BINOMIAL:
    case LOGISTIC:
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = -fabs(u[i]);
        exp_of_rows(second, n);
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = second[i] / ((1.0 + second[i]) * (1.0 + second[i]));
        break;
    case EXPONENTIAL:
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = fabs(target[i]);
        break;
    default:
        for (ptrdiff_t i = 0; i < n; i++)
            second[i] = 1.0;
    }
}

/* Losses of n <= BLOCK rows with K scores, u and target of shape (n, K), from log sum_k exp(u_k).
   `shares` has room for K BLOCK numbers: there the scores of a class are side by side. */
SEVERAL_ROWS static void losses_of_classes(
    const int64_t *restrict y, const double *restrict u, ptrdiff_t n, ptrdiff_t K,
    double *restrict target, double *restrict value, double *restrict shares)
{
    double top[BLOCK], total[BLOCK];
    for (ptrdiff_t i = 0; i < n; i++) {
        top[i] = u[i * K];
        total[i] = 0.0;
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        double *restrict share = shares + k * BLOCK;
        for (ptrdiff_t i = 0; i < n; i++) {
            share[i] = u[i * K + k];
            top[i] = larger(top[i], share[i]);
        }
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        double *restrict share = shares + k * BLOCK;
        for (ptrdiff_t i = 0; i < n; i++)
            share[i] -= top[i];
        exp_of_rows(share, n);
        for (ptrdiff_t i = 0; i < n; i++)
            total[i] += share[i];
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        const double *restrict share = shares + k * BLOCK;
        for (ptrdiff_t i = 0; i < n; i++)
            target[i * K + k] = -(share[i] / total[i]);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        target[i * K + y[i]] += 1.0;
        value[i] = log(total[i]) - (u[i * K + y[i]] - top[i]);
    }
}

/* Second derivatives in one score of n rows, from the negative gradients in that score. */
SEVERAL_ROWS static void curvatures_of_class(
    const int64_t *restrict y, const double *restrict u, ptrdiff_t K, ptrdiff_t score,
    const double *restrict target, ptrdiff_t n, double *restrict second)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double p = (double)(y[i] == score) - target[i];
        second[i] = p * (1.0 - p);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        if (target[i] > 0.99) {
            /* The difference from 1 has lost its digits. */
            const double *scores = u + i * K;
            double total = 0.0;
            for (ptrdiff_t k = 0; k < K; k++)
                total += exp(smaller(scores[k] - scores[score], MAX_EXPONENT));
            second[i] = 1.0 / total * (1.0 - 1.0 / total);
        }
}

/* The second derivative p (1 - p) of the losses of classes, where the negative gradient is 1 - p or
   -p; NaN stays NaN. */
static inline double class_curvature(double first)
{
    double size = fabs(first);
    return larger((1.0 - size) * size, 0.0);
}

/* Sums over the K scores of n <= BLOCK rows: of second derivatives, and of sizes of gradients. */
SEVERAL_ROWS static void curvatures_and_sizes(
    const double *restrict first, ptrdiff_t n, ptrdiff_t K, double *restrict second,
    double *restrict size)
{
    for (ptrdiff_t i = 0; i < n; i++)
        second[i] = size[i] = 0.0;
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t i = 0; i < n; i++) {
            second[i] += class_curvature(first[i * K + k]);
            size[i] += fabs(first[i * K + k]);
        }
}

/* Newton's steps of n rows in one of K scores, and their weights: the second derivatives, or what is
   larger of `ratio` times the size of the gradient and `least`. */
SEVERAL_ROWS static void newton_targets_of_class(
    const double *restrict first, ptrdiff_t n, ptrdiff_t K, double ratio, double least,
    const double *restrict given, double *restrict target, double *restrict weight)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double gradient = first[i * K], second = class_curvature(gradient);
        second = larger(larger(second, fabs(gradient) * ratio), least);
        target[i] = gradient / second;
        weight[i] = given ? second * given[i] : second;
    }
}

/* Of row i at its leaf's step: u + step - y cut off at -delta and delta, and 1 where it is between
   them, else 0. */
static void huber_terms(
    const double *restrict y, const double *restrict u, const int32_t *restrict leaf,
    const double *restrict steps, ptrdiff_t n, double delta, double *restrict terms)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double r = u[i] + steps[leaf[i]] - y[i];
        terms[2 * i] = smaller(larger(r, -delta), delta);
        terms[2 * i + 1] = fabs(r) < delta ? 1.0 : 0.0;
    }
}

/* Whether all codes are in [0, bound). A small part of the time of a sum over the rows. */
SEVERAL_ROWS static int leaves_are_below(const int32_t *leaf, ptrdiff_t n, ptrdiff_t bound)
{
    int wrong = 0;
    uint32_t end = bound > INT32_MAX ? (uint32_t)INT32_MAX + 1 : (uint32_t)bound;
    for (ptrdiff_t i = 0; i < n; i++)
        wrong |= (uint32_t)leaf[i] >= end;
    return !wrong;
}

SEVERAL_ROWS static int classes_are_below(const int64_t *code, ptrdiff_t n, ptrdiff_t bound)
{
    int wrong = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        wrong |= (uint64_t)code[i] >= (uint64_t)bound;
    return !wrong;
}

/* A weighted sum over the rows of a chunk. */
typedef struct {
    double sums[4];     /* of rows 0, 1, 2, 3 mod 4; of the last n mod 4 rows in the first */
    const double *each; /* weights of the rows; NULL where all rows have the one below */
    double same;
} WeightedSum;

SEVERAL_ROWS static void add_block(
    WeightedSum *restrict total, double *restrict value, ptrdiff_t start, ptrdiff_t n)
{
    ptrdiff_t i = 0, whole = n - n % 4;
    double sums[4];
    if (total->each)
        for (ptrdiff_t j = 0; j < n; j++)
            value[j] *= total->each[start + j];
    memcpy(sums, total->sums, sizeof sums);
    for (; i < whole; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += value[i + k];
    for (; i < n; i++)
        sums[0] += value[i];
    memcpy(total->sums, sums, sizeof sums);
}

static double result(const WeightedSum *total)
{
    const double *s = total->sums, sum = (s[0] + s[1]) + (s[2] + s[3]);
    return total->each ? sum : total->same * sum;
}

#define FOR_BLOCKS(i, m, n)                                                                  \
    for (ptrdiff_t i = 0, m; i < n && (m = n - i < BLOCK ? n - i : BLOCK, 1); i += BLOCK)

/* The weighted sum of the losses of n rows; fills in the target. */
static double sum_losses_of_rows(
    const LossOptions *options, const double *y, const double *u, const double *each, double same,
    ptrdiff_t n, double *target)
{
    WeightedSum total = { { 0, 0, 0, 0 }, each, same };
    double value[BLOCK];
    FOR_BLOCKS(i, m, n) {
        losses_of_rows(options, y + i, u + i, m, target + i, value);
        add_block(&total, value, i, m);
    }
    return result(&total);
}

static double sum_losses_of_classes(
    const int64_t *y, const double *u, ptrdiff_t K, const double *each, double same, ptrdiff_t n,
    double *target, double *shares)
{
    WeightedSum total = { { 0, 0, 0, 0 }, each, same };
    double value[BLOCK];
    FOR_BLOCKS(i, m, n) {
        losses_of_classes(y + i, u + i * K, m, K, target + i * K, value, shares);
        add_block(&total, value, i, m);
    }
    return result(&total);
}
#endif
