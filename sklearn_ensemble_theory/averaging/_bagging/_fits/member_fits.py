"""The fit of members in parallel, with progress and callbacks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory.averaging._bagging.members import MemberSpec, fit_member
from sklearn_ensemble_theory.averaging._bagging.out_of_bag import OutOfBag


def member_results(
    spec: MemberSpec, X: Any, y: np.ndarray, seeds: np.ndarray, n_jobs: int | None
) -> Iterator[Any]:
    """The results of `fit_member` for these seeds, in their order."""
    tasks = (delayed(fit_member)(spec, X, y, seed) for seed in seeds)
    # The parameters of a plain learner have been validated, once for all members.
    with config_context(skip_parameter_validation=spec.plain or None):
        return in_order(tasks, n_jobs=n_jobs, prefer="threads" if spec.plain else None)


def fit_members(
    model: Any,
    spec: MemberSpec,
    X: Any,
    y: np.ndarray,
    seeds: np.ndarray,
    oob: OutOfBag | None,
    description: dict[str, Any],
) -> tuple[list[BaseEstimator], list[np.ndarray]]:
    """The members of these seeds and their features; callbacks of the model may end it early."""
    context = model._init_callback_context(max_subtasks=len(seeds))
    context.call_on_fit_task_begin(estimator=model, X=X, y=y)
    progress = Progress(type(model).__name__, len(seeds), model.verbose)
    members: list[BaseEstimator] = []
    features: list[np.ndarray] = []

    def fitted_attributes() -> dict[str, Any]:
        return {
            **description,
            "estimator_": spec.estimator,
            "estimators_": list(members),
            "estimators_features_": list(features),
            "_member_spec": spec.without_data(),
        }

    for member, columns, outside in member_results(spec, X, y, seeds, model.n_jobs):
        task = context.subcontext(task_name="member")
        task.call_on_fit_task_begin(estimator=model)
        members.append(member)
        features.append(columns)
        if oob is not None:
            oob.add(outside)
        progress.advance(f"out-of-bag score {oob.scores[-1]:.4g}" if oob else "")
        if task.call_on_fit_task_end(
            estimator=model, X=X, y=y, reconstruction_attributes=fitted_attributes
        ):
            break
    progress.finish("callback")
    context.call_on_fit_task_end(
        estimator=model, X=X, y=y, reconstruction_attributes=fitted_attributes
    )
    return members, features
