"""Additive models of other losses: counts with exposures, amounts, quantiles.

Compared with the Explainable Boosting Machine of interpret-core, LightGBM with stumps and with its
defaults, and scikit-learn's generalised linear models on splines. All models are of one score for
each row; what is judged is the deviance of the true from the fitted means, which contains no noise.
"""

from types import SimpleNamespace

import numpy as np

from cases import Case, Side, register

LEVELS = (4, 8, 20, 40)  # of the features that are categories
POWER = 1.5
QUANTILE = 0.9

# --- data -------------------------------------------------------------------------------------


def features(rng, n, long_tails):
    """Eight numbers, independent and uniform, or correlated with long tails; four categories."""
    if long_tails:
        X = rng.standard_normal((n, 8))
        X[:, 1:] = 0.6 * X[:, :1] + 0.8 * X[:, 1:]
        # Few rows have the last categories.
        codes = [np.minimum(rng.geometric(3 / k, n) - 1, k - 1) for k in LEVELS]
        return np.column_stack([np.exp(X), *codes])
    return np.column_stack([rng.random((n, 8)), *(rng.integers(k, size=n) for k in LEVELS)])


def score(X, long_tails):
    """A wave, a parabola, a jump and a kink in four numbers, and effects of the categories."""
    x = np.argsort(np.argsort(X[:, :4], axis=0), axis=0) / len(X) if long_tails else X[:, :4]
    total = 0.8 * np.sin(5 * x[:, 0]) + x[:, 1] ** 2
    total += 0.5 * (x[:, 2] > 0.5) + 0.4 * np.abs(x[:, 3] - 0.5)
    effects = np.random.default_rng(0)
    for j, k in enumerate(LEVELS):
        total += 0.3 * effects.standard_normal(k)[X[:, 8 + j].astype(int)]
    return total


def of_means(draw):
    """Data whose targets `draw` takes from the means for one unit of exposure."""

    def data(seed, n, n_test, long_tails=False):
        rng = np.random.default_rng(seed)
        X = features(rng, n + n_test, long_tails)
        exposure = rng.uniform(0.1, 1, n + n_test)
        rate = np.exp(score(X, long_tails) - 2)
        y, exposure, mean = draw(rng, rate, exposure)
        return SimpleNamespace(
            X=X[:n],
            y=y[:n],
            exposure=exposure[:n],
            X_test=X[n:],
            exposure_test=exposure[n:],
            y_test=mean[n:],
        )

    return data


def counts(rng, rate, exposure):
    return rng.poisson(exposure * rate).astype(float), exposure, exposure * rate


def amounts(rng, rate, exposure):
    return rng.gamma(2, rate / 2), np.ones(len(rate)), rate


def sums_of_amounts(rng, rate, exposure):
    """Most are 0: Poisson numbers of gamma amounts."""
    numbers = rng.poisson(2 * rate)
    return rng.gamma(2 * numbers + (numbers == 0), 0.25) * (numbers > 0), np.ones(len(rate)), rate


# --- sides ------------------------------------------------------------------------------------


def ours(loss):
    def setup(data, interactions=0, signs=None):
        from sklearn_ensemble_theory import AdditiveBoostingRegressor

        return AdditiveBoostingRegressor(
            loss=loss,
            categorical_features=[8, 9, 10, 11],
            interactions=interactions,
            monotonic_cst=signs,
        )

    return setup


def fit_with_offset(model, data):
    return model.fit(data.X, data.y, offset=np.log(data.exposure))


def predict_with_offset(model, data):
    return model.predict(data.X_test, offset=np.log(data.exposure_test))


def ebm(objective):
    def setup(data, threads, seed, interactions=0, signs=None):
        from interpret.glassbox import ExplainableBoostingRegressor

        return ExplainableBoostingRegressor(
            objective=objective,
            feature_types=["continuous"] * 8 + ["nominal"] * 4,
            interactions=interactions,
            monotone_constraints=signs,
            n_jobs=threads,
            random_state=seed,
        )

    return setup


def lightgbm(objective, **given):
    def setup(data, threads):
        from lightgbm import LGBMRegressor

        return LGBMRegressor(objective=objective, n_jobs=threads, verbose=-1, **given)

    return setup


STUMPS = {"max_depth": 1, "num_leaves": 2, "n_estimators": 5000}


def fit_rates(model, data):
    """Rates with exposures as weights: the same likelihood."""
    return model.fit(data.X, data.y / data.exposure, sample_weight=data.exposure)


def fit_lightgbm(model, data):
    return model.fit(
        data.X,
        data.y / data.exposure,
        sample_weight=data.exposure,
        categorical_feature=[8, 9, 10, 11],
    )


def fit_stumps(model, data):
    """With early stopping by a fifth of the rows."""
    from lightgbm import early_stopping

    k = len(data.y) * 4 // 5
    rate = data.y / data.exposure
    return model.fit(
        data.X[:k],
        rate[:k],
        sample_weight=data.exposure[:k],
        eval_set=[(data.X[k:], rate[k:])],
        eval_sample_weight=[data.exposure[k:]],
        callbacks=[early_stopping(50, verbose=False)],
        categorical_feature=[8, 9, 10, 11],
    )


def splines(power):
    """A generalised linear model on splines and indicators, with a chosen penalty."""

    def setup(data):
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import TweedieRegressor
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, SplineTransformer

        columns = make_column_transformer(
            (SplineTransformer(20, knots="quantile"), slice(0, 8)),
            (OneHotEncoder(handle_unknown="ignore"), slice(8, 12)),
        )
        model = TweedieRegressor(power=power, link="log", solver="newton-cholesky")
        grid = {"tweedieregressor__alpha": [1e-6, 1e-5, 1e-4, 1e-3]}
        return GridSearchCV(make_pipeline(columns, model), grid, cv=3)

    return setup


def fit_splines(model, data):
    rate = data.y / data.exposure
    return model.fit(data.X, rate, tweedieregressor__sample_weight=data.exposure)


def predict_rates(model, data):
    return data.exposure_test * model.predict(data.X_test)


# --- quality ----------------------------------------------------------------------------------


def excess_deviance(power, predict):
    """The mean over test rows of the unit deviance of the true mean at the fitted one."""

    def quality(model, data):
        m, fitted = data.y_test, np.maximum(predict(model, data), 1e-12)
        if power == 1:
            each = m * np.log(m / fitted) - m + fitted
        elif power == 2:
            each = m / fitted - 1 - np.log(m / fitted)
        else:
            p = power
            each = m ** (2 - p) / ((1 - p) * (2 - p)) - m * fitted ** (1 - p) / (1 - p)
            each += fitted ** (2 - p) / (2 - p)
        return float(2 * np.mean(each))

    return quality


def side(setup, fit, power, predict=predict_rates, **options):
    return Side(setup, run=fit, quality=excess_deviance(power, predict), **options)


PARAMS = {"n": 200_000, "n_test": 100_000, "threads": 1}
QUICK = {"n": 1_000, "n_test": 1_000}

for name, loss, power, draw, of_ebm, of_lightgbm in (
    ("poisson", "poisson", 1, counts, "poisson_deviance", {"objective": "poisson"}),
    ("gamma", "gamma", 2, amounts, "gamma_deviance", {"objective": "gamma"}),
    (
        "tweedie",
        "tweedie",
        POWER,
        sums_of_amounts,
        f"tweedie_deviance:variance_power={POWER}",
        {"objective": "tweedie", "tweedie_variance_power": POWER},
    ),
):
    for suffix, long_tails in (("", False), ("-long-tails", True)):
        register(
            Case(
                name=f"additive-{name}{suffix}",
                title=f"additive model, loss {loss!r}, 8 numbers and 4 categories"
                + (", long tails" if long_tails else ""),
                params={**PARAMS, "long_tails": long_tails},
                quick=QUICK,
                data=of_means(draw),
                run=fit_with_offset,
                sides={
                    "ours": side(ours(loss), fit_with_offset, power, predict_with_offset),
                    "EBM": side(ebm(of_ebm), fit_rates, power, warm_up=False),
                    "LightGBM stumps": side(lightgbm(**of_lightgbm, **STUMPS), fit_stumps, power),
                    "LightGBM": side(lightgbm(**of_lightgbm), fit_lightgbm, power),
                    "splines": side(splines(power), fit_splines, power, warm_up=False),
                },
                quality=excess_deviance(power, predict_with_offset),
                metric="excess deviance",
                limit={"EBM": 1 / 15},
                quality_ratio=1.0,
                runs=1,  # EBM needs a minute
            )
        )

SIGNS = [0, 1, 1, 0] + [0] * 8

register(
    Case(
        name="additive-poisson-monotonic-pairs",
        title="additive model, loss 'poisson', 5 pairs, two features with a constraint",
        params={**PARAMS, "n": 50_000, "interactions": 5, "signs": SIGNS},
        quick=QUICK,
        data=of_means(counts),
        run=fit_with_offset,
        sides={
            "ours": side(ours("poisson"), fit_with_offset, 1, predict_with_offset),
            "EBM": side(ebm("poisson_deviance"), fit_rates, 1, warm_up=False),
        },
        quality=excess_deviance(1, predict_with_offset),
        metric="excess deviance",
        quality_ratio=1.0,
        runs=1,
    )
)

# --- quantiles --------------------------------------------------------------------------------


def heteroscedastic(seed, n, n_test, long_tails=False):
    """Normal targets whose mean and scale are additive, and so are all quantiles."""
    rng = np.random.default_rng(seed)
    X = features(rng, n + n_test, long_tails)
    mean, scale = 3 * score(X, long_tails), 0.3 + X[:, 4] / (1 + long_tails * X[:, 4])
    y = mean + scale * rng.standard_normal(n + n_test)
    return SimpleNamespace(
        X=X[:n], y=y[:n], X_test=X[n:], y_test=np.column_stack([mean, scale])[n:]
    )


def excess_pinball(model, data):
    """The mean over test rows of the expected quantile loss less that of the true quantile."""
    from statistics import NormalDist

    mean, scale = data.y_test.T
    normal = np.vectorize(NormalDist().cdf, otypes=[float])

    def expected(z):
        # E (Z - z)(q - 1{Z < z}) = phi(z) + z (Phi(z) - q)
        return np.exp(-z * z / 2) / np.sqrt(2 * np.pi) + z * (normal(z) - QUANTILE)

    best = expected(np.array([NormalDist().inv_cdf(QUANTILE)]))[0]
    return float(np.mean(scale * (expected((model.predict(data.X_test) - mean) / scale) - best)))


def our_quantile(data):
    from sklearn_ensemble_theory import AdditiveBoostingRegressor
    from sklearn_ensemble_theory.boosting.losses import QuantileLoss

    return AdditiveBoostingRegressor(
        loss=QuantileLoss(QUANTILE), categorical_features=[8, 9, 10, 11]
    )


def fit_plain(model, data):
    return model.fit(data.X, data.y)


def fit_quantile_stumps(model, data):
    data = SimpleNamespace(X=data.X, y=data.y, exposure=np.ones(len(data.y)))
    return fit_stumps(model, data)


def quantile_of_splines(data):
    """Quantile regression of statsmodels on splines and indicators."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, SplineTransformer
    from statsmodels.api import QuantReg

    columns = make_column_transformer(
        (SplineTransformer(8, knots="quantile", include_bias=False), slice(0, 8)),
        (OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False), slice(8, 12)),
        sparse_threshold=0,
    )

    def design(X):
        return np.column_stack([np.ones(len(X)), columns.transform(X)])

    class Model:
        def fit(self, X, y):
            columns.fit(X)
            self.model = QuantReg(y, design(X)).fit(q=QUANTILE)
            return self

        def predict(self, X):
            return self.model.predict(design(X))

    return Model()


for suffix, long_tails in (("", False), ("-long-tails", True)):
    register(
        Case(
            name=f"additive-quantile{suffix}",
            title="additive model of the .9 quantile, 8 numbers and 4 categories"
            + (", long tails" if long_tails else ""),
            params={**PARAMS, "n": 50_000, "n_test": 20_000, "long_tails": long_tails},
            quick=QUICK,
            data=heteroscedastic,
            run=fit_plain,
            sides={
                "ours": our_quantile,
                "LightGBM stumps": Side(
                    lightgbm("quantile", alpha=QUANTILE, **STUMPS), run=fit_quantile_stumps
                ),
                "splines": Side(quantile_of_splines, warm_up=False),
            },
            quality=excess_pinball,
            metric="excess pinball loss",
            quality_ratio=1.0,
            runs=3,
        )
    )
