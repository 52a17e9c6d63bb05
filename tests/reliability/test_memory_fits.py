"""Fits and predictions of many rows hold little beside X: `tracemalloc`, to which NumPy reports."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_classifier

from tests.estimators import estimator_classes, make

N_ROWS, N_FEATURES = 50_000, 20
LIMIT = 1.2  # times X
# Tables of bins and blocks of rows of a fixed size, modules that are imported late.
CONSTANT = 2**21
# Smoothers, by one feature: bytes a row.
SMOOTHERS = {"LinearL2BoostingRegressor", "NadarayaWatsonRegressor", "SmoothingSplineRegressor"}
SMOOTHER_BYTES = 100

# (fit, predict) in multiples of X of the estimators that hold more, and why.
FULL_TREES = "the full trees"
RANKS = "the ranks of the values, the distinct values, and the rows and nodes of a full tree"
BINS = "columns in bins, and the rows of the nodes"
SORTED = (
    "sorted columns: their memory is taken where it is written to, tracemalloc counts all of it"
)
FOLDS = "the rows of a fold beside the columns that its learners sort"
QUERIES = "blocks of queries and their neighbours"
HELD_OUT = "the rows that early stopping holds out, and the others"
MOMENTS = "basis functions and their moments at the values of the feature"
KERNEL_BLOCKS = "blocks of queries; see also test_memory_kernels.py"
EXCEPTIONS: dict[str, tuple[float, float, str]] = {
    "AdaBoostClassifier": (1.35, 1.2, SORTED),
    "AdaBoostRegressor": (1.7, 1.2, RANKS),
    **dict.fromkeys(
        ("AgnosticBoostClassifier", "MassartBoostClassifier", "SmoothBoostClassifier"),
        (1.25, 1.2, SORTED),
    ),
    "BaggedNearestNeighborsClassifier": (1.2, 5.8, QUERIES),
    "BaggedNearestNeighborsRegressor": (1.2, 5.8, QUERIES),
    "BaggingClassifier": (1.6, 1.2, FULL_TREES),
    "BaggingRegressor": (3.2, 1.5, FULL_TREES),
    "BinnedTreeClassifier": (1.5, 1.2, BINS),
    "BinnedTreeRegressor": (1.4, 1.2, BINS),
    "DivideAndConquerClassifier": (1.6, 1.2, RANKS),
    "DivideAndConquerRegressor": (1.6, 1.2, RANKS),
    "ExtraTreesClassifier": (2.8, 1.2, FULL_TREES),
    "ExtraTreesRegressor": (4.7, 1.2, FULL_TREES),
    "HistGradientBoostingClassifier": (1.9, 1.2, HELD_OUT),
    "HistGradientBoostingRegressor": (1.6, 1.2, HELD_OUT),
    "LPBoostClassifier": (1.35, 1.2, SORTED),
    "LinearL2BoostingRegressor": (21.0, 12.5, MOMENTS),
    "NadarayaWatsonRegressor": (12.5, 45.0, KERNEL_BLOCKS),
    "RandomForestClassifier": (1.5, 1.2, FULL_TREES),
    "RandomForestRegressor": (3.2, 1.2, FULL_TREES),
    "SmoothingSplineRegressor": (20.0, 12.5, MOMENTS),
    "StackingClassifier": (2.0, 1.2, FOLDS),
    "StackingRegressor": (1.5, 1.2, FOLDS),
    "VotingClassifier": (1.4, 1.2, SORTED),
}
# Full trees and neighbours take longer: fewer rows.
FEW_ROWS = 20_000
SLOW = {FULL_TREES, QUERIES}


@cache
def data(n, p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = np.sin(X[:, 0]) + X[:, -1] + rng.standard_normal(n)
    return X, y


def peak(call):
    """The most memory that a call takes at a time, without the constant, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] - CONSTANT
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
def test_a_fit_and_a_prediction_hold_little_beside_x(cls):
    name = cls.__name__
    limit = SMOOTHER_BYTES / 8 if name in SMOOTHERS else LIMIT
    most_fit, most_predict, reason = EXCEPTIONS.get(name, (limit, limit, ""))
    X, y = data(FEW_ROWS if reason in SLOW else N_ROWS, 1 if name in SMOOTHERS else N_FEATURES)
    # A Gaussian kernel sees all pairs of rows.
    params = {"kernel": "epanechnikov"} if name == "NadarayaWatsonRegressor" else {}
    estimator = make(cls, **params)
    y = (y > 0).astype(int) if is_classifier(estimator) else y
    make(cls).fit(X[:3000], y[:3000]).predict(X[:10])  # modules and compiled loops are loaded
    with config_context(working_memory=1):
        for _ in range(2):  # the first time may compile loops for these rows
            fit = peak(lambda: estimator.fit(X, y)) / X.nbytes
            predict = peak(lambda: estimator.predict(X)) / X.nbytes
            if fit <= most_fit and predict <= most_predict:
                break
    assert fit <= most_fit
    assert predict <= most_predict
