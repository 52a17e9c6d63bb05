"""How much a prediction of a fitted ensemble may change if a training row is left out.

The bound of [Soloff, Barber and Willett, 2024] needs no more than the range of the members' outputs
and the law of the draws, in which all rows have to be alike.
"""

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor

from sklearn_ensemble_theory._learners import is_tree
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory.bounds import bagging_stability
from sklearn_ensemble_theory.bounds._stability import LAWS_BY_ROWS
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
)
from sklearn_ensemble_theory.trees._binned_tree import BaseBinnedTree

# Regressors whose predictions are between targets of their rows.
MEANS = (BaseBinnedTree, KNeighborsRegressor, RadiusNeighborsRegressor)


def stability_of(ensemble: Ensemble, delta: float) -> float | np.ndarray:
    """The bound for a share `delta` of the units, in units of y, or of a probability or vote."""
    spec, learner = ensemble.draws, ensemble.learner
    law, reason = spec.scheme, None
    output_range, exponent = np.ones(()), 0
    # Rows of weight 0 are in no member: the others are those that may be left out.
    weight, n_units, is_fitted = law.sample_weight, law.n_units, slice(None)
    if weight is not None and law.unit_of_row is None:
        is_fitted = weight > 0
        weight, n_units = weight[is_fitted], int(np.count_nonzero(is_fitted))
    if n_units < 2 or law.bootstrap not in LAWS_BY_ROWS or not law.leaves_rows_out:
        reason = "some rows have to be left out of each member, all with the same probability"
    elif weight is not None and law.unit_of_row is None and np.ptp(weight) > 0:
        reason = "rows of different weights are drawn with different probabilities"
    if reason is None and law.bootstrap == "bernoulli" and spec.empty == "mean":
        reason = "with empty='mean', members without rows depend on all rows"
    if reason is None and not spec.n_classes:
        y = None if ensemble.rows is None else ensemble.rows.y
        if y is None:
            reason = "the training rows were removed"
        elif not (
            is_tree(learner)
            or (isinstance(learner, MEANS) and not callable(getattr(learner, "weights", None)))
        ):  # a function may return negative weights
            reason = f"{type(learner).__name__} may predict outside of the range of its targets"
        else:
            exponent = range_exponent(y)  # the range of huge targets may overflow
            y = np.ldexp(y[is_fitted].astype(np.float64), -exponent)
            low, high = y.min(axis=0), y.max(axis=0)
            if law.bootstrap == "bernoulli" and spec.empty == "zero":
                low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
            output_range = high - low
    if reason is None and ensemble.n_shrinkages:
        reason = "all rows have chosen the shrinkage of the members"
    if reason is None and weighs_by_all_rows(ensemble.class_weight):
        reason = "with class_weight='balanced' the weights of a member's rows depend on all rows"
    if reason is not None:
        raise ValueError(f"stability is not defined: {reason}.")
    share = bagging_stability(
        n_units, law.size, len(ensemble.members), bootstrap=law.bootstrap, delta=delta
    )
    with np.errstate(over="ignore"):
        bound = np.ldexp(share * output_range, exponent)
    return bound if bound.ndim else float(bound)


def weighs_by_all_rows(class_weight: Any) -> bool:
    """Whether the weights of the classes are of all rows, and so change without one of them."""
    return isinstance(class_weight, str) and class_weight == "balanced"
