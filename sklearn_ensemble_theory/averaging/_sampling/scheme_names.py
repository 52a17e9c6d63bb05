"""The sampling schemes by their names, and the one that a fit uses."""

import numpy as np

from sklearn_ensemble_theory.averaging._sampling.group_draws import GroupDraws
from sklearn_ensemble_theory.averaging._sampling.moving_blocks import MovingBlocks
from sklearn_ensemble_theory.averaging._sampling.row_schemes import (
    Bernoulli,
    Bootstrap,
    Dirichlet,
    Poisson,
    Subsample,
)
from sklearn_ensemble_theory.averaging._sampling.schemes import SamplingDesign, SamplingScheme
from sklearn_ensemble_theory.averaging._sampling.stratified import Stratified

__all__ = ["SCHEMES", "scheme_of_rows"]

SCHEMES: dict[bool | str, type[SamplingScheme]] = {
    scheme.bootstrap: scheme
    for scheme in (Bootstrap, Subsample, Bernoulli, Dirichlet, Poisson, Stratified, MovingBlocks)
}


def scheme_of_rows(
    scheme: type[SamplingScheme],
    n_samples: int,
    max_samples: int | float | None,
    sample_weight: np.ndarray | None,
    design: SamplingDesign,
) -> SamplingScheme:
    """The scheme for the rows of a fit, or for their groups.

    Raises
    ------
    ValueError
        If the scheme does not go with the design, `max_samples` or the weights.
    """
    name = f"bootstrap={scheme.bootstrap!r}"
    if design.block_length is not None and not scheme.takes_block_length:
        raise ValueError(
            f"block_length={design.block_length} is a parameter of bootstrap='moving_block', "
            f"got {name}."
        )
    if design.groups is None:
        return scheme.of(n_samples, max_samples, sample_weight, design)
    if not scheme.takes_groups:
        raise ValueError(f"groups cannot be used with {name}: {scheme.no_groups}.")
    return GroupDraws.by(scheme, n_samples, max_samples, sample_weight, design)
