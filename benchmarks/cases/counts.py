"""Gradient boosting of counts in exposures, of claims (Tweedie) and of shares of successes."""

import numpy as np

from cases import Case, register, split
from cases._histogram_peers import lightgbm, scikit_learn, xgboost

POWER = 1.5

# --- data: the means of the test rows are known, which noise would hide -------------------------


def usual_rates(rng, n, p):
    """Uniform columns; the logarithm of the rate has a product, a wave and lines. Mean near 0.3."""
    X = rng.random((n, p))
    score = np.sin(2 * np.pi * X[:, 0]) * X[:, 1] + X[:, 2] - 2 * (X[:, 3] - 0.5) ** 2
    return X, score + X[:, 4] - 2.3


def long_tailed_rates(rng, n, p):
    """Long tails, ties, missing values, and a peak of ten times the rate in 1 % of the rows."""
    normal = rng.standard_normal((n, p))
    score = np.sin(2 * normal[:, 0]) + (normal[:, 1] > 0.5) * normal[:, 2] - 2.5
    score += 0.5 * np.abs(normal[:, 3]) + 2.3 * (np.abs(normal[:, 4] - 1) < 0.02)
    X = np.exp(2 * normal)
    X[:, 1::2] = np.round(X[:, 1::2], 1)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, score


def of(rates, draw):
    """The data of a case: rows of `rates`, whose targets `draw` makes of the scores."""

    def data(seed, n, p, n_test):
        rng = np.random.default_rng(seed)
        X, score = rates(rng, n + n_test, p)
        exposure = rng.uniform(0.1, 1.0, n + n_test)
        y, weight, mean = draw(rng, score, exposure)
        made = split(X, y, n)
        made.exposure, made.exposure_test = exposure[:n], exposure[n:]
        made.weight, made.y_test = None if weight is None else weight[:n], mean[n:]
        return made

    return data


def counts(rng, score, exposure):
    mean = exposure * np.exp(score)
    return rng.poisson(mean).astype(float), None, mean


def claims(rng, score, exposure):
    """The sum of a Poisson number of gamma variables, whose mean grows with the rate."""
    number, size = rng.poisson(np.exp(score)), np.exp(0.5 * score + 1)
    return rng.gamma(np.maximum(2.0 * number, 1e-300), size / 2), None, np.exp(score) * size


def shares(rng, score, exposure):
    trials, mean = rng.integers(1, 20, len(score)), 1 / (1 + np.exp(-2 * score - 2))
    return rng.binomial(trials, mean) / trials, trials.astype(float), mean


# --- fits ---------------------------------------------------------------------------------------


def boosted(**fixed):
    def setup(data, n_estimators, learning_rate, threads):
        from sklearn_ensemble_theory import GradientBoostingRegressor

        rounds = {"n_estimators": n_estimators, "learning_rate": learning_rate}
        return GradientBoostingRegressor(**rounds, n_jobs=threads, **fixed)

    return setup


def fit_weighted(model, data):
    return model.fit(data.X, data.y, sample_weight=data.weight)


def fit_exposed(model, data):
    """With the logarithm of the exposure as offset; the peers fit the rates, weighted.

    Their losses are the same. With its own offset LightGBM would not start from the mean. Most of
    the time of scikit-learn 1.9 is that of weighted quantiles, for its bins.
    """
    if type(model).__module__.startswith("sklearn_ensemble_theory"):
        return model.fit(data.X, data.y, offset=np.log(data.exposure))
    return model.fit(data.X, data.y / data.exposure, sample_weight=data.exposure)


# --- excess deviances: of the true means from the predictions -----------------------------------


def excess_poisson(model, data):
    ours = type(model).__module__.startswith("sklearn_ensemble_theory")
    rates = model.predict(data.X_test, **({"offset": 0} if ours else {}))
    found = np.asarray(rates, dtype=float) * data.exposure_test
    ratio = data.y_test / found
    return float(2 * np.mean(data.y_test * np.log(ratio) - data.y_test + found))


def excess_tweedie(model, data):
    mean, found = data.y_test, np.asarray(model.predict(data.X_test), dtype=float)
    # Of the power 1.5: 4 (sqrt(mean) - sqrt(found))² / sqrt(found).
    return float(4 * np.mean((np.sqrt(mean) - np.sqrt(found)) ** 2 / np.sqrt(found)))


def excess_binomial(model, data):
    mean, found = data.y_test, np.asarray(model.predict(data.X_test), dtype=float)
    found = np.clip(found, 1e-12, 1 - 1e-12)
    terms = mean * np.log(mean / found) + (1 - mean) * np.log((1 - mean) / (1 - found))
    return float(2 * np.mean(terms))


# Not one row: LightGBM estimates the rows of a leaf from second derivatives, and stops with
# an error where a leaf has none.
ROWS_OF_LEAF = 20


def sides(objectives, **ours):
    """Second order is what the peers have; `objectives` are those of LightGBM and of XGBoost."""
    ours["min_samples_leaf"] = ROWS_OF_LEAF
    for_lightgbm, for_xgboost = objectives
    return {
        "ours": boosted(**ours, step="newton"),
        "ours, first order": boosted(**ours),
        "lightgbm": lightgbm("LGBMRegressor", min_child_samples=ROWS_OF_LEAF, **for_lightgbm),
        "xgboost": xgboost("XGBRegressor", **for_xgboost),
    }


def objectives(for_lightgbm, for_xgboost, **both):
    return {"objective": for_lightgbm, **both}, {"objective": for_xgboost, **both}


HISTOGRAMS = scikit_learn(
    "HistGradientBoostingRegressor", loss="poisson", min_samples_leaf=ROWS_OF_LEAF
)
LOSSES = {
    "counts": {
        "run": fit_exposed,
        "quality": excess_poisson,
        "sides": {
            **sides(objectives("poisson", "count:poisson"), loss="poisson"),
            "hist-gradient-boosting": HISTOGRAMS,
        },
    },
    "claims": {
        "run": fit_weighted,
        "quality": excess_tweedie,
        "sides": sides(
            objectives("tweedie", "reg:tweedie", tweedie_variance_power=POWER),
            loss="tweedie",
        ),
    },
    "shares": {
        "run": fit_weighted,
        "quality": excess_binomial,
        "sides": sides(objectives("cross_entropy", "reg:logistic"), loss="binomial"),
    },
}
DRAWS = {"counts": counts, "claims": claims, "shares": shares}
TITLES = {
    "counts": "counts with exposures as offsets",
    "claims": f"claims, Tweedie's loss of the power {POWER}",
    "shares": "shares of successes of 1 to 19 trials",
}
for name, parts in LOSSES.items():
    for kind, rates in (("", usual_rates), ("-long-tails", long_tailed_rates)):
        register(
            Case(
                name=f"gradient-boosting-{name}{kind}",
                title=f"gradient boosting of trees of depth 3: {TITLES[name]}, n = 100,000",
                data=of(rates, DRAWS[name]),
                params={
                    "n": 100_000,
                    "p": 20,
                    "n_test": 20_000,
                    "n_estimators": 100,
                    "learning_rate": 0.1,
                    "max_depth": 3,
                    "threads": 1,
                },
                quick={"n": 2_000, "n_test": 500, "n_estimators": 5},
                **parts,
                metric="excess deviance",
                limit={"lightgbm": 1.0},
                quality_ratio={"lightgbm": 1.05},
            )
        )
