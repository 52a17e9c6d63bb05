"""
AdaBoost on an interval: how the weights move
=============================================

An interval makes three parts of the line, and some decision stump is right on two of them. It is
therefore better than chance for any weights of the rows: stumps learn intervals weakly
[Ghoshdastidar]; see :ref:`sphx_glr_auto_examples_boosting_plot_interval_by_stumps.py`. AdaBoost
makes one interval of them within three rounds. What happens afterwards is shown here.
"""

# %%
# AdaBoost gives half of the weight to the rows of the part on which a stump erred, so the next
# stump errs on another part. The weights soon nearly repeat every three rounds, and the edge of the
# best stump is about (sqrt(5) - 1)/4 = 0.309; it is never below 1/6, its value for three equal
# parts. So the exponential risk is multiplied by at most sqrt(1 - 4/36) in each round.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import AdaBoostClassifier, bounds

s, t = 0.35, 0.7
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(size=200))
y = np.where((x > s) & (x < t), 1, -1)
model = AdaBoostClassifier(n_estimators=40).fit(x[:, None], y)
weight, shares = np.full(200, 1 / 200), []
for member in model.estimators_:
    shares.append([weight[x <= s].sum(), weight[y == 1].sum(), weight[x >= t].sum()])
    weight = bounds.adaboost_weights(weight, member.predict(x[:, None]) != y)
shares = np.array(shares)
error = bounds.interval_stump_error(*shares.T)
rounds = np.arange(1, 41)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(rounds[:15], shares[:15], "o-", ms=3, label=["left of s", "inside", "right of t"])
left.axhline(1 / 3, color="0.5", ls=":")
left.set(xlabel="round", ylabel="share of the weight", ylim=(0.15, 0.58))
left.set_title("weights of the three parts")
left.legend(ncols=3, loc="upper center")
right.plot(rounds[:15], 0.5 - error[:15], label="1/2 - least share")
right.plot(rounds[:15], model.edges_[:15], "k.", ms=4, label="edge of the fitted stump")
right.axhline(1 / 6, color="0.5", ls=":", label="1/6")
right.set(xlabel="round", ylabel="edge", ylim=(0, None), title="edges")
right.legend()
plt.show()
print("largest difference:", np.abs(model.edges_ - (0.5 - error)).max())

# %%
# The bound of [Ghoshdastidar, theorem En.4] guarantees that all rows are right after
# ln n / (2 gamma²) rounds; three were enough here.
staged = 1 - np.array(list(model.staged_score(x[:, None], y)))
print("guaranteed after", bounds.adaboost_n_rounds(200, edge=1 / 6), "rounds")
print("no training error after round", rounds[staged > 0][-1])
