"""
Losses against margins
======================

A classifier with the sign of a score u errs where the margin m = y u is negative. The number of
errors can hardly be minimised over the coefficients of a linear score, because it is not convex and
constant almost everywhere. Convex surrogates can [Shah, §3.3; DS-GA 1003, lecture 8].
"""

# %%
# The 0-1 loss and its surrogates. The logistic loss is divided by log 2 here. All losses are then 1
# at a margin of 0 and nowhere below the 0-1 loss.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory.bounds import is_classification_calibrated
from sklearn_ensemble_theory.inspection import ConditionalRiskDisplay

losses = {
    "hinge, (1 - m)+": lambda m: np.maximum(1 - m, 0),
    "logistic, log(1 + exp(-m)) / log 2": lambda m: np.logaddexp(0, -m) / np.log(2),
    "exponential, exp(-m)": lambda m: np.exp(-m),
    "squared, (1 - m)²": lambda m: (1 - m) ** 2,
    "perceptron, (-m)+": lambda m: np.maximum(-m, 0),
}
m = np.linspace(-2, 3, 501)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.step(m, m <= 0, "k", lw=2, where="mid", label="0-1 loss")
for name, phi in losses.items():
    axes.plot(m, phi(m), "--" if name.startswith("perceptron") else "-", label=name)
axes.set(xlabel="margin m = y u", ylabel="loss", ylim=(-0.1, 4), title="losses against the margin")
axes.legend()
plt.show()

# %%
# A mean surrogate loss is then an upper bound on the share of errors, except for the perceptron's.
# That alone does not make its minimiser a good classifier. A surrogate is *classification
# calibrated* if the score with the smallest expected loss has the sign of the more probable class,
# for any probability of the classes. For convex losses this means that the derivative at 0 exists
# and is negative [Shah, definition 7 and theorem 18].
for name, phi in losses.items():
    print(f"{name:36} calibrated: {is_classification_calibrated(phi)}")

# %%
# The expected loss of a score, where the class +1 has the probability 0.7 or 0.9. Scores of the
# wrong sign are dashed. The calibrated losses have their minima at positive scores. The
# perceptron's minimum is at 0, so the right sign gains nothing.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, name in zip(axes, ["hinge", "logistic", "perceptron"]):
    phi = next(phi for label, phi in losses.items() if label.startswith(name))
    display = ConditionalRiskDisplay.from_loss(phi, eta=[0.7, 0.9], ax=ax)
    ax.set(title=name, ylim=(0, 3))
    print(
        f"{name:12} best scores {display.best_scores}, least risks {display.least_risks.round(3)}"
    )
plt.show()
