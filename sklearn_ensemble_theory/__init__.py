"""Ensemble methods as scikit-learn estimators, with closed forms and guarantees from theory."""

from sklearn_ensemble_theory import (
    averaging,
    boosting,
    bounds,
    combining,
    datasets,
    erm,
    inspection,
    smoothing,
    trees,
)
from sklearn_ensemble_theory._native import native_code
from sklearn_ensemble_theory._version import DOCUMENTATION, __version__, show_versions
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomProjectionRegressor,
    SketchedLinearRegression,
    bagged_nearest_neighbors_weights,
)
from sklearn_ensemble_theory.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AgnosticBoostClassifier,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    LPBoostClassifier,
    MassartBoostClassifier,
    MatchingPursuitRegressor,
    SmoothBoostClassifier,
)
from sklearn_ensemble_theory.combining import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.erm import (
    BallConstrainedClassifier,
    BestColumnRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    HistogramClassifier,
    HistogramRegressor,
    ReLUUnitRegressor,
)
from sklearn_ensemble_theory.smoothing import (
    LinearL2BoostingRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AgnosticBoostClassifier",
    "BaggedNearestNeighborsClassifier",
    "BaggedNearestNeighborsRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BallConstrainedClassifier",
    "BestColumnRegressor",
    "BinnedTreeClassifier",
    "BinnedTreeRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DivideAndConquerClassifier",
    "DivideAndConquerRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistogramClassifier",
    "HistogramRegressor",
    "L2BoostingRegressor",
    "LPBoostClassifier",
    "LinearL2BoostingRegressor",
    "LogitBoostClassifier",
    "MassartBoostClassifier",
    "MatchingPursuitRegressor",
    "NadarayaWatsonRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomProjectionRegressor",
    "ReLUUnitRegressor",
    "SketchedLinearRegression",
    "SmoothBoostClassifier",
    "SmoothingSplineRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "bagged_nearest_neighbors_weights",
    "native_code",
    "show_versions",
]

# A public name has the address that users import it from, not that of its file: pickles name it so,
# and the HTML view of an estimator links to its page of the reference. Estimators, which their
# folders export as well, have the address of the package.
for _folder in (
    *(averaging, boosting, boosting.losses, bounds, combining, datasets, erm, inspection),
    *(smoothing, trees),
):
    for _name in _folder.__all__:
        _member = getattr(_folder, _name)
        if _member is boosting.losses:
            continue
        _member.__module__ = __name__ if _name in __all__ else _folder.__name__
        if hasattr(_member, "_doc_link_module"):
            _member._doc_link_module = __name__
            _member._doc_link_template = (
                f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"
            )
show_versions.__module__ = __name__
