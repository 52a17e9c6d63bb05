"""
AdaBoost: edges, error bounds and margins
=========================================

AdaBoost needs weak learners whose weighted error is below 1/2 by some edge in every round.
[Ghoshdastidar, theorem En.4] bounds the training error in terms of the edges. The margins show how
the fit changes after the training error is 0.
"""

# %%
# Two classes separated by a circle. A single stump does not separate them; a weighted vote of
# stumps does so approximately.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import AdaBoostClassifier


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 0.6, 1, -1)


X, y = sample(400, 0)
X_test, y_test = sample(10_000, 1)
model = AdaBoostClassifier(n_estimators=600).fit(X, y)

# %%
# Each round multiplies the exponential risk by 2 sqrt(eps (1 - eps)). The product bounds the
# training error, and is bounded by exp(-2 gamma² T) where every edge is at least gamma.
T = np.arange(1, 601)
train = 1 - np.array(list(model.staged_score(X, y)))
test = 1 - np.array(list(model.staged_score(X_test, y_test)))
gamma = model.edges_.min()

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(T, model.edges_, lw=0.8)
left.axhline(gamma, color="0.5", ls=":", label=f"smallest edge, {gamma:.3f}")
left.set(xlabel="round", ylabel="edge 1/2 - eps", ylim=(0, None), title="edge of each stump")
left.legend()
right.plot(T, train, label="training error")
right.plot(T, test, label="test error")
right.plot(T, model.training_error_bounds_, label="product of 2 sqrt(eps(1-eps))")
right.plot(T, np.exp(-2 * gamma**2 * T), "k:", label="exp(-2 gamma² T)")
right.set(xlabel="round", ylabel="error", ylim=(0, 0.5), title="training error and its bounds")
right.legend()
plt.show()

# %%
# The training error is 0 long before the last round, and hundreds of further rounds hardly change
# the test error. The margin, y f(x) divided by the sum of the coefficients, is in [-1, 1] and
# measures how clear the vote is. Further rounds increase the smallest margins, of rows near the
# circle, and decrease the large margins.
print(f"no training error after round {T[train > 0][-1]}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
smallest = []
for rounds in [10, 30, 100, 600]:
    margins = np.sort(AdaBoostClassifier(n_estimators=rounds).fit(X, y).margins(X, y))
    smallest.append(margins[0])
    left.step(margins, np.linspace(0, 1, len(y)), where="post", label=f"{rounds} rounds")
left.axvline(0, color="0.5", lw=0.8)
left.set(xlabel="margin", ylabel="share of rows below", title="margins of the training rows")
left.legend()
grid = np.stack(np.meshgrid(np.linspace(-1, 1, 200), np.linspace(-1, 1, 200)), axis=-1)
score = model.decision_function(grid.reshape(-1, 2)).reshape(200, 200) / 2
image = right.imshow(score, origin="lower", extent=(-1, 1, -1, 1), cmap="RdBu", vmin=-0.3, vmax=0.3)
right.contour(grid[..., 0], grid[..., 1], score, levels=[0], colors="k", linewidths=1)
right.add_patch(plt.Circle((0, 0), np.sqrt(0.6), fill=False, ls="--"))
right.set(title="weighted mean of 600 votes", aspect="equal")
right.set(xlabel="feature 0", ylabel="feature 1")
figure.colorbar(image, ax=right, shrink=0.85)
plt.show()

print("smallest margin after 10, 30, 100, 600 rounds:", np.round(smallest, 3))
