"""What a fit of gradient boosting is asked for, and what it is fitted to: the records of its doors.

A door (`GradientBoosting*`, `HistGradientBoosting*`) turns its parameters into a `Plan` and its
rows into a `Problem`. The engines, `memory.py` and `blocks.py`, see only these. A variant of a fit,
as to a fold or to other targets, is the same engine on ``dataclasses.replace(plan, ...)`` and
another problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets

from ..._compat import openmp_threads
from ..._cv_choice import CVRounds
from ..._rows import Rows
from ..losses import Loss
from ..steps import LearningRate, Step

# A larger target cannot be squared and summed.
LARGEST_TARGET = 1e150


@dataclass(frozen=True)
class Plan:
    """The parameters of a fit, by their meaning for the rounds.

    - name: that of the estimator's class, for messages and progress.
    - newton: whether rounds are of the second order; "if_curved" where the loss has a second
      derivative and is not the squared error.
    - n_rounds: the largest number of rounds.
    - choice: how the folds choose the number of rounds; None for the number itself.
    - default_trees: the learner is the estimator's own.
    - one_tree: one tree is grown for all scores of a round, if there are several.
    - random_state: what the rounds draw by.
    - patience: so many rounds at least pass before early stopping may end them; None without it.
    - keeps_best: the rounds after the best score of validation rows are dropped, if the user gives
      these rows.
    """

    name: str
    learner: Any
    step: Step
    learning_rate: LearningRate = 0.1
    newton: Literal["no", "yes", "if_curved"] = "no"
    n_rounds: int = 100
    choice: CVRounds | None = None
    init: Any = None
    subsample: float = 1.0
    default_trees: bool = True
    one_tree: bool = False
    random_state: Any = None
    patience: int | None = None
    keeps_best: bool = False
    n_jobs: int | None = None
    verbose: bool | int = 0

    @property
    def n_threads(self) -> int:
        """The threads of a fit or a prediction, as HistGradientBoosting counts them."""
        return n_threads_of(self.n_jobs)


@dataclass(frozen=True)
class Problem:
    """The rows of a fit in memory, with targets as the loss takes them, and this loss."""

    rows: Rows
    loss: Loss
    classes: np.ndarray | None = None
    fit_params: dict = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """0 for real targets."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_scores(self) -> int:
        return self.loss.n_scores(self.n_classes)


def n_threads_of(n_jobs: int | None) -> int:
    """The threads that a parameter `n_jobs` asks for; None as HistGradientBoosting counts them."""
    return openmp_threads() if n_jobs is None else effective_n_jobs(n_jobs)


def check_part(loss: Loss, y: np.ndarray, what: str) -> None:
    """Raise a ValueError where the loss cannot be fitted to a part of the targets alone."""
    try:
        loss.check_target(y)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


# --- targets: numbers, or -1 and +1 for two classes, or 0 ... K-1 for more ------------------------


def classes_of(y: np.ndarray) -> np.ndarray:
    """The labels of a classifier's targets, in increasing order."""
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class, {classes[0]}; at least 2 classes are required.")
    return classes


def encoded(y: Any, classes: np.ndarray | None) -> np.ndarray:
    """The targets as the loss takes them; `classes` is None for numbers."""
    if classes is None:
        # Contiguous and writable, as compiled code takes it.
        y = np.require(y, np.float64, ["C", "W"])
        if np.max(np.abs(y), initial=0.0) > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
        return y
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if np.any(classes[codes] != y):
        raise ValueError("y_val has classes that are not in y.")
    return 2.0 * codes - 1.0 if len(classes) == 2 else codes


def decoded(y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """The user's targets from those that the loss takes."""
    if classes is None:
        return y
    return classes[(y > 0).astype(int) if len(classes) == 2 else y]
