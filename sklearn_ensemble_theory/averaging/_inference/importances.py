"""Importances of features by the rows that the trees of an ensemble are not fitted to."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.averaging._inference.out_of_bag_rows import OutOfBagRowsMixin
from sklearn_ensemble_theory.trees._tree_arrays import member_nodes

MAX_SEED = np.iinfo(np.int32).max


def _levels(left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """The inner nodes of a tree, level by level."""
    levels: list[np.ndarray] = []
    frontier = np.zeros(1, dtype=np.intp)
    while True:
        inner = frontier[left[frontier] >= 0]
        if not len(inner):
            return levels
        levels.append(inner)
        frontier = np.concatenate([left[inner], right[inner]])


def node_means(
    nodes: Any, leaf: np.ndarray, weights: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(total weight, mean target) of the rows in each node; 0 where there are no rows.

    Parameters
    ----------
    nodes : the nodes of a tree, with `left` and `right`
    leaf : int array of shape (s,)
    weights : array of shape (s,)
    targets : array of shape (s, K)

    Returns
    -------
    total : array of shape (m,)
    mean : array of shape (m, K)
    """
    left, right, m = np.asarray(nodes.left), np.asarray(nodes.right), len(nodes)
    columns = np.column_stack([weights, weights[:, None] * targets])
    sums = np.column_stack([np.bincount(leaf, column, minlength=m) for column in columns.T])
    for inner in reversed(_levels(left, right)):
        sums[inner] = sums[left[inner]] + sums[right[inner]]
    total = sums[:, :1]
    return total[:, 0], np.divide(
        sums[:, 1:], total, out=np.zeros((m, targets.shape[1])), where=total > 0
    )


def unbiased_gains(
    nodes: Any,
    fitted: tuple[np.ndarray, np.ndarray],
    outside: tuple[np.ndarray, np.ndarray],
    n_features: int,
) -> np.ndarray:
    """The gains of a tree's splits, summed by feature, with half of each square from other rows.

    A split of a node of weight w into l and r decreases the squared error, or the Gini index, by
    w_l |p_l|² + w_r |p_r|² - w |p|², with p the means of the rows that the tree was fitted to. With
    products p q in place of the squares, q the means of other rows, the gain has mean 0 for a
    feature that is independent of the target, as q then has the same mean in l, r and the node
    [Zhou and Hooker, 2021].

    Parameters
    ----------
    nodes : the nodes of a tree
    fitted, outside : tuples (total, mean) as `node_means` returns
    n_features : int

    Returns
    -------
    gains : array of shape (n_features,)
        Divided by the total weight. A split without other rows on both sides counts as 0.
    """
    left, right = np.asarray(nodes.left), np.asarray(nodes.right)
    inner = np.flatnonzero(left >= 0)
    left, right = left[inner], right[inner]
    weight, p = fitted
    n_outside, q = outside
    weighted = weight * np.einsum("mk,mk->m", p, q)
    gain = weighted[left] + weighted[right] - weighted[inner]
    gain[(n_outside[left] == 0) | (n_outside[right] == 0)] = 0.0
    feature = np.asarray(nodes.feature)[inner]
    return np.bincount(feature, gain, minlength=n_features)[:n_features] / weight[0]


def _permuted_losses(
    member: Any,
    features: np.ndarray | None,
    X: np.ndarray,
    y: np.ndarray,
    seed: int,
    n_repeats: int,
) -> np.ndarray:
    """Mean increase of the loss at rows of X, by each feature that is permuted among them, (p, m).

    The loss is the squared error, or 1 for a wrong class.
    """
    rng = np.random.RandomState(seed)
    classes = getattr(member, "classes_", None)

    def loss(rows: np.ndarray) -> np.ndarray:
        part = rows if features is None else rows[:, features]
        with np.errstate(all="ignore"):
            found = member.predict(part, check_input=False)
            return (found != y).astype(float) if classes is not None else (found - y) ** 2

    increase = np.zeros((X.shape[1], len(X)))
    used = np.unique(member.tree_.feature[member.tree_.children_left >= 0])
    used = used if features is None else np.unique(features[used])
    before = loss(X)
    changed = X.copy()
    for j in used:
        for _ in range(n_repeats):
            changed[:, j] = X[rng.permutation(len(X)), j]
            increase[j] += loss(changed) - before
        changed[:, j] = X[:, j]
    return increase / n_repeats


class OutOfBagImportancesMixin(OutOfBagRowsMixin):
    """Importances of the features of an ensemble of trees."""

    n_features_in_: int

    @property
    def unbiased_feature_importances_(self) -> np.ndarray:
        """Importance of each feature by out-of-bag rows, of mean 0 for an irrelevant feature.

        Of an ensemble of trees, where `feature_importances_` are the mean decreases of the squared
        error or the Gini index at the splits, computed from the rows that the tree was fitted to:
        positive for any feature, and larger for one with many values. Here one of the two means in
        each product is that of the out-of-bag rows [Zhou and Hooker, 2021]. The values are not
        divided by their sum; they are in units of y squared, or of the Gini index, and may be
        negative.
        """
        check_is_fitted(self)
        try:
            self._check_importances("unbiased_feature_importances_")
        except ValueError as error:
            raise AttributeError(str(error)) from error
        return self._training.derived("gains", self.estimators_, self._mean_gains).copy()

    def oob_permutation_importances(
        self, n_repeats: int = 1, random_state: RandomStateLike = None
    ) -> Bunch:
        """Compute how much the error of the trees increases if a feature is permuted.

        For each tree and feature the values of the feature are permuted among the rows that the
        tree is not fitted to, and the increase of its loss at these rows is computed: of the
        squared error, or of the share of wrong classes [Breiman, 2001]. The importance of the
        feature is the mean over the rows of the mean increase over the trees that are not fitted
        to the row.

        Parameters
        ----------
        n_repeats : int, default=1
            Number of permutations for each tree and feature.

        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.

        Returns
        -------
        result : :class:`~sklearn.utils.Bunch`
            With the arrays of shape (n_features,) `importances_mean` and `standard_error`, the
            standard error of the mean over the rows, their groups or blocks: what other rows would
            change, not another training set.

        Raises
        ------
        ValueError
            If the members are not trees, X is sparse, y has several columns, there are no
            out-of-bag rows, or `n_repeats` is not a positive integer.

        Notes
        -----
        A feature that is strongly correlated with others gets little where they can replace it in
        other trees, but not in the trees that split on it. Cost: for each tree the predictions of
        its out-of-bag rows, once for each feature that it splits on.

        References
        ----------
        L. Breiman (2001). "Random forests". *Machine Learning* 45.
        """
        check_is_fitted(self)
        if not isinstance(n_repeats, Integral) or isinstance(n_repeats, bool) or n_repeats < 1:
            raise ValueError(f"n_repeats must be an integer of at least 1, got {n_repeats!r}.")
        rng = check_random_state(random_state)
        X, y = self._check_importances("oob_permutation_importances")
        seeds = rng.randint(MAX_SEED, size=len(self.estimators_))
        y = np.asarray(y, dtype=np.float64)
        unit = 1.0 if is_classifier(self) else _unit(y[self._rows_that_count()])
        outside = [self._rows_outside(seed) for seed in self._seeds]
        tasks = (
            delayed(_permuted_losses)(member, features, X[rows], y[rows], seed, int(n_repeats))
            for member, features, rows, seed in zip(
                self.estimators_, self._features_or_all(), outside, seeds
            )
            if len(rows)
        )
        total, counts = np.zeros((self.n_features_in_, len(y))), np.zeros(len(y))
        results = in_order(tasks, n_jobs=self.n_jobs, prefer="threads")
        for increase, rows in zip(results, [rows for rows in outside if len(rows)]):
            total[:, rows] += increase / unit**2
            counts[rows] += 1
        known = np.flatnonzero(counts)
        means = total[:, known] / counts[known]
        error = self._member_spec.scheme.error_of_mean(means, known)
        scale = unit**2
        return Bunch(importances_mean=means.mean(axis=1) * scale, standard_error=error * scale)

    def _rows_that_count(self) -> np.ndarray | slice:
        weight = self._member_spec.scheme.sample_weight
        return slice(None) if weight is None else weight > 0

    def _rows_outside(self, seed: int) -> np.ndarray:
        """The rows of positive weight that the member of this seed is not fitted to."""
        scheme = self._member_spec.scheme
        outside = scheme.is_outside(self._member_spec.draw(seed)[1])
        if scheme.sample_weight is not None:
            outside &= scheme.sample_weight > 0
        return np.flatnonzero(outside)

    def _check_importances(self, what: str) -> tuple[np.ndarray, np.ndarray]:
        """The training rows, in single precision, and their targets."""
        self._check_one_output(what)
        self._check_rows_outside("Importances by out-of-bag rows")
        if member_nodes(self.estimators_) is None:
            name = type(self.estimators_[0]).__name__
            raise ValueError(f"{what} requires members that are trees, got {name}.")
        X = self._training_X(what)
        if sp.issparse(X):
            raise ValueError(f"{what} requires a dense X.")
        return self._tree_input(X), self._training.y

    def _mean_gains(self) -> np.ndarray:
        X, y = self._check_importances("unbiased_feature_importances_")
        if is_classifier(self):
            targets = np.equal(y[:, None], np.arange(self._member_spec.n_classes)).astype(float)
            unit = 1.0
        else:
            # Gains do not change with a constant that is added; products stay in range.
            rows = self._rows_that_count()
            unit = _unit(y[rows])
            targets = (y / unit)[:, None]
            targets = targets - targets[rows].mean()
        weight = self._member_spec.scheme.sample_weight
        members: Sequence[Any] = self.estimators_
        total = np.zeros(self.n_features_in_)
        trees = member_nodes(members)
        assert trees is not None
        for member, nodes, features, seed in zip(
            members, trees, self._features_or_all(), self._seeds
        ):
            part = X if features is None else X[:, features]
            _, rows, v = self._member_spec.draw(seed)
            v = self._member_spec.fit_weights(v, y[rows])
            other = self._rows_outside(seed)
            leaf = member.apply(part, check_input=False)
            w = np.ones(len(other)) if weight is None else weight[other]
            gains = unbiased_gains(
                nodes,
                node_means(nodes, leaf[rows], v, targets[rows]),
                node_means(nodes, leaf[other], w, targets[other]),
                part.shape[1],
            )
            if features is None:
                total += gains
            else:
                np.add.at(total, features, gains)
        return total / len(members) * unit**2


def _unit(y: np.ndarray) -> float:
    """A power of 2 of the size of y."""
    size = float(np.abs(y).max(initial=0.0))
    return float(np.ldexp(1.0, int(np.frexp(size)[1]))) if size > 0 else 1.0
