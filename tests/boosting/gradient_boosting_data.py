"""Settings and learners of the tests of gradient boosting."""

import numpy as np
from sklearn.base import BaseEstimator

from ..trees.engine import grown_tree, nodes_of


def fold_scores(model):
    """The scores of the folds of ``n_estimators="cv"`` after 1, 2, ... rounds, (rounds, K)."""
    results = model.cv_results_
    return np.column_stack([results[key] for key in results if key.startswith("split")])


class BestColumn(BaseEstimator):
    """The column of X, with a sign, that has the largest inner product with the target."""

    def fit(self, X, y):
        products = X.T @ y
        self.column_ = int(np.argmax(np.abs(products)))
        self.sign_ = np.sign(products[self.column_]) or 1.0
        return self

    def predict(self, X):
        return self.sign_ * X[:, self.column_]


def assert_same_rounds(model, expected):
    """Whether two models have the same trees, up to rounding of their values."""
    assert model.estimators_.shape == expected.estimators_.shape
    for one, other in zip(model.estimators_.flat, expected.estimators_.flat):
        for name in ("children_left", "feature", "n_node_samples", "missing_go_to_left"):
            np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
        pair = [nodes_of(tree) for tree in (one, other) if grown_tree(tree) is not None]
        if len(pair) == 2:
            if all(nodes.left_bins is not None for nodes in pair):
                np.testing.assert_array_equal(pair[0].left_bins, pair[1].left_bins)
            np.testing.assert_array_equal(pair[0].threshold, pair[1].threshold)
        else:
            np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
        np.testing.assert_allclose(one.tree_.value, other.tree_.value, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.tree_.impurity, other.tree_.impurity, rtol=0, atol=1e-10)
        assert one.random_state == other.random_state
    np.testing.assert_array_equal(model.steps_, expected.steps_)
    np.testing.assert_allclose(model.train_score_, expected.train_score_, rtol=0, atol=1e-10)
    importances = model.feature_importances_
    np.testing.assert_allclose(importances, expected.feature_importances_, rtol=0, atol=1e-10)
