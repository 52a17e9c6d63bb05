"""
An interval as a vote of three stumps
=====================================

A decision stump cannot be +1 inside an interval and -1 on both sides of it, but it is right on two
of the three parts of the line. So for any weights of the rows some stump has an error of at most
1/3: stumps are weak learners of intervals, with an edge of at least 1/6 [Ghoshdastidar]. A vote of
three stumps is the interval itself.
"""

# %%
# The interval (3, 6], and three stumps: each errs on one of the three parts, and on each part two
# of three are right.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier
from sklearn_ensemble_theory.bounds import gauge
from sklearn_ensemble_theory.erm import stump_dictionary

x = np.linspace(0.05, 8.95, 90)
interval = np.where((x > 3) & (x <= 6), 1, -1)
stumps = {
    "+1 above 3": np.where(x > 3, 1, -1),
    "+1 up to 6": np.where(x <= 6, 1, -1),
    "always -1": np.full(90, -1),
}

figure, panels = plt.subplots(2, 2, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
total = np.sum(list(stumps.values()), axis=0)
for panel, (name, h) in zip(panels.flat, [*stumps.items(), ("sum of the three", total)]):
    panel.axvspan(3, 6, color="C1", alpha=0.2, label="interval")
    panel.step(x, h, where="mid", color="C0" if name in stumps else "C3")
    wrong = h * interval < 0
    panel.plot(x[wrong], h[wrong], "kx", ms=4, label="errors" if wrong.any() else None)
    panel.axhline(0, color="0.7", lw=0.8)
    panel.set(ylim=(-1.6, 1.6), yticks=[-1, 0, 1], title=name)
panels[0, 0].legend(loc="upper left")
for panel in panels[:, 0]:
    panel.set_ylabel("output")
for panel in panels[1]:
    panel.set_xlabel("x")
plt.show()

# %%
# For 500 random weights of the rows, the error of the best stump is at most the smallest weight of
# a part, and so at most 1/3. Equal weights of the parts attain it.
rng = np.random.default_rng(0)
parts = np.digitize(x, [3, 6])
smallest, errors = [], []
for _ in range(500):
    weight = rng.dirichlet([1, 1, 1])[parts] * rng.exponential(size=90)
    weight /= weight.sum()
    stump = DecisionStumpClassifier().fit(x[:, None], interval, sample_weight=weight)
    smallest.append(np.bincount(parts, weight).min())
    errors.append(stump.training_error_)

figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
panel.plot(smallest, errors, ".", ms=4, label="random weights")
panel.plot([0, 1 / 3], [0, 1 / 3], color="0.5", label="smallest weight of a part")
panel.plot(1 / 3, 1 / 3, "C3o", label="equal weights of the parts")
panel.axhline(1 / 3, color="C3", ls=":")
panel.set(xlabel="smallest weight of a part", ylabel="error of the best stump", ylim=(0, 0.4))
panel.legend(loc="lower right")
plt.show()

# %%
# AdaBoost finds three stumps with coefficients that reproduce the interval. Its edges are at least
# 1/6. The variation norm of the interval over stumps is 3: no weighted sum of stumps with smaller
# coefficients is +1 inside and -1 outside, and a vote of two stumps never is.
model = AdaBoostClassifier(n_estimators=3).fit(x[:, None], interval)
print(f"training error after three rounds: {np.mean(model.predict(x[:, None]) != interval):.0f}")
print("edges:", model.edges_.round(3))
norm = gauge(stump_dictionary(x[:, None]).outputs, interval).value
print(f"variation norm of the interval: {norm:.3f}")
