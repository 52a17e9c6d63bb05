"""Copies of rows, and the warning where rows are judged by their copies."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import CVChoice, CVRounds
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from .estimators import make
from .surroundings import copies_of, share_of_copies

COPIES = "50% of the rows are copies of an earlier row in X and y.*groups"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = X[:, 0] + 0.3 * RNG.standard_normal(60)
TWICE = np.tile(np.arange(60), 2)

BUNDLED = ["iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"]


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables_have_no_copies_until_they_are_made(name):
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    n = len(y)
    assert share_of_copies(rows, y) == 0
    twice = np.tile(np.arange(n), 2)
    for form in (np.asarray, sp.csr_array, pd.DataFrame, np.ndarray.tolist):
        assert share_of_copies(form(rows[twice]), y[twice]) == pytest.approx(0.5, abs=0.01)


def one_hot(codes):
    return pd.get_dummies(pd.DataFrame(codes).astype(str)).to_numpy(float)


@pytest.mark.parametrize(
    ("n_columns", "n_values", "n"),
    [(1, 60, 1000), (3, 2, 500), (4, 3, 500), (8, 4, 3000), (12, 2, 2000)],
)
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_rows_of_few_categories_are_equal_by_chance(n_columns, n_values, n, noise):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(n_values), n_columns)
    codes = np.column_stack([rng.choice(n_values, n, p=p) for p in shares])
    y = (codes[:, 0] + noise * rng.standard_normal(n) > n_values / 2).astype(int)
    table = np.column_stack([codes, y])
    assert len(np.unique(table, axis=0)) < 0.9 * n  # a tenth are copies
    for rows in (codes, codes.astype(str), one_hot(codes)):
        assert share_of_copies(rows, y) == 0
    # A real target tells copies from equal rows.
    y = codes[:, 0] + rng.standard_normal(n)
    twice = np.tile(np.arange(n), 2)
    assert share_of_copies(codes, y) == 0
    assert share_of_copies(codes[twice], y[twice]) == 0.5


def test_tables_of_a_few_kinds_of_rows():
    assert share_of_copies(X[:19][np.arange(38) % 19], Y[:19][np.arange(38) % 19]) == 0
    assert share_of_copies(X[:20][np.arange(40) % 20], Y[:20][np.arange(40) % 20]) == 0.5
    assert share_of_copies(X[np.arange(600) % 60], Y[np.arange(600) % 60]) == 0
    assert share_of_copies(X[np.arange(540) % 60], Y[np.arange(540) % 60]) > 0.8
    # A single column of rounded values, whose classes follow from it.
    x = np.round(np.random.default_rng(0).uniform(0, 3, 300), 2)[:, None]
    assert share_of_copies(x, x[:, 0] > 1) == 0


def test_rows_of_a_sparse_table_without_values_are_equal_by_chance():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(200, 3))
    rows[rows < 0.6] = 0
    y = rng.integers(0, 3, 200)
    assert len(np.unique(np.column_stack([rows, y]), axis=0)) < 180
    for form in (np.asarray, sp.csr_array):
        assert share_of_copies(form(rows), y) == 0


def test_a_column_that_tells_rows_apart_tells_copies():
    rows = np.column_stack([X[:, 0], RNG.integers(0, 2, 60)])
    y = (rows[:, 0] > 0).astype(int)
    assert share_of_copies(rows, y) == 0
    assert share_of_copies(rows[TWICE], y[TWICE]) == 0.5


def test_numbers_of_the_rows_that_are_copied():
    order = np.random.default_rng(1).permutation(120)
    rows, y = X[TWICE][order], Y[TWICE][order]
    rows[rows == rows[3, 1]] = -0.0
    copies = copies_of(rows, y)
    for i in range(120):
        same = (rows == rows[i]).all(axis=1) & (y == y[i])
        assert copies[i] == np.flatnonzero(same)[0]
    some = np.r_[np.arange(60), np.arange(6)]
    assert share_of_copies(X[some], Y[some]) == 0  # 6 of 66
    some = np.r_[np.arange(60), np.arange(7)]
    assert share_of_copies(X[some], Y[some]) == pytest.approx(7 / 67)


def test_copies_on_one_side_of_a_split_judge_nobody():
    rows, y = X[TWICE], Y[TWICE]
    assert share_of_copies(rows, y, KFold(3, shuffle=True).split(rows)) == 0.5
    assert share_of_copies(rows, y, GroupKFold(3).split(rows, y, TWICE)) == 0
    assert share_of_copies(rows, y, [(np.arange(60), np.arange(60, 120))]) == 0.5


def test_large_tables_are_counted_by_a_part_of_the_keys():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((120_000, 2))
    y = np.zeros(200_000, dtype=int)
    some = np.r_[np.arange(120_000), rng.integers(0, 120_000, 80_000)]
    assert share_of_copies(rows[some], y) == pytest.approx(0.4)
    assert share_of_copies(rng.standard_normal((200_000, 2)), y) == 0


# --- estimators -----------------------------------------------------------------------------------

trees = [("a", BinnedTreeRegressor(max_depth=2)), ("b", LinearRegression())]
JUDGES = {
    "AdditiveBoostingRegressor": {"n_estimators": CVRounds(max_estimators=5)},
    "L2BoostingRegressor": {"n_estimators": CVRounds(max_estimators=5)},
    "LogitBoostClassifier": {"n_estimators": CVRounds(max_estimators=5)},
    "MatchingPursuitRegressor": {"n_estimators": CVRounds(max_estimators=3)},
    "GradientBoostingRegressor": {"n_estimators": CVRounds(max_estimators=5)},
    "GradientBoostingClassifier": {"n_estimators": CVRounds(max_estimators=5)},
    "LinearL2BoostingRegressor": {"time": CVChoice()},
    "FrankWolfeRegressor": {"radius": CVChoice([0.5, 2.0])},
    "FrankWolfeClassifier": {"radius": CVChoice([0.5, 2.0])},
    "BallConstrainedClassifier": {"radius": CVChoice([0.1, 1.0])},
    "MassartBoostClassifier": {"noise_rate": CVChoice()},
    "SmoothBoostClassifier": {"n_iter_no_change": 2, "validation_fraction": 0.5},
    "HistGradientBoostingRegressor": {"early_stopping": True, "validation_fraction": 0.5},
    "BaggedNearestNeighborsRegressor": {"max_samples": "loo"},
    "BaggedNearestNeighborsClassifier": {"max_samples": "loo"},
    "NadarayaWatsonRegressor": {"bandwidth": "loo"},
    "StackingRegressor": {"estimators": trees, "final_estimator": "simplex"},
    "RandomForestRegressor": {"oob_score": True, "n_estimators": 40},
    "BaggingRegressor": {"oob_score": True, "n_estimators": 40, "estimator": LinearRegression()},
}


@pytest.mark.parametrize("name", JUDGES)
def test_estimators_warn_of_copies_unless_groups_hold_them(name):
    model = make(getattr(package, name), **JUDGES[name])
    y = (Y > 0).astype(int) if is_classifier(model) else Y
    with pytest.warns(UserWarning, match=COPIES) as caught:
        model.fit(X[TWICE], y[TWICE])
    assert caught[0].filename == __file__
    model.fit(X[TWICE], y[TWICE], groups=TWICE)
    model.fit(X, y)


@pytest.mark.parametrize("cls", [RandomForestRegressor, RandomForestClassifier, BaggingRegressor])
def test_methods_that_judge_by_rows_out_of_bag_warn_of_copies(cls):
    model = cls(n_estimators=200, random_state=0)
    methods = ["predict_set"] if cls is RandomForestClassifier else ["predict_interval"]
    if cls is RandomForestRegressor:
        model.set_params(max_depth=2)
        methods.append("standard_error")
    y = (Y > 0).astype(int) if is_classifier(model) else Y
    model.fit(X[TWICE], y[TWICE])  # nothing is judged yet
    for name in methods:
        with pytest.warns(UserWarning, match=COPIES):
            getattr(model, name)(X)
    model.fit(X[TWICE], y[TWICE], groups=TWICE)
    for name in methods:
        getattr(model, name)(X)


def test_a_method_without_groups_names_weights():
    tree = BinnedTreeRegressor(max_depth=3).fit(X[TWICE], Y[TWICE])
    with pytest.warns(UserWarning, match="Fit each row once, with the number of its copies as"):
        tree.shrink("cv", X[TWICE], Y[TWICE])


def test_held_out_predictions_of_boosting():
    model = GradientBoostingRegressor(n_estimators=5, held_out=3)
    with pytest.warns(UserWarning, match=COPIES):
        model.fit(X[TWICE], Y[TWICE])
    model.fit(X[TWICE], Y[TWICE], groups=TWICE)
