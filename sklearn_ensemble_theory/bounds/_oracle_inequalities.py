"""Selection and aggregation of candidates: how much worse than the best of them, in expectation.

Three results for K candidates, fitted to other rows than those that compare them. *Selection* takes
the candidate of the least mean loss on held-out rows: an oracle inequality [van der Laan and
Dudoit, 2003; van der Vaart, Dudoit and van der Laan, 2006]. *Exponential weights*, averaged over
the rows, are almost as good as the best candidate, with an excess of the order log K / n
[Catoni, 2004; Juditsky, Rigollet and Tsybakov, 2008; Audibert, 2009], which no selection can reach.
*Convex aggregation* minimises the empirical risk over the mixtures, whose best is at least as good
as the best candidate [Nemirovski, 2000; Tsybakov, 2003].

The constants are those of the proofs in the notes of the functions. The squared error is that of
targets and predictions in [-M, M].
"""

import math

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_integer, check_number, checked_numbers, in_floats


@in_floats
def oracle_selection_bound(
    n_candidates: int,
    fold_size: float,
    oracle_excess: float,
    *,
    value_bound: float = 1.0,
    loss_constants: ArrayLike | None = None,
    inflation: float | None = None,
) -> float:
    """Bound on the expected excess risk of the candidate that cross-validation selects.

    The excess risk is that over the best function f*, for example the regression function. For
    every a > 0, the candidate with the smallest mean loss on the held-out rows has an expected
    excess risk of at most

        (1 + a) D + c log(K) / m,    c = (1 + a)² B / (2a) + (1 + a) b / 3,

    with m rows in a test fold and D the smallest expected excess risk of a candidate, that of the
    oracle. Excess risks are means over the folds of those of the functions that were fitted to
    their training rows. If the oracle is much worse than log(K)/m, the selected candidate is almost
    as good as the oracle. `cross_validation_oracle_bound`, which needs no f*, has the slower rate
    sqrt(log(K)/n), and holds with high probability.

    %(of_candidates)s
    fold_size : float
        Number m of rows in a test fold, at least 1: all rows divided by the number of folds.
    oracle_excess : float
        D, the least over the candidates of their expected excess risk, at least 0.
    value_bound : float, default=1.0
        M, for the squared error: targets and predictions are in [-M, M], and f* is the regression
        function. Then B = 16 M² / 3 and b = 4 M².
    loss_constants : (float, float), default=None
        B and b of another loss; `value_bound` is not used then. With Z the difference of the losses
        of a candidate and of f*, abs(Z) <= b and E Z² <= B E Z. Examples: for the squared error it
        is (16 M², 4 M²) if f* is the best function of a convex class that contains all fitted
        functions. For the misclassification loss it is (1/h, 1) if the more probable of two classes
        has at least the probability (1 + h)/2 everywhere.
    inflation : float, default=None
        a, above 0; None is the a of the smallest bound.

    Returns
    -------
    bound : float
        The bound, in units of the loss; `oracle_excess` for one candidate and `inflation=None`.

    %(raises)s

    See Also
    --------
    cross_validation_oracle_bound : With high probability, for any bounded loss.
    exponential_weights_bound : A mixture has a faster rate than a selected candidate.

    Notes
    -----
    The rows are independent draws of one distribution, and the functions of a split depend on its
    training rows only: out-of-bag predictions are not of this kind. The oracle may also be the
    candidate of the least excess D' on this data set: its bound is twice the value of this function
    at D', minus D'. For a single split the bound holds, given its training rows, with the least
    excess as D. The constants are smaller than those of the references; for this and for the proof
    see :ref:`proofs-of-oracle-inequalities` in the user guide. The cost is O(1).

    References
    ----------
    M. J. van der Laan and S. Dudoit (2003). "Unified cross-validation methodology for selection
    among estimators and a general cross-validated adaptive epsilon-net estimator". *Working Paper
    130, Division of Biostatistics*, University of California, Berkeley.

    A. W. van der Vaart, S. Dudoit and M. J. van der Laan (2006). "Oracle inequalities for
    multi-fold cross validation". *Statistics & Decisions* 24.

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    Examples
    --------
    Ten candidates, five folds of 2,000 rows, and a best candidate with an excess of 0.1 in units of
    the squared bound:

    >>> from sklearn_ensemble_theory.bounds import oracle_selection_bound
    >>> round(oracle_selection_bound(10, 2_000, 0.1), 4)
    0.1435
    >>> round(oracle_selection_bound(10, 2_000, 0.1, inflation=0.5), 4)
    0.1661
    """
    check_integer("n_candidates", n_candidates, 1)
    check_number("fold_size", fold_size, 1)
    check_number("oracle_excess", oracle_excess, 0)
    check_number("value_bound", value_bound, 0)
    B, b = 16 * value_bound**2 / 3, 4 * value_bound**2
    if loss_constants is not None:
        given = checked_numbers("loss_constants", loss_constants, 0)
        if given.shape != (2,):
            raise ValueError(
                f"loss_constants must be two numbers, B and b, got {loss_constants!r}."
            )
        B, b = map(float, given)
    L = math.log(n_candidates) / fold_size
    if inflation is None:
        root = math.sqrt(L * B) * math.sqrt(2 * oracle_excess + L * (B + 2 * b / 3))
        return oracle_excess + L * (B + b / 3) + root
    check_number("inflation", inflation, 0, open_low=True)
    a = inflation
    return (1 + a) * (oracle_excess + L * ((1 + a) * B / (2 * a) + b / 3))


@in_floats
def exponential_weights_bound(
    n_candidates: int,
    n_samples: float,
    value_bound: float = 1.0,
    *,
    exp_concavity: float | None = None,
) -> float:
    """Bound on the excess risk of progressive exponential weights over the best candidate.

    After i rows, candidate k has a weight proportional to exp(-A S_k), with S_k the sum of its
    losses on them. The mean f of the n + 1 mixtures after 0, 1, ..., n rows has an expected risk of
    at most

        min_k R_k + log(K) / (A (n + 1))

    if exp(-A loss) is a concave function of the prediction, as for the squared error with A =
    1/(8 M²) and for the log-loss of probabilities with A = 1. A candidate that is selected on the
    same rows cannot have this rate. In the worst case its excess risk over the best candidate is of
    the order sqrt(log(K)/n).

    %(of_candidates)s
    n_samples : float
        Number n of independent rows, at least 0, to which the candidates were not fitted.
    value_bound : float, default=1.0
        M, for the squared error: targets and predictions are in [-M, M].
    exp_concavity : float, default=None
        A, above 0; None is 1/(8 M²). 1 for the log-loss, for which `value_bound` is not used.

    Returns
    -------
    bound : float
        The bound, in units of the loss.

    %(raises)s

    See Also
    --------
    oracle_selection_bound : Of a candidate that is selected.
    convex_aggregation_bound : Compared with the best mixture.

    Notes
    -----
    The bound is on the expectation: in some problems the excess is of the order 1/sqrt(n) with a
    small probability that depends on no n [Audibert, 2007]. It is for the mean over i, and not for
    the weights after all n rows. Both constants are sharp: in the limit of many candidates the
    bound is attained. For the proof see :ref:`proofs-of-oracle-inequalities` in the user guide. The
    cost is O(1).

    References
    ----------
    O. Catoni (2004). *Statistical Learning Theory and Stochastic Optimization*. Springer.

    A. Juditsky, P. Rigollet and A. B. Tsybakov (2008). "Learning by mirror averaging". *Annals of
    Statistics* 36.

    J.-Y. Audibert (2007). "Progressive mixture rules are deviation suboptimal". *Advances in Neural
    Information Processing Systems* 20.

    J.-Y. Audibert (2009). "Fast learning rates in statistical inference through aggregation".
    *Annals of Statistics* 37.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import exponential_weights_bound
    >>> round(exponential_weights_bound(10, 2_000), 5)
    0.00921
    >>> round(exponential_weights_bound(10, 2_000, exp_concavity=1.0), 5)
    0.00115
    """
    check_integer("n_candidates", n_candidates, 1)
    check_number("n_samples", n_samples, 0)
    check_number("value_bound", value_bound, 0)
    inverse = 8 * value_bound**2
    if exp_concavity is not None:
        check_number("exp_concavity", exp_concavity, 0, open_low=True)
        inverse = 1 / exp_concavity
    return inverse * math.log(n_candidates) / (n_samples + 1)


@in_floats
def convex_aggregation_bound(
    n_candidates: int, n_samples: float, value_bound: float = 1.0
) -> float:
    """Bound on the excess risk of the learned mixture over the best mixture, for the squared error.

    The weights of the K candidates are not negative, have sum 1, and minimise the mean squared
    error on n rows. The expected risk of the mixture exceeds the least risk of all mixtures by at
    most the smaller one of

        4 M² (1 - (1 - h)²),  h = min(1, (K - 1)/(n + 1)),

    which is at most 8 M² (K - 1)/(n + 1), and (5/2) M² sqrt(2 log(K (K + 1)/2) / n). The first is
    for few candidates, the second for many. The best mixture is at least as good as the best
    candidate, so the bound also holds compared with the best candidate.

    %(of_candidates)s
    n_samples : float
        Number n of independent rows, at least 1, to which the candidates were not fitted.
    value_bound : float, default=1.0
        M: targets and predictions are in [-M, M].

    Returns
    -------
    bound : float
        The bound, in units of the squared error; 0 for one candidate.

    %(raises)s

    See Also
    --------
    exponential_weights_bound : Compared with the best candidate.
    sklearn_ensemble_theory.combining.WeightedMean : The weights, with `weights="simplex"`.

    Notes
    -----
    The least possible excess of an aggregate in the worst case is of the order min(K/n, sqrt(log(1
    + K/sqrt(n))/n)) [Nemirovski, 2000; Tsybakov, 2003]. The bound has this rate up to the
    logarithm. The first part holds for every convex set of weights of dimension K - 1 whose
    mixtures are in [-M, M]. The bound is not for weights that are learned from the held-out rows of
    several folds, on which the candidates are different functions. For the proofs see
    :ref:`proofs-of-oracle-inequalities` in the user guide. The cost is O(1).

    References
    ----------
    A. Nemirovski (2000). "Topics in non-parametric statistics". *Lectures on Probability Theory and
    Statistics, Saint-Flour 1998*, Springer.

    A. B. Tsybakov (2003). "Optimal rates of aggregation". *Learning Theory and Kernel Machines*,
    Springer.

    A. Gonen and S. Shalev-Shwartz (2017). "Average stability is invariant to data preconditioning:
    implications to exp-concave empirical risk minimization". *Journal of Machine Learning
    Research* 18, which has 16 M² K / n by a similar proof.

    Examples
    --------
    Ten candidates, and a thousand:

    >>> from sklearn_ensemble_theory.bounds import convex_aggregation_bound
    >>> round(convex_aggregation_bound(10, 2_000), 4)
    0.0359
    >>> round(convex_aggregation_bound(1_000, 2_000), 4)
    0.2864
    """
    check_integer("n_candidates", n_candidates, 1)
    check_number("n_samples", n_samples, 1)
    check_number("value_bound", value_bound, 0)
    K, n = n_candidates, n_samples
    h = min(1.0, (K - 1) / (n + 1))
    few = 4 * h * (2 - h)
    log_pairs = math.log(K) + math.log1p(K) - math.log(2)
    many = 2.5 * math.sqrt(2 * max(log_pairs, 0.0) / n)
    return value_bound**2 * min(few, many)
