"""
Learning rates and the cross-validated path of L2-boosting
==========================================================

With a learning rate of 1 each stump is added in full. With a rate of 0.001 only a thousandth of it
is added, and a thousand times as many rounds are needed. Friedman (2001) observed that smaller
steps predict better, up to a point: the last part measures where that is here. With
`L2BoostingRegressor` small steps are fast. The cost of a round does not depend on the number of
rows, and the same sums give the held-out error of every round of every fold.

This example fits the same problem with four rates, without the smoothing rounds that come first by
default. The number of rounds times the learning rate,
called the *time*, is comparable between them.
"""

# %%
# An additive target of four smooth and one discontinuous function of ten features, with noise of
# variance 1.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 10))
    mean = 1.5 * np.sin(3 * X[:, 0]) + 2 * X[:, 1] ** 2 + X[:, 2] + np.exp(X[:, 3])
    mean += 1.5 * (X[:, 4] > 0.3)
    return X, mean + rng.standard_normal(n)


X, y = sample(400, 0)
X_test, y_test = sample(20_000, 1)
time = 60.0

# %%
# One fit for each rate: the whole path of five folds, the best number of rounds, and the fit to all
# rows.
rates = [1.0, 0.3, 0.1, 0.001]
models = [
    L2BoostingRegressor(
        CVRounds(max_estimators=round(time / rate)), learning_rate=rate, smoothing_rounds=0
    ).fit(X, y)
    for rate in rates
]
for rate, model in zip(rates, models):
    error = np.mean((y_test - model.predict(X_test)) ** 2)
    print(
        f"rate {rate:5g}: {model.n_estimators_:6d} rounds, "
        f"error by folds {model.cv_results_['mean_score'].min():.3f}, on new rows {error:.3f}"
    )

# %%
# On the left, the mean over folds, with a dot at the minimum. The error of the rate 1 is larger at
# all times after the first rounds. As the rate decreases, the paths approach one smooth curve. On
# the right, the folds of the smallest rate and the training error, which always decreases. The
# differences between folds are much larger than those between rounds near the minimum.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for rate, model, color in zip(rates, models, ["C3", "C1", "C2", "C0"]):
    path = model.cv_results_["mean_score"]
    times = rate * np.arange(len(path))
    left.plot(times, path, color=color, lw=1.3, label=f"{rate:g}")
    left.plot(times[model.n_estimators_], path.min(), "o", color=color, ms=6)
left.set(xlim=(0, time), ylim=(1.15, 2.0), xlabel="rounds times learning rate")
left.set_ylabel("mean squared error, held out")
left.legend(title="learning rate", loc="upper right")
model = models[-1]
rate = rates[-1]
results = model.cv_results_
times = rate * results["n_estimators"]
for fold in range(5):
    right.plot(times, results[f"split{fold}_score"], color="C0", lw=0.8, alpha=0.6)
right.plot(times, results["mean_score"], color="C0", lw=2, label="held out, five folds")
longer = L2BoostingRegressor(
    round(time / rate), learning_rate=rate, smoothing_rounds=0, interactions=0
).fit(X, y)
right.plot(
    rate * np.arange(len(longer.train_scores_)),
    longer.train_scores_,
    color="0.4",
    lw=1.5,
    label="training",
)
right.axvline(rate * model.n_estimators_, color="C0", ls=":", lw=1)
right.axhline(1, color="0.7", lw=0.8)
right.text(0.5, 1.01, "noise", color="0.4", ha="left", va="bottom", fontsize=9)
right.set(xlim=(0, time), ylim=(0.6, 2.0), xlabel="rounds times learning rate")
right.set_ylabel("mean squared error")
right.set_title(f"learning rate {rate:g}", fontsize=10)
right.legend(loc="upper right")
plt.show()

# %%
# One sample says little about rates that are close to each other. The errors on new rows over ten
# samples, minus the errors of the smallest rate, with standard errors. Full steps are much worse,
# and a rate of 0.1 predicts as well as a hundredth of it.
errors = np.empty((10, len(rates)))
for seed, row in enumerate(errors):
    X, y = sample(400, 100 + seed)
    for k, rate in enumerate(rates):
        model = L2BoostingRegressor(
            CVRounds(max_estimators=round(time / rate)), learning_rate=rate, smoothing_rounds=0
        )
        row[k] = np.mean((y_test - model.fit(X, y).predict(X_test)) ** 2)
excess = errors[:, :-1] - errors[:, -1:]
spread = excess.std(axis=0, ddof=1) / np.sqrt(len(excess))
for rate, more, sigma in zip(rates, excess.mean(axis=0), spread):
    print(f"rate {rate:3g}: {more:+.4f}, standard error {sigma:.4f}")
