"""The fit of a loss that is not squared by stages of Newton steps, of rows in memory or in blocks.

The bins of blocks stay where the rows are, and are read once for each stage, or twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._blocks import Blocks, PassCount
from ..._categories import CategoricalColumns
from ..._rows import MemoryRows
from ..._scaling import TargetScale
from .bins import BinnedBlocks, FeatureBins
from .newton_loss import NewtonLoss, NewtonLossOfBlocks, NewtonLossOfRows, PointwiseLoss
from .pairs import PairFit, weight_by_bin
from .phases import BinnedRows, cuts_in_memory


@dataclass(frozen=True)
class NewtonTask:
    """What is fitted.

    Attributes
    ----------
    loss : PointwiseLoss
    limit : float
        How far a score moves between two computations of the derivatives.
    score_of : callable
        Of targets and scores: how far off a model is at rows that it has not seen.
    target : TargetScale
        The units of targets and scores.
    degree : int, default=0
        The loss in units of y is that in units of `target` times this power of the unit.
    """

    loss: PointwiseLoss
    limit: float
    score_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    target: TargetScale = field(default_factory=lambda: TargetScale(0.0, 1.0))
    degree: int = 0

    def in_units(self, losses: np.ndarray) -> np.ndarray:
        for _ in range(self.degree):  # a power of the unit might overflow
            losses = losses * self.target.scale
        return losses


def fit_newton(
    model: Any,
    task: NewtonTask,
    rows: BinnedRows,
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    jumps: np.ndarray | tuple,
    monotonic: np.ndarray | None,
) -> None:
    """Fit an additive model to rows in memory, which are in bins."""
    loss, layout = task.loss, rows.layout
    max_cuts = cuts_in_memory(model.max_memory, rows, loss.n_scores)
    risk = NewtonLossOfRows(rows, loss, max_cuts)
    ends = np.cumsum(layout.n_bins)[:-1]
    weights = np.split(weight_by_bin(rows, rows.weight), ends, axis=1)
    blocks = MemoryRows(rows, len(layout.n_bins))
    pair_fit = PairFit(blocks, layout, loss.n_scores, rows.n_splits, is_quadratic=False)
    _fit_risk(model, task, risk, pair_fit, weights, bins, columns, jumps, monotonic)
    model.__dict__.pop("n_passes_", None)


def fit_newton_of_blocks(
    model: Any,
    task: NewtonTask,
    blocks: Blocks,
    found: BinnedBlocks,
    monotonic: np.ndarray | None,
) -> None:
    """Fit an additive model to `BinnedRows` in blocks."""
    layout, passes = found.bins.layout(), PassCount(found.n_passes)
    risk = NewtonLossOfBlocks(blocks, layout, task.loss, found.n_splits, passes)
    weights = risk.bin_weights
    pair_fit = PairFit(
        blocks,
        layout,
        task.loss.n_scores,
        found.n_splits,
        is_quadratic=False,
        bin_weights=[own.sum(axis=0) for own in weights],
        passes=passes,
    )
    _fit_risk(model, task, risk, pair_fit, weights, found.bins, found.columns, (), monotonic)
    model.n_passes_ = passes.n


def _fit_risk(
    model: Any,
    task: NewtonTask,
    risk: NewtonLoss,
    pair_fit: PairFit,
    weights: list[np.ndarray],
    bins: FeatureBins,
    columns: CategoricalColumns | None,
    jumps: np.ndarray | tuple,
    monotonic: np.ndarray | None,
) -> None:
    # The rows of a fold may be so far from the others that its model leaves the range of floats
    # there; its held-out loss is infinite then.
    with np.errstate(over="ignore", invalid="ignore"):
        results = model._fit_models(risk, pair_fit, risk.layout, jumps, monotonic, task.limit)
    target = task.target
    model._set_terms(bins, columns, weights, results, target.scale, target.mean, task.in_units)
    model._keep_rows_of_folds(risk.rows, task.score_of)
    model.n_refreshes_ = risk.n_refreshes
    # Each stage lowers another quadratic, and their falls do not add up as those of the squared
    # error do: the importance is the mean size of a feature's function.
    importances = model.term_importances_[: len(weights)]
    total = importances.sum()
    model.feature_importances_ = importances / total if total > 0 else importances
