"""
Constrained and free weights of candidates
==========================================

There are sixteen candidates for one regression problem: nearest neighbours with different numbers
of neighbours, and ridge regressions with different penalties. They are combined in five ways: the
best candidate by cross-validation, equal weights, non-negative weights, weights on the simplex, and
free weights by least squares on the held-out predictions. Candidates of one kind are nearly
collinear. Free weights then fit the noise of the held-out rows; the constraints prevent it without
a tuning parameter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import StackingRegressor

candidates = [(f"near{k}", KNeighborsRegressor(k)) for k in range(1, 16, 2)]
candidates += [(f"ridge{e}", Ridge(10 ** (e / 4))) for e in range(-6, 10, 2)]
combinations = {
    "best": "best",
    "uniform": "uniform",
    "nnls": "nnls",
    "simplex": "simplex",
    "free": LinearRegression(fit_intercept=False),
}

# %%
# The error of a combination on 2,000 new rows is divided by the error of the candidate that is best
# on these rows, which is not known in practice. The points are means over four samples, with their
# standard errors.

X_test, y_test = make_friedman1(2_000, n_features=5, random_state=1)
sizes, repetitions = (60, 200, 600), 4
ratios = {name: np.zeros((len(sizes), repetitions)) for name in combinations}
for i, n in enumerate(sizes):
    for repetition in range(repetitions):
        X, y = make_friedman1(n, n_features=5, noise=2.0, random_state=100 + repetition)
        single = [
            np.mean((model.fit(X, y).predict(X_test) - y_test) ** 2) for _, model in candidates
        ]
        for name, final in combinations.items():
            stack = StackingRegressor(candidates, final, cv=5).fit(X, y)
            error = np.mean((stack.predict(X_test) - y_test) ** 2)
            ratios[name][i, repetition] = error / min(single)

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for name, marker in zip(combinations, "osD^v"):
    spread = ratios[name].std(axis=1, ddof=1) / np.sqrt(repetitions)
    axis.errorbar(sizes, ratios[name].mean(axis=1), spread, marker=marker, label=name)
axis.axhline(1, color="black", linewidth=0.8, linestyle=":")
axis.set(
    xscale="log",
    yscale="log",
    xlabel="training rows",
    ylabel="test error / best candidate's",
    xticks=sizes,
    xticklabels=sizes,
)
axis.minorticks_off()
ticks = [0.8, 1, 1.25, 1.5, 2]
axis.set_yticks(ticks, ticks)
axis.legend(title="weights")

for name, ratio in ratios.items():
    print(f"{name:8s}", *(f"{value:6.2f}" for value in ratio.mean(axis=1)))

# %%
# The risks of the candidates on the held-out rows, with their standard errors, are in
# `cv_results_`. Few weights are positive: the constraint alone selects candidates.

stack = StackingRegressor(candidates, "simplex", cv=5).fit(X, y)
table = stack.cv_results_
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
places = range(len(candidates))
top.errorbar(places, table["mean_score"], table["standard_error"], fmt="o", markersize=4)
top.set(ylabel="held-out risk")
bottom.bar(places, table["weight"])
bottom.set(xlabel="candidate", ylabel="weight")
bottom.set_xticks(places, table["name"], rotation=90)
plt.show()
