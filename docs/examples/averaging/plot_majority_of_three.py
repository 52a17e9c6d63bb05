"""
The majority of three empirical risk minimisers
===============================================

Suppose that the labels follow a rule of a class of VC dimension d. A classifier of the class
without errors on n rows can have an error of order (d/n) ln(n/d), but no method needs to be worse
than d/n. A vote of three such classifiers, fitted to a third of the rows each, is never worse than
a constant times d/n [Aden-Ali, Høgsgaard, Larsen and Zhivotovskiy, 2024; Rawal and Zhivotovskiy,
2026]; neither is bagging [Larsen, 2023]. Here all three meet the rows and the classifier for which
the logarithm is needed.
"""

# %%
# X is the number of one of m cards, drawn with equal probability, or -1 for half of the rows. Only
# -1 has the label 1. The class has the rules "-1, and at most d of the cards". The worst rule
# without errors on the rows takes d cards that have not been drawn. As in an album of cards, some
# are missing until about m ln m have been drawn.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_ensemble_theory import BaggingClassifier, DivideAndConquerClassifier


class WorstRule(ClassifierMixin, BaseEstimator):
    """The rule without errors that takes the first d cards that are not among the rows."""

    def __init__(self, d=3, m=100):
        self.d, self.m = d, m

    def fit(self, X, y):
        drawn = X[:, 0].astype(int)
        self.classes_ = np.array([0, 1])
        self.takes_ = np.zeros(self.m + 1, dtype=bool)
        self.takes_[np.setdiff1d(np.arange(self.m), drawn)[: self.d]] = True
        self.takes_[-1] = True
        return self

    def predict(self, X):
        return self.takes_[X[:, 0].astype(int)].astype(int)


d = 3


def learners(m):
    rule = WorstRule(d, m)
    # The blocks have to be independent: `stratify` would spread the classes over them.
    three = DivideAndConquerClassifier(
        rule, n_blocks=3, voting="hard", weighting="uniform", stratify=False, random_state=0
    )
    bag = BaggingClassifier(rule, "pac", voting="hard", random_state=0)
    return {"one": rule, "majority of three": three, "bagging": bag}


# %%
# The error is the share of the cards that a rule takes, times 1/2. For each number of rows the
# number of cards is the worst one for each of the methods, among some.
rng = np.random.default_rng(0)
sizes = [200, 600, 2_000, 6_000, 20_000]
ratios = {name: np.zeros(len(sizes)) for name in learners(1)}
for i, n in enumerate(sizes):
    for unseen in (0.5, 0.37, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002):
        m = int(n / 2 / np.log(1 / unseen))  # the share of the cards that are not drawn
        for name, learner in learners(m).items():
            # Bagging takes some 200 fits; it is worst where many cards are not drawn.
            if name == "bagging" and unseen < 0.2:
                continue
            errors = []
            for _ in range(2 if name == "bagging" else 20):
                X = np.where(rng.random(n) < 0.5, -1, rng.integers(0, m, n))[:, None]
                model = learner.fit(X, (X[:, 0] < 0).astype(int))
                errors.append(np.mean(model.predict(np.arange(m)[:, None]) != 0) / 2)
            ratios[name][i] = max(ratios[name][i], np.mean(errors) * n / d)

# %%
# In units of d/n the error of one rule grows with the logarithm of the rows, and the errors of the
# votes do not. The votes pay for it where rows are few, or the rows are not the worst ones.
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, values), marker in zip(ratios.items(), "osD"):
    axis.plot(sizes, values, marker=marker, label=name)
axis.set(
    xscale="log",
    ylim=(0, None),
    xlabel="number n of rows",
    ylabel="worst error, in units of d/n",
    title="Rules without training errors, and their votes",
)
axis.legend()
plt.show()

assert ratios["one"][-1] > 1.7 * ratios["one"][0]
assert ratios["majority of three"][-1] < 2.6
