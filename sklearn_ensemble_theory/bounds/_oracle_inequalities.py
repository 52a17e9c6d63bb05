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

    Parameters
    ----------
    n_candidates : int
        Number K of candidates, at least 1.
    fold_size : float
        Number m of rows in a test fold, at least 1: all rows divided by the number of folds.
    oracle_excess : float
        D, the least over the candidates of their expected excess risk, at least 0.
    value_bound : float, default=1.0
        M, for the squared error: targets and predictions are in [-M, M], and f* is the regression
        function. Then B = 16 M² / 3 and b = 4 M².
    loss_constants : (float, float), default=None
        B and b of another loss; `value_bound` is not used then. With Z the difference of the losses
        of a candidate and of f*, abs(Z) <= b and E Z² <= B E Z. Examples: (16 M², 4 M²) for the
        squared error if f* is the best function of a convex class that contains all fitted
        functions; (1/h, 1) for the misclassification loss if of two classes the more probable one
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
    *Proof.* Let d_k be the excess risk of candidate k given the training rows of a split, and e_k
    the mean of Z over the m test rows, which are independent of them. As -Z <= b and E Z² <= B d_k,
    the moment-generating function of -Z is bounded as in Bernstein's inequality,

        log E exp(u (d_k - Z)) <= u² B d_k / (2 (1 - u b / 3))    for 0 <= u < 3/b.

    With u = (1 + a)/c the right-hand side is u a d_k / (1 + a), so that E exp(m (d_k - (1 + a) e_k)
    / c) <= 1. The sum over candidates is at most K, and by Jensen's inequality E max_k (d_k -
    (1 + a) e_k) <= c log(K) / m. Average over the splits, which may depend on each other in any
    way: the selected candidate has E d <= (1 + a) E e + c log(K) / m. Its mean of e over the splits
    is at most that of each candidate k, whose expectation is that of d_k. The a of the smallest
    bound is sqrt(L B / (2 D + L B + 2 L b / 3)), with L = log(K)/m. For the squared error,
    Z = v² - 2 v (y - f*) for v = f - f*, and E(Z²|x) = v² (v² + 4 Var(y|x)) is at most v²
    ((M + |f*|)² + 4 (M² - f*²)), which is 16 M² v² / 3 or less.

    *The oracle of the data set.* The oracle may also be the candidate with the smallest mean d_k of
    this data set, whose expected excess D' is at most D. The same inequality with the other sign
    gives (1 + 2a) D' + 2 c log(K) / m, twice the value of this function at D', minus D'. For a
    single split nothing is lost: given its training rows, the bound holds with the least d_k as D.

    *Compared with the theorem of the references*, which has 2 c (1 + log K) / m with c = 2 (1 + a)²
    (B/a + b/3), the constants are smaller, because the moment-generating function is used
    directly instead of the tails.

    *Assumptions.* Independent rows of one distribution; the functions of a split depend on its
    training rows only. They fail for out-of-bag predictions, in which the members that predict a
    row were fitted to other rows that are compared too. The cost is O(1).

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
    1/(8 M²) and for the log-loss of probabilities with A = 1. The risk of a candidate that is
    selected on the same rows cannot have this rate: its excess over the best candidate is in the
    worst case of the order sqrt(log(K)/n).

    Parameters
    ----------
    n_candidates : int
        Number K of candidates, at least 1.
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
    *Proof.* By concavity, exp(-A loss) of the mixture before row i is at least the mean of
    exp(-A loss) under its weights, which is W_i / W_(i-1) for W_i = sum_k exp(-A S_k) after i rows.
    The product over n + 1 rows is W_(n+1) / K, so that the sum of the losses of the mixtures is at
    most log(K)/A + min_k S_k. Each mixture was computed before its row was seen, and the
    expectation of its loss is that of its risk. The last mixture uses n rows, and row n + 1 is the
    new one. The risk of the mean f is at most the mean risk, by Jensen's inequality. The square
    (f - y)² has A = 1/(8 M²), as exp(-A (f - y)²) is concave where 2 A (f - y)² <= 1.

    The bound is on the expectation: in some problems the excess is of the order 1/sqrt(n) with a
    small probability that depends on no n [Audibert, 2007]. The proof needs the mean over i, and is
    none for the weights after all n rows. Both constants are sharp: in the limit of many candidates
    the bound is attained. The cost is O(1).

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
    candidate, so that the bound also holds compared with that.

    Parameters
    ----------
    n_candidates : int
        Number K of candidates, at least 1.
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
    *Few candidates.* Learn the weights w from n + 1 rows, and w_i from all but row i. Let x be the
    predictions of the candidates, A = sum_j x_j x_j' over all rows, and F and F_i the sums of
    squares over all rows and without row i. They are quadratic, and minimal over a convex set: with
    D = w_i - w, F(w_i) >= F(w) + D'AD and F_i(w) >= F_i(w_i) + D'AD - u², where u = x_i'D. The sum
    of both is v² - e² >= 2 D'AD - u², for the errors e and v = e + u of w and w_i on row i. The
    left-hand side is 2uv - u², so that D'AD <= uv; and u² <= h_i D'AD for the leverage h_i of the
    row among weights of sum 0. Hence u² <= h_i u v and abs(e) >= (1 - h_i) abs(v), which is an
    equation for unconstrained least squares, and v² - e² <= v² (1 - (1 - h_i)²). Here v² <= 4 M²,
    and the mean of the h_i is at most h, by which the mean over i is bounded as (1 - h)² is convex.
    The expectation of v² is that of the risk, and that of the mean of e² is at most the risk of the
    best mixture.

    *Many candidates.* The loss of a mixture is the sum over pairs of w_j w_k times the product of
    the errors of j and k, which is in [-M², 4 M²]. The excess has at most the expectation of the
    largest deviation of the K (K + 1)/2 means of these products, and `sub_gaussian_maximum_bound`
    bounds it.

    The least possible excess of an aggregate in the worst case is of the order min(K/n,
    sqrt(log(1 + K/sqrt(n))/n)) [Nemirovski, 2000; Tsybakov, 2003]. The bound has this rate up to
    the logarithm. The first part holds for every convex set of weights of dimension K - 1 whose
    mixtures are in [-M, M]. Neither part is for weights that are learned from the held-out rows of
    several folds, on which the candidates are different functions. The cost is O(1).

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
