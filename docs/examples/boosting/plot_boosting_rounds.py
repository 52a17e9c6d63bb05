"""
How many rounds: the path of the folds
======================================

`n_estimators="cv"` fits five folds side by side and scores the rows that each leaves out after
every round. This example draws the path of the folds, and compares three ways to use it. You can
fit all rows again with the rounds of the minimum, or with fewer rounds by the one-standard-error
rule. Or you can take the mean of the models of the folds, without a further fit.
"""

# %%
# Friedman's function of five of ten features; 500 rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import GradientBoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import CVPathDisplay

X, y = make_friedman1(500, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(2000, noise=0.0, random_state=1)
model = GradientBoostingRegressor(n_estimators="cv", random_state=0).fit(X, y)
n_compared = len(model.cv_results_["n_estimators"])
print(f"{model.n_estimators_} rounds of {n_compared} compared")

# %%
# The mean of the folds with a band of one standard error. The folds differ in level, as some rows
# are more difficult than others, and much less in form: the band is about the level.
display = CVPathDisplay.from_estimator(model)
plt.show()

# %%
# The errors on new rows, against the true function, over five training sets. The one-standard-error
# rule has about half of the rounds, and a model that is smaller and here clearly less accurate. The
# mean of the folds is the most accurate: an average of five models, each of 80 % of the rows.
choices = {
    "100 rounds": {"n_estimators": 100},
    '"cv"': {"n_estimators": "cv"},
    "one standard error": {"n_estimators": CVRounds(rule="one_standard_error")},
    "mean of the folds": {"n_estimators": CVRounds(prediction="mean")},
}
errors, least = {name: [] for name in choices}, []
for seed in range(5):
    X, y = make_friedman1(500, noise=1.0, random_state=10 + seed)
    for name, options in choices.items():
        model = GradientBoostingRegressor(random_state=0, **options).fit(X, y)
        errors[name].append(np.mean((model.predict(X_test) - y_test) ** 2))
    longest = GradientBoostingRegressor(n_estimators=600, random_state=0).fit(X, y)
    least.append(min(np.mean((p - y_test) ** 2) for p in longest.staged_predict(X_test)))
for name, values in errors.items():
    ratio = np.mean(values) / np.mean(least)
    print(f"{name:20s} error {np.mean(values):.3f}, {ratio:.2f} of the least")
mean = {name: np.mean(values) for name, values in errors.items()}
assert mean['"cv"'] < 1.03 * np.mean(least)
assert mean["mean of the folds"] < 0.98 * np.mean(least)
assert mean["mean of the folds"] < mean['"cv"'] < mean["one standard error"] < mean["100 rounds"]

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for place, values in enumerate(errors.values()):
    axis.plot(np.array(values) / least, np.full(5, place), "o", color="C0", alpha=0.6, mew=0)
    axis.plot(np.mean(values) / np.mean(least), place, "|", color="k", ms=16, mew=2)
axis.axvline(1, color="0.5", lw=0.8)
axis.set_yticks(range(len(errors)), errors)
axis.set(xlabel="error / least error of any number of rounds", ylim=(-0.5, len(errors) - 0.5))
axis.invert_yaxis()
plt.show()
