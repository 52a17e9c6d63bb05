"""Criteria that choose a time from a path of residual sums of squares and degrees of freedom.

Every function takes arrays over times and returns an array to be minimised; fits that use up (99 %
of) the data get infinity, and a path without residuals to begin with (constant y) is flat.
"""

import numpy as np

__all__ = ["CRITERIA", "aicc", "bic", "discrepancy", "gcv", "gmdl"]


def _guarded(criterion):
    def guarded(rss, df, n, total):
        if total == 0:
            return np.zeros_like(df)
        usable = np.isfinite(rss) & (df <= 0.99 * n)
        # A fit without residuals short of 99 % of n is as good as the smallest positive number.
        safe = np.maximum(np.where(usable, rss, 1.0), 1e-30 * total)
        values = criterion(safe, np.where(usable, df, 0.0), n, total)
        return np.where(usable, values, np.inf)

    guarded.__doc__ = criterion.__doc__
    guarded.__name__ = criterion.__name__
    return guarded


@_guarded
def gcv(rss, df, n, total):
    """Generalised cross-validation, (rss / n) / (1 - df / n)^2."""
    return rss / n / (1.0 - df / n) ** 2


@_guarded
def aicc(rss, df, n, total):
    """Corrected Akaike criterion of Hurvich, Simonoff and Tsai (1998)."""
    room = n - df - 2.0
    penalty = 2.0 * (df + 1.0) / np.where(room > 0, room, 1.0)
    return np.where(room > 0, np.log(rss / n) + 1.0 + penalty, np.inf)


@_guarded
def bic(rss, df, n, total):
    """Bayesian information criterion, log(rss / n) + log(n) df / n."""
    return np.log(rss / n) + np.log(n) * df / n


@_guarded
def gmdl(rss, df, n, total):
    """Minimum description length with a g-prior (Hansen and Yu, 2001), twice over n.

    Where the fit explains less than its share df / n of the total sum of squares, their form for
    a model that explains nothing.
    """
    S = rss / (n - df)
    explained = np.maximum(total - rss, 0.0)
    F = explained / np.maximum(df, 1e-300) / S
    some = np.log(S) + df / n * np.log(np.maximum(F, 1e-300)) + 2.0 * np.log(n) / n
    nothing = np.log(total / n) + np.log(n) / n
    return np.where(explained / total >= df / n, some, nothing)


def discrepancy(training_error, noise_level):
    """0 at the first time at which the training error is down to the noise, more elsewhere.

    Morozov's principle: the residuals should be as large as the noise. When no time gets there,
    the last one comes closest.
    """
    reached = np.flatnonzero(training_error <= noise_level**2)
    first = reached[0] if len(reached) else len(training_error) - 1
    return np.abs(np.arange(len(training_error)) - first).astype(np.float64)


CRITERIA = {"gcv": gcv, "aicc": aicc, "bic": bic, "gmdl": gmdl}
