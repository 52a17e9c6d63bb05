"""Loops over the rows in a round of AdaBoost: weights, and votes of -1 and +1."""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import jit

BLOCK_ROWS = 2048
LOG2_E = 1.4426950408889634
# log 2 in two parts: products of the first with whole numbers below 2^20 are exact.
LOG_2_HIGH, LOG_2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
# Added to a number below 2^51, this rounds it to a whole number, held in the lowest bits.
ROUNDER = 6755399441055744.0


@jit
def _exponentials(x, result):
    """exp(x) for x in [-700, 700], and the sum; x is overwritten.

    Plain operations without branches, which the compiler does for several rows at a time: exp(x) is
    2^k exp(r) with |r| <= log(2)/2, a polynomial with a relative error below 3e-16.
    """
    n = len(x)
    for i in range(n):
        rounded = x[i] * LOG2_E + ROUNDER
        k = rounded - ROUNDER
        r = (x[i] - k * LOG_2_HIGH) - k * LOG_2_LOW
        value = 1.0 / 6227020800.0
        value = value * r + 1.0 / 479001600.0
        value = value * r + 1.0 / 39916800.0
        value = value * r + 1.0 / 3628800.0
        value = value * r + 1.0 / 362880.0
        value = value * r + 1.0 / 40320.0
        value = value * r + 1.0 / 5040.0
        value = value * r + 1.0 / 720.0
        value = value * r + 1.0 / 120.0
        value = value * r + 1.0 / 24.0
        value = value * r + 1.0 / 6.0
        value = value * r + 0.5
        value = value * r + 1.0
        result[i] = value * r + 1.0
        x[i] = rounded
    exponents, bits = x.view(np.int64), result.view(np.int64)
    for i in range(n):
        bits[i] += exponents[i] << 52
    return _sum(result)


@jit
def _sum(x):
    """The sum, in four parts that the processor adds up at the same time."""
    n = len(x)
    a = b = c = d = 0.0
    for i in range(0, n - 3, 4):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
    for i in range(n // 4 * 4, n):
        a += x[i]
    return (a + b) + (c + d)


@jit
def exponential_weights(start, u, shift, weight):
    """exp(start - u - shift), and its sum.

    Parameters
    ----------
    start : float64 array of shape (n,) or (1,)
        One number for all rows, or one for each.
    u : float64 array of shape (n,)
    shift : float
        At least the largest start - u. Exponents below -700 count as -700.
    weight : float64 array of shape (n,)
        The result.

    Returns
    -------
    total : float
    """
    total = 0.0
    work = np.empty(BLOCK_ROWS)
    for begin in range(0, len(u), BLOCK_ROWS):
        scores = u[begin : begin + BLOCK_ROWS]
        x = work[: len(scores)]
        if len(start) == 1:
            for i in range(len(x)):
                exponent = start[0] - scores[i] - shift
                x[i] = exponent if exponent > -700.0 else -700.0
        else:
            starts = start[begin : begin + BLOCK_ROWS]
            for i in range(len(x)):
                exponent = starts[i] - scores[i] - shift
                x[i] = exponent if exponent > -700.0 else -700.0
        total += _exponentials(x, weight[begin : begin + BLOCK_ROWS])
    return total


@jit
def add_votes(u, votes, b):
    """u <- u + b votes, for votes of one byte.

    Parameters
    ----------
    u : float64 array of shape (n,)
        Changed in place.
    votes : int8 array of shape (n,)
    b : float
    """
    for i in range(len(u)):
        u[i] += b * votes[i]


@jit
def weighted_votes(weight, votes):
    """weight'votes, for votes of one byte.

    Parameters
    ----------
    weight : float64 array of shape (n,)
    votes : int8 array of shape (n,)

    Returns
    -------
    sum : float
    """
    total = 0.0
    work = np.empty(BLOCK_ROWS)
    for begin in range(0, len(votes), BLOCK_ROWS):
        some, values = votes[begin : begin + BLOCK_ROWS], weight[begin : begin + BLOCK_ROWS]
        for i in range(len(some)):
            work[i] = values[i] * some[i]
        total += _sum(work[: len(some)])
    return total
