"""
Componentwise boosting: the best feature in each round
======================================================

Each round fits a smoothing spline of each feature to the residuals, and adds a small multiple of
the one that lowers their squares most [Bühlmann and Yu 2003; Bühlmann and Hothorn 2007]. The model
is additive, and features that are never the best are not in it.
"""

# %%
# Three of twenty features matter. Five-fold cross-validation chooses the number of rounds; the
# folds are computed from sums over their rows, and a round reads no row at all.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor

rng = np.random.default_rng(0)
effects = [lambda x: np.sin(4 * x), lambda x: 2 * x**2, np.abs]


def make_data(n):
    X = rng.uniform(-1, 1, size=(n, 20))
    f = sum(effect(X[:, j]) for j, effect in enumerate(effects))
    return X, f + 0.5 * rng.standard_normal(n)


X, y = make_data(300)
spline = SmoothingSplineRegressor(df=4)
model = LinearL2BoostingRegressor(spline, variant="best_feature", learning_rate=0.1, time="cv")
model.fit(X, y)
print(f"{model.n_estimators_} rounds, {len(np.unique(model.selected_features_))} features selected")

# %%
# Errors against the number of rounds. The test error increases slowly after its minimum.
X_test, y_test = make_data(2000)
rounds = np.arange(1, len(model.cv_results_["time"]))
test = ((y_test[:, None] - model.predict_path(X_test, model.cv_results_["time"])) ** 2).mean(axis=0)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for errors, label in [
    (model.training_error(model.cv_results_["time"]), "training"),
    (model.cv_results_["mean_score"], "cross-validation"),
    (test, "test"),
]:
    axes[0].plot(rounds, errors[1:], label=label)
axes[0].axvline(model.n_estimators_, color="0.5", linestyle=":", label="chosen")
axes[0].set(xscale="log", xlabel="rounds", ylabel="mean squared error")
axes[0].legend()
axes[1].bar(np.arange(20), model.feature_importances_)
axes[1].set(xticks=range(0, 20, 5), xlabel="feature", ylabel="share in the decrease of errors")
plt.show()

# %%
# The terms of the three features, with the effects that generated the data, both centred. The last
# panel has the term of the next feature, which does not matter.
grid = np.zeros((200, 20))
x = np.linspace(-1, 1, 200)
figure, axes = plt.subplots(1, 4, figsize=(12, 3), sharey=True, layout="constrained")
for j, axis in enumerate(axes):
    points = grid.copy()
    points[:, j] = x
    if j < len(effects):
        effect = effects[j](x)
        axis.plot(x, effect - effect.mean(), color="0.6", label="effect")
    axis.plot(x, model.predict_terms(points)[:, j], label="fitted term")
    axis.set(xlabel=f"feature {j}", title=f"chosen {np.sum(model.selected_features_ == j)} times")
axes[0].set_ylabel("effect, centred")
axes[0].legend(fontsize="small")
plt.show()

# %%
# Compared with the same splines fitted to all features in every round, and with random features.
for label, other in [
    ("best feature", model),
    ("all features", LinearL2BoostingRegressor(spline)),
    ("random features", LinearL2BoostingRegressor(spline, variant="random_feature")),
    ("joint splines", SmoothingSplineRegressor()),
]:
    error = np.mean((other.fit(X, y).predict(X_test) - y_test) ** 2)
    print(f"{label:16s} test error {error:.3f}")
