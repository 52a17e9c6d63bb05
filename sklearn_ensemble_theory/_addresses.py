"""Where public names are: the room that each comes from, and the address that it has for users."""

import inspect
from collections.abc import Iterable
from typing import Any

from sklearn_ensemble_theory._version import DOCUMENTATION

PACKAGE = "sklearn_ensemble_theory"
# The rooms, which the package imports when they are first asked for, and the names that it exports
# of each.
ROOMS = {
    "averaging": """
        BaggedNearestNeighborsClassifier BaggedNearestNeighborsRegressor BaggingClassifier
        BaggingRegressor DivideAndConquerClassifier DivideAndConquerRegressor ExtraTreesClassifier
        ExtraTreesRegressor RandomForestClassifier RandomForestRegressor RandomProjectionRegressor
        SketchedLinearRegression
    """,
    "boosting": """
        AdaBoostClassifier AdaBoostRegressor AdditiveBoostingRegressor AgnosticBoostClassifier
        FrankWolfeClassifier FrankWolfeRegressor GradientBoostingClassifier
        GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor
        L2BoostingRegressor LogitBoostClassifier LPBoostClassifier MassartBoostClassifier
        MatchingPursuitRegressor SmoothBoostClassifier
    """,
    "bounds": "",
    "combining": """
        StackingClassifier StackingRegressor SuperLearnerClassifier SuperLearnerRegressor
        VotingClassifier VotingRegressor
    """,
    "datasets": "",
    "erm": """
        BallConstrainedClassifier BestColumnRegressor DecisionStumpClassifier
        DecisionStumpRegressor HistogramClassifier HistogramRegressor ReLUUnitRegressor
    """,
    "export": "",
    "inspection": "",
    "metrics": "",
    "smoothing": """
        LinearL2BoostingRegressor NadarayaWatsonRegressor SmoothingSplineRegressor
    """,
    "trees": "",
    "uncertainty": "",
}

# The rooms whose functions are of fitted estimators.
OF_FITTED = ("export", "inspection", "uncertainty")


def room_of(name: str) -> str:
    return next(room for room, names in ROOMS.items() if name in names.split())


def publish(room: str, members: dict[str, Any], names: Iterable[str]) -> None:
    """Give what a room exports the address that users import it from, and the door of arguments.

    Functions of a fitted estimator read it once, as its methods do. Pickles name a member so, and
    the HTML view of an estimator links to its page of the reference. What the package exports as
    well has the address of the package.
    """
    # Here, because the package itself imports this file and no other one.
    from sklearn_ensemble_theory._door import reading_once
    from sklearn_ensemble_theory._signatures import check_methods, with_checked_arguments

    is_of_fitted = room.split(".")[1] in OF_FITTED
    of_package = ROOMS.get(room.split(".", 1)[1], "").split()
    for name in names:
        member: Any = members[name]
        if not hasattr(member, "__module__"):
            continue  # a room in a room
        if inspect.isfunction(member):
            member = reading_once(member) if is_of_fitted else member
            member = members[name] = with_checked_arguments(member)
        elif inspect.isclass(member):
            for key, own in list(vars(member).items()) if is_of_fitted else ():
                if isinstance(own, classmethod):  # a display of a fitted estimator
                    setattr(member, key, classmethod(reading_once(own.__func__)))
            check_methods(member, PACKAGE)
        member.__module__ = PACKAGE if name in of_package else room
        if hasattr(member, "_doc_link_module"):
            member._doc_link_module = PACKAGE
            member._doc_link_template = (
                f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"
            )
