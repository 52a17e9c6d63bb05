"""
Random cuts and noise
=====================

The trees of `ExtraTreesRegressor` draw their cuts at random, those of `RandomForestRegressor` take
the best ones. Random cuts do not follow the noise in y: two trees are less correlated, and less is
gained by averaging trees whose cuts are the best for the same noise.
"""

# %%
# Ten features, of which five matter, and noise of increasing standard deviation. Both forests draw
# rows with replacement, so that the variance decomposition is available for both.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import ExtraTreesRegressor, RandomForestRegressor

forests = {"random forest": RandomForestRegressor, "extra trees": ExtraTreesRegressor}
noises = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
X_new, mean = make_friedman1(1000, noise=0.0, random_state=1)

errors = {name: [] for name in forests}
correlations = {name: [] for name in forests}
for noise in noises:
    X, y = make_friedman1(300, noise=noise, random_state=0)
    for name, Forest in forests.items():
        model = Forest(300, bootstrap=True, random_state=0).fit(X, y)
        errors[name].append(np.sqrt(np.mean((model.predict(X_new) - mean) ** 2)))
        correlations[name].append(model.variance_decomposition(X_new[:100]).rho.mean())

# %%
# With little noise both forests have about the same error, with much noise that of random cuts is
# smaller. The correlation of two trees is smaller throughout.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for name in forests:
    axes[0].plot(noises, errors[name], marker="o", label=name)
    axes[1].plot(noises, correlations[name], marker="o", label=name)
axes[0].set(xscale="log", ylabel="root mean squared error of the mean of y", ylim=(0, None))
axes[1].set(xscale="log", ylabel="correlation of two trees", ylim=(0, None))
for axis in axes:
    axis.set_xlabel("standard deviation of the noise")
    axis.set_xticks(noises, labels=[f"{noise:g}" for noise in noises])
    axis.minorticks_off()
    axis.legend()
plt.show()
