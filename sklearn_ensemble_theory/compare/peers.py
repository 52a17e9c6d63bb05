"""The peer of each estimator of the package, and the grids that are searched.

The estimators are those that the package exports. An estimator without an entry in `ENTRIES` is
included without a peer, with the part of `DEFAULT_GRID` for which it has parameters.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sklearn import ensemble, linear_model, neighbors, preprocessing, tree
from sklearn.base import BaseEstimator, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import boosting
from sklearn_ensemble_theory.compare import UsageError
from sklearn_ensemble_theory.compare.data import did_you_mean

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
DEFAULT_GRID = {"n_estimators": [20, 50]}


class Searchable(Protocol):
    """A model whose parameters are read and set by their names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...


@dataclass(frozen=True)
class Entry:
    """An estimator's fixed parameters and grid, and its peer, by default with the same ones."""

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
    def key(self) -> str:
        """Equal for candidates with equal results, which are computed once."""
        kind = type(self.model)
        text = self.model.__repr__(N_CHAR_MAX=1_000_000)  # in full
        return f"{kind.__module__}.{kind.__qualname__} {text} {dict(self.grid)!r}"

    @property
    def takes_missing(self) -> bool:
        """Whether the model takes NaN, so that nothing is imputed for it."""
        return get_tags(self.model).input_tags.allow_nan

    @property
    def takes_categories(self) -> bool:
        """Whether the model takes a frame with categories, and bins its features."""
        return self.model.get_params().get("categorical_features") == "from_dtype"

    def pipeline(self, encoder: Any = None, has_missing: bool = False) -> Pipeline:
        """The model behind all that is estimated from the features, and its grid by the names."""
        steps = [] if encoder is None else [("columns", encoder)]
        if has_missing and not self.takes_missing:
            imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            steps.append(("impute", imputer))
        if encoder is None or not self.takes_categories:
            steps.append(("scale", StandardScaler()))
        steps.append(("model", self.model))
        grid = {f"model__{name}": list(values) for name, values in self.grid.items()}
        return Pipeline(steps), grid


def of(cls: type, **params: Any) -> Callable[[], Any]:
    return lambda: cls(**params)


def splines() -> Pipeline:
    return make_pipeline(
        preprocessing.SplineTransformer(extrapolation="linear"),
        linear_model.RidgeCV(alphas=[10.0**k for k in range(-3, 5)]),
    )


NEIGHBORS = {"n_neighbors": [3, 10, 30]}
LEAF_SIZES = {"min_samples_leaf": [1, 10]}
KNOTS = {"splinetransformer__n_knots": [4, 8]}
INVERSE_PENALTIES = {"C": [0.01, 1.0, 100.0]}
ADABOOST = of(ensemble.AdaBoostClassifier)
MIXED_CLASSIFIERS = [
    ("logistic", linear_model.LogisticRegression()),
    ("near", neighbors.KNeighborsClassifier(10)),
    ("tree", tree.DecisionTreeClassifier(max_depth=5)),
]
BEST_CLASSIFIERS = [
    ("logistic", make_pipeline(StandardScaler(), linear_model.LogisticRegression())),
    ("forest", ensemble.RandomForestClassifier()),
    ("boosting", ensemble.HistGradientBoostingClassifier()),
]
BEST_REGRESSORS = [
    ("ridge", make_pipeline(StandardScaler(), linear_model.RidgeCV())),
    ("forest", ensemble.RandomForestRegressor()),
    ("boosting", ensemble.HistGradientBoostingRegressor()),
]
MIXED_REGRESSORS = [
    ("ridge", linear_model.Ridge()),
    ("near", neighbors.KNeighborsRegressor(10)),
    ("tree", tree.DecisionTreeRegressor(max_depth=5)),
]

ENTRIES = {
    # averaging
    "BaggingClassifier": Entry(peer=of(ensemble.BaggingClassifier), rounds=20),
    "BaggingRegressor": Entry(peer=of(ensemble.BaggingRegressor), rounds=20),
    "ExtraTreesClassifier": Entry(peer=of(ensemble.ExtraTreesClassifier), rounds=20),
    "ExtraTreesRegressor": Entry(peer=of(ensemble.ExtraTreesRegressor), rounds=20),
    "RandomForestClassifier": Entry(peer=of(ensemble.RandomForestClassifier), rounds=20),
    "RandomForestRegressor": Entry(peer=of(ensemble.RandomForestRegressor), rounds=20),
    "BaggedNearestNeighborsClassifier": Entry(
        params=lambda: {"max_samples": "loo"},
        peer=of(neighbors.KNeighborsClassifier),
        peer_grid=NEIGHBORS,
    ),
    "BaggedNearestNeighborsRegressor": Entry(
        params=lambda: {"max_samples": "loo"},
        peer=of(neighbors.KNeighborsRegressor),
        peer_grid=NEIGHBORS,
    ),
    "RandomProjectionRegressor": Entry(
        {"projection": ["gaussian", "relu"], "alpha": [0.1, 1.0]},
        peer=of(linear_model.RidgeCV, alphas=[10.0**k for k in range(-3, 5)]),
        peer_grid={},
    ),
    "DivideAndConquerClassifier": Entry(
        params=lambda: {"estimator": linear_model.LogisticRegression()},
        peer=of(linear_model.LogisticRegression),
    ),
    "DivideAndConquerRegressor": Entry(
        params=lambda: {"estimator": linear_model.Ridge()}, peer=of(linear_model.Ridge)
    ),
    "SketchedLinearRegression": Entry(
        params=lambda: {"n_refinements": 2}, peer=of(linear_model.LinearRegression)
    ),
    # boosting
    "AdaBoostClassifier": Entry(peer=ADABOOST, rounds=100),
    "AdaBoostRegressor": Entry(peer=of(ensemble.AdaBoostRegressor), rounds=50),
    "AgnosticBoostClassifier": Entry(peer=ADABOOST, rounds=100),
    "LPBoostClassifier": Entry(
        params=lambda: {"nu": 0.1, "n_estimators": 50}, peer=ADABOOST, rounds=100
    ),
    "MassartBoostClassifier": Entry(peer=ADABOOST, rounds=100),
    "SmoothBoostClassifier": Entry(peer=ADABOOST, rounds=100),
    "GradientBoostingClassifier": Entry(peer=of(ensemble.GradientBoostingClassifier), rounds=50),
    "GradientBoostingRegressor": Entry(peer=of(ensemble.GradientBoostingRegressor), rounds=50),
    "HistGradientBoostingClassifier": Entry(
        params=lambda: {"max_iter": 50},
        peer=of(ensemble.HistGradientBoostingClassifier, max_iter=50),
    ),
    "HistGradientBoostingRegressor": Entry(
        params=lambda: {"max_iter": 50},
        peer=of(ensemble.HistGradientBoostingRegressor, max_iter=50),
    ),
    # Ours choose the number of rounds after every round of every fold. The peer's stumps have its
    # defaults, which score as well as a grid of learning rates on these data, in a sixth of its
    # time.
    "AdditiveBoostingRegressor": Entry(
        {"loss": ["squared_error", "huber"]},
        peer=of(ensemble.HistGradientBoostingRegressor, max_depth=1, early_stopping=False),
        peer_grid={},
    ),
    "L2BoostingRegressor": Entry(
        params=lambda: {"n_estimators": "cv"},
        peer=of(ensemble.HistGradientBoostingRegressor, max_depth=1, early_stopping=False),
    ),
    "LogitBoostClassifier": Entry(
        # Fewer bins and rounds than by default, which take longer for ten classes than all others.
        params=lambda: {
            "n_estimators": boosting.CVRounds(3, max_estimators=100),
            "learning_rate": 0.1,
            "max_bins": 16,
            "smoothing_rounds": 10,
        },
        peer=of(ensemble.HistGradientBoostingClassifier, max_depth=1, early_stopping=False),
    ),
    "MatchingPursuitRegressor": Entry(
        {"variant": ["plain", "orthogonal"]},
        params=lambda: {"n_estimators": "cv"},
        peer=of(linear_model.OrthogonalMatchingPursuitCV),
        peer_grid={},
    ),
    "FrankWolfeRegressor": Entry(
        params=lambda: {"radius": "cv", "step": "line_search", "variant": "away"},
        peer=of(linear_model.LassoCV),
        peer_grid={},
    ),
    "FrankWolfeClassifier": Entry(
        params=lambda: {"radius": boosting.CVChoice(cv=3), "variant": "away"},
        peer=of(linear_model.LogisticRegression),
        peer_grid=INVERSE_PENALTIES,
    ),
    # trees
    "BinnedTreeClassifier": Entry(LEAF_SIZES, peer=of(tree.DecisionTreeClassifier)),
    "BinnedTreeRegressor": Entry(LEAF_SIZES, peer=of(tree.DecisionTreeRegressor)),
    # smoothing
    "NadarayaWatsonRegressor": Entry(
        params=lambda: {"bandwidth": "loo"},
        peer=of(neighbors.KNeighborsRegressor),
        peer_grid=NEIGHBORS,
    ),
    "SmoothingSplineRegressor": Entry(
        peer=splines,
        peer_grid=KNOTS,
    ),
    "LinearL2BoostingRegressor": Entry(
        params=lambda: {
            "estimator": package.SmoothingSplineRegressor(df=4),
            "variant": "best_feature",
            "learning_rate": 0.1,
            "time": "cv",
        },
        peer=splines,
        peer_grid=KNOTS,
    ),
    # combining
    "StackingClassifier": Entry(
        params=lambda: {"estimators": MIXED_CLASSIFIERS},
        peer=of(ensemble.StackingClassifier, estimators=MIXED_CLASSIFIERS),
    ),
    "StackingRegressor": Entry(
        params=lambda: {"estimators": MIXED_REGRESSORS},
        peer=of(ensemble.StackingRegressor, estimators=MIXED_REGRESSORS),
    ),
    "SuperLearnerClassifier": Entry(
        peer=of(ensemble.StackingClassifier, estimators=BEST_CLASSIFIERS)
    ),
    "SuperLearnerRegressor": Entry(peer=of(ensemble.StackingRegressor, estimators=BEST_REGRESSORS)),
    "VotingClassifier": Entry(
        params=lambda: {"estimators": MIXED_CLASSIFIERS, "voting": "soft"},
        peer=of(ensemble.VotingClassifier, estimators=MIXED_CLASSIFIERS, voting="soft"),
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
    "HistogramClassifier": Entry(peer=of(tree.DecisionTreeClassifier), peer_grid=LEAF_SIZES),
    "HistogramRegressor": Entry(peer=of(tree.DecisionTreeRegressor), peer_grid=LEAF_SIZES),
    "BallConstrainedClassifier": Entry(
        {"radius": [1.0, 10.0]},
        peer=of(linear_model.LogisticRegression),
        peer_grid=INVERSE_PENALTIES,
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


def exported() -> dict[str, type]:
    """The package's estimators by name, in the order of its `__all__`; the trees on bins last."""
    rooms = (package, package.trees)
    members = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name: member
        for name, member in members.items()
        if inspect.isclass(member) and issubclass(member, BaseEstimator) and hasattr(member, "fit")
    }


def choose(
    names: Sequence[str] | None = None, known: Mapping[str, type] | None = None
) -> dict[str, type]:
    """The estimators with the given names; all of them without names."""
    known = exported() if known is None else known
    for name in names or ():
        if name not in known:
            raise UsageError(
                f"unknown estimator {name!r}{did_you_mean(name, known)}; --list shows them"
            )
    return {name: cls for name, cls in known.items() if not names or name in names}


def candidates(
    name: str, cls: type, seed: int, full: bool = False
) -> tuple[Candidate, Candidate | None]:
    """The estimator and its peer (None where there is none), ready to be searched."""
    entry = ENTRIES.get(name)
    if entry is None:
        known = inspect.signature(cls).parameters
        needed = [key for key, p in known.items() if p.default is p.empty and p.kind in BY_NAME]
        if needed:
            raise UsageError(f"{name} needs {', '.join(needed)}: give it an entry in {__name__}")
        grid = {key: values for key, values in DEFAULT_GRID.items() if key in known}
        return Candidate(name, prepared(cls(), seed), grid), None
    rounds: dict[str, Any] = {}
    if entry.rounds is not None:
        rounds["n_estimators"] = entry.rounds * (5 if full else 1)
    model = prepared(cls(**{**rounds, **entry.params()}), seed)
    if entry.peer is None:
        return Candidate(name, model, entry.grid), None
    peer = prepared(entry.peer().set_params(**rounds), seed)
    grid = entry.grid if entry.peer_grid is None else entry.peer_grid
    return Candidate(name, model, entry.grid), Candidate(peer_name(peer), peer, grid)


def prepared(model: Searchable, seed: int) -> Any:
    """The model with every `random_state` set to the seed."""
    seeds = [key for key in model.get_params() if key.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeds, seed))


def peer_name(model: Searchable) -> str:
    """The class of a peer, or the classes of a pipeline's steps."""
    if isinstance(model, Pipeline):
        return " + ".join(type(step).__name__ for _, step in model.steps)
    return type(model).__name__


def task_of(model: Searchable) -> str:
    """What the model is for, under the name that data sets have."""
    return "classification" if is_classifier(model) else "regression"
