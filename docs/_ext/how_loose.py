"""Every function of `bounds` beside the quantity that it bounds: `python docs/_ext/how_loose.py`.

It writes the tables of docs/user_guide/how_loose.md; tests/bounds/test_how_loose.py compares them
with fresh numbers. A row has a setting, the arguments of the function there, and the truth, exact
or simulated. The sharper form is `method="sharp"` where the function has it.
"""

import inspect
import math
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, chi2, norm
from theorems import THEOREMS

from sklearn_ensemble_theory import averaging, boosting, bounds, datasets

PAGE = Path(__file__).parents[1] / "user_guide" / "how_loose.md"
ROWS = {}


class Row(NamedTuple):
    setting: str
    arguments: dict
    truth: object  # a function without arguments
    sharper: object
    is_simulated: bool


def simulated(setting, sharper=None, **arguments):
    """The row of the function of that name, whose truth is what is decorated."""
    return compared(setting, sharper, True, **arguments)


def compared(setting, sharper=None, is_simulated=False, **arguments):
    def add(truth):
        ROWS[truth.__name__] = Row(setting, arguments, truth, sharper, is_simulated)
        return truth

    return add


def numbers(name):
    """Bound, sharper bound or None, and truth, as floats; `bounds` may return several numbers."""
    row, function = ROWS[name], getattr(bounds, name)
    sharper = row.sharper
    method = inspect.signature(function).parameters.get("method")
    if sharper is None and method is not None and method.default == "source":
        sharper = name
    arguments = {key: value for key, value in row.arguments.items() if key != "training_error"}
    coarse = float(np.ravel(function(**arguments))[-1])
    if sharper == name:
        sharper = float(np.ravel(function(**row.arguments, method="sharp"))[-1])
    elif sharper is not None:
        sharper = float(np.ravel(sharper())[-1])
    return coarse, sharper, float(row.truth())


def written(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def times(value, truth):
    ratio = value / truth
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}" if ratio >= 1.95 else f"{ratio:.2f}"


def line(name):
    link = f"{{func}}`~sklearn_ensemble_theory.bounds.{name}`"
    if name in OTHERS:
        return f"| {link} | {OTHERS[name]} | | | | |"
    row = ROWS[name]
    coarse, sharper, truth = numbers(name)
    ratios = [times(coarse, truth)] + ([times(sharper, truth)] if sharper is not None else [])
    return (
        f"| {link} | {row.setting} | {written(coarse)} | "
        f"{'' if sharper is None else written(sharper)} | "
        f"{'≈ ' if row.is_simulated else ''}{written(truth)} | {' → '.join(ratios)} |"
    )


def tables():
    parts = []
    for theme, group in THEOREMS.items():
        parts += [f"## {theme}", "", "| function | setting | bound | sharper | truth | ratio |"]
        parts += ["|---|---|---|---|---|---|"]
        parts += [line(name) for name in dict.fromkeys(key.partition(":")[0] for key in group)]
        parts += [""]
    return "\n".join(parts)


def write():
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.index("\n## ")].rstrip("\n")
    PAGE.write_text(f"{head}\n\n{tables()}", encoding="utf-8")


def generator():
    return np.random.RandomState(0)


def quantile(values, delta):
    """The least number that a share of at most delta of the values exceeds."""
    values = np.sort(values)
    return values[math.ceil((1 - delta) * len(values)) - 1]


def root(function, low, high, level):
    """Where a decreasing function is the level."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > level else (low, middle)
    return low


EXACT, DEFINITION = "exact", "a definition, evaluated"
OTHERS = {
    "adaboost_coefficient": EXACT,
    "adaboost_exponential_risk": "exact, the exponential risk itself",
    "adaboost_normalizer": EXACT,
    "adaboost_weights": EXACT,
    "averaged_projection_risk": EXACT,
    "averaged_ridge_optimal_penalty": "minimises `averaged_ridge_risk_bound`",
    "averaged_ridge_risk": EXACT,
    "bagged_neighbors_optimal_max_samples": "minimises `bagged_neighbors_risk_bound`",
    "bagged_neighbors_variance": EXACT,
    "bagging_pac_n_estimators": "a number of members; the constant of the rows is not known",
    "bagging_stable_max_samples": "inverts `bagging_stability`",
    "ball_rademacher_complexity": "exact up to 16 points, then a mean over draws",
    "behaviours": DEFINITION,
    "bootstrap_distinct_fraction": EXACT,
    "conditional_surrogate_risk": DEFINITION,
    "correlated_average_n_estimators": "inverts `correlated_average_variance`",
    "correlated_average_variance": EXACT,
    "divide_and_conquer_cost": EXACT,
    "divide_and_conquer_n_blocks": "the largest number that keeps the rate; no constant",
    "empirical_rademacher_complexity": "exact up to 16 points, then a mean over draws",
    "frank_wolfe_n_rounds": "makes the terms of `frank_wolfe_risk_bound` equal",
    "gauge": "exact, a linear programme",
    "gaussian_sketch_n_estimators": "inverts `gaussian_sketch_risk`",
    "gaussian_sketch_risk": EXACT,
    "greedy_boosting_best_n_rounds": "minimises `greedy_boosting_risk_bound`",
    "independent_neighbors_optimal_n_neighbors": "minimises `independent_neighbors_risk_bound`",
    "interval_stump_error": EXACT,
    "is_classification_calibrated": "exact, for convex losses",
    "johnson_lindenstrauss_distortion": "exact, measured on data",
    "kl_inverse": "exact, the inverse of a divergence",
    "l2_boosting_decay_rate": EXACT,
    "l2_boosting_filter": EXACT,
    "l2_boosting_new_point_error": EXACT,
    "l2_boosting_squared_bias": EXACT,
    "l2_boosting_training_error_bound": "attained by an eigenvector",
    "l2_boosting_variance": EXACT,
    "massart_confidence_threshold": EXACT,
    "matching_pursuit_exponent": "attained by `datasets.make_slow_pursuit` for ν = θ = 1",
    "matching_pursuit_kappa": EXACT,
    "matching_pursuit_kappa_bracket": "both sides agree where all vertices are known",
    "neighbors_vote_n_blocks": "minimises `independent_neighbors_vote_bound`",
    "polar_gauge": EXACT,
    "projection_moments": EXACT,
    "random_features_moment_bound": "attained by features of one absolute value",
    "shattering_coefficient": DEFINITION,
    "stochastic_boosting_moments": EXACT,
    "stone_conditions": DEFINITION,
    "stump_rademacher_complexity": "exact up to 16 points, then a mean over draws",
    "stump_vc_dimension": EXACT,
    "sub_gaussian_sum_parameter": "attained by normal variables",
    "surrogate_risk": DEFINITION,
    "vc_dimension": DEFINITION,
    "vote_behaviours": DEFINITION,
}


# Concentration


@compared("heads of 100 coins, at least 60", t=60, mean=50)
def markov_tail():
    return binom.sf(59, 100, 0.5)


@compared(
    "heads of 100 coins, at least 60",
    t=60,
    log_mgf=lambda a: 100 * (np.logaddexp(0, a) - math.log(2)),
)
def chernoff_tail():
    return binom.sf(59, 100, 0.5)


@compared("a normal variable, at least 1", t=1.0, sigma=1.0)
def sub_gaussian_tail():
    return norm.sf(1)


@compared("a fair coin of -1 and 1", low=-1.0, high=1.0)
def bounded_sub_gaussian_parameter():
    return 1.0


@simulated("the largest of three normal variables", n_variables=3, sigma=1.0)
def sub_gaussian_maximum_bound():
    return generator().standard_normal((200_000, 3)).max(axis=1).mean()


@compared("the mean of 20 coins exceeds 1/2 by 0.1", t=0.1, n_samples=20)
def hoeffding_tail():
    return binom.sf(11, 20, 0.5)


@compared("20 coins, with probability 0.4", n_samples=20, delta=0.4)
def hoeffding_deviation():
    return 0.1  # P(12 or more) = 0.252, P(11 or more) = 0.412


@compared("coins, by 0.1 with probability 0.4", t=0.1, delta=0.4)
def hoeffding_n_samples():
    n = np.arange(1, 500)
    tails = binom.sf(np.ceil(0.6 * n - 1e-9) - 1, n, 0.5)
    return n[tails > 0.4][-1] + 1


def empty_cells():
    balls = generator().randint(0, 50, (20_000, 50))
    hit = np.zeros((len(balls), 50), dtype=bool)
    np.put_along_axis(hit, balls, True, axis=1)
    return 50 - hit.sum(axis=1) - 50 * 0.98**50


@simulated("empty cells of 50 balls in 50 cells, by 4", t=4, differences=np.ones(50))
def mcdiarmid_tail():
    return np.mean(empty_cells() >= 4)


@simulated("empty cells, with probability 0.05", differences=np.ones(50))
def mcdiarmid_deviation():
    return quantile(empty_cells(), 0.05)


@compared("the sum of 100 signs is at least 10", t=10, ranges=np.full(100, 2.0))
def azuma_hoeffding_tail():
    return binom.sf(54, 100, 0.5)


# Classes of functions


def excess_of_finitely_many(n, size, delta):
    """The excess x that is reached with probability delta: one errs with 0.4, others 0.4 + x."""
    k = np.arange(n + 1)

    def chance(x):
        none = binom.sf(k, n, 0.4 + x) ** (size - 1)  # all others have more errors
        return binom.pmf(k, n, 0.4) @ (1 - none)

    return root(chance, 0.0, 0.6, delta)


@compared("50 functions, 200 rows", n_samples=200, log_n_hypotheses=math.log(50))
def finite_class_bound():
    return excess_of_finitely_many(200, 50, 0.05)


@simulated("four cells, 200 rows, two classes", n_samples=200, n_intervals=2)
def histogram_class_bound():
    largest, rng = 0.0, generator()
    for x in np.arange(0.02, 0.2, 0.02):
        sizes = rng.multinomial(200, np.full(4, 0.25), 4000)
        wrong = rng.binomial(sizes, 0.5 + x) * 2 < sizes
        largest = max(largest, quantile((wrong * 2 * x / 4).sum(axis=1), 0.05))
    return largest


@compared("10 candidates, 100 held-out rows", n_candidates=10, fold_sizes=100)
def cross_validation_oracle_bound():
    return excess_of_finitely_many(100, 10, 0.05)


@simulated(
    "10 constants, 100 rows, squared error in [0, 1]",
    n_candidates=10,
    fold_size=100,
    oracle_excess=0.0,
    value_bound=0.5,
)
def oracle_selection_bound():
    y = generator().randint(0, 2, (20_000, 100)) - 0.5  # the best constant is 0
    candidates = np.linspace(0, 0.5, 10)
    return expected_excess_of_selection(y.mean(axis=1), candidates)


def expected_excess_of_selection(means, candidates):
    chosen = np.abs(means[:, None] - candidates).argmin(axis=1)
    return np.mean(candidates[chosen] ** 2)


@compared(
    "log-loss, probabilities 0 and 1, 100 rows of label 1",
    n_candidates=2,
    n_samples=100,
    exp_concavity=1.0,
)
def exponential_weights_bound():
    """The first mixture has 1/2, and all others 1."""
    return -math.log(100.5 / 101)


@simulated("two constants, 100 rows, in [-1, 1]", n_candidates=2, n_samples=100)
def convex_aggregation_bound():
    y = 2 * generator().randint(0, 2, (20_000, 100)) - 1.0
    return np.mean(np.clip(y.mean(axis=1), -1, 1) ** 2)


@compared("intervals, 10 points", n_samples=10, vc_dimension=2)
def sauer_shelah_bound():
    return len(bounds.behaviours("intervals", np.arange(10.0)))


def complexity_of_stumps(n):
    X = np.arange(float(n))[:, None]
    return bounds.stump_rademacher_complexity(X, n_draws=4000, random_state=0)


@simulated("stumps of one feature, 100 rows", n_samples=100, vc_dimension=2)
def vc_rademacher_bound():
    return complexity_of_stumps(100)


def stumps(n, noise, n_draws=2000):
    """Empirical and true risks of all stumps of one feature, labels of sign(x - 1/2) with noise."""
    rng = generator()
    x = np.sort(rng.random_sample((n_draws, n)), axis=1)
    y = np.where(x > 0.5, 1.0, -1.0) * np.where(rng.random_sample(x.shape) < noise, -1, 1)
    left = np.cumsum(np.insert(y, 0, 0, axis=1), axis=1)
    empirical = (1 - (left[:, -1:] - 2 * left) / n) / 2
    true = noise + (1 - 2 * noise) * np.abs(np.insert(x, 0, 0.0, axis=1) - 0.5)
    return np.hstack([empirical, 1 - empirical]), np.hstack([true, 1 - true])


def deviation_of_stumps(n, noise=0.3, delta=0.05):
    empirical, true = stumps(n, noise)
    return quantile((true - empirical).max(axis=1), delta)


def excess_of_stumps(n, noise=0.3, delta=0.05):
    empirical, true = stumps(n, noise)
    chosen = np.take_along_axis(true, empirical.argmin(axis=1)[:, None], axis=1)
    return quantile(chosen[:, 0] - noise, delta)


@simulated("stumps of one feature, 200 rows, 30 % noise", n_samples=200, vc_dimension=2)
def vc_excess_risk_bound():
    return excess_of_stumps(200)


def rows_of_stumps(eps, delta):
    """Until the nearest rows on both sides of the true threshold are within eps."""
    return next(n for n in range(1, 10**4) if 2 * (1 - eps) ** n - (1 - 2 * eps) ** n <= delta)


@compared("thresholds, ε = 0.1, δ = 0.05", vc_dimension=2, eps=0.1)
def pac_n_samples_upper_bound():
    return rows_of_stumps(0.1, 0.05)


@compared("thresholds, ε = 0.1, δ = 0.01; a lower bound", vc_dimension=2, eps=0.1)
def pac_n_samples_lower_bound():
    return rows_of_stumps(0.1, 0.01)


def signs_of_points(n, p):
    return np.where(generator().random_sample((n, p)) < 0.5, -1.0, 1.0)


@compared("l1 ball, 2 features of ±1, 16 points", n_samples=16, n_features=2, norm="l1")
def ball_rademacher_bound():
    return bounds.ball_rademacher_complexity(signs_of_points(16, 2), norm="l1")


@compared("50 random behaviours, 12 points", n_samples=12, log_n_behaviours=math.log(50))
def finite_behaviours_rademacher_bound():
    return bounds.empirical_rademacher_complexity(signs_of_points(50, 12))


@compared("a linear loss", complexity=0.1, lipschitz=2.0)
def rademacher_contraction_bound():
    return 0.2


@compared("a function of ±1 and its negative, 10 points", complexities=[0.0, 0.0], n_samples=10)
def rademacher_union_bound():
    k = np.arange(11)
    return binom.pmf(k, 10, 0.5) @ np.abs(2 * k - 10) / 10


@compared(
    "distances on [0, 1], 16 points, r = 1/8",
    n_samples=16,
    diameter=1.0,
    cover_radius=0.125,
    log_covering_number=math.log(4),
)
def distance_features_rademacher_bound():
    x, w = generator().random_sample(16), np.linspace(0, 1, 401)
    return bounds.empirical_rademacher_complexity(np.abs(x - w[:, None]))


@simulated("losses of stumps, 100 rows", complexity=complexity_of_stumps(100) / 2)
def symmetrization_bound():
    empirical, true = stumps(100, 0.3)
    return (true - empirical).max(axis=1).mean()


@simulated("losses of stumps, 100 rows", complexity=complexity_of_stumps(100) / 2, n_samples=100)
def uniform_deviation_bound():
    return deviation_of_stumps(100)


@simulated(
    "losses of stumps, 200 rows, 30 % noise",
    complexity=complexity_of_stumps(200) / 2,
    n_samples=200,
)
def rademacher_excess_risk_bound():
    return excess_of_stumps(200)


@compared("hinge loss, one feature of ±1, 200 rows", n_samples=200, radius=1.0)
def ball_excess_risk_bound():
    """The sign of one coefficient is wrong with probability 0.05, which costs 4 g."""
    return 4 * root(lambda g: binom.cdf(100, 200, 0.5 + g), 0.0, 0.4, 0.05)


# Averages


@compared(
    "eigenvalues j^-2, the worst target, 1,000 rows",
    n_samples=1000,
    penalty=0.01,
    eigenvalue_decay=2.0,
)
def averaged_ridge_risk_bound():
    mu = np.arange(1.0, 1001) ** -2
    b = np.where(mu == 0.01, 0.1, 0.0)  # sum b² / mu = 1, where mu is the penalty
    return bounds.averaged_ridge_risk(mu, b, 0.01, 1000)


@compared(
    "majority of 5 of 11 rows, δ = 0.45",
    n_samples=11,
    max_samples=5,
    bootstrap=False,
    delta=0.45,
)
def bagging_stability():
    """Whether more than half of the drawn rows are among five: each of these five counts."""
    drawn = np.array(list(combinations(range(11), 5)))
    votes = (drawn < 5).sum(axis=1) > 2
    without = ~(drawn == 0).any(axis=1)
    return votes.mean() - votes[without].mean()


@simulated("the mean of normal targets, 20 rows; a lower bound", coverage=0.9)
def jackknife_plus_coverage_bound():
    y = generator().standard_normal((4000, 21))
    new, y = y[:, -1], y[:, :-1]
    means = (y.sum(axis=1, keepdims=True) - y) / 19
    residuals = np.abs(y - means)
    low = np.sort(means - residuals, axis=1)[:, int(0.1 * 21) - 1]
    high = np.sort(means + residuals, axis=1)[:, math.ceil(0.9 * 21) - 1]
    return np.mean((low <= new) & (new <= high))


# Neighbours


@compared(
    "50 of 1,000 rows",
    lambda: bounds.bagged_neighbors_variance(1000, 50),
    n_samples=1000,
    max_samples=50,
)
def bagged_neighbors_variance_bound():
    return bounds.bagged_neighbors_variance(1000, 50)


@simulated(
    "y = x_1 + noise on the unit square, 20 of 200 rows",
    n_samples=200,
    max_samples=20,
    n_features=2,
    diameter=2**0.5,
)
def bagged_neighbors_risk_bound():
    """The bias is that of weights by rank; the noise that of the exact variance."""
    return squared_bias(200, 20) + bounds.bagged_neighbors_variance(200, 20)


def squared_bias(n, s, k=None):
    rng = generator()
    X, x = rng.random_sample((2000, n, 2)), rng.random_sample((2000, 1, 2))
    order = ((X - x) ** 2).sum(axis=2).argsort(axis=1)
    weights = averaging.bagged_nearest_neighbors_weights(n, s) if k is None else np.full(k, 1 / k)
    first = np.take_along_axis(X[:, :, 0], order[:, : len(weights)], axis=1)
    return np.mean((first @ weights - x[:, 0, 0]) ** 2)


@simulated(
    "y = x_1 + noise on the unit square, 10 of 200 rows",
    n_samples=200,
    n_neighbors=10,
    n_features=2,
    diameter=2**0.5,
)
def independent_neighbors_risk_bound():
    return squared_bias(200, None, k=10) + 1 / 10


@simulated(
    "P(1 given x) = x_1, 10 of 1,000 rows",
    n_samples=1000,
    n_neighbors=10,
    n_features=2,
    lipschitz=2**0.5,
    diameter=2**0.5,
)
def independent_neighbors_vote_bound():
    """Without the bias: ten labels of the probability x."""
    x = np.linspace(0, 1, 2001)
    wrong = binom.cdf(5, 10, x) - binom.pmf(5, 10, x) / 2
    return np.mean(np.where(x > 0.5, (2 * x - 1) * wrong, (1 - 2 * x) * (1 - wrong)))


@simulated("normal points of the plane, k = 1", n_features=2)
def stone_lemma_constant():
    X = np.concatenate([np.zeros((4000, 1, 2)), generator().standard_normal((4000, 12, 2))], 1)
    squared = ((X[:, 1:, None] - X[:, None]) ** 2).sum(axis=3)
    squared[:, np.arange(12), np.arange(1, 13)] = np.inf
    return (squared.argmin(axis=2) == 0).sum(axis=1).max()


# Projections


def missed_columns():
    """Two draws from four orthogonal columns, equal coefficients: what is not drawn is missing."""
    drawn = generator().randint(0, 4, (20_000, 2))
    return np.mean(4 - 1 - (drawn[:, 0] != drawn[:, 1])) / 16


@simulated(
    "4 orthogonal columns, 2 draws, no noise",
    n_samples=4,
    n_components=2,
    size=4.0,
    squared_norm=1.0,
    noise_variance=0.0,
    projection="coordinate",
)
def projection_risk_bound():
    return missed_columns()


@compared(
    "4 features on 4 rows, each on one, 2 draws, no noise",
    n_samples=4,
    n_components=2,
    squared_radius=4.0,
    squared_norm=1.0,
    noise_variance=0.0,
)
def random_features_bound():
    """phi(x_i, v) = 2 (v = i), so that K = I: a row is missed by both draws with (3/4)²."""
    return (3 / 4) ** 2 / 4


@simulated(
    "4 orthogonal columns, 2 draws, by moments",
    gram=np.eye(4),
    coefficients=np.ones(4) / 2,
    first=bounds.projection_moments(np.eye(4), 2, projection="coordinate")[0],
    second=bounds.projection_moments(np.eye(4), 2, projection="coordinate")[1],
    n_samples=4,
)
def projection_bias_bound():
    return missed_columns()


def chance_of_a_distortion(n, s, eps, n_draws=2000):
    rng, largest = generator(), []
    X = rng.standard_normal((n, n))
    i, j = np.triu_indices(n, 1)
    differences = X[i] - X[j]
    differences /= np.linalg.norm(differences, axis=1, keepdims=True)
    for _ in range(n_draws):
        squares = ((differences @ rng.standard_normal((n, s))) ** 2).mean(axis=1)
        largest.append(np.abs(squares - 1).max())
    return np.array(largest)


@simulated("20 points, ε = 0.4, δ = 0.1", n_samples=20, eps=0.4, delta=0.1)
def johnson_lindenstrauss_dimension():
    """The smallest dimension, of every fifth one, in which it is as rare."""
    return next(
        s
        for s in range(100, 200, 5)
        if np.mean(chance_of_a_distortion(20, s, 0.4, 1000) > 0.4) <= 0.1
    )


@compared("one distance, s = 30, ε = 0.3", n_components=30, eps=0.3)
def johnson_lindenstrauss_tail_bound():
    return chi2.cdf(21, 30) + chi2.sf(39, 30)


# Votes


@compared(
    "copies that differ from Bayes at a quarter of the points",
    lambda: bounds.voting_error_bound(0.275, bayes_error=0.2),
    error=0.275,
)
def voting_error_bound():
    return 0.75 * 0.2 + 0.25 * 0.8


@compared(
    "95 % of the votes are right on each of 1,000 rows",
    true_shares=[0.95] * 1000,
    delta=0.05,
)
def held_out_voting_error_bound():
    """Members that err together on 5 % of the points: the vote errs as often."""
    return 0.05


@compared("5 errors in 100 rows", n_errors=5, n_samples=100)
def held_out_error_bound():
    return root(lambda p: binom.cdf(5, 100, p), 0.0, 1.0, 0.05)


@compared(
    "three members of error 0.2, independent",
    lambda: bounds.majority_vote_bound(
        [0.2] * 3,
        10**6,
        tandem_losses=np.full((3, 3), 0.04) + 0.16 * np.eye(3),
        n_pair_samples=10**6,
        method="chebyshev-cantelli",
    ),
    losses=[0.2] * 3,
    n_samples=10**6,
)
def majority_vote_bound():
    return binom.sf(1, 3, 0.2)


@compared(
    "10,000 rows of margin 0.5, R = 0.02; truth: an error that no row shows",
    margins=np.full(10_000, 0.5),
    rademacher_complexity=0.02,
)
def rademacher_margin_bound():
    return zero_errors(10_000)


def zero_errors(n):
    """What no bound can be below: an error that n rows do not show with probability 0.05."""
    return 1 - 0.05 ** (1 / n)


@compared(
    "10,000 rows of margin 0.5, 100 members; truth: an error that no row shows",
    margins=np.full(10_000, 0.5),
    divergence=math.log(100),
)
def pac_bayes_margin_bound():
    return zero_errors(10_000)


@compared("three stumps of one feature, equal weights", vc_dimensions=[2, 2, 2])
def voting_vc_dimension_bound():
    rows = bounds.behaviours("stumps", np.arange(5.0)[:, None])
    return bounds.vc_dimension(bounds.vote_behaviours([rows] * 3))


@simulated("one stump of one feature, 1,000 rows", n_samples=1000, vc_dimensions=[2])
def voting_generalization_bound():
    return deviation_of_stumps(1000)


@simulated(
    "one stump, 1,000 rows, no training error",
    n_samples=1000,
    n_members=1,
    vc_dimension=2,
    training_error=0.0,
)
def weighted_voting_generalization_bound():
    return worst_without_errors(1000)


def worst_without_errors(n):
    empirical, true = stumps(n, 0.0)
    return quantile(np.where(empirical == 0, true, 0).max(axis=1), 0.05)


@simulated("one stump of one feature, 1,000 rows", n_samples=1000, n_features=1)
def stump_generalization_bound():
    return deviation_of_stumps(1000)


# AdaBoost


@compared(
    "ten rounds of edge 0.3",
    lambda: bounds.adaboost_exponential_risk(np.full(10, 0.3)),
    edges=np.full(10, 0.3),
)
def adaboost_training_error_bound():
    """Ten independent errors of 0.2, each at every combination: half of them or more."""
    return binom.sf(5, 10, 0.2) + binom.pmf(5, 10, 0.2)


@compared("edges of 0.4, 1,000 rows, independent errors", n_samples=1000, edge=0.4)
def adaboost_n_rounds():
    return next(T for T in range(1, 99, 2) if binom.sf(T // 2, T, 0.1) < 1 / 1000)


@compared(
    "one stump without training errors, 10,000 rows",
    n_samples=10_000,
    n_rounds=1,
    vc_dimension=2,
    edge=0.5,
)
def adaboost_generalization_bound():
    """The error that the worst threshold without training errors exceeds with 0.05."""
    return root(lambda e: 2 * (1 - e) ** 10_000 - (1 - 2 * e) ** 10_000, 0.0, 0.5, 0.05)


ONE_ERROR = np.ones((3, 3)) - 2 * np.eye(3)


@compared(
    "three rows, each classifier errs on one; one round",
    n_rounds=1,
    kappa=bounds.matching_pursuit_kappa(ONE_ERROR.T @ ONE_ERROR / 3),
)
def adaboost_kappa_bound():
    return bounds.adaboost_exponential_risk([1 / 6])[0]


@simulated("labels of (1/3, 2/3), 10,000 rows; a lower bound", n_samples=10_000)
def interval_stump_edge_bound():
    rng = generator()
    x = np.sort(rng.random_sample((400, 10_000)), axis=1)
    y = np.where(np.abs(x - 0.5) < 1 / 6, 1.0, -1.0)
    left = np.cumsum(y, axis=1)
    agreement = left[:, -1:] - 2 * left  # of the stump that is 1 right of a row
    best = np.abs(agreement).argmax(axis=1)[:, None]
    cut = np.take_along_axis(x, best, axis=1)
    inside = np.clip(cut, 1 / 3, 2 / 3) - 1 / 3
    error = 2 * inside + 2 / 3 - cut
    signs = np.sign(np.take_along_axis(agreement, best, axis=1))
    return -quantile(-(signs * (0.5 - error))[:, 0], 0.05)


@compared("thresholds, an error of 0.1", vc_dimension=2, edge=0.4)
def weak_learning_n_samples():
    return rows_of_stumps(0.1, 0.05)


@simulated("1,000 rows, each right with 1/2 + γ, κ = 0.1, γ = 0.2", smoothness=0.1, edge=0.2)
def smooth_boosting_n_rounds():
    rng, c, theta = generator(), -math.log1p(-0.2) / 2, 0.2 / 2.2
    sums = np.zeros(1000)
    for t in range(10_000):
        measure = np.minimum(1, np.exp(-c * np.maximum(sums, 0)))
        if measure.mean() < 0.1:
            return t
        right = rng.random_sample(1000) < 0.5 + 0.2
        sums += np.where(right, 1.0, -1.0) - theta
    raise AssertionError


@compared("an interval with 2 % noise, stumps, edges of 0.1", optimum=0.02, slack=1 / 3, edge=0.1)
def smooth_boosting_error_bound():
    x = np.linspace(0, 1, 200)[:, None]
    y = (np.abs(x[:, 0] - 0.5) < 1 / 6) ^ (np.arange(200) % 50 == 7)
    model = boosting.SmoothBoostClassifier(n_estimators=1000, edge=0.1, smoothness=0.3).fit(x, y)
    return np.mean(model.predict(x) != y)


def noisy_rows():
    rng = generator()
    X = rng.random_sample((1000, 2))
    labels = np.abs(X[:, 0] - 0.5) < 0.25
    return X, labels ^ (rng.random_sample(1000) < 0.1)


@compared("an interval with 10 % noise, 100 rounds of stumps", n_rounds=100, optimum=0.326)
def agnostic_boosting_error_bound():
    X, y = noisy_rows()
    model = boosting.AgnosticBoostClassifier(n_estimators=100).fit(X, y)
    return np.mean(model.predict(X) != y)


def massart_fit():
    X, y = noisy_rows()
    return (
        X,
        y,
        boosting.MassartBoostClassifier(
            n_estimators=2000, noise_rate=0.2, margin=0.05, smoothness=0.2, tol=0.01
        ).fit(X, y),
    )


@compared(
    "an interval with 10 % noise, η = 0.2",
    noise_rate=0.2,
    margin=0.05,
    smoothness=0.2,
    tol=0.01,
)
def massart_boosting_error_bound():
    X, y, model = massart_fit()
    return np.mean(model.predict(X) != y)


@compared(
    "an interval with 10 % noise, η = 0.2, edges of 0.1",
    noise_rate=0.2,
    margin=0.05,
    edge=0.1,
    smoothness=0.2,
    tol=0.01,
)
def massart_boosting_n_rounds():
    return len(massart_fit()[2].steps_)


# Greedy approximation: twenty orthogonal atoms, of which each has the same coefficient 1/20. After
# t rounds of any pursuit 20 - t of them are missing.


@compared("the columns of `datasets.make_slow_pursuit`, 100 rounds", n_rounds=100, gauge=1.0)
def matching_pursuit_bound():
    X, y = datasets.make_slow_pursuit(100)
    model = boosting.MatchingPursuitRegressor(100, fit_intercept=False).fit(X, y)
    return model.residual_norms_[-1] ** 2


@compared("20 orthogonal atoms, 10 rounds", n_rounds=10, gauge=1.0)
def orthogonal_matching_pursuit_bound():
    return 10 / 400


@compared("their risk, half of the squares", n_rounds=10, curvature=1.0, gauge=1.0, excess=1 / 40)
def greedy_boosting_bound():
    return 10 / 800


@compared("the sum of their coefficients", n_rounds=10, curvature=1.0, risk_fall=1 / 80)
def greedy_boosting_gauge_bound():
    return 10 / 20


@compared("their risk, half of the squares", n_rounds=10, curvature=1.0, gauge=1.0)
def quadratic_boosting_bound():
    return 10 / 800


def coins(n):
    return 2.0 * generator().binomial(n, 0.5, 20_000) / n - 1  # means of y psi, without an effect


def logistic_excess(score):
    return np.mean(np.log(np.cosh(score / 2)))


@simulated(
    "one learner without an effect, 1,000 rows, 10 rounds; gauge 0.01",
    n_rounds=10,
    n_samples=1000,
    gauge=0.01,
)
def greedy_boosting_risk_bound():
    mean, score = coins(1000), np.zeros(20_000)
    for _ in range(10):  # steps of 1 / (G2 R²) = 4 along the gradient
        score += 2 * (mean - np.tanh(score / 2))
    return logistic_excess(score) - logistic_excess(0.01)


@compared("Huber's function, 10 steps", n_rounds=10, smoothness=1.0, distance=1.0)
def gradient_descent_bound():
    threshold, u = 1 / 21, 1.0
    for _ in range(10):
        u -= np.clip(u, -threshold, threshold)
    return threshold * (abs(u) - threshold / 2)


@compared("20 orthogonal atoms, 10 rounds of 2 / (t + 2)", n_rounds=10, curvature=1.0, radius=1.0)
def frank_wolfe_bound():
    u, target = np.zeros(20), np.full(20, 1 / 20)
    for t in range(10):
        atom = np.zeros(20)
        atom[(target - u).argmax()] = 1
        u += 2 / (t + 2) * (atom - u)
    return np.sum((u - target) ** 2) / 2


@simulated(
    "one learner without an effect, 1,000 rows, 1,000 rounds",
    n_rounds=1000,
    n_samples=1000,
    radius=1.0,
)
def frank_wolfe_risk_bound():
    """The minimiser, log((1 + mean)/(1 - mean))."""
    return logistic_excess(np.clip(2 * np.arctanh(coins(1000)), -1, 1))


@compared("all eigenvalues in [0, 2], λ = 1/2, t = 1", times=1.0, learning_rate=0.5)
def vanishing_learning_rate_bound():
    mu = np.linspace(0, 2, 20_001)
    return np.abs((1 - mu / 2) ** 2 - np.exp(-mu)).max()


if __name__ == "__main__":
    write()
