"""Margin bounds on the error of votes, whatever the number of their members.

The margin of a row is y f(x) for the vote f = sum_h rho_h h of members with outputs -1 and 1 and
weights of sum 1. Where most rows have a large margin, the vote is nearly one of few members drawn
by their weights [Schapire, Freund, Bartlett and Lee, 1998]: what bounds its error is the class of
the members, not the number of rounds.
"""

import math

import numpy as np
from scipy.special import bdtr

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_number, checked_numbers
from ._majority_votes import kl_inverse

# Thresholds of the margin, 2^(-k/4), down to 1/1000.
N_THRESHOLDS = 41
# Numbers of members that are drawn, and the grid to which margins are rounded down.
N_DRAWN = np.unique(np.round(np.logspace(0, 4, 40)).astype(int))
GRID = 2000


def rademacher_margin_bound(
    margins: ArrayLike, rademacher_complexity: float, delta: float = 0.05
) -> float:
    """Margin bound on the error of a vote, by the Rademacher complexity of its members.

    With probability at least 1 - delta over n independent rows, for all votes of members of a class
    of expected Rademacher complexity R and all t_k = 2^(-(k-1)/4), k = 1, 2, ..., at once

        error <= mean of min(1, max(0, 1 - margin/t_k)) + 2 R / t_k
                 + sqrt((ln(1/delta) + ln(pi² k² / 6)) / (2n)),

    and the best t_k is inserted [Koltchinskii and Panchenko, 2002]. A vote has the complexity of
    its members, and the loss in the bound is Lipschitz continuous of constant 1/t_k in the margin.
    The source has another union over thresholds and larger constants. The cost is O(n).

    %(of_margins)s
    rademacher_complexity : float
        R, the expected complexity on n rows of the members, with outputs -1 and 1, or a bound on
        it; at least 0. That of the votes is the same.
    %(delta)s

    %(bound_at_most_1)s

    See Also
    --------
    pac_bayes_margin_bound : For finite classes.
    finite_behaviours_rademacher_bound : A bound on R by the number of behaviours.
    vc_rademacher_bound : One by the VC dimension.

    References
    ----------
    V. Koltchinskii and D. Panchenko (2002). "Empirical margin distributions and bounding the
    generalization error of combined classifiers". *Annals of Statistics* 30.

    M. Mohri, A. Rostamizadeh and A. Talwalkar (2018). *Foundations of Machine Learning*, second
    edition, chapter 5. MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import rademacher_margin_bound
    >>> round(rademacher_margin_bound(np.full(10_000, 0.5), 0.02), 4)
    0.0983
    """
    margin = _checked_margins(margins)
    check_number("rademacher_complexity", rademacher_complexity, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    k = np.arange(1, N_THRESHOLDS + 1)
    threshold = 2.0 ** (-(k - 1) / 4)
    # The complexity of everything that is bounded by 1 is at most 1.
    complexity = 2 * min(float(rademacher_complexity), 1.0) / threshold
    loss = [np.clip(1 - margin / t, 0, 1).mean() for t in threshold]
    log_terms = 2 * np.log(math.pi * k) - math.log(6) - math.log(delta)
    return min(1.0, float((loss + complexity + np.sqrt(log_terms / (2 * len(margin)))).min()))


def pac_bayes_margin_bound(margins: ArrayLike, divergence: float, delta: float = 0.05) -> float:
    """Margin bound on the error of a vote, by the votes of N members drawn by their weights.

    Of N members drawn by the weights rho, the number that are right on a row of margin m is
    binomial, Bin(N, (1 + m)/2). Where the vote errs, at most k of them are right with a
    probability of at least P(Bin(N, 1/2) <= k). With probability at least 1 - delta over n
    independent rows, for all weights rho, all N >= 1 and all k <= N at once

        error <= kl⁻¹(mean of P(Bin(N, (1 + margin)/2) <= k), epsilon) / P(Bin(N, 1/2) <= k),
        epsilon = (N KL(rho || pi) + ln(2 sqrt(n) N (N + 1)² / delta)) / n,

    and the best N and k of a grid are inserted.

    %(of_margins)s
    divergence : float
        KL(rho || pi) for weights pi of the members of the class that were chosen without the rows;
        ln|H| is the largest value for a finite class H with equal weights.
    %(delta)s

    %(bound_at_most_1)s

    See Also
    --------
    rademacher_margin_bound : For infinite classes.

    Notes
    -----
    For N = 8 ln(n) / t² it is the bound of [Schapire et al., 1998, theorem 1] with the inequality
    for kl. Binomial probabilities instead of exponentials, and the best N, make it smaller. If all
    margins are at least t, it is between 2.5 and 3.6 times a ln(1/a), a = ln|H| / (n t²). This is
    for 10,000 to a million rows, 100 to a million members and a below 0.05. That is the order of
    the bound that is tight up to a constant [Larsen and Schalburg, 2025], whose constant is not
    known. With a share of smaller margins a logarithm of n remains under a square root here.
    Margins are rounded down to multiples of 1/2000. The cost is O(n).

    References
    ----------
    R. E. Schapire, Y. Freund, P. Bartlett and W. S. Lee (1998). "Boosting the margin: a new
    explanation for the effectiveness of voting methods". *Annals of Statistics* 26.

    J. Langford, M. Seeger and N. Megiddo (2001). "An improved predictive accuracy bound for
    averaging classifiers". *International Conference on Machine Learning*.

    K. G. Larsen and N. Schalburg (2025). "Tight margin-based generalization bounds for voting
    classifiers over finite hypothesis sets". arXiv:2511.20407.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import pac_bayes_margin_bound
    >>> round(pac_bayes_margin_bound(np.full(10_000, 0.5), np.log(100)), 3)
    0.038
    """
    margin = _checked_margins(margins)
    check_number("divergence", divergence, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    n = len(margin)
    # Rows of equal margins are one; a smaller margin never lowers the bound.
    steps, counts = np.unique(np.floor(GRID * margin), return_counts=True)
    right, share = np.clip((1 + steps / GRID) / 2, 0, 1), counts / n
    best = 1.0
    for N in N_DRAWN.tolist():
        # From half of them to where the vote of N is nearly sure to be counted.
        k = np.unique(np.round(N / 2 + math.sqrt(N) * np.linspace(-0.5, 2.5, 25)))
        k = k[(k >= 0) & (k < N)]
        mean = bdtr(k[:, None], N, right) @ share
        log_term = math.log(2) + math.log(n) / 2 + math.log(N) + 2 * math.log(N + 1)
        epsilon = (N * min(float(divergence), 1e9) + log_term - math.log(delta)) / n
        limits = kl_inverse(np.clip(mean, 0, 1), epsilon) / bdtr(k, N, 0.5)
        best = min(best, float(np.min(limits, initial=1.0)))
    return best


def _checked_margins(margins: ArrayLike) -> np.ndarray:
    margin = checked_numbers("margins", margins, -1, 1)
    if margin.ndim != 1 or not len(margin):
        raise ValueError("margins must have one number for each of at least one row.")
    return margin
