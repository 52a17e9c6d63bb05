"""
Standard errors of gradient boosting
====================================

How much would a prediction change with another training set? `standard_error` splits the rows into
halves twenty times, fits the model to each half, and estimates the change from how the fits differ.

This example draws the band of `confidence_interval` along one feature, and compares the standard
errors with the true value, the standard deviation of the predictions over independent training
sets.
"""

# %%
# One feature, a target with a kink and a jump, and more noise on the right.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sklearn_ensemble_theory import GradientBoostingRegressor
from sklearn_ensemble_theory.inspection import PredictionBandDisplay

n_rows = 400
x = np.linspace(0.01, 0.99, 99)


def target(x):
    return np.abs(3 * x - 1) - 1.2 * (x > 0.6)


def fitted(seed, **options):
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, 1))
    noise = (0.1 + 0.5 * rows[:, 0]) * rng.standard_normal(n_rows)
    model = GradientBoostingRegressor(n_estimators=50, max_depth=2, random_state=0, **options)
    return model.fit(rows, target(rows[:, 0]) + noise), rows[:, 0], noise


# %%
# One training set. The narrow band is for the prediction: nine of ten such bands contain the
# expected prediction over training sets. The wide one is for new targets, which have noise. Neither
# the standard error nor the band includes bias. Trees of few leaves round off steep parts: next to
# the jump the band is narrow, but the target is outside.
model, rows, noise = fitted(0, held_out=10)
low, high = model.confidence_interval(x[:, None], coverage=0.9).T
outer_low, outer_high = model.predict_interval(x[:, None], coverage=0.9, method="normalized").T
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
axis.plot(rows, target(rows) + noise, ".", color="0.7", ms=3, label="training rows")
axis.fill_between(x, outer_low, outer_high, alpha=0.2, lw=0, label="predict_interval")
axis.fill_between(x, low, high, alpha=0.5, lw=0, label="confidence_interval")
axis.plot(x, model.predict(x[:, None]), label="prediction")
axis.plot(x, target(x), "k--", lw=1, label="target")
axis.set(xlabel="x", ylabel="y")
axis.legend(ncols=3, loc="upper left", fontsize="small")
axis.set_ylim(-1.6, 2.9)
plt.show()

# %%
# The truth, from sixty training sets, and estimates. Each estimate is from a single training set,
# and varies around the truth. The root of their mean square, over x and ten training sets, is about
# a tenth above the truth.
others = [fitted(seed)[0] for seed in range(1, 61)]
predictions = np.array([other.predict(x[:, None]) for other in others])
truth = predictions.std(axis=0, ddof=1)
estimates = np.array(
    [fitted(seed, held_out=10)[0].standard_error(x[:, None]) for seed in range(1, 11)]
)
ratio = np.sqrt(np.mean(estimates**2) / np.mean(truth**2))
print(f"estimated / true: {ratio:.2f}")
assert 0.9 < ratio < 1.2

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for number, estimate in enumerate(estimates[:3]):
    label = "standard_error, of three training sets" if number == 0 else None
    axis.plot(x, estimate, color="C0", lw=1, label=label)
axis.plot(x, truth, "k", lw=2, label="true, over 60 training sets")
axis.set(xlabel="x", ylabel="standard deviation", ylim=(0, None))
axis.legend()
plt.show()

# %%
# Does the band contain what it is about? The expected prediction, here the mean over the sixty
# training sets, and the target itself, from which it differs by the bias.
mean = predictions.mean(axis=0)
half = 1.645 * estimates
about_mean = np.abs(predictions[:10] - mean) <= half
about_target = np.abs(predictions[:10] - target(x)) <= half
jump = np.abs(x - 0.6) < 0.02
print(f"contains the expected prediction: {about_mean.mean():.0%}")
at_jump = about_target[:, jump].mean()
print(f"contains the target: {about_target.mean():.0%}, beside the jump {at_jump:.0%}")
assert 0.85 < about_mean.mean() < 0.97
assert at_jump < about_mean.mean() - 0.2

# %%
# With several features, `PredictionBandDisplay` draws both bands along one of them; the others have
# the values of a reference row, their medians.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(n_estimators=50, held_out=10, random_state=0)
PredictionBandDisplay.from_estimator(model.fit(X, y), X, ["bmi", "bp"], y=y)
plt.show()
