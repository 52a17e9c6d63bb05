"""L2-boosting with stumps, compared with boosting libraries at depth 1."""

import numpy as np

from cases import Case, fit, friedman1, register, split


def heavy_tails(seed, n, p, n_test):
    """Log-normal features with ties, and jumps: bins of very different widths, every feature
    chosen, so that every pair of them is counted."""
    rng = np.random.default_rng(seed)
    X = np.exp(1.5 * rng.standard_normal((n + n_test, p)))
    X[:, ::4] = np.round(X[:, ::4])
    y = (X > 1).sum(axis=1) + np.log1p(X).sum(axis=1) + rng.standard_normal(len(X))
    return split(X, y, n)


def ours(data, n_rounds, learning_rate, max_bins):
    from sklearn_ensemble_theory import L2BoostingRegressor

    return L2BoostingRegressor(
        n_rounds,
        learning_rate=learning_rate,
        smoothing_rounds=0,
        interactions=0,
        max_bins=max_bins,
    )


def ours_cross_validated(data, n_rounds, learning_rate, max_bins):
    from sklearn_ensemble_theory import L2BoostingRegressor
    from sklearn_ensemble_theory.boosting import CVRounds

    return L2BoostingRegressor(
        CVRounds(5, max_estimators=n_rounds),
        learning_rate=learning_rate,
        smoothing_rounds=0,
        max_bins=max_bins,
    )


def lightgbm(data, n_rounds, learning_rate, max_bins, threads):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        n_estimators=n_rounds,
        learning_rate=learning_rate,
        max_bin=max_bins,
        num_leaves=2,
        max_depth=1,
        min_child_samples=1,
        min_child_weight=0,
        n_jobs=threads,
        verbose=-1,
    )


def xgboost(data, n_rounds, learning_rate, max_bins, threads):
    from xgboost import XGBRegressor

    return XGBRegressor(
        n_estimators=n_rounds,
        learning_rate=learning_rate,
        max_bin=max_bins,
        tree_method="hist",
        max_depth=1,
        min_child_weight=0,
        reg_lambda=0,
        n_jobs=threads,
    )


def sklearn(data, n_rounds, learning_rate):
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(
        n_estimators=n_rounds, learning_rate=learning_rate, max_depth=1
    )


def sklearn_hist(data, n_rounds, learning_rate, max_bins):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=n_rounds,
        learning_rate=learning_rate,
        max_bins=max_bins,
        max_leaf_nodes=2,
        min_samples_leaf=1,
        early_stopping=False,
    )


def counted_sums(data, n_rounds, learning_rate, max_bins):
    """All computations that use the rows, before the rounds: the columns and their sums."""
    from sklearn_ensemble_theory._bins import bin_edges_from_quantiles
    from sklearn_ensemble_theory.boosting._additive.bins import FeatureBins
    from sklearn_ensemble_theory.boosting._additive.sums import (
        CountedGram,
        NormalizedCuts,
        cut_sums,
    )

    p = data.X.shape[1]
    edges = bin_edges_from_quantiles(data.X, max_bins)
    bins = FeatureBins(edges, np.zeros(p, dtype=bool), [None] * p)
    codes, layout = bins.codes(data.X), bins.layout()
    sums = cut_sums(codes, layout, data.y - data.y.mean())
    cuts = NormalizedCuts(sums, CountedGram(codes, layout, sums.left_weight))
    # so that every feature chosen has been counted
    rounds_alone(cuts, data, n_rounds, learning_rate)
    return cuts


def rounds_alone(cuts, data, n_rounds, learning_rate):
    from sklearn_ensemble_theory.boosting._additive.rounds import TableStumps
    from sklearn_ensemble_theory.boosting._additive.sums import TableState

    TableStumps(TableState(cuts), learning_rate).run(n_rounds)


def held_out_r2(model, data):
    residual = data.y_test - model.predict(data.X_test)
    return float(1 - np.mean(residual**2) / np.var(data.y_test))


QUALITY = {
    "data": friedman1,
    "quality": held_out_r2,
    "metric": "test R2",
    "higher_is_better": True,
}
LONG = {
    "n": 1_000_000,
    "p": 20,
    "n_test": 100_000,
    "n_rounds": 10_000,
    "learning_rate": 0.001,
    "max_bins": 64,
}
QUICK = {"n": 5_000, "n_test": 1_000, "n_rounds": 500}

register(
    Case(
        name="l2-boosting",
        title="10,000 stumps at learning rate 0.001, n = 1,000,000, p = 20, 64 bins",
        **QUALITY,
        params=LONG,
        quick=QUICK,
        sides={"ours": ours, "LightGBM": lightgbm, "XGBoost": xgboost},
        run=fit,
        limit=0.04,
        quality_margin=0.001,
        runs=1,  # the peers need a minute or two for a run, and run twice
    )
)

register(
    Case(
        name="l2-boosting-heavy-tails",
        title="1,000 stumps at learning rate 0.1, n = 1,000,000, 20 heavy-tailed features",
        **{**QUALITY, "data": heavy_tails},
        params={**LONG, "n_rounds": 1_000, "learning_rate": 0.1},
        quick=QUICK,
        sides={"ours": ours, "LightGBM": lightgbm, "XGBoost": xgboost},
        run=fit,
        limit=0.2,
        quality_margin=0.001,
        runs=1,
    )
)

register(
    Case(
        name="l2-boosting-small",
        title="1,000 stumps at learning rate 0.1, n = 5,000, p = 20, 64 bins",
        **QUALITY,
        params={**LONG, "n": 5_000, "n_rounds": 1_000, "learning_rate": 0.1},
        quick={**QUICK, "n_rounds": 50},
        sides={
            "ours": ours,
            "scikit-learn": sklearn,
            "scikit-learn hist": sklearn_hist,
            "LightGBM": lightgbm,
            "XGBoost": xgboost,
        },
        run=fit,
    )
)

register(
    Case(
        name="l2-boosting-cv",
        title="cross-validation of all rounds in 5 folds and the fit, compared with one fit",
        **QUALITY,
        params=LONG,
        quick=QUICK,
        sides={"5-fold path": ours_cross_validated, "one fit": ours},
        run=fit,
        limit=3.0,
    )
)

register(
    Case(
        name="l2-boosting-rounds",
        title="10,000 rounds without binning and counting, by n",
        data=friedman1,
        params=LONG,
        quick={**QUICK, "n": (1_000, 5_000)},
        vary={"n": (10_000, 100_000, 1_000_000)},
        sides={"ours": counted_sums},
        run=rounds_alone,
        growth_limit=0.057,  # a round at n = 1,000,000 at most 1.3 times one at n = 10,000
        runs=9,
    )
)
