"""The peer of each estimator of the package, and the grids that are searched.

The estimators are those that the package exports. An estimator without an entry in `ENTRIES` is
included without a peer, with the part of `DEFAULT_GRID` for which it has parameters.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sklearn import ensemble, linear_model, neighbors, preprocessing, tree
from sklearn.base import BaseEstimator, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import sklearn_ensemble_theory as package
from comparing import UsageError
from comparing.data import did_you_mean

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
DEFAULT_GRID = {"n_estimators": [20, 50]}


@dataclass(frozen=True)
class Entry:
    """An estimator's fixed parameters and grid, and its peer, by default with the same ones.

    `rounds` is the number of estimators of both sides in the default run; `--full` uses five times
    as many.
    """

    grid: Mapping = field(default_factory=dict)
    params: Callable[[], Mapping] = dict
    peer: Callable[[], BaseEstimator] | None = None
    peer_grid: Mapping | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class Candidate:
    """A named model and the grid that is searched for it."""

    name: str
    model: BaseEstimator
    grid: Mapping

    @property
    def key(self):
        """Equal for candidates with equal results, which are computed once."""
        kind = type(self.model)
        text = self.model.__repr__(N_CHAR_MAX=1_000_000)  # in full
        return f"{kind.__module__}.{kind.__qualname__} {text} {dict(self.grid)!r}"

    @property
    def takes_missing(self):
        """Whether the model takes NaN, so that nothing is imputed for it."""
        return get_tags(self.model).input_tags.allow_nan

    def pipeline(self, encoder=None, has_missing=False):
        """The model behind all that is estimated from the features, and its grid by the names.

        Parameters
        ----------
        encoder : transformer, default=None
            What turns the columns of a file into numbers.
        has_missing : bool, default=False
            Whether some of these numbers are missing.
        """
        steps = [] if encoder is None else [("columns", encoder)]
        if has_missing and not self.takes_missing:
            imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            steps.append(("impute", imputer))
        steps += [("scale", StandardScaler()), ("model", self.model)]
        grid = {f"model__{name}": list(values) for name, values in self.grid.items()}
        return Pipeline(steps), grid


def of(cls, **params):
    """A function that builds a peer."""
    return lambda: cls(**params)


def splines():
    return make_pipeline(
        preprocessing.SplineTransformer(extrapolation="linear"),
        linear_model.RidgeCV(alphas=[10.0**k for k in range(-3, 5)]),
    )


NEIGHBORS = {"n_neighbors": [3, 10, 30]}
MAX_SAMPLES = {"max_samples": [0.5, 1.0]}
MAX_FEATURES = {"max_features": ["sqrt", 0.5]}
LEAF_SIZES = {"min_samples_leaf": [1, 10]}
LEARNING_RATE = {"learning_rate": [0.2, 0.5]}
STUMP_ROUNDS = {"n_estimators": [15, 50]}
KNOTS = {"splinetransformer__n_knots": [4, 8]}
MIXED_CLASSIFIERS = [
    ("logistic", linear_model.LogisticRegression()),
    ("near", neighbors.KNeighborsClassifier(10)),
    ("tree", tree.DecisionTreeClassifier(max_depth=5)),
]
MIXED_REGRESSORS = [
    ("ridge", linear_model.Ridge()),
    ("near", neighbors.KNeighborsRegressor(10)),
    ("tree", tree.DecisionTreeRegressor(max_depth=5)),
]

ENTRIES = {
    # averaging
    "BaggingClassifier": Entry(MAX_SAMPLES, peer=of(ensemble.BaggingClassifier), rounds=20),
    "BaggingRegressor": Entry(MAX_SAMPLES, peer=of(ensemble.BaggingRegressor), rounds=20),
    "ExtraTreesClassifier": Entry(MAX_FEATURES, peer=of(ensemble.ExtraTreesClassifier), rounds=20),
    "ExtraTreesRegressor": Entry(MAX_FEATURES, peer=of(ensemble.ExtraTreesRegressor), rounds=20),
    "RandomForestClassifier": Entry(
        MAX_FEATURES, peer=of(ensemble.RandomForestClassifier), rounds=20
    ),
    "RandomForestRegressor": Entry(
        MAX_FEATURES, peer=of(ensemble.RandomForestRegressor), rounds=20
    ),
    "BaggedNearestNeighborsClassifier": Entry(
        {"max_samples": ["rate", "loo"]},
        peer=of(neighbors.KNeighborsClassifier),
        peer_grid=NEIGHBORS,
    ),
    "BaggedNearestNeighborsRegressor": Entry(
        {"max_samples": ["rate", "loo"]},
        peer=of(neighbors.KNeighborsRegressor),
        peer_grid=NEIGHBORS,
    ),
    "RandomProjectionRegressor": Entry(
        {"projection": ["gaussian", "relu"], "alpha": [0.1, 1.0]},
        peer=of(linear_model.RidgeCV, alphas=[10.0**k for k in range(-3, 5)]),
        peer_grid={},
    ),
    # boosting
    "AdaBoostClassifier": Entry(STUMP_ROUNDS, peer=of(ensemble.AdaBoostClassifier)),
    "AdaBoostRegressor": Entry(STUMP_ROUNDS, peer=of(ensemble.AdaBoostRegressor)),
    "GradientBoostingClassifier": Entry(
        LEARNING_RATE, peer=of(ensemble.GradientBoostingClassifier), rounds=10
    ),
    "GradientBoostingRegressor": Entry(
        LEARNING_RATE, peer=of(ensemble.GradientBoostingRegressor), rounds=10
    ),
    "L2BoostingRegressor": Entry(
        {"learning_rate": [0.01, 0.1]},
        params=lambda: {"n_estimators": 1000},
        peer=of(ensemble.HistGradientBoostingRegressor, max_depth=1, early_stopping=False),
        peer_grid={"learning_rate": [0.05, 0.2]},
    ),
    "MatchingPursuitRegressor": Entry(
        {"variant": ["plain", "orthogonal"]},
        params=lambda: {"early_stopping": "cv"},
        peer=of(linear_model.OrthogonalMatchingPursuitCV),
        peer_grid={},
    ),
    "FrankWolfeRegressor": Entry(
        params=lambda: {"radius": "cv", "step": "line_search", "away_steps": True},
        peer=of(linear_model.LassoCV),
        peer_grid={},
    ),
    "FrankWolfeClassifier": Entry(
        {"radius": [2.0, 10.0]},
        params=lambda: {"away_steps": True},
        peer=of(linear_model.LogisticRegression),
        peer_grid={"C": [0.01, 1.0]},
    ),
    # trees
    "BinnedTreeClassifier": Entry(LEAF_SIZES, peer=of(tree.DecisionTreeClassifier)),
    "BinnedTreeRegressor": Entry(LEAF_SIZES, peer=of(tree.DecisionTreeRegressor)),
    # smoothing
    "NadarayaWatsonRegressor": Entry(
        {"bandwidth": ["scott", "loo"]}, peer=of(neighbors.KNeighborsRegressor), peer_grid=NEIGHBORS
    ),
    "SmoothingSplineRegressor": Entry(
        {"df": [3.0, None]},  # None: by generalised cross-validation
        peer=splines,
        peer_grid=KNOTS,
    ),
    "LinearL2BoostingRegressor": Entry(
        {"estimator__df": [2.5, 4.0]},
        params=lambda: {
            "estimator": package.SmoothingSplineRegressor(df=4),
            "coordinates": "best",
            "learning_rate": 0.1,
            "time": "cv",
        },
        peer=splines,
        peer_grid=KNOTS,
    ),
    # combining
    "StackingClassifier": Entry(
        {"weights": ["simplex", "nnls"]},
        params=lambda: {"estimators": MIXED_CLASSIFIERS},
        peer=of(ensemble.StackingClassifier, estimators=MIXED_CLASSIFIERS),
        peer_grid={},
    ),
    "StackingRegressor": Entry(
        {"weights": ["simplex", "nnls"]},
        params=lambda: {"estimators": MIXED_REGRESSORS},
        peer=of(ensemble.StackingRegressor, estimators=MIXED_REGRESSORS),
        peer_grid={},
    ),
    "VotingClassifier": Entry(
        {"voting": ["hard", "soft"]},
        params=lambda: {"estimators": MIXED_CLASSIFIERS},
        peer=of(ensemble.VotingClassifier, estimators=MIXED_CLASSIFIERS),
    ),
    "VotingRegressor": Entry(
        params=lambda: {"estimators": MIXED_REGRESSORS},
        peer=of(ensemble.VotingRegressor, estimators=MIXED_REGRESSORS),
    ),
    # erm
    "DecisionStumpClassifier": Entry(
        {"max_bins": [None, 16]},
        peer=of(tree.DecisionTreeClassifier, max_depth=1),
        peer_grid={"criterion": ["gini", "entropy"]},
    ),
    "DecisionStumpRegressor": Entry(
        {"max_bins": [None, 16]}, peer=of(tree.DecisionTreeRegressor, max_depth=1), peer_grid={}
    ),
    "HistogramClassifier": Entry(
        {"n_bins": ["rate", 3]}, peer=of(tree.DecisionTreeClassifier), peer_grid=LEAF_SIZES
    ),
    "HistogramRegressor": Entry(
        {"n_bins": ["rate", 3]}, peer=of(tree.DecisionTreeRegressor), peer_grid=LEAF_SIZES
    ),
    "BestColumnRegressor": Entry(
        {"criterion": ["squared_error", "inner_product"]},
        peer=of(linear_model.OrthogonalMatchingPursuit, n_nonzero_coefs=1),
        peer_grid={"fit_intercept": [True, False]},
    ),
    "ReLUUnitRegressor": Entry(
        {"direction": ["axis", "oblique"]},
        peer=of(tree.DecisionTreeRegressor, max_depth=1),
        peer_grid={},
    ),
}


def exported():
    """The package's estimators by name, in the order of its `__all__`."""
    members = {name: getattr(package, name) for name in package.__all__}
    return {
        name: member
        for name, member in members.items()
        if inspect.isclass(member) and issubclass(member, BaseEstimator)
    }


def choose(names=None, known=None):
    """The estimators with the given names; all of them without names."""
    known = exported() if known is None else known
    for name in names or ():
        if name not in known:
            raise UsageError(
                f"unknown estimator {name!r}{did_you_mean(name, known)}; --list shows them"
            )
    return {name: cls for name, cls in known.items() if not names or name in names}


def candidates(name, cls, seed, full=False):
    """The estimator and its peer (None where there is none), ready to be searched."""
    entry = ENTRIES.get(name)
    if entry is None:
        known = inspect.signature(cls).parameters
        needed = [key for key, p in known.items() if p.default is p.empty and p.kind in BY_NAME]
        if needed:
            raise UsageError(f"{name} needs {', '.join(needed)}: give it an entry in {__name__}")
        grid = {key: values for key, values in DEFAULT_GRID.items() if key in known}
        return Candidate(name, prepared(cls(), seed), grid), None
    rounds = {} if entry.rounds is None else {"n_estimators": entry.rounds * (5 if full else 1)}
    model = prepared(cls(**entry.params(), **rounds), seed)
    if entry.peer is None:
        return Candidate(name, model, entry.grid), None
    peer = prepared(entry.peer().set_params(**rounds), seed)
    grid = entry.grid if entry.peer_grid is None else entry.peer_grid
    return Candidate(name, model, entry.grid), Candidate(peer_name(peer), peer, grid)


def prepared(model, seed):
    """The model with every `random_state` set to the seed."""
    seeds = [key for key in model.get_params() if key.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeds, seed))


def peer_name(model):
    if isinstance(model, Pipeline):
        return " + ".join(type(step).__name__ for _, step in model.steps)
    return type(model).__name__


def task_of(model):
    return "classification" if is_classifier(model) else "regression"
