"""
Numbers of claims with exposures: an additive model whose terms are factors
===========================================================================

Insurance policies differ in how long they were in force, and so do their numbers of claims. This
example simulates 40,000 of them and fits `AdditiveBoostingRegressor` with the Poisson loss. The
logarithm of the exposure is the offset: it has the coefficient 1 and is not fitted. The exponential
of a term is the factor by which a value of a feature multiplies the rate of claims.
"""

# %%
# In truth, the rate of claims falls with the age of the driver and rises again, and jumps at a
# power of 110. The five regions have effects, and one feature has none. A tenth of the ages are
# missing.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_ensemble_theory import AdditiveBoostingRegressor
from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay

rng = np.random.default_rng(0)
n = 80_000
X = pd.DataFrame(
    {
        "age": rng.uniform(18, 85, n),
        "power": rng.uniform(40, 200, n),
        "region": pd.Categorical(rng.choice(["coast", "hills", "lakes", "plain", "town"], n)),
        "colour": rng.integers(1, 12, n).astype(float),
    }
)
effect_of_region = np.array([0.0, -0.2, -0.1, 0.1, 0.5])[X["region"].cat.codes]
score = 0.0008 * (X["age"] - 50) ** 2 + 0.8 * (X["power"] > 110) + effect_of_region - 2.5
rate = np.exp(score.to_numpy())
X.loc[rng.uniform(size=n) < 0.1, "age"] = np.nan
exposure = rng.uniform(0.05, 1, n)
claims = rng.poisson(exposure * rate)
train, test = slice(0, 40_000), slice(40_000, n)

# %%
# The fit, and a generalised linear model of scikit-learn for comparison. That one gets rates with
# the exposures as weights, which is the same likelihood.
model = AdditiveBoostingRegressor(loss="poisson")
model.fit(X[train], claims[train], offset=np.log(exposure[train]))
linear = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(), ["region"]), ("passthrough", ["power", "colour"]), ("drop", ["age"])
    ),
    PoissonRegressor(alpha=1e-4, solver="newton-cholesky"),
)
linear.fit(
    X[train],
    claims[train] / exposure[train],
    poissonregressor__sample_weight=exposure[train],
)
predictions = {
    "additive": model.predict(X[test], offset=np.log(exposure[test])),
    "linear": exposure[test] * linear.predict(X[test]),
    "a constant": exposure[test] * claims[train].sum() / exposure[train].sum(),
    "the truth": exposure[test] * rate[test],
}
for name, predicted in predictions.items():
    print(f"{name:10s} deviance {mean_poisson_deviance(claims[test], predicted):.4f}")

# %%
# What was learned. Each curve is the logarithm of a factor; 0.8 more mean 2.2 times as many claims.
# The jump is at 110, and the colour has no effect beyond its standard errors.
display = ShapeFunctionDisplay.from_estimator(model, X=X[train])

# %%
# Factors of the regions, with the true factors. Both are relative to the mean of their logarithms.
regions, values = model.shape_functions_[2]
share = model.bin_weights_[2][:5] / model.bin_weights_[2].sum()
true = np.array([0.0, -0.2, -0.1, 0.1, 0.5])
fig, ax = plt.subplots(layout="constrained", figsize=(5, 3))
place = np.arange(5)
ax.errorbar(
    place, np.exp(values[:5]), 2 * np.exp(values[:5]) * model.shape_standard_errors_[2][:5], fmt="o"
)
ax.plot(place, np.exp(true - share @ true), "k_", markersize=20, label="truth")
ax.set(xticks=place, xticklabels=regions, ylabel="factor of the rate")
ax.legend()
plt.show()
