"""Certificates of votes: bounds on the error on new rows from rows that members were not fitted to.

The rows are held out from all members, or each member has its own: those that were not drawn for
it. All bounds of `bounds/_majority_votes.py` read the members' mean losses and those of pairs of
members, which are sums of products of two columns of losses.
"""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import NamedTuple, Self

import numpy as np

from sklearn_ensemble_theory.bounds import held_out_error_bound, majority_vote_bound
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    groups_of,
    kept_rows,
    outside_group_masks,
    outside_masks,
    rows_of_equal_weight,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    prediction_blocks,
)

# Bounds by the losses of members, and of pairs of them.
BY_MEMBERS = ("first-order", "tandem", "c-bound", "chebyshev-cantelli")
# Values of losses that are held at once: 64 MB.
LOSSES = 2**23


class VoteLosses(NamedTuple):
    """Mean losses of B members and of their pairs, and the numbers of rows that they are of.

    Of pairs there are means of the product of both losses and of l (1 - l') + l' (1 - l).
    """

    members: np.ndarray
    n_samples: np.ndarray
    tandem: np.ndarray
    disagreements: np.ndarray
    n_pair_samples: np.ndarray

    @classmethod
    def of_held_out_rows(cls, blocks: Iterable[np.ndarray], n_members: int) -> Self:
        """From the losses of all members on the same rows, in blocks of shape (m, B)."""
        n, members, tandem = 0, np.zeros(n_members), np.zeros((n_members, n_members))
        for losses in blocks:
            n += len(losses)
            members += losses.sum(axis=0)
            tandem += losses.T @ losses
        members, tandem = members / n, tandem / n
        sums = members[:, None] + members
        disagreements = np.clip(sums - 2 * tandem, 0.0, 1.0)
        return cls(members, np.array(n), tandem, disagreements, np.array(n))

    def bound(self, method: str, weights: np.ndarray | None, delta: float | None) -> float:
        n_rows = np.atleast_1d(self.n_samples if method == "first-order" else self.n_pair_samples)
        if not n_rows.all():
            few = np.argwhere(n_rows == 0)[0].tolist()
            raise ValueError(
                f"method={method!r} needs rows that are out of bag for "
                + (f"member {few[0]}" if len(few) == 1 else f"members {few[0]} and {few[1]}")
                + ", and there are none; fit more rows, fewer members, or a smaller max_samples."
            )
        return majority_vote_bound(
            self.members,
            self.n_samples,
            tandem_losses=self.tandem,
            disagreements=self.disagreements,
            n_pair_samples=self.n_pair_samples,
            weights=weights,
            delta=delta,
            method=method,
        )


def held_out_bound(
    method: str,
    wrong: np.ndarray | None,
    blocks: Iterable[np.ndarray],
    weights: Sequence[float] | np.ndarray,
    sample_weight: np.ndarray | None,
    delta: float | None,
) -> float:
    """The bound from held-out rows: `wrong` are the errors of the vote, `blocks` members' losses.

    The errors are read by "binomial" only, and the blocks, which may be a generator, by all others.
    """
    if sample_weight is not None and np.ptp(sample_weight) > 0:
        raise ValueError(
            f"method={method!r} is defined for rows of equal weight; use method='markov', or leave "
            "out sample_weight."
        )
    if wrong is None:
        losses = VoteLosses.of_held_out_rows(blocks, len(weights))
        return losses.bound(method, np.asarray(weights), delta)
    if delta is None:
        return float(np.mean(wrong))
    return float(held_out_error_bound(int(wrong.sum()), len(wrong), delta))


def out_of_bag_bound(ensemble: Ensemble, method: str, delta: float | None) -> float:
    """The bound from training rows that are outside of members."""
    if method not in BY_MEMBERS:
        raise ValueError(
            f"method={method!r} needs held-out rows X and y; out-of-bag rows serve the methods "
            f"{list(BY_MEMBERS)}."
        )
    if delta is None:
        raise ValueError(
            "A bound from out-of-bag rows is on the error on new rows: delta must be a number, "
            "such as 0.05."
        )
    if not (isinstance(delta, Real) and 0 < delta <= 1):
        raise ValueError(f"delta must be a number above 0 and at most 1, got {delta!r}.")
    # Of G ensembles, one of which was chosen by these rows, the bounds of all have to hold.
    n_choices = max(ensemble.n_shrinkages, 1)
    return out_of_bag_losses(ensemble).bound(method, None, float(delta) / n_choices)


def out_of_bag_losses(ensemble: Ensemble) -> VoteLosses:
    """Mean losses on rows, or whole groups of them, outside of members and of pairs of members."""
    what = "Bounds from out-of-bag rows"
    rows = rows_of_equal_weight(ensemble, what)
    check_one_output(ensemble, "error_bound without X and y")
    scheme = ensemble.draws.scheme
    if scheme.bootstrap in ("moving_block", "stratified"):
        raise ValueError(
            f"{what} need rows that are independent of the draws and of each other, which the rows "
            f"of bootstrap={scheme.bootstrap!r} are not; give held-out rows X and y."
        )
    if scheme.bootstrap == "bernoulli" and ensemble.draws.empty == "mean":
        raise ValueError(
            f"{what} need members that do not depend on rows that they did not draw, but with "
            "empty='mean' members without rows depend on all rows; use another `empty`, or give "
            "held-out rows X and y."
        )
    training = kept_rows(ensemble, what)
    if training.X is None:
        raise ValueError(
            f"{what} need X, which is kept for members that are trees only; give held-out rows X "
            "and y."
        )
    X, y = training.X, training.y
    method = ensemble.method

    def make() -> VoteLosses:
        groups = groups_of(ensemble, None)
        masks = outside_masks(ensemble, rows) if groups is None else outside_group_masks(ensemble)
        n_members = masks.n_members
        keep = np.arange(len(y)) if rows is None else rows
        # A row has the share of 1 that it is of its group.
        share = np.ones(1) if groups is None else 1 / np.bincount(groups[keep])
        members = np.zeros(n_members)
        # Sums over the rows outside of both members: of both losses, and of that of the first.
        tandem, first = np.zeros((2, n_members, n_members))
        start = 0
        for predictions in prediction_blocks(ensemble, X):
            stop = start + predictions.shape[1]
            part = slice(*np.searchsorted(keep, [start, stop]))
            numbers = keep[part]
            losses = 1 - predictions[:, numbers - start, y[numbers]].T
            start = stop
            outside = masks.numbers(part if groups is None else groups[numbers])
            losses = np.clip(losses, 0.0, 1.0) * outside
            weighted = losses if groups is None else losses * share[groups[numbers], None]
            members += weighted.sum(axis=0)
            tandem += weighted.T @ losses
            first += weighted.T @ outside
        n_pairs = np.zeros((n_members, n_members))
        step = max(1, LOSSES // n_members)
        for start in range(0, len(masks), step):
            mask = masks.numbers(slice(start, start + step))
            n_pairs += mask.T @ mask
        n = np.diag(n_pairs).copy()
        # A pair without rows has losses of 0 here, and no bound reads them.
        tandem, first = (np.divide(s, n_pairs, where=n_pairs > 0, out=s) for s in (tandem, first))
        disagreements = np.clip(first + first.T - 2 * tandem, 0.0, 1.0)
        tandem = np.clip(tandem, 0.0, 1.0)
        members = np.clip(members / np.maximum(n, 1), 0.0, 1.0)
        return VoteLosses(members, n, tandem, disagreements, n_pairs)

    return training.derived(f"losses of {method}", ensemble.members, make)


TEXTS = {
    "bounds_by_members": """
        - `"markov"`: twice the mean loss of the members on held-out rows, with Hoeffding's
          inequality [Ghoshdastidar, theorem En.1]. See
          :func:`~sklearn_ensemble_theory.bounds.held_out_voting_error_bound`.
        - `"first-order"`: the same with the inequality for kl. See
          :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`, also for the next three.
        - `"tandem"`: four times the mean product of the losses of two members.
        - `"c-bound"`: by losses and disagreements.
        - `"chebyshev-cantelli"`: by losses and their products.
        """,
}
