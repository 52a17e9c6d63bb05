"""L2-boosting by regression stumps on the correlations of cuts, without the rows.

Least squares on the residuals r by a stump with a given cut (feature j, threshold c) is, once r
has mean zero, a regression on one column: the indicator of ``x_j <= c``, centred and scaled to
length 1,

    z = s (L - a),   a = w'L / w'1,   s = 1 / sqrt(w'1 a (1 - a)).

So boosting with learning rate nu is matching pursuit over these columns [Bach, §10.3.3]: take the
cut with the largest ``|z'Wr|``, and ``r <- r - nu (z'Wr) z``. All that the next round needs is
``z'Wr`` for every cut, and that changes by a row of the Gram matrix ``Q = Z'WZ``:

    c <- c - nu c[k] Q[k]

A round costs O(P) for P cuts, independent of the number of rows. The constant need not be fitted
again: every z has mean zero.

This is the boosting loop of `boosting._core.loop`, written again for speed: a risk, a weak learner
and a step rule there work on arrays as long as the rows, here a round is two BLAS calls on an array
as long as the cuts.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy, idamax

from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory.boosting._core.gram_rows import RowCache

__all__ = [
    "CutPath",
    "NormalizedCuts",
    "boost_on_gram",
    "held_out_errors",
    "sides_of_steps",
    "sums_of_stumps",
    "tables_of_steps",
    "training_errors",
]

# A cut that leaves less than this share of the weight on one side is ignored: its correlations
# would be rounding errors.
_MIN_SHARE = 1e-12
# Cuts that separate the same rows, in two features, tie in every round, and rounding would choose
# among them. So that the first is taken, the correlation of each cut is multiplied by a little less
# than that of the cut before it; over all cuts the factor falls by this share.
_TIE = 1e-10
# If no correlation is above this share of the length of y, the residuals are orthogonal to all
# stumps up to rounding, and the rounds end.
_EXHAUSTED = 1e-14
# Rounds between two reports of the progress.
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


class CutPath(NamedTuple):
    """The rounds of L2-boosting, T in number.

    Attributes
    ----------
    chosen : int32 ndarray of shape (T,)
        The cut of each round. T is below the number of rounds that was required where the residuals
        became orthogonal to all z.
    steps : float64 ndarray of shape (T,)
        What was added is ``steps[t] * z[chosen[t]]``.
    held : float64 ndarray of shape (T,)
        ``z[chosen[t]]'W(y - f)`` over the held-out rows before round t; empty without a fold.
    """

    chosen: np.ndarray
    steps: np.ndarray
    held: np.ndarray


def boost_on_gram(
    cuts: NormalizedCuts,
    learning_rate: float,
    n_rounds: int,
    max_cuts: int | None = None,
    progress: Progress | None = None,
) -> CutPath:
    """The path of L2-boosting, from rows of the Gram matrix of the cuts.

    Parameters
    ----------
    cuts : NormalizedCuts
    learning_rate : float in (0, 1]
    n_rounds : int
    max_cuts : int or None
        Of how many cuts the rows of products are kept.
    progress : Progress or None
        Told the number of rounds done, every `_ROUNDS_AT_ONCE` rounds.

    Returns
    -------
    CutPath
    """
    state = cuts.start()
    n_all = len(cuts.scale)
    # Correlations are carried times 1, 1 - tie, 1 - 2 tie, ...: see _TIE.
    preference = 1 - _TIE * np.arange(n_all) / max(n_all, 1)
    state[:n_all] *= preference
    rate = (learning_rate / preference).tolist()
    floor = learning_rate * _EXHAUSTED * np.sqrt(cuts.squares)
    rows = _CutRows(cuts, preference, max_cuts)
    parts, done, exhausted = [], 0, n_all == 0
    while done < n_rounds and not exhausted:
        count = min(_ROUNDS_AT_ONCE, n_rounds - done)
        ks, bs, ds, exhausted = _take_rounds(state, rows, rate, floor, count)
        parts.append((np.array(ks, dtype=np.int32), np.array(bs), np.array(ds)))
        done += len(ks)
        if progress is not None:
            progress.advance(steps=len(ks))
    if progress is not None and done < n_rounds:
        progress.finish("no stump lowers the error any further")
    if not parts:
        return CutPath(np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
    return CutPath(*(np.concatenate(part) for part in zip(*parts)))


def _take_rounds(state, rows, rate, floor, count):
    """At most `count` rounds on `state`, in place; two BLAS calls each.

    `state` is never replaced: daxpy adds to it where it is.

    Returns
    -------
    ks, bs, ds : lists of T numbers
        The cut of each round, what was added of its z, and z's product with the held-out residuals.
    exhausted : bool
        Whether the rounds ended because the residuals are orthogonal to all cuts.
    """
    ks, bs, ds = [], [], []
    item, views, n_all, n_state = state.item, rows.views, len(rows.views), len(state)
    with_held = n_state > n_all
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


class _CutRows(RowCache):
    """`NormalizedCuts.rows` by cut: products over the training rows, then the held-out ones."""

    def __init__(self, cuts, preference, max_cuts):
        super().__init__(len(preference), max_cuts)
        self.cuts, self.preference = cuts, preference

    def load(self, k, recent):
        """The row of cut k, computed with its group; `recent` are the cuts of the rounds before."""
        gram = self.cuts.gram
        group = gram.group_for(k)
        rows = self.cuts.rows(group)
        rows[:, : len(self.preference)] *= self.preference
        cuts = gram.cuts_of(group)
        self.make_room(len(rows), recent)
        self.keep(group, range(cuts.start, cuts.stop), rows)
        return self.views[k]


def training_errors(cuts, learning_rate, steps):
    """Mean squared error on the training rows after 0, 1, ..., T rounds."""
    falls = (2 / learning_rate - 1) * steps**2
    errors = cuts.squares - np.concatenate([[0], np.cumsum(falls)])
    return np.maximum(errors, 0) / cuts.weight


def held_out_errors(cuts, path):
    """Mean squared error on the held-out rows after 0, 1, ..., T rounds."""
    lengths = cuts.held_left * (1 - 2 * cuts.share) + cuts.share**2 * cuts.held_weight
    lengths *= cuts.scale**2
    changes = path.steps * (path.steps * lengths[path.chosen] - 2 * path.held)
    errors = cuts.held_squares + np.concatenate([[0], np.cumsum(changes)])
    return np.maximum(errors, 0) / cuts.held_weight


def sides_of_steps(cuts, path):
    """What each round's stump adds on its left and on its right side."""
    jump, share = path.steps * cuts.scale[path.chosen], cuts.share[path.chosen]
    return jump * (1 - share), -jump * share


def tables_of_steps(cuts, path):
    """The sum of all rounds as one table a feature, of its value in each bin.

    None for a feature that was never chosen. The mean of each over the training rows is 0.
    """
    offsets = cuts.gram.offsets
    jumps = np.bincount(path.chosen, weights=path.steps, minlength=len(cuts.scale)) * cuts.scale
    used = np.bincount(path.chosen, minlength=len(cuts.scale))
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
