"""The loop of boosting and its parts, as tests call them on arrays.

The tests name the modules of the loop here only: a name that moves is changed in one place."""

import numpy as np

from sklearn_ensemble_theory.boosting._additive import logit_boost
from sklearn_ensemble_theory.boosting._base_learners import weak_learner
from sklearn_ensemble_theory.boosting._gradient_boosting.blocks import in_few_bytes
from sklearn_ensemble_theory.boosting._loop import BoostingRounds
from sklearn_ensemble_theory.boosting._risk import EmpiricalRisk, MarginRisk, SecondOrderRisk
from sklearn_ensemble_theory.boosting.losses._base import as_loss, longer_steps, safe_length
from sklearn_ensemble_theory.boosting.losses._compiled import compiled_loss
from sklearn_ensemble_theory.boosting.losses._losses import (
    REGISTRY,
    loss_names,
    lower_quantile,
    make_loss,
)

__all__ = [
    "REGISTRY",
    "BoostingRounds",
    "EmpiricalRisk",
    "MarginRisk",
    "SecondOrderRisk",
    "as_loss",
    "compiled_loss",
    "in_few_bytes",
    "longer_steps",
    "loss_names",
    "lower_quantile",
    "make_loss",
    "safe_length",
    "weak_learner",
]


class Columns:
    """The columns of a matrix, normalised or of signs: the best inner product [Bach, §10.3.1]."""

    def __init__(self, psi):
        self.psi = psi

    def best(self, target, weight, scores=None):
        products = (weight * target) @ self.psi
        j = int(np.argmax(np.abs(products)))
        return j, (np.sign(products[j]) or 1.0) * self.psi[:, j]


def refresh_at(monkeypatch, change):
    """Let LogitBoost compute gradients anew when log-odds have moved by `change`."""
    monkeypatch.setattr(logit_boost, "REFRESH", change)
