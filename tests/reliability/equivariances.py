"""What a change of units, of order or of names does to every estimator, with default parameters.

`TABLE` has an entry for each estimator and transformation: EXACT (the same bits), CLOSE (to 1e-10),
or the reason why the fit is another one. Of columns, rows and forms of X `EXCEPTIONS` has what is
not exact. The data are multiples of 1/4096, so that shifts and
multiples of them are exact, and any difference comes from the fit.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
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
OF_COLUMNS = {
    "column_repeated": "the first column once more, at the end: the same predictions",
    "column_constant": "a column of ones at the end: the same predictions",
}
OF_ROWS = {
    "weight_zero": "more rows, of weight 0: the predictions without them",
    "subset_predicted": "some of the rows to predict at: their predictions among all",
}
OF_FORM = {
    "float32": "X in single precision, which holds its values: the same predictions",
    "fortran": "X column by column in memory: the same predictions",
    "read_only": "X, y and weights that cannot be written: the same predictions",
    "frame": "X as a data frame: the same predictions",
    "sparse": "X as a sparse matrix: the same predictions",
    "strings": "text for labels, in the same order: the same predictions, renamed",
    "fitted_again": "a second fit of the same object: the same predictions",
    "n_jobs": "two jobs: the same predictions",
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
    classifier = is_classifier(estimator)
    left_out = set() if classifier else {"strings"}
    if "n_jobs" not in estimator.get_params(deep=False):
        left_out.add("n_jobs")
    of_y = OF_LABELS if classifier else OF_Y
    every = [*of_y, *OF_X, *OF_WEIGHTS, *OF_COLUMNS, *OF_ROWS, *OF_FORM]
    return [name for name in every if name not in left_out]


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
FIRST_COLUMN = "of splits of several columns that are equally good, the first column's is chosen"
LEAVES = "a leaf has at least 20 rows, which weights are not"
COLUMNS_DRAWN = "columns are drawn at random by their positions: equal in law only"
BLOCKS = "rows are dealt to blocks by their positions: equal in law only"
FOLDS = "rows are dealt to folds by their positions"
FOLDS_OF_ORDER = "rows are dealt to folds in the order of y"
DISTANCE = "distances add up columns in their units"
COUNTS = "weights count rows: k = 1 of more rows is another fit"
RIDGE = "the default final estimator, RidgeCV, has penalties in units of y and of weights"
BALL = "the radius of the ball is in units of y, and divided by units of X"
UNIT_CONSTANT = "a single unit a(±(x - c))+ has no constant beside it"
RATE = "the number of bins follows the number of rows"

_DRAWN_ROWS = _all(["rows_permuted", "repeated_rows"], ROWS_DRAWN)
_BAGS = _DRAWN_ROWS | {"unit_weights": WEIGHTED_DRAWS, "columns_permuted": COLUMN_TIES}
_SUPER_LEARNER = (
    _all([*OF_X, *OF_WEIGHTS], CLOSE)
    | _all(["rows_permuted", "repeated_rows"], FOLDS)
    | {"columns_permuted": COLUMN_TIES}
)
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
    "AdaBoostClassifier": VOTES_OF_ORDER | {"columns_permuted": FIRST_COLUMN},
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
    "HistGradientBoostingClassifier": (
        VOTES_OF_ORDER | {"repeated_rows": LEAVES, "columns_permuted": COLUMN_TIES}
    ),
    "HistGradientBoostingRegressor": OF_ORDER | {"repeated_rows": LEAVES},
    "HistogramClassifier": VOTES_OF_ORDER | {"repeated_rows": RATE},
    "HistogramRegressor": OF_ORDER | {"repeated_rows": RATE},
    "L2BoostingRegressor": OF_ORDER,
    "LPBoostClassifier": VOTES_OF_ORDER,
    "LinearL2BoostingRegressor": LINEAR | {"x_shifted": EXACT, "weights_by_powers": CLOSE},
    "LogitBoostClassifier": VOTES_OF_ORDER | {"columns_permuted": FIRST_COLUMN},
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
    "StackingClassifier": (
        VOTES_OF_ORDER
        | _all(["rows_permuted", "repeated_rows"], FOLDS)
        | {"columns_permuted": FIRST_COLUMN}
    ),
    "StackingRegressor": (
        OF_ORDER
        | _all(["y_times_4", "y_times_3", "weights_by_powers", "weights_times_3"], RIDGE)
        | _all(["rows_permuted", "repeated_rows"], FOLDS)
        | {"columns_permuted": FIRST_COLUMN}
    ),
    "SuperLearnerClassifier": _SUPER_LEARNER | LABELS,
    "SuperLearnerRegressor": (
        _SUPER_LEARNER
        | UNITS_OF_Y
        | {"y_times_4": CLOSE, "y_negated": FOLDS_OF_ORDER, "rows_permuted": CLOSE}
    ),
    "VotingClassifier": VOTES_OF_ORDER | {"columns_permuted": FIRST_COLUMN},
    "VotingRegressor": OF_ORDER,
    "BinnedTreeClassifier": VOTES_OF_ORDER | {"columns_permuted": COLUMN_TIES},
    "BinnedTreeRegressor": OF_ORDER | {"columns_permuted": COLUMN_TIES},
}

SINGLE_COLUMNS = "a column that stands twice counts twice"
TWO_SMOOTHERS = "a column that stands twice has two smoothing splines, of half the penalty"
RATE_OF_COLUMNS = "the rate follows the number of columns"
SKETCH = "the size of a sketch follows the number of columns"
DENSE = "a sparse X is refused"
DRAWN_WITH_ZERO = "rows of weight 0 keep their places among those that are drawn: equal in law only"

_TIES = _all(OF_COLUMNS, COLUMN_TIES)
_DRAWS = _all(OF_COLUMNS, COLUMNS_DRAWN)
_ZEROS = {"weight_zero": DRAWN_WITH_ZERO}
_REFUSED = {"sparse": DENSE}
_ROUNDED = _all(OF_COLUMNS, CLOSE)
_SUMS = _ROUNDED | {"sparse": CLOSE}
_SUBSET = {"subset_predicted": CLOSE}

# Relations of columns, of rows and of forms are exact but for these.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "AdaBoostRegressor": _TIES,
    "AdditiveBoostingRegressor": {"column_repeated": CLOSE},
    "AgnosticBoostClassifier": _REFUSED,
    "BaggedNearestNeighborsClassifier": (
        {"column_repeated": SINGLE_COLUMNS, "column_constant": RATE_OF_COLUMNS} | _SUBSET
    ),
    "BaggedNearestNeighborsRegressor": (
        {"column_repeated": SINGLE_COLUMNS, "column_constant": RATE_OF_COLUMNS} | _SUBSET
    ),
    "BaggingClassifier": _TIES | _ZEROS,
    "BaggingRegressor": _TIES | _ZEROS,
    "BallConstrainedClassifier": (
        {"column_repeated": SINGLE_COLUMNS, "column_constant": CLOSE}
        | _all(["fortran", "frame", "sparse"], CLOSE)
    ),
    "BestColumnRegressor": _ROUNDED | _REFUSED,
    "DecisionStumpClassifier": _REFUSED,
    "DecisionStumpRegressor": _REFUSED,
    "DivideAndConquerClassifier": _TIES,
    "DivideAndConquerRegressor": _TIES,
    "ExtraTreesClassifier": _DRAWS,
    "ExtraTreesRegressor": _DRAWS,
    "FrankWolfeClassifier": _SUMS,
    "FrankWolfeRegressor": _SUMS,
    "GradientBoostingClassifier": _TIES,
    "GradientBoostingRegressor": _TIES,
    "HistGradientBoostingClassifier": _TIES,
    "HistogramClassifier": _REFUSED,
    "HistogramRegressor": _REFUSED,
    "L2BoostingRegressor": {"column_repeated": CLOSE},
    "LPBoostClassifier": _REFUSED,
    "SuperLearnerClassifier": _TIES,
    "SuperLearnerRegressor": _TIES,
    "LinearL2BoostingRegressor": {"column_repeated": TWO_SMOOTHERS} | _SUBSET | _REFUSED,
    "LogitBoostClassifier": {"column_repeated": CLOSE},
    "MassartBoostClassifier": _REFUSED,
    "MatchingPursuitRegressor": _SUMS,
    "NadarayaWatsonRegressor": (
        {"column_repeated": SINGLE_COLUMNS, "column_constant": RATE_OF_COLUMNS} | _SUBSET | _REFUSED
    ),
    "RandomForestClassifier": _DRAWS | _ZEROS,
    "RandomForestRegressor": _DRAWS | _ZEROS,
    "RandomProjectionRegressor": _SUMS,
    "ReLUUnitRegressor": _REFUSED,
    "SketchedLinearRegression": _all(OF_COLUMNS, SKETCH) | {"sparse": CLOSE},
    "SmoothBoostClassifier": _REFUSED,
    "SmoothingSplineRegressor": {"column_repeated": TWO_SMOOTHERS} | _SUBSET | _REFUSED,
    "StackingRegressor": {"column_repeated": CLOSE} | _REFUSED,
    "VotingRegressor": {"column_repeated": CLOSE} | _REFUSED,
    "BinnedTreeClassifier": _TIES,
    "BinnedTreeRegressor": _TIES,
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
    exact = [t for t in expected if t in OF_COLUMNS | OF_ROWS | OF_FORM]
    claims = _all(exact, EXACT) | TABLE[name] | EXCEPTIONS.get(name, {})
    missing = [t for t in expected if t not in claims]
    unknown = [t for t in claims if t not in expected]
    assert not missing, f"no entry for {missing}. {hint}"
    assert not unknown, f"{unknown} do not apply. {hint}"
    return claims


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
        elif transformation in OF_COLUMNS:
            first = 0 if transformation == "column_repeated" else None
            more = lambda A: np.ones(len(A)) if first is None else A[:, first]  # noqa: E731
            found = [self.fit(X=np.c_[X, more(X)], Z=np.c_[Z, more(Z)])]
        elif transformation in OF_FORM:
            return self._in_form(transformation)
        elif transformation == "subset_predicted":
            rows = self.rng.permutation(len(Z))[:11]
            subset = [v[rows] for v in self._reference(False)]
            return [Change(self.fit(Z=Z[rows]), subset)]
        elif transformation == "weight_zero":
            rows, w = np.arange(len(X)) % 4 > 0, weight * (np.arange(len(X)) % 4 > 0)
            kept = self.fit(X=X[rows], y=y[rows], weight=weight[rows])
            return [Change(self.fit(weight=w), kept)]
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

    def _in_form(self, form):
        """The same numbers in another form; y, and weights, are those of the reference."""
        X, y, Z = self.data.X, self.data.y, self.data.Z
        if form == "strings":
            return [Change(self._renamed(np.array(["no", "yes"])), self._reference(False))]
        if form == "n_jobs":
            model = self.make().set_params(n_jobs=2)
            return [Change(outputs(model, self.data), self._reference(False))]
        if form == "fitted_again":
            model = self.make().fit(X[::-1], y[::-1])
            return [Change(outputs(model, self.data), self._reference(False))]
        if form == "read_only":
            every = [array.copy() for array in self.data]
            for array in every:
                array.flags.writeable = False
            found = self.fit(X=every[0], y=every[1], weight=every[2], Z=every[3])
            return [Change(found, self._reference(True))]
        make_form = {
            "float32": np.float32,
            "fortran": np.asfortranarray,
            "frame": lambda A: pd.DataFrame(A, columns=[f"x{j}" for j in range(A.shape[1])]),
            "sparse": sparse.csr_array,
        }[form]
        return [Change(self.fit(X=make_form(X), Z=make_form(Z)), self._reference(False))]

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
