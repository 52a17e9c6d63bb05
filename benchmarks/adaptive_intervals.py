"""Coverage in each decile of the noise, width and time of the intervals of a random forest.

    python benchmarks/adaptive_intervals.py              all problems: some five minutes
    python benchmarks/adaptive_intervals.py --peers      with peers: four times as long
    python benchmarks/adaptive_intervals.py --problems sine --fits 5 --trees 100

Each method covers 90 % of new targets on average. Rows are in the order of the true standard
deviation of their noise, and the coverage of each tenth of them is printed: "least" and "most" are
the smallest and the largest of ten. Widths are relative to the jackknife+. "oracle" is the
conformal interval in units of the true standard deviation, and "spread" the one in units of the
spread of the members. "first" is the time of the first call,
with what it has to prepare, and "later" that of the next one, relative to those of the jackknife+.
The peers, where they are installed, split the rows into two halves: MAPIE with a second forest on
logarithms of absolute residuals, and the quantiles of quantile-forest, made conformal by the other
half. They have fits of their own, and no times.
"""

import argparse
from time import process_time

import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import ensemble_std

COVERAGE = 0.9


def sine(X):
    return 2 * np.sin(4 * X[:, 0]), 0.1 + 0.9 * np.abs(np.sin(2 * np.pi * X[:, 0]))


def other_feature(X):
    return 3 * X[:, 0], 0.2 + 2 * X[:, 1]


def product(X):
    return 5 * X[:, 0] + 3 * np.sin(3 * X[:, 1]) + 2 * X[:, 2], 0.2 + 3 * X[:, 0] * X[:, 3]


def jump(X):
    return 3 * X[:, 0], np.where(X[:, 1] > 0.8, 3.0, 0.3)


def equal(X):
    smooth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return smooth + 10 * X[:, 3] + 5 * X[:, 4], np.ones(len(X))


# The mean and the standard deviation of the noise, and the number of features.
PROBLEMS = {
    "sine": (sine, 1),
    "other feature": (other_feature, 5),
    "product": (product, 10),
    "jump": (jump, 5),
    "equal": (equal, 10),
}


def drawn(problem, n, skewed, rng):
    """Rows, targets and the standard deviations of their noise."""
    function, p = PROBLEMS[problem]
    X = rng.random((n, p))
    mean, scale = function(X)
    noise = rng.exponential(size=n) - 1 if skewed else rng.standard_normal(n)
    return X, mean + scale * noise, scale


def limit(scores):
    rank = int(np.ceil((len(scores) + 1) * COVERAGE - 1e-9))
    return np.partition(scores, rank - 1)[rank - 1]


def by_mapie(X, y, new, trees, leaf, seed):
    from mapie.conformity_scores import ResidualNormalisedScore
    from mapie.regression import SplitConformalRegressor
    from sklearn.ensemble import RandomForestRegressor as Forest

    half = len(y) // 2
    fitted = Forest(trees, min_samples_leaf=leaf, random_state=seed).fit(X[:half], y[:half])
    scales = Forest(trees, min_samples_leaf=20, random_state=seed)
    score = ResidualNormalisedScore(residual_estimator=scales, sym=True, random_state=seed)
    model = SplitConformalRegressor(fitted, COVERAGE, conformity_score=score, prefit=True)
    return model.conformalize(X[half:], y[half:]).predict_interval(new)[1][:, :, 0]


def by_quantile_forest(X, y, new, trees, leaf, seed):
    from quantile_forest import RandomForestQuantileRegressor

    half, levels = len(y) // 2, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
    forest = RandomForestQuantileRegressor(
        trees, min_samples_leaf=leaf, max_samples_leaf=None, random_state=seed
    ).fit(X[:half], y[:half])
    low, high = forest.predict(X[half:], quantiles=levels).T
    far = limit(np.maximum(low - y[half:], y[half:] - high))
    return forest.predict(new, quantiles=levels) + [-far, far]


PEERS = {"MAPIE": by_mapie, "quantile-forest": by_quantile_forest}
METHODS = ("jackknife+", "conformal", "normalized", "quantile")


def one_fit(problem, n, trees, leaf, skewed, seed, peers):
    """For each method the coverage of ten parts and of all rows, the width and two times."""
    rng = np.random.default_rng(seed)
    X, y, scale = drawn(problem, n, skewed, rng)
    new, target, new_scale = drawn(problem, 2000, skewed, rng)
    parts = np.array_split(np.argsort(new_scale, kind="stable"), 10)
    ends, times = {}, {}
    for method in METHODS:
        # A forest for each, as methods keep what they have prepared for each other.
        forest = RandomForestRegressor(trees, min_samples_leaf=leaf, n_jobs=1, random_state=seed)
        forest.fit(X, y).predict(new)
        start = process_time()
        ends[method] = forest.predict_interval(new, COVERAGE, method)
        middle = process_time()
        forest.predict_interval(new, COVERAGE, method)
        times[method] = middle - start, process_time() - middle
    scored = RandomForestRegressor(trees, min_samples_leaf=leaf, oob_score=True, random_state=seed)
    residuals = np.abs(y - scored.fit(X, y).oob_prediction_)
    half = limit(residuals / scale) * new_scale
    ends["oracle"] = scored.predict(new)[:, None] + np.outer(half, [-1, 1])
    # The spread of the members, at training rows of those that are not fitted to the row.
    values = np.column_stack([tree.predict(X) for tree in scored.estimators_])
    for rows, column in zip(scored.estimators_samples_, values.T):
        column[rows] = np.nan
    spread = np.nanstd(values, axis=1, ddof=1)
    ends["spread"] = scored.predict(new)[:, None] + np.outer(
        limit(residuals / spread) * ensemble_std(scored, new), [-1, 1]
    )
    for name, peer in PEERS.items() if peers else ():
        try:
            ends[name] = peer(X, y, new, trees, leaf, seed)
        except ImportError:
            continue
    found = {}
    for name, (low, high) in ((name, end.T) for name, end in ends.items()):
        inside = (low <= target) & (target <= high)
        shares = [inside[part].mean() for part in parts]
        found[name] = [*shares, inside.mean(), np.mean(high - low), *times.get(name, 2 * [np.nan])]
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trees", nargs="+", type=int, default=[100])
    parser.add_argument("--leaf", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--skewed", action="store_true", help="exponential noise")
    options = parser.parse_args(arguments)
    for problem in options.problems:
        for trees in options.trees:
            for leaf in options.leaf:
                fits = [
                    one_fit(problem, options.rows, trees, leaf, options.skewed, seed, options.peers)
                    for seed in range(options.fits)
                ]
                print(f"\n{problem}, {trees} trees with leaves of {leaf}, {options.rows} rows")
                print(f"{'':16s}covered  least   most  width  first  later  by tenths of the noise")
                base = np.array([fit["jackknife+"] for fit in fits])
                for name in fits[0]:
                    values = np.array([fit[name] for fit in fits])
                    tenths = values[:, :10].mean(axis=0)
                    ratios = [values[:, 11].mean() / base[:, 11].mean()]
                    ratios += [np.median(values[:, k]) / np.median(base[:, k]) for k in (12, 13)]
                    shown = [values[:, 10].mean(), tenths.min(), tenths.max(), *ratios]
                    line = " ".join("     -" if np.isnan(v) else f"{v:6.3f}" for v in shown)
                    print(f"{name:16s}{line}  ", " ".join(f"{share:.2f}" for share in tenths))


if __name__ == "__main__":
    main()
