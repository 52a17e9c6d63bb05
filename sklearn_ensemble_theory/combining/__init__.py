"""Combinations of given learners of different kinds [Ghoshdastidar; Shah, §4.1]."""

from sklearn_ensemble_theory.combining._stacking.estimators import (
    StackingClassifier,
    StackingRegressor,
)
from sklearn_ensemble_theory.combining._voting.estimators import (
    VotingClassifier,
    VotingRegressor,
)

__all__ = ["StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"]
