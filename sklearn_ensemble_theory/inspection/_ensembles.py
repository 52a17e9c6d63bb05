"""What functions of a fitted ensemble read: our `Ensemble`, or trees of other models."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import FittedClassifier, FittedPredictor

from .._rows import validate_data
from ..averaging._learner_blocks import RowsInChunks
from ..ensembles._ensemble import Ensemble
from ..trees._packed import PackedCache
from ..trees._tree_arrays import member_nodes

MODELS = {
    "model": """
        model : fitted estimator
            A forest, or bagging, of this package.
        """,
    "of_model": """
        Parameters
        ----------
        %(model)s
        """,
    "model_of_trees": """
        model : fitted estimator
            A forest, or bagging of trees, of this package; if both X and Z are given, also gradient
            boosting, and scikit-learn's forests and gradient boosting.
        """,
    "average": """
        model : fitted estimator
            A forest, or bagging, of this package or of scikit-learn's.
        """,
}


class RowsOfOthers(RowsInChunks):
    """In place of the training rows, and of the law of the draws, of a model that keeps neither."""

    _reason = (
        "which only bagging and the forests of this package keep. Fit one of these, or give all "
        "rows that are asked for."
    )


@dataclass(frozen=True)
class MembersOfOthers:
    """In place of a `MemberSpec`: members fitted to all columns, by draws that are lost."""

    n_classes: int
    scheme: Any
    frames: bool = False
    all_features: bool = True
    empty: str = "redraw"


def ensemble_of(model: FittedPredictor, *, averages: bool = True) -> Ensemble:
    """The ensemble of a fitted model; with `averages` one of which the mean predicts."""
    own = getattr(model, "ensemble_", None)
    if own is not None:
        return own
    check_is_fitted(model)
    members = list(np.ravel(getattr(model, "estimators_", [])))
    is_bagging = isinstance(model, BaggingClassifier | BaggingRegressor)
    is_average = is_bagging or hasattr(model, "decision_path")
    trees = member_nodes(members, of_any_output=True) if members else None
    if (averages and not is_average) or (trees is None and not is_bagging):
        raise TypeError(
            "model must be a fitted forest or bagging ensemble"
            f"{'' if averages else ', or boosted trees'}; got {type(model).__name__}."
        )
    lost = RowsOfOthers()
    features = getattr(model, "estimators_features_", None)
    whole = np.arange(model.n_features_in_)
    if features is not None and not all(np.array_equal(each, whole) for each in features):
        raise TypeError("model must have members that are fitted to all features.")
    n_classes = (
        int(np.sum(cast(FittedClassifier, model).n_classes_))
        if is_classifier(model) and is_average
        else 0
    )
    return Ensemble(
        members=members,
        learner=members[0],
        features=[whole] * len(members),
        seeds=np.empty(0, dtype=int),
        draws=MembersOfOthers(n_classes, lost),  # type: ignore[arg-type]
        rows=lost,  # type: ignore[arg-type]
        method="predict_proba" if n_classes else "predict",
        n_features=model.n_features_in_,
        feature_names=getattr(model, "feature_names_in_", None),
        encoder=None,
        n_jobs=getattr(model, "n_jobs", None),
        packed=PackedCache(),
        held_out=None,
        max_samples=None,
        class_weight=None,
        n_shrinkages=0,
        check=lambda X: validate_data(
            model, X, reset=False, accept_sparse="csr", ensure_all_finite=False
        ),
    )
