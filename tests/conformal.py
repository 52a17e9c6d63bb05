"""Intervals and sets of conformal prediction by their definitions: sorted scores, and loops."""

import math

import numpy as np


def conformal_rank(n, coverage):
    """The rank of the score below which a new one of n + 1 is with this probability."""
    return max(1, math.ceil(round((n + 1) * coverage, 9)))


def end_of_groups(values, groups, coverage):
    """The least value up to which rows have the share `coverage`; a row has 1 / ((G + 1) n_g)."""
    size = {g: np.sum(groups == g) for g in set(groups.tolist())}
    reached = 0.0
    for i in np.argsort(values):
        reached += 1 / ((len(size) + 1) * size[groups[i]])
        if reached >= coverage - 1e-9:
            return values[i]
    return np.inf


def class_score(p, c, u, method, penalty, k_reg):
    """The score of class c by loops over the classes."""
    if method == "lac":
        return 1 - p[c]
    more = [p[j] for j in range(len(p)) if p[j] > p[c] + 1e-12]
    equal = [p[j] for j in range(len(p)) if abs(p[j] - p[c]) <= 1e-12]
    extra = penalty * max(0, len(more) + 1 - k_reg) if method == "raps" else 0.0
    return sum(more) + u * sum(equal) + extra


def sets_by_loops(
    own,
    codes,
    fold,
    groups,
    at,
    coverage,
    method="lac",
    *,
    per_class=False,
    randomized=False,
    penalty=0.05,
    k_reg=1,
    random_state=None,
    empty=True,
):
    """The sets of the CV+ from probabilities: own ones (n, K), and those at new rows (m, folds, K).

    The parameters are those of `predict_set`.
    """
    m, _, K = at.shape
    n = len(codes)
    u_train, u_new, tie = np.zeros(n), np.zeros(m), np.zeros(m)
    if randomized:
        numbers = np.random.RandomState(random_state)
        u_train, u_new, tie = (numbers.uniform(size=size) for size in (n, m, m))
    found = np.zeros((m, K), dtype=bool)
    arguments = method, penalty, k_reg
    low = [class_score(own[i], codes[i], 0.0, *arguments) for i in range(n)]
    high = [class_score(own[i], codes[i], 1.0, *arguments) for i in range(n)]
    for j in range(m):
        for c in range(K):
            rows = [i for i in range(n) if codes[i] == c or not per_class]
            units = len(set(groups[rows])) if groups is not None else len(rows)
            new = [class_score(p, c, u_new[j], *arguments) for p in at[j]]
            total = 0.0
            for i in rows:
                share = 1 / (units + 1)
                if groups is not None:
                    share /= np.sum(groups[rows] == groups[i])
                limit = new[fold[i]]
                if randomized:
                    known = low[i] + u_train[i] * (high[i] - low[i])
                    is_equal = abs(known - limit) <= 1e-12
                    total += share * (tie[j] if is_equal else known < limit)
                elif high[i] - low[i] < 1e-6:
                    total += share * (high[i] < limit - 1e-12)
                else:  # the share of all U for which the score is lower
                    total += share * min(max((limit - low[i]) / (high[i] - low[i]), 0), 1)
            if randomized:
                total += tie[j] / (units + 1)
            found[j, c] = total < coverage - 1e-9
        if not empty and not found[j].any():
            mean = [np.mean([p[c] for p in at[j]]) for c in range(K)]
            found[j, mean.index(max(mean))] = True
    return found
