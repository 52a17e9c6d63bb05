"""L2-boosting by regression stumps, as a walk among the correlations of cuts.

Least squares on the residuals r by a stump with a given cut (feature j, threshold c) is, once r
has mean zero, a regression on one column: the indicator of ``x_j <= c``, centred and scaled to
length 1,

    z = s (L - a),   a = w'L / w'1,   s = 1 / sqrt(w'1 a (1 - a)).

So boosting with learning rate nu is matching pursuit over these columns [000, section 10.3.3]:
take the cut with the largest ``|z'Wr|``, and ``r <- r - nu (z'Wr) z``. All that the next round
needs is ``z'Wr`` for every cut, and that changes by a row of the correlation matrix ``Q = Z'WZ``:

    c <- c - nu c[k] Q[k]

O(P) a round whatever the number of rows. The constant need not be refitted: every z has mean zero.
"""

from itertools import pairwise

import numpy as np
from scipy.linalg.blas import daxpy, idamax

__all__ = [
    "NormalizedCuts",
    "boost",
    "held_out_errors",
    "sides_of_steps",
    "sums_of_stumps",
    "tables_of_steps",
    "training_errors",
]

# A cut that leaves less than this share of the weight on one side is no cut: rounding is all that
# would be left of its correlations.
_MIN_SHARE = 1e-12
# Cuts that tell the same rows apart, in two features, tie for ever, and rounding would choose.
# Among cuts as equal as this the first is taken: each one's correlation counts for a little less
# than the one's before it, together by this share.
_TIE = 1e-10
# No correlation above this share of the length of y: the residuals are as good as orthogonal to all
# stumps, and further rounds would fit the rounding.
_EXHAUSTED = 1e-14
# Rounds between two looks at the world outside the loop.
_ROUNDS_AT_ONCE = 2**14


class NormalizedCuts:
    """The columns z over one training set, and their products, from the sums over its rows.

    Parameters
    ----------
    sums : CutSums
        By fold.
    gram : CountedGram or StoredGram
    fold : int or None
        The fold held out; None trains on all rows.
    """

    def __init__(self, sums, gram, fold=None):
        self.gram = gram
        self.fold = fold
        train = sums.without(fold)
        self.weight, self.left_weight = train.weight, train.left_weight
        self.share = train.left_weight / train.weight
        right_weight = train.weight - train.left_weight
        valid = np.minimum(train.left_weight, right_weight) > _MIN_SHARE * train.weight
        product = np.where(valid, train.left_weight * right_weight, 1.0)
        self.scale = np.where(valid, np.sqrt(train.weight / product), 0.0)
        self.mean = train.y / train.weight
        self.correlations = self.scale * (train.left_y - self.share * train.y)
        self.squares = max(train.yy - train.y * self.mean, 0.0)
        if fold is not None:
            held = sums.of_fold(fold)
            self.held_weight, self.held_left = held.weight, held.left_weight
            self.held_correlations = self.scale * (
                held.left_y
                - self.share * held.y
                - self.mean * (held.left_weight - self.share * held.weight)
            )
            self.held_squares = held.yy - 2 * self.mean * held.y + self.mean**2 * held.weight

    def start(self):
        """Products of every z with y - mean: training rows, then held-out ones."""
        if self.fold is None:
            return self.correlations.copy()
        return np.concatenate([self.correlations, self.held_correlations])

    def rows(self, group):
        """Products of the z of a group of cuts with every z: training rows, then held-out ones."""
        block, cuts = self.gram.block(group), self.gram.cuts_of(group)
        n_all = len(self.scale)
        out = np.empty((block.shape[1], n_all if self.fold is None else 2 * n_all))
        # Counts make both products below whole numbers: their difference is exact.
        train, left = out[:, :n_all], self.left_weight
        np.sum(block, axis=0, out=train)
        if self.fold is not None:
            train -= block[self.fold]
        train *= self.weight
        train -= left[cuts, None] * left
        train *= self.scale[cuts, None] / self.weight
        train *= self.scale
        if self.fold is not None:
            held, share = out[:, n_all:], self.share
            centred = self.held_left - share * self.held_weight
            np.subtract(block[self.fold], share[cuts, None] * centred, out=held)
            held -= self.held_left[cuts, None] * share
            held *= self.scale[cuts, None]
            held *= self.scale
        return out


def boost(cuts, learning_rate, n_rounds, max_cuts=None, report=None):
    """The path of L2-boosting.

    Parameters
    ----------
    cuts : NormalizedCuts
    learning_rate : float in (0, 1]
    n_rounds : int
    max_cuts : int or None
        Of how many cuts the rows of products are kept.
    report : callable or None
        Called with the number of rounds done, now and then.

    Returns
    -------
    chosen : int32 ndarray of shape (T,)
        The cut of each round. T is below `n_rounds` where the residuals became orthogonal to all z.
    steps : float64 ndarray of shape (T,)
        What was added is ``steps[t] * z[chosen[t]]``.
    held : float64 ndarray of shape (T,)
        ``z[chosen[t]]'W(y - f)`` over the held-out rows before round t; empty without a fold.
    """
    state = cuts.start()
    n_all = len(cuts.scale)
    # Correlations are carried times 1, 1 - tie, 1 - 2 tie, ...: see _TIE.
    preference = 1 - _TIE * np.arange(n_all) / max(n_all, 1)
    state[:n_all] *= preference
    rate = (learning_rate / preference).tolist()
    floor = learning_rate * _EXHAUSTED * np.sqrt(cuts.squares)
    rows = _Rows(cuts, preference, max_cuts)
    with_held = cuts.fold is not None
    walk, done, exhausted = [], 0, n_all == 0
    while done < n_rounds and not exhausted:
        count = min(_ROUNDS_AT_ONCE, n_rounds - done)
        ks, bs, ds, exhausted = _rounds(state, n_all, rows, rate, floor, count, with_held)
        walk.append((np.array(ks, dtype=np.int32), np.array(bs), np.array(ds)))
        done += len(ks)
        if report is not None:
            report(done)
    if not walk:
        return np.empty(0, dtype=np.int32), np.empty(0), np.empty(0)
    return tuple(np.concatenate(parts) for parts in zip(*walk))


def _rounds(state, n_all, rows, rate, floor, count, with_held):
    """`count` rounds on `state`, in place: the loop that everything else makes cheap.

    Two BLAS calls a round. `state` is never replaced: daxpy adds to it where it lies.
    """
    ks, bs, ds = [], [], []
    item, views, n_state = state.item, rows.views, len(state)
    for _ in range(count):
        k = idamax(state, n_all)
        b = rate[k] * item(k)
        if -floor <= b <= floor:
            return ks, bs, ds, True
        row = views[k]
        if row is None:
            row = rows.load(k, ks)
        if with_held:
            ds.append(item(n_all + k))
        daxpy(row, state, n_state, -b)
        ks.append(k)
        bs.append(b)
    return ks, bs, ds, False


class _Rows:
    """`NormalizedCuts.rows` a cut at a time; computed by group, dropped when too many."""

    def __init__(self, cuts, preference, max_cuts):
        self.cuts = cuts
        self.preference = preference
        self.gram = cuts.gram
        self.max_cuts = max_cuts
        self.views = [None] * len(preference)
        self.loaded = {}  # group -> its cuts

    def load(self, k, recent):
        """The row of cut k; `recent` are the cuts of the rounds before it."""
        group = self.gram.group_for(k)
        rows = self.cuts.rows(group)
        rows[:, : len(self.preference)] *= self.preference
        cuts = self.gram.cuts_of(group)
        if self.max_cuts is not None:
            self._make_room(self.max_cuts - len(rows), recent)
        self.loaded[group] = cuts
        self.views[cuts] = list(rows)
        return self.views[k]

    def _make_room(self, n_left, recent):
        """Forget the groups not chosen longest. The hot loop keeps no account of this."""
        n_loaded = sum(cuts.stop - cuts.start for cuts in self.loaded.values())
        if n_loaded <= n_left:
            return
        recent = np.array(recent[-1000:], dtype=np.intp)
        last_use = np.full(len(self.views), -1)
        last_use[recent] = np.arange(len(recent))
        for group in sorted(self.loaded, key=lambda g: last_use[self.loaded[g]].max()):
            cuts = self.loaded.pop(group)
            self.views[cuts] = [None] * (cuts.stop - cuts.start)
            n_loaded -= cuts.stop - cuts.start
            if n_loaded <= n_left:
                return


def training_errors(cuts, learning_rate, steps):
    """Mean squared error on the training rows after 0, 1, ..., T rounds."""
    falls = (2 / learning_rate - 1) * steps**2
    errors = cuts.squares - np.concatenate([[0], np.cumsum(falls)])
    return np.maximum(errors, 0) / cuts.weight


def held_out_errors(cuts, chosen, steps, held):
    """Mean squared error on the held-out rows after 0, 1, ..., T rounds."""
    lengths = cuts.held_left * (1 - 2 * cuts.share) + cuts.share**2 * cuts.held_weight
    lengths *= cuts.scale**2
    changes = steps * (steps * lengths[chosen] - 2 * held)
    errors = cuts.held_squares + np.concatenate([[0], np.cumsum(changes)])
    return np.maximum(errors, 0) / cuts.held_weight


def sides_of_steps(cuts, chosen, steps):
    """What each round's stump adds on its left and on its right side."""
    jump = steps * cuts.scale[chosen]
    return jump * (1 - cuts.share[chosen]), -jump * cuts.share[chosen]


def tables_of_steps(cuts, chosen, steps):
    """The sum of all rounds as one table a feature, of its value in each bin.

    None for a feature that was never chosen. The mean of each over the training rows is 0.
    """
    offsets = cuts.gram.offsets
    jumps = np.bincount(chosen, weights=steps, minlength=len(cuts.scale)) * cuts.scale
    used = np.bincount(chosen, minlength=len(cuts.scale))
    tables = []
    for first, last in pairwise(offsets):
        if not used[first:last].any():
            tables.append(None)
            continue
        # bin b lies left of the cuts b, b + 1, ...
        table = np.append(np.cumsum(jumps[first:last][::-1])[::-1], 0.0)
        tables.append(table - jumps[first:last] @ cuts.share[first:last])
    return tables


def sums_of_stumps(codes, edges, stumps, rounds):
    """The sum of the first T stumps at n rows, for each T in `rounds`, increasing: (m, n).

    `stumps` are the features, cuts, left and right sides of all rounds. O(n p) for each T.
    """
    features, cuts, left, right = stumps
    first_bin = np.concatenate([[0], np.cumsum([len(e) + 1 for e in edges])])
    sums = np.empty((len(rounds), len(codes)))
    current, done = np.zeros(len(codes)), 0
    for out, stop in zip(sums, rounds):
        new = slice(done, stop)
        # A bin's value is the sum of all right sides and of the jumps at the cuts from its own on.
        jumps = np.bincount(
            first_bin[features[new]] + cuts[new],
            weights=left[new] - right[new],
            minlength=first_bin[-1],
        )
        current += right[new].sum()
        for j in np.unique(features[new]):
            table = np.cumsum(jumps[first_bin[j] : first_bin[j + 1]][::-1])[::-1]
            current += table.take(codes[:, j])
        out[:] = current
        done = stop
    return sums
