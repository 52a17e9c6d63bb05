"""Memory of stumps, boosted ones and stacks: columns sorted where needed, rows freed in time."""

import tracemalloc
import weakref

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpRegressor,
    GradientBoostingRegressor,
    StackingRegressor,
)


def peak_of(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rows_of(n, p=20, n_classes=2, ties=False):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p))
    if ties:
        X[:, ::2] = np.round(X[:, ::2], 1)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n)
    codes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, y, codes


def keep_nothing(monkeypatch):
    for module in ("split_search", "hamming"):
        monkeypatch.setattr(f"sklearn_ensemble_theory.erm._stumps.{module}.KEPT_VALUES", 0)


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (AdaBoostClassifier(n_estimators=4), 2),
        (AdaBoostClassifier(n_estimators=4), 4),
        (AdaBoostClassifier(n_estimators=4, variant="real"), 4),
        (GradientBoostingRegressor(DecisionStumpRegressor(), n_estimators=4), 0),
        (
            GradientBoostingRegressor(
                DecisionStumpRegressor(), n_estimators=2, step="joint", loss="absolute_error"
            ),
            0,
        ),
    ],
    ids=["two classes", "four classes", "four classes, real", "squares", "joint"],
)
def test_columns_that_are_sorted_again_give_the_same_bits(model, n_classes, monkeypatch):
    X, y, codes = rows_of(3000, p=6, n_classes=n_classes or 2, ties=True)
    y = codes if n_classes else y
    expected = model.fit(X, y).predict(X)
    keep_nothing(monkeypatch)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)


def test_a_stump_holds_four_columns_and_few_copies_of_y():
    X, y, _ = rows_of(40_000)
    DecisionStumpRegressor().fit(X[:3000], y[:3000])
    assert peak_of(lambda: DecisionStumpRegressor().fit(X, y)) < 0.85 * X.nbytes


class RemembersRows(RegressorMixin, BaseEstimator):
    """Predicts 0, and whether the rows that it was fitted to are still there when it does."""

    still_there: list = []

    def fit(self, X, y):
        self.rows = weakref.ref(X)
        return self

    def predict(self, X):
        self.still_there.append(self.rows() is not None)
        return np.zeros(len(X))


def test_stacks_free_the_rows_of_a_split_before_they_predict(monkeypatch):
    monkeypatch.setattr(RemembersRows, "still_there", [])
    X, y, _ = rows_of(60, p=3)
    members = [("one", RemembersRows()), ("two", RemembersRows())]
    StackingRegressor(members, cv=4).fit(X, y)
    assert RemembersRows.still_there == [False] * 4


def test_stacks_hold_the_rows_of_one_split_and_what_learners_take():
    X, y, _ = rows_of(20_000)
    learner = DecisionStumpRegressor()
    learner.fit(X[:500], y[:500])
    alone = peak_of(lambda: learner.fit(X[: 4 * len(X) // 5], y[: 4 * len(y) // 5]))
    stack = StackingRegressor([("stump", learner)], final_estimator="simplex")
    # The rows of a split, 0.8 times X; the splits' indices, 0.25; a few numbers for each row.
    assert peak_of(lambda: stack.fit(X, y)) - alone < 1.2 * X.nbytes
