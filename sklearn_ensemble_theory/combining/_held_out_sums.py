"""Weights of members from sums over blocks of held-out rows, instead of tables of all rows.

A rule reads the predictions three times: for their size and the weights of the folds; for the
losses of the members and a triangular factor of their residuals; and for standard errors. The
weights of smallest log-loss need some twenty passes more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from sklearn_ensemble_theory._blocks import Blocks, SummedFields
from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two

from ._aggregation import (
    RISKS,
    MixtureRows,
    SquaredRisk,
    least_squares_gap,
    least_squares_weights,
    mixture_in_set,
)
from ._member_blocks import HeldOutBlock


@dataclass
class FoldWeights:
    """The largest size of a number, and for each fold the sums of weights and of their squares."""

    size: float
    n_rows: int
    totals: np.ndarray
    squares: np.ndarray

    def __add__(self, other: "FoldWeights") -> "FoldWeights":
        return FoldWeights(
            max(self.size, other.size),
            self.n_rows + other.n_rows,
            self.totals + other.totals,
            self.squares + other.squares,
        )


@dataclass
class LossSums:
    """Sums of the losses of each member by fold, the largest loss, and a residual factor."""

    losses: np.ndarray
    largest: float
    factor: np.ndarray | None

    def __add__(self, other: "LossSums") -> "LossSums":
        factor = self.factor
        if factor is not None and other.factor is not None:
            (both,) = qr(np.vstack([factor, other.factor]), mode="r", check_finite=False)
            factor = both[: len(factor)]
        losses, largest = self.losses + other.losses, max(self.largest, other.largest)
        return LossSums(losses, largest, factor)


@dataclass
class Deviations(SummedFields):
    squares: np.ndarray


@dataclass
class MixtureModel(SummedFields):
    slope: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True)
class MixtureOfBlocks:
    """A `Mixture` of rows in blocks, with a pass over them for each answer."""

    held: Blocks
    total: float
    k: int

    def model(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.held.sum(mixture_model, self.total, v)
        return found.slope, found.hessian

    def fall(self, v: np.ndarray, move: np.ndarray) -> float:
        return float(self.held.sum(mixture_fall, self.total, v, move))


@dataclass(frozen=True)
class SummedRisk:
    """The mean losses of the members, and what the smallest risk is found by.

    That is a factor for the squared error, and passes over the blocks for the log-loss.
    """

    means: np.ndarray
    factor: np.ndarray | None
    mixture: MixtureOfBlocks
    weight: np.ndarray

    def candidate_losses(self) -> np.ndarray:
        """The means, as of one row of the weight 1."""
        return self.means[None]

    def solve(self, rule: str, radius: float, positive: bool) -> tuple[np.ndarray, float]:
        """The weights of a rule, and the bound on the distance of their risk to the minimum."""
        if self.factor is None:
            return mixture_in_set(self.mixture, rule, radius)
        v = least_squares_weights(self.factor, rule, radius, positive)
        return v, least_squares_gap(self.factor, v, rule, radius, positive)


@dataclass(frozen=True)
class HeldOutSums:
    """What a rule learns from: the risk, a table of the members, and the effective fold sizes."""

    risk: SummedRisk
    record: dict[str, Any]
    largest_loss: float
    fold_sizes: list[float]

    @classmethod
    def of(cls, held: Blocks, loss: str, n_splits: int, of_classes: bool) -> "HeldOutSums":
        found = held.sum(fold_weights, n_splits, of_classes)
        total = float(found.totals.sum())
        unit = 1.0 if of_classes else power_of_two(found.size)
        sums = held.sum(loss_sums, loss, unit, total, n_splits)
        means, shares = sums.losses.sum(axis=0), found.totals / total
        deviations = held.sum(squared_deviations, loss, unit, total, means)
        n = found.n_rows
        error = np.sqrt(deviations.squares * (n / max(n - 1, 1)))
        factors = {"squared_error": unit * unit, "absolute_error": unit}
        with np.errstate(over="ignore", under="ignore"):
            in_units = factors.get(loss, 1.0)
            record = {"mean_score": means * in_units, "standard_error": error * in_units}
            for k in range(n_splits):
                mean = sums.losses[k] / shares[k] if shares[k] > 0 else np.nan * means
                record[f"split{k}_score"] = mean * in_units
            largest = float(sums.largest * in_units)
            sizes = [float(a * (a / b)) if b else 0.0 for a, b in zip(found.totals, found.squares)]
        mixture = MixtureOfBlocks(held, total, len(means))
        return cls(SummedRisk(means, sums.factor, mixture, np.ones(1)), record, largest, sizes)


def fold_weights(block: HeldOutBlock, n_splits: int, of_classes: bool) -> FoldWeights:
    size = 0.0
    if not of_classes:
        size = max(largest_magnitude(block.table), largest_magnitude(block.y))
    sums = [np.bincount(block.fold, w, n_splits) for w in (block.weight, block.weight**2)]
    return FoldWeights(size, len(block.y), *sums)


def risk_of_block(block: HeldOutBlock, loss: str, unit: float, total: float) -> Any:
    """The risk of the block's rows, by their shares of all weight, in these units."""
    numbers = block.table.ndim == 2
    table, y = (block.table / unit, block.y / unit) if numbers else (block.table, block.y)
    return RISKS[loss](table, y, block.weight / total)


def loss_sums(block: HeldOutBlock, loss: str, unit: float, total: float, n_splits: int) -> LossSums:
    risk = risk_of_block(block, loss, unit, total)
    losses = risk.in_units(risk.candidate_losses())
    sums = np.zeros((n_splits, losses.shape[1]))
    np.add.at(sums, block.fold, risk.weight[:, None] * losses)
    factor = risk.factor() * risk.unit if isinstance(risk, SquaredRisk) else None
    return LossSums(sums, float(losses.max()), factor)


def mixture_rows(block: HeldOutBlock, total: float) -> MixtureRows:
    risk = risk_of_block(block, "log_loss", 1.0, total)
    return MixtureRows(risk.predictions, risk.weight)


def mixture_model(block: HeldOutBlock, total: float, v: np.ndarray) -> MixtureModel:
    return MixtureModel(*mixture_rows(block, total).model(v))


def mixture_fall(block: HeldOutBlock, total: float, v: np.ndarray, move: np.ndarray) -> float:
    return mixture_rows(block, total).fall(v, move)


def squared_deviations(
    block: HeldOutBlock, loss: str, unit: float, total: float, means: np.ndarray
) -> Deviations:
    risk = risk_of_block(block, loss, unit, total)
    own = risk.weight[:, None] * (risk.in_units(risk.candidate_losses()) - means)
    return Deviations((own**2).sum(axis=0))
