"""Models as tables of binned features, and the stages in which rounds change them.

A *model* consists of one table a feature for each score, and of intercepts. The models of a fit are
that of all rows and, with cross-validation, one for each fold held out. What is fitted
(`squared_error_fits.py`, `logistic_stages.py`) *opens a stage*: for each model and each score it
returns the products of the residuals with all cuts, from which rounds go on without the rows.
"""

import copy
from dataclasses import dataclass, field

import numpy as np

from sklearn_ensemble_theory.boosting._additive._tables.layout import CutLayout


@dataclass
class BinnedRows:
    """Training rows in bins.

    Attributes
    ----------
    codes : unsigned integer array of shape (n, p), in Fortran order
    layout : CutLayout
    weight : array of shape (n,) or None
    folds : integer array of shape (n,) or None
        The fold that tests on the row; `n_splits` for rows that none tests on.
    n_splits : int
        0 without cross-validation.
    """

    codes: np.ndarray
    layout: CutLayout
    weight: np.ndarray | None = None
    folds: np.ndarray | None = None
    n_splits: int = 0

    @property
    def n_groups(self) -> int:
        """The number of groups of rows of which sums are kept."""
        if self.folds is None:
            return 1
        return self.n_splits + bool((self.folds == self.n_splits).any())

    @property
    def held_out(self) -> list:
        """The fold that each model leaves out: none, then each in turn."""
        return [None, *range(self.n_splits)]


@dataclass(frozen=True)
class LabelledRows:
    """Rows in bins with what is to be predicted, those of a chunk for instance.

    Attributes
    ----------
    rows : BinnedRows
    y : array of shape (n,)
        Targets, or the numbers of classes.
    pair_folds : unsigned array of shape (n,), default=None
        The fold of each row in the boosting of pairs, where `rows` have none.
    """

    rows: BinnedRows
    y: np.ndarray
    pair_folds: np.ndarray | None = None


@dataclass
class TableModel:
    """Intercepts of the scores, and for each score a table (or None) of each feature."""

    intercepts: np.ndarray
    tables: list = field(default_factory=list)

    def copy(self) -> "TableModel":
        return TableModel(
            self.intercepts.copy(),
            [[None if t is None else t.copy() for t in own] for own in self.tables],
        )

    def add(self, score: int, tables: list) -> None:
        own = self.tables[score]
        for j, table in enumerate(tables):
            if table is not None:
                own[j] = table if own[j] is None else own[j] + table


@dataclass
class Stage:
    """The state of all models at the beginning of some rounds.

    Attributes
    ----------
    states : list of lists of TableState
        By model and score.
    models : list of TableModel
        With the intercepts of this stage.
    held_losses : array of shape (n_splits,)
        The mean losses over the held-out rows.
    per_square : array of shape (1 + n_splits,)
        What a sum of squares counts in the mean loss: over all rows, then over each fold.
    train_loss : float
        The mean loss of the first model.
    """

    states: list
    models: list
    held_losses: np.ndarray
    per_square: np.ndarray
    train_loss: float

    def spend(self) -> None:
        """Forget the products of cuts, which have no use when the rounds of the stage are over."""
        self.states = [[SpentState(state.cuts) for state in own] for own in self.states]


@dataclass
class WorkingResiduals:
    """The residuals of one score, of each model at all rows.

    Attributes
    ----------
    weight : array of shape (n,) or None
    frequency : array of shape (n,) or None
        How many rows each row stands for: the weights without second derivatives.
    residuals : list of arrays of shape (n,)
    """

    weight: np.ndarray | None
    frequency: np.ndarray | None
    residuals: list


def scores_at(model: TableModel, codes: np.ndarray) -> np.ndarray:
    """The scores of a model at rows in bins: (n, n_scores)."""
    scores = np.tile(model.intercepts, (len(codes), 1))
    for score, own in enumerate(model.tables):
        for j, table in enumerate(own):
            if table is not None:
                scores[:, score] += table.take(codes[:, j])
    return scores


class SpentState:
    """The columns of a stage that is over, without their products."""

    def __init__(self, cuts) -> None:
        self.cuts = copy.copy(cuts)
        self.cuts.forget_products()
