"""A fitted ensemble as the functions of this room read it: members, their draws, and the rows.

The draws are repeated from the members' seeds; only X (for trees) and y are kept.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._categories import CategoricalColumns
from sklearn_ensemble_theory._copies import warn_of_share
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory.ensembles._training_rows import (
    OutsideMasks,
    TrainingRows,
)
from sklearn_ensemble_theory.trees._packed import PackedCache


class WeightLaw(Protocol):
    """The law of the training weights: a `SamplingScheme` of `averaging._sampling`."""

    bootstrap: bool | str
    n_samples: int
    n_units: int
    size: int | float
    sample_weight: np.ndarray | None
    unit_of_row: np.ndarray | None
    unit_shares: np.ndarray | None
    leaves_rows_out: bool
    leaves_units_out: bool
    repeats_units: bool
    jackknife_scale: float
    noise: float
    noise_is_known: bool
    group_size: int

    def is_outside(self, rows: np.ndarray) -> np.ndarray: ...

    def influence_draws(self, weights: sp.csr_array) -> sp.csr_array: ...

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray: ...


class MemberDraws(Protocol):
    """The columns and weights of the members, which are not kept but drawn again from a seed."""

    scheme: WeightLaw
    n_classes: int
    n_outputs: int
    frames: bool
    all_features: bool
    empty: str
    honest: float

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    def draw_parts(self, seed: int) -> tuple[tuple, tuple]: ...

    def draw_units(self, seed: int) -> tuple[np.ndarray, np.ndarray]: ...

    def fit_weights(self, weights: np.ndarray, y_rows: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Ensemble:
    """What a fitted estimator hands out as its attribute `ensemble_`.

    - learner: what the members are clones of, not fitted.
    - features: the columns of X that each member was fitted to.
    - seeds, draws: what repeats the draw of each member, and the law of the draws.
    - rows: the training rows; None where they were removed.
    - method: how members predict: "predict", "predict_proba" or "vote".
    - encoder: what makes numbers of categories.
    - packed: the nodes of the trees as predictions read them.
    - held_out: means of the predictions out of bag, where the fit has made them.
    - max_samples, class_weight: the parameters.
    - n_shrinkages: how many shrinkages of the trees the training rows have compared; 0 for none.
    - check: X as the members take it; an error for other columns, for instance.
    """

    members: list[Any]
    learner: BaseEstimator
    features: Sequence[np.ndarray]
    seeds: np.ndarray
    draws: MemberDraws
    rows: TrainingRows | None
    method: str
    n_features: int
    feature_names: Any
    encoder: CategoricalColumns | None
    n_jobs: int | None
    packed: PackedCache
    held_out: np.ndarray | None
    max_samples: Any
    class_weight: Any
    n_shrinkages: int
    check: Callable[[Any], Any]

    @property
    def columns(self) -> Sequence[np.ndarray | None]:
        """The columns of X that each member takes; None for all of them."""
        return [None] * len(self.members) if self.draws.all_features else self.features

    @property
    def table(self) -> Features:
        """The features and their names."""
        names = self.feature_names
        return Features(self.n_features, None if names is None else tuple(map(str, names)))


class HasEnsemble(Protocol):
    """An estimator that hands out its `Ensemble`."""

    @property
    def ensemble_(self) -> Ensemble: ...


# --- checks, whose errors say what was asked for --------------------------------------------------


def kept_rows(ensemble: Ensemble, what: str) -> TrainingRows:
    """Return the training rows, or raise an error after `forget_training_rows`."""
    rows = ensemble.rows
    if rows is None:
        raise ValueError(f"{what} requires the training rows, which were removed; fit again.")
    return rows


def kept_X(
    ensemble: Ensemble, what: str, instead: str = "use members that are trees"
) -> np.ndarray | sp.csr_array:
    """Return the training X, or raise an error for members that are no trees."""
    X = kept_rows(ensemble, what).X
    if X is None:
        name = type(ensemble.learner).__name__
        raise ValueError(
            f"{what} requires the training rows, which are kept for members that are trees only, "
            f"got {name}; {instead}."
        )
    return X


def check_one_output(ensemble: Ensemble, what: str) -> None:
    """Raise an error if y had several columns."""
    y = kept_rows(ensemble, what).y
    if y.ndim > 1:
        raise ValueError(f"{what} requires a single output; y had {y.shape[1]}.")


def check_rows_outside(ensemble: Ensemble, what: str) -> None:
    """Raise an error if every member is fitted to every row."""
    scheme = ensemble.draws.scheme
    if not scheme.leaves_rows_out:
        raise ValueError(
            f"{what} require rows that are not drawn for every member; with bootstrap="
            f"{scheme.bootstrap!r} and max_samples={ensemble.max_samples} every member is fitted "
            "to every row. Fit with bootstrap=True, or with fewer rows for each member."
        )


def fitted_rows(ensemble: Ensemble, what: str) -> np.ndarray | None:
    """Return the rows of positive weight, None for all; an error if no member leaves rows out.

    Together with their weights they are exchangeable with a new row and its weight.
    """
    kept_rows(ensemble, what)
    check_rows_outside(ensemble, what)
    warn_of_copies_in(ensemble)
    weight = ensemble.draws.scheme.sample_weight
    if weight is None or weight.all():
        return None
    return np.flatnonzero(weight)


def warn_of_copies_in(ensemble: Ensemble) -> None:
    """Warn if training rows that were drawn by themselves are copies of each other."""
    if share := getattr(ensemble.rows, "share_of_copies", 0.0):
        warn_of_share(share, "out of bag")


def rows_of_equal_weight(ensemble: Ensemble, what: str) -> np.ndarray | None:
    """Return the same; an error where their weights differ.

    Rows of large weight are outside of fewer members: those outside of one are no sample of all.
    """
    rows, weight = fitted_rows(ensemble, what), ensemble.draws.scheme.sample_weight
    if weight is not None and np.ptp(weight if rows is None else weight[rows]) > 0:
        raise ValueError(
            f"{what} are defined for rows of equal weight; this model was fitted with "
            "sample_weight or class_weight."
        )
    return rows


# --- which members are outside of which rows ------------------------------------------------------


def outside_masks(
    ensemble: Ensemble,
    rows: np.ndarray | None,
    drawn: Callable[[], Iterable[np.ndarray]] | None = None,
) -> OutsideMasks:
    """Return the masks of these training rows, those of all rows made once.

    `drawn()` are the rows of each member, where a caller has them.
    """
    spec = ensemble.draws

    def make() -> OutsideMasks:
        scheme, draw = spec.scheme, spec.draw
        inside = (draw(seed)[1] for seed in ensemble.seeds) if drawn is None else drawn()
        if scheme.unit_of_row is not None:
            inside = (np.flatnonzero(~scheme.is_outside(own)) for own in inside)
        return OutsideMasks(scheme.n_samples, list(inside))

    masks = kept_rows(ensemble, "This method").derived("masks", ensemble.members, make)
    return masks if rows is None or len(rows) == len(masks) else masks.of_rows(rows)


def outside_group_masks(ensemble: Ensemble) -> OutsideMasks:
    """Return the masks of the groups that were drawn, made once."""
    spec = ensemble.draws

    def make() -> OutsideMasks:
        drawn = [spec.draw_units(seed)[0] for seed in ensemble.seeds]
        return OutsideMasks(spec.scheme.n_units, drawn)

    return kept_rows(ensemble, "This method").derived("group masks", ensemble.members, make)


def groups_of(ensemble: Ensemble, rows: np.ndarray | None) -> np.ndarray | None:
    """Return the groups of these rows; None where rows were drawn by themselves."""
    groups = ensemble.draws.scheme.unit_of_row
    return groups if groups is None or rows is None else groups[rows]
