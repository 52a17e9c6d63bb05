"""What a change of units, of order or of names does to every estimator, with default parameters.

`TABLE` has an entry for each estimator and transformation: EXACT (the same bits), CLOSE (to 1e-10),
or the reason why the fit is another one. The data are multiples of 1/4096, so that shifts and
multiples of them are exact, and any difference comes from the fit.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ..estimators import make

EXACT, CLOSE = "exact", "close"

# The transformations, and how the predictions answer.
OF_Y = {
    "y_shifted": "y + 8: predictions + 8",
    "y_times_4": "4 y: predictions times 4",
    "y_times_3": "3 y: predictions times 3",
    "y_negated": "-y: predictions times -1",
}
OF_LABELS = {"labels_renamed": "other names in the same order: the same predictions, renamed"}
OF_X = {
    "x_shifted": "a constant for each column: the same predictions",
    "x_times_4": "4 X: the same predictions",
    "x_times_3": "3 X: the same predictions",
    "columns_by_powers": "each column times a power of two of its own: the same predictions",
    "columns_scaled": "each column times a number of its own: the same predictions",
    "columns_permuted": "the same predictions",
    "rows_permuted": "the same predictions",
}
OF_WEIGHTS = {
    "weights_by_powers": "4 w and w / 8: the predictions of w",
    "weights_times_3": "3 w: the predictions of w",
    "unit_weights": "weights of one: the predictions without weights",
    "repeated_rows": "row i as often as its weight says: the predictions of w",
}


class Data(NamedTuple):
    """Training data; `weight` are whole numbers, and Z the rows to predict at."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    Z: np.ndarray


def data_for(estimator, seed, n=48, p=3):
    """n rows of p >= 3 features, with a real target or two balanced classes."""
    rng = np.random.default_rng(seed)
    X, Z = (np.round(4096 * rng.standard_normal((m, p))) / 4096 for m in (n, 25))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(n)
    y = np.round(4096 * y) / 4096
    if is_classifier(estimator):
        y = (y > np.median(y)).astype(int)
    return Data(X, y, rng.integers(1, 4, n).astype(float), Z)


def transformations(estimator):
    of_y = OF_LABELS if is_classifier(estimator) else OF_Y
    return [*of_y, *OF_X, *OF_WEIGHTS]


def _all(names, value):
    return dict.fromkeys(names, value)


# Profiles: what most estimators of a kind have in common.
UNITS_OF_Y = _all(OF_Y, CLOSE) | {"y_times_4": EXACT, "y_negated": EXACT}
LABELS = {"labels_renamed": EXACT}
ORDER_OF_X = _all(OF_X, EXACT) | _all(["columns_permuted", "rows_permuted"], CLOSE)
UNITS_OF_X = _all(OF_X, CLOSE) | {"x_times_4": EXACT}
WEIGHTS = _all(OF_WEIGHTS, CLOSE) | _all(["weights_by_powers", "unit_weights"], EXACT)
OF_ORDER = UNITS_OF_Y | ORDER_OF_X | WEIGHTS  # only the order of a column's values matters
VOTES_OF_ORDER = LABELS | ORDER_OF_X | WEIGHTS
LINEAR = UNITS_OF_Y | UNITS_OF_X | WEIGHTS

ROWS_DRAWN = "rows are drawn at random by their positions: equal in law only"
WEIGHTED_DRAWS = "with weights, rows are drawn by other random numbers: equal in law only"
COLUMN_TIES = "where splits of several columns are equally good, the random state chooses"
LEAVES = "a leaf has at least 20 rows, which weights are not"
COLUMNS_DRAWN = "columns are drawn at random by their positions: equal in law only"
BLOCKS = "rows are dealt to blocks by their positions: equal in law only"
FOLDS = "rows are dealt to folds by their positions"
DISTANCE = "distances add up columns in their units"
COUNTS = "weights count rows: k = 1 of more rows is another fit"
RIDGE = "the default final estimator, RidgeCV, has penalties in units of y and of weights"
BALL = "the radius of the ball is in units of y, and divided by units of X"
UNIT_CONSTANT = "a single unit a(±(x - c))+ has no constant beside it"
RATE = "the number of bins follows the number of rows"

_DRAWN_ROWS = _all(["rows_permuted", "repeated_rows"], ROWS_DRAWN)
_BAGS = _DRAWN_ROWS | {"unit_weights": WEIGHTED_DRAWS, "columns_permuted": COLUMN_TIES}
_FOREST = _BAGS | {"columns_permuted": COLUMNS_DRAWN}
_BLOCKS = _all(["rows_permuted", "repeated_rows"], BLOCKS) | {"columns_permuted": COLUMN_TIES}
_NEIGHBORS = (
    UNITS_OF_X
    | {"x_shifted": EXACT, "x_times_3": EXACT}
    | _all(["columns_by_powers", "columns_scaled"], DISTANCE)
    | WEIGHTS
    | _all(["weights_by_powers", "weights_times_3"], COUNTS)
)
_BALL_X = _all(["x_times_4", "x_times_3", "columns_by_powers", "columns_scaled"], BALL)

TABLE: dict[str, dict[str, str]] = {
    "AdaBoostClassifier": VOTES_OF_ORDER,
    "AdaBoostRegressor": OF_ORDER | _DRAWN_ROWS | {"columns_permuted": COLUMN_TIES},
    "AdditiveBoostingRegressor": OF_ORDER,
    "AgnosticBoostClassifier": VOTES_OF_ORDER,
    "BaggedNearestNeighborsClassifier": LABELS | _NEIGHBORS,
    "BaggedNearestNeighborsRegressor": UNITS_OF_Y | _NEIGHBORS,
    "BaggingClassifier": VOTES_OF_ORDER | _BAGS,
    "BaggingRegressor": OF_ORDER | _BAGS,
    "BallConstrainedClassifier": LABELS | UNITS_OF_X | _BALL_X | WEIGHTS,
    "BestColumnRegressor": LINEAR,
    "DecisionStumpClassifier": VOTES_OF_ORDER,
    "DecisionStumpRegressor": OF_ORDER,
    "DivideAndConquerClassifier": VOTES_OF_ORDER | _BLOCKS,
    "DivideAndConquerRegressor": OF_ORDER | _BLOCKS,
    "ExtraTreesClassifier": VOTES_OF_ORDER | {"columns_permuted": COLUMNS_DRAWN},
    "ExtraTreesRegressor": OF_ORDER | {"columns_permuted": COLUMNS_DRAWN},
    "FrankWolfeClassifier": LABELS | UNITS_OF_X | _BALL_X | WEIGHTS,
    "FrankWolfeRegressor": (
        LINEAR | _BALL_X | _all(["y_times_4", "y_times_3"], BALL) | {"y_negated": EXACT}
    ),
    "GradientBoostingClassifier": (
        VOTES_OF_ORDER | {"columns_permuted": COLUMN_TIES, "unit_weights": CLOSE}
    ),
    "GradientBoostingRegressor": OF_ORDER | {"columns_permuted": COLUMN_TIES},
    "HistGradientBoostingClassifier": VOTES_OF_ORDER | {"repeated_rows": LEAVES},
    "HistGradientBoostingRegressor": OF_ORDER | {"repeated_rows": LEAVES},
    "HistogramClassifier": VOTES_OF_ORDER | {"repeated_rows": RATE},
    "HistogramRegressor": OF_ORDER | {"repeated_rows": RATE},
    "L2BoostingRegressor": OF_ORDER,
    "LPBoostClassifier": VOTES_OF_ORDER,
    "LinearL2BoostingRegressor": LINEAR | {"x_shifted": EXACT, "weights_by_powers": CLOSE},
    "LogitBoostClassifier": VOTES_OF_ORDER,
    "MassartBoostClassifier": VOTES_OF_ORDER,
    "MatchingPursuitRegressor": LINEAR,
    "NadarayaWatsonRegressor": LINEAR,
    "RandomForestClassifier": VOTES_OF_ORDER | _FOREST,
    "RandomForestRegressor": OF_ORDER | _FOREST,
    "RandomProjectionRegressor": LINEAR,
    "ReLUUnitRegressor": LINEAR | {"y_shifted": UNIT_CONSTANT},
    "SketchedLinearRegression": (
        LINEAR | {"weights_by_powers": CLOSE} | _all(["rows_permuted", "repeated_rows"], ROWS_DRAWN)
    ),
    "SmoothBoostClassifier": VOTES_OF_ORDER,
    "SmoothingSplineRegressor": LINEAR | {"weights_by_powers": CLOSE},
    "StackingClassifier": VOTES_OF_ORDER | {"rows_permuted": FOLDS},
    "StackingRegressor": (
        OF_ORDER
        | _all(["y_times_4", "y_times_3", "weights_by_powers", "weights_times_3"], RIDGE)
        | _all(["rows_permuted", "repeated_rows"], FOLDS)
    ),
    "VotingClassifier": VOTES_OF_ORDER,
    "VotingRegressor": OF_ORDER,
    "BinnedTreeClassifier": VOTES_OF_ORDER | {"columns_permuted": COLUMN_TIES},
    "BinnedTreeRegressor": OF_ORDER | {"columns_permuted": COLUMN_TIES},
}


def claims_of(name, estimator):
    """The entry of an estimator; without one, an error that tells what to add."""
    expected = transformations(estimator)
    hint = (
        f"Add TABLE[{name!r}] in tests/reliability/equivariances.py: for each of "
        f"{', '.join(expected)}, EXACT where predictions have the same bits, CLOSE where they "
        "agree to 1e-10, or the reason why the fit is another one."
    )
    assert name in TABLE, hint
    missing = [t for t in expected if t not in TABLE[name]]
    unknown = [t for t in TABLE[name] if t not in expected]
    assert not missing, f"no entry for {missing}. {hint}"
    assert not unknown, f"{unknown} do not apply. {hint}"
    return TABLE[name]


class Change(NamedTuple):
    """Predictions of the changed data, mapped back, and those that they must equal."""

    found: list
    expected: list


def outputs(estimator, data, **fit_params):
    """What a fitted estimator predicts, by each of its methods."""
    estimator.fit(data.X, data.y, **fit_params)
    methods = ("predict_proba", "decision_function", "predict")
    return [np.asarray(getattr(estimator, m)(data.Z)) for m in methods if hasattr(estimator, m)]


class Changes:
    """All transformations of one estimator and one data set; fits without them happen once."""

    def __init__(self, cls, params, seed):
        self.make = lambda: make(cls, **params)
        self.data = data_for(self.make(), seed)
        self.rng = np.random.default_rng(seed)
        self._known = {}

    def fit(self, **changes):
        weight = changes.pop("weight", None)
        params = {} if weight is None else {"sample_weight": weight}
        return outputs(self.make(), self.data._replace(**changes), **params)

    def _reference(self, weighted):
        if weighted not in self._known:
            self._known[weighted] = self.fit(**({"weight": self.data.weight} if weighted else {}))
        return self._known[weighted]

    def of(self, transformation):
        """The `Change` s of a transformation."""
        X, y, weight, Z = self.data
        weighted = transformation in OF_WEIGHTS and transformation != "unit_weights"
        columns = {
            "x_shifted": lambda A: A + np.array([8.0, -16.0, 4.0]),
            "x_times_4": lambda A: 4 * A,
            "x_times_3": lambda A: 3 * A,
            "columns_by_powers": lambda A: A * np.array([4.0, 0.25, 16.0]),
            "columns_scaled": lambda A: A * np.array([3.0, 0.7, 10.0]),
            "columns_permuted": lambda A: A[:, [2, 0, 1]],
        }
        targets = {
            "y_shifted": (y + 8, lambda v: v - 8),
            "y_times_4": (4 * y, lambda v: v / 4),
            "y_times_3": (3 * y, lambda v: v / 3),
            "y_negated": (-y, lambda v: -v),
        }
        if transformation in columns:
            change = columns[transformation]
            found = [self.fit(X=change(X), Z=change(Z))]
        elif transformation in targets:
            target, back = targets[transformation]
            found = [[back(v) for v in self.fit(y=target)]]
        elif transformation == "labels_renamed":
            found = [self._renamed(np.array(names)) for names in (["no", "yes"], [-3, 70])]
        elif transformation == "rows_permuted":
            order = self.rng.permutation(len(X))
            found = [self.fit(X=X[order], y=y[order])]
        elif transformation == "repeated_rows":
            rows = np.repeat(np.arange(len(X)), weight.astype(int))
            found = [self.fit(X=X[rows], y=y[rows])]
        else:
            weights = {
                "weights_by_powers": [4 * weight, weight / 8],
                "weights_times_3": [3 * weight],
                "unit_weights": [np.ones(len(X))],
            }
            found = [self.fit(weight=w) for w in weights[transformation]]
        return [Change(each, self._reference(weighted)) for each in found]

    def _renamed(self, names):
        *scores, labels = self.fit(y=names[self.data.y])
        return [*scores, np.searchsorted(names, labels)]


def distance(change):
    """0 if all bits are the same, otherwise the largest difference, at least the smallest float."""
    worst = 0.0
    for found, expected in zip(change.found, change.expected, strict=True):
        if found.shape != expected.shape:
            return np.inf
        if not np.array_equal(found, expected):
            scale = max(1.0, np.abs(expected).max())
            difference = np.abs(found.astype(float) - expected).max() / scale
            worst = max(worst, float(difference), 5e-324)
    return worst
