"""Every public estimator of the package, small enough to be fitted hundreds of times.

The contract walks over `sklearn_ensemble_theory.__all__`: a new estimator is covered the moment
that it is exported. Only what cannot be guessed from the class is listed here.
"""

import inspect

import numpy as np
import polars as pl
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y
from sklearn.utils.fixes import parse_version

import sklearn_ensemble_theory as package

SKLEARN_VERSION = parse_version(sklearn.__version__)

# scikit-learn below 1.9 reads polars by the interchange protocol, which polars 2 no longer has.
POLARS_IS_READ = parse_version("1.9") <= SKLEARN_VERSION or hasattr(pl.DataFrame, "__dataframe__")

# What the number of rounds is called.
ROUNDS = ("n_estimators", "n_iterations", "n_rounds", "max_iter")
# Parameters that make a fit short; applied where the class has them.
SHORT = {"n_estimators": 5}

REGRESSORS = [
    ("stump", package.DecisionStumpRegressor()),
    ("boosting", package.L2BoostingRegressor(20, learning_rate=0.2)),
]
CLASSIFIERS = [
    ("boosting", package.AdaBoostClassifier(n_estimators=5)),
    ("slower", package.AdaBoostClassifier(n_estimators=5, learning_rate=0.5)),
]

# Classes that need more than that: name -> keyword arguments.
REQUIRED = {
    "AdditiveBoostingRegressor": {
        "n_estimators": 40,
        "learning_rate": 0.2,
        "loss": "absolute_error",
    },
    "HistGradientBoostingClassifier": {"max_iter": 5},
    "HistGradientBoostingRegressor": {"max_iter": 5},
    "L2BoostingRegressor": {"n_estimators": 40, "learning_rate": 0.2},
    # Labels drawn at random have a positive soft margin only if most rows may be on its wrong side.
    "LPBoostClassifier": {"nu": 0.7},
    "LinearL2BoostingRegressor": {"estimator": package.SmoothingSplineRegressor(5, max_knots=10)},
    "LogitBoostClassifier": {"n_estimators": 40, "learning_rate": 0.2},
    # Knots at all values of ten features would be 800 functions.
    "SmoothingSplineRegressor": {"max_knots": 10},
    "StackingClassifier": {"estimators": CLASSIFIERS, "cv": 2, "weights": "simplex"},
    "StackingRegressor": {"estimators": REGRESSORS, "cv": 3},
    "VotingClassifier": {"estimators": CLASSIFIERS},
    "VotingRegressor": {"estimators": REGRESSORS},
}

# scikit-learn expects its own bootstrap estimators to fail these two checks, for the reason given.
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
BOOTSTRAP_REASON = "rows are drawn at random, so weights and repeated rows agree in law only"
# scikit-learn gives the class of a row 10^7 times the weight of the others and expects that hardly
# any row is predicted to be of another. Trees pass by `min_weight_fraction_leaf`. These may give a
# region without such rows to the others, as scikit-learn's AdaBoostClassifier does with these
# sample weights; tests/test_class_weight.py compares the models instead.
LIGHT_REGIONS = {
    "AdaBoostClassifier",
    "AgnosticBoostClassifier",
    "BaggedNearestNeighborsClassifier",
    "DivideAndConquerClassifier",
    "HistogramClassifier",
    "LPBoostClassifier",
    "LogitBoostClassifier",
    "MassartBoostClassifier",
    "SmoothBoostClassifier",
    "StackingClassifier",
    "VotingClassifier",
}
BOOTSTRAP = {
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
}


def estimator_classes():
    """The public estimator classes, in the order of `__all__`."""
    members = [getattr(package, name) for name in package.__all__]
    return [m for m in members if inspect.isclass(m) and issubclass(m, BaseEstimator)]


def boosters():
    """The estimators of `boosting`."""
    return [cls for cls in estimator_classes() if cls.__name__ in package.boosting.__all__]


def boosted_votes():
    """Those of them that add up votes of any weak classifier, round by round."""
    return [cls for cls in boosters() if is_classifier(cls()) and hasattr(cls, "staged_score")]


def make(cls, **params):
    """A small instance of `cls`, seeded where it is random."""
    known = inspect.signature(cls).parameters
    short = {k: v for k, v in {**SHORT, "random_state": 0}.items() if k in known}
    return cls(**{**short, **REQUIRED.get(cls.__name__, {}), **params})


def with_rounds(cls, n_rounds):
    """A booster of so many rounds, in a ball that needs them all if it has one."""
    known = inspect.signature(cls).parameters
    name = next(name for name in ROUNDS if name in known)
    return make(cls, **{name: n_rounds}, **({"radius": 5.0} if "radius" in known else {}))


def instances():
    return [make(cls) for cls in estimator_classes()]


def variants():
    """Estimators of parameters by which they take other ways than by their defaults."""
    medians = {"criterion": "quantile", "quantile": 0.7}
    return [
        make(getattr(package, name), **medians)
        for name in ("BinnedTreeRegressor", "RandomForestRegressor")
    ]


def expected_failed_checks(estimator):
    """The two checks that scikit-learn expects its own bootstrap estimators to fail.

    And that of extreme weights of classes, where a light class keeps regions of its own. And, in
    scikit-learn 1.6, the two checks for classifiers of two classes: they cut three classes
    down to two after they have shuffled the rows, by whichever comes first.
    """
    name, failed = type(estimator).__name__, {}
    if name in LIGHT_REGIONS:
        failed["check_class_weight_classifiers"] = "a light class keeps regions of its own"
    if name in BOOTSTRAP:
        failed |= dict.fromkeys(WEIGHT_CHECKS, BOOTSTRAP_REASON)
    elif is_classifier(estimator) and not get_tags(estimator).classifier_tags.multi_class:
        y = np.array([0, 1, 2])
        cut = _enforce_estimator_tags_y(estimator, y)
        turned = _enforce_estimator_tags_y(estimator, y[::-1])[::-1]
        if (cut[0] == cut[1]) != (turned[0] == turned[1]):
            failed |= dict.fromkeys(WEIGHT_CHECKS, "the check compares two different targets")
    return failed


def target_for(estimator, y_classes, y_real):
    return y_classes if is_classifier(estimator) else y_real
