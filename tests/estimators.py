"""Every public estimator of the package, small enough to be fitted hundreds of times.

The contract walks over the `__all__` of the package and of `trees`: a new estimator is covered the
moment that it is exported. Only what cannot be guessed from the class is listed here.
"""

import inspect

import numpy as np
import polars as pl
import sklearn.ensemble
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y
from sklearn.utils.fixes import parse_version

import sklearn_ensemble_theory as package

SKLEARN_VERSION = parse_version(sklearn.__version__)
# Before, scikit-learn's trees leave out some of the splits of features with missing values.
TREES_TRY_BOTH_SIDES = parse_version("1.9.dev0") <= SKLEARN_VERSION

# scikit-learn below 1.9 reads polars by the interchange protocol, which polars 2 no longer has.
POLARS_IS_READ = parse_version("1.9") <= SKLEARN_VERSION or hasattr(pl.DataFrame, "__dataframe__")

# What the number of rounds is called.
ROUNDS = ("n_estimators", "n_rounds", "max_iter")
# Parameters that make a fit short; applied where the class has them.
SHORT = {"n_estimators": 5}

# Additive models of stumps alone: no folds, which rows of weight 2 and two equal rows
# share differently.
PLAIN = {"n_estimators": 40, "learning_rate": 0.2, "smoothing_rounds": 0, "interactions": 0}

REGRESSORS = [
    ("stump", package.DecisionStumpRegressor()),
    ("boosting", package.L2BoostingRegressor(**{**PLAIN, "n_estimators": 20})),
]
CLASSIFIERS = [
    ("boosting", package.AdaBoostClassifier(n_estimators=5)),
    ("slower", package.AdaBoostClassifier(n_estimators=5, learning_rate=0.5)),
]

BOOSTING = {"members": ["boosting", "boosting_31_leaves"], "cv": 3, "random_state": 0}

# Classes that need more than that: name -> keyword arguments.
REQUIRED = {
    "AdditiveBoostingRegressor": {**PLAIN, "loss": "absolute_error"},
    "HistGradientBoostingClassifier": {"max_iter": 5},
    "HistGradientBoostingRegressor": {"max_iter": 5},
    "L2BoostingRegressor": PLAIN,
    # Labels drawn at random have a positive soft margin only if most rows may be on its wrong side.
    "LPBoostClassifier": {"nu": 0.7},
    "LinearL2BoostingRegressor": {"estimator": package.SmoothingSplineRegressor(5, max_knots=10)},
    "LogitBoostClassifier": PLAIN,
    # Knots at all values of ten features would be 800 functions.
    "SmoothingSplineRegressor": {"max_knots": 10},
    "StackingClassifier": {"estimators": CLASSIFIERS, "cv": 2, "final_estimator": "simplex"},
    "StackingRegressor": {"estimators": REGRESSORS, "cv": 3},
    "SuperLearnerClassifier": BOOSTING,
    "SuperLearnerRegressor": BOOSTING,
    "VotingClassifier": {"estimators": CLASSIFIERS},
    "VotingRegressor": {"estimators": REGRESSORS},
}


def estimator_classes():
    """The public estimator classes, in the order of `__all__`; the trees on bins come last.

    `trees.Categories`, an object of options, has no `fit`.
    """
    rooms = (package, package.trees)
    members = [getattr(room, name) for room in rooms for name in room.__all__]
    classes = [m for m in members if inspect.isclass(m) and issubclass(m, BaseEstimator)]
    return [m for m in classes if hasattr(m, "fit")]


def named(name):
    """The public estimator class of this name."""
    return next(cls for cls in estimator_classes() if cls.__name__ == name)


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


def make_for_chunks(cls, **params):
    """`make`, with members and rules that fit rows in chunks."""
    members = [
        ("few", package.GradientBoostingRegressor(n_estimators=2, random_state=0)),
        ("boosting", REGRESSORS[1][1]),
    ]
    known = inspect.signature(cls).parameters
    if cls.__name__ in ("StackingRegressor", "VotingRegressor"):
        params = {"estimators": members, **params}
    if "final_estimator" in known:
        params = {"final_estimator": "nnls", **params}
    return make(cls, **params)


def with_rounds(cls, n_rounds):
    """A booster of so many rounds, in a ball that needs them all if it has one."""
    known = inspect.signature(cls).parameters
    name = next(name for name in ROUNDS if name in known)
    return make(cls, **{name: n_rounds}, **({"radius": 5.0} if "radius" in known else {}))


def checked_estimators():
    """Every class by its defaults, and two by parameters with which they take other ways."""
    return [
        # Stacks and votes have no default members.
        *(make(cls) if hasattr(cls, "named_estimators") else cls() for cls in estimator_classes()),
        make(package.trees.BinnedTreeRegressor, criterion="quantile", quantile=0.7),
        make(package.RandomForestRegressor, criterion="absolute_error"),
    ]


def expected_failed_checks(estimator):
    """The checks that scikit-learn expects its own class of the name to fail."""
    namesake = getattr(sklearn.ensemble, type(estimator).__name__, None)
    return PER_ESTIMATOR_XFAIL_CHECKS.get(namesake, {})


def defective_checks(estimator):
    """Checks of scikit-learn 1.6 that compare two different targets.

    For classifiers of two classes the checks of weights cut three classes down to two after they
    have shuffled the rows, by whichever comes first.
    """
    if not is_classifier(estimator) or get_tags(estimator).classifier_tags.multi_class:
        return {}
    y = np.array([0, 1, 2])
    cut = _enforce_estimator_tags_y(estimator, y)
    turned = _enforce_estimator_tags_y(estimator, y[::-1])[::-1]
    if (cut[0] == cut[1]) == (turned[0] == turned[1]):
        return {}
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(checks, "the check compares two different targets")


def target_for(estimator, y_classes, y_real):
    return y_classes if is_classifier(estimator) else y_real
