"""What a fitted decision stump states, from its public attributes."""

from typing import Any

import numpy as np

from sklearn_ensemble_theory.erm import DecisionStumpClassifier, DecisionStumpRegressor

Stump = DecisionStumpClassifier | DecisionStumpRegressor


def rule(stump: Stump) -> tuple[int, float, Any, Any]:
    """Its feature, its threshold, and what it predicts at or below it, and above."""
    if isinstance(stump, DecisionStumpRegressor):
        return stump.feature_, stump.threshold_, stump.left_value_, stump.right_value_
    left, right = stump.classes_.take([stump.left_class_, stump.right_class_], axis=0)
    return stump.feature_, stump.threshold_, left, right


def leaf_values(stump: Stump) -> np.ndarray:
    """The values of the two sides, in two rows, as a tree has them."""
    if isinstance(stump, DecisionStumpRegressor):
        return np.array([np.ravel(stump.left_value_), np.ravel(stump.right_value_)])
    values = np.stack([stump.left_proba_, stump.right_proba_])
    for shares, chosen in zip(values, (stump.left_class_, stump.right_class_)):
        if shares.argmax() != chosen:  # a tie up to rounding
            shares[chosen] = np.nextafter(shares.max(), 2.0)
    return values
