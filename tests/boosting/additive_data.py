"""Rounds of additive boosting over the rows, and data of their tests."""

import itertools

import numpy as np

from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout

CATEGORY_RATE = 0.2


def mixed_data(n=160, seed=0):
    """Two ordered features, one of them with missing values, a categorical one; weights and y.

    Returns the codes, the layout, the weights, y and the numbers of folds.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, 5, n)])
    y = (
        np.sin(2 * X[:, 0])
        + 0.5 * np.abs(X[:, 1])
        + np.array([0, 2, -1, 2, 0.5])[X[:, 2].astype(int)]
    )
    y += 0.3 * rng.standard_normal(n)
    X[rng.random(n) < 0.2, 1] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    edges = [np.linspace(-1, 1, 6), np.linspace(-1, 1, 5), np.empty(0)]
    bins = FeatureBins(edges, np.array([False, True, False]), [None, None, np.arange(5.0)])
    return bins.codes(X), bins.layout(), rng.exponential(size=n), y, np.arange(n) % 3


def cv_path(model):
    """The loss of each fold after 0, 1, ... stumps: (n + 1, n_folds)."""
    results = model.cv_results_
    return np.column_stack([results[name] for name in results if name.startswith("split")])


def fold_scores(model, X):
    """The scores of rows by the models of the folds, in their units."""
    terms = model.model_.terms
    numbers = X if terms.columns is None else terms.columns.encode(X)
    return model.model_.folds.scores(terms, np.asarray(numbers, dtype=float))


class RowRounds:
    """Rounds that look at every row in every candidate.

    Parameters
    ----------
    codes, layout, weight, y
        The rows.
    train : bool array of shape (n,)
        Those that the rounds are fitted to.
    """

    def __init__(self, codes, layout: CutLayout, weight, y, train):
        self.codes, self.layout = codes, layout
        self.weight = np.where(train, weight, 0.0)
        self.residual = y - np.average(y, weights=self.weight)

    def column(self, left, among):
        """The indicator with weighted mean 0 among some rows and weighted length 1, 0 elsewhere."""
        share = np.average(left[among], weights=self.weight[among])
        z = np.where(among, left - share, 0.0)
        length = self.weight @ z**2
        return z / np.sqrt(length) if length > 1e-12 else 0 * z

    def thresholds(self, j):
        codes, layout = self.codes[:, j], self.layout
        present = codes < layout.n_bins[j] - layout.missing[j]
        n_thresholds = layout.n_bins[j] - 1 - layout.missing[j]
        return [self.column(codes <= c, present) for c in range(n_thresholds)]

    def present(self, j):
        all_rows = np.ones(len(self.codes), bool)
        return self.column(self.codes[:, j] < self.layout.n_bins[j] - 1, all_rows)

    def product(self, z):
        return self.weight * z @ self.residual

    def take(self, candidates):
        """The candidate (gain, change of the fit) with the largest gain."""
        _, change = max(candidates, key=lambda pair: pair[0])
        self.residual = self.residual - change

    def smooth(self, jumps=()):
        found = []
        for j in np.flatnonzero(~self.layout.categorical):
            columns = self.thresholds(j)
            products = np.array([self.product(z) for z in columns])
            found.append((np.mean(products**2), np.mean(products[:, None] * columns, axis=0)))
            singles = [columns[c] for feature, c in jumps if feature == j]
            singles += [self.present(j)] if self.layout.missing[j] else []
            for z in singles:
                found.append((self.product(z) ** 2, self.product(z) * z))
        for j in np.flatnonzero(self.layout.categorical):
            found.append(self._of_categories(j))
        self.take(found)

    def _of_categories(self, j):
        members = [self.codes[:, j] == c for c in range(self.layout.n_bins[j] - 1)]
        weights = np.array([self.weight @ m for m in members])
        sums = np.array([self.weight[m] @ self.residual[m] for m in members])
        shrunk = weights + weights.mean()
        change = CATEGORY_RATE * (sums / shrunk) @ np.array(members, float)
        change -= np.average(change, weights=self.weight)
        return (sums**2 / shrunk).sum() / max((weights / shrunk).sum(), 1.0), change

    def shrunk(self, j, smooth):
        """The mean residual of each row's category, of which half counts at the weight `smooth`."""
        means = np.zeros(len(self.codes))
        for c in np.unique(self.codes[:, j]):
            own = self.codes[:, j] == c
            total = self.weight[own].sum()
            means[own] = self.weight[own] @ self.residual[own] / max(total + smooth, 1e-300)
        return means

    def stump(self, rate, cat_smooth=10.0):
        found = []
        everywhere = np.ones(len(self.codes), bool)
        for j in range(len(self.layout.n_bins)):
            if not self.layout.categorical[j]:
                columns = self.thresholds(j)
                columns += [self.present(j)] if self.layout.missing[j] else []
                judged = self.residual
            else:
                n = self.layout.n_bins[j] - 1
                sets = [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
                columns = [self.column(np.isin(self.codes[:, j], s), everywhere) for s in sets]
                judged = self.shrunk(j, cat_smooth)
            gains = (abs(self.weight * z @ judged) for z in columns)
            found += [(gain, rate * self.product(z) * z) for gain, z in zip(gains, columns)]
        self.take(found)
