"""
Rows that belong together: groups and blocks
============================================

Bagging draws rows as if they were independent. Several rows of one patient are not, and neither are
consecutive rows of a time series. This example draws whole groups, and blocks of consecutive rows,
and compares out-of-bag errors and standard errors with the truth, over fresh data.
"""

# %%
# Patients with five visits each. Features and target have an effect of the patient: the visits of
# one patient are close to each other in both.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import BaggingRegressor, RandomForestRegressor


def visits(seed, n_patients=60, n_visits=5):
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), n_visits)
    X = rng.standard_normal((n_patients, 3))[patient]
    X = X + 0.1 * rng.standard_normal(X.shape)
    return X, X[:, 0] + rng.standard_normal(n_patients)[patient], patient


X_new, y_new, _ = visits(100, n_patients=1000)
found = {"rows drawn": [], "patients drawn": []}
for seed in range(10):
    X, y, patient = visits(seed)
    for name, groups in zip(found, [None, patient]):
        forest = RandomForestRegressor(100, oob_score=True, random_state=seed)
        forest.fit(X, y, groups=groups)
        out_of_bag, new = forest.oob_prediction_ - y, forest.predict(X_new) - y_new
        found[name].append([np.mean(out_of_bag**2), np.mean(new**2)])
errors = {name: np.mean(pairs, axis=0) for name, pairs in found.items()}
spreads = {name: np.std(pairs, axis=0, ddof=1) / 10**0.5 for name, pairs in found.items()}

# %%
# A series e_t + 0.8 e_(t-1) around a line. Least squares and its mean over bootstrap samples are
# nearly the same, so the true standard error of the line is known.
n = 400
time = np.linspace(0, 1, n)[:, None]
Z = np.column_stack([np.ones(n), time])
lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
hat = Z @ np.linalg.pinv(Z)
true = np.sqrt(np.diag(hat @ (1.64 * (lag == 0) + 0.8 * (lag == 1)) @ hat.T))


def standard_error(seed, **draws):
    noise = np.random.default_rng(seed).standard_normal(n + 1)
    bag = BaggingRegressor(LinearRegression(), 150, random_state=seed, **draws)
    return bag.fit(time, noise[1:] + 0.8 * noise[:-1]).standard_error(time)


schemes = {"rows drawn": {}, "blocks drawn": {"bootstrap": "moving_block"}}
found = {
    name: np.array([standard_error(seed, **draws) for seed in range(12)])
    for name, draws in schemes.items()
}

# %%
# Left: if rows are drawn, the out-of-bag error is for a further visit of a known patient, far below
# the error for new patients. If patients are drawn it is honest. Right: the standard error over
# rows is too small, since it misses the covariances; the one over blocks is close to the true value
# on average.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
places = np.arange(len(errors))
for shift, label, kind in [(-0.2, "out-of-bag error", 0), (0.2, "error for new patients", 1)]:
    means, bars = ([pair[kind] for pair in part.values()] for part in (errors, spreads))
    left.bar(places + shift, means, 0.38, yerr=bars, capsize=3, label=label)
left.set_xticks(places, list(errors))
left.set(ylabel="mean squared error", ylim=(0, 1.8), title="Visits of patients")
left.legend()
for name, values in found.items():
    mean = np.sqrt(np.mean(values**2, axis=0))
    ratio = np.mean(mean) / np.mean(true)
    right.plot(time, mean, label=f"{name}: {ratio:.2f} of the true value")
right.plot(time, true, "k--", label="true")
right.set(
    xlabel="time",
    ylabel="standard error of the line",
    ylim=(0, None),
    title="A line through a series",
)
right.legend(loc="lower center")
plt.show()

for name, (out_of_bag, new) in errors.items():
    print(f"{name}: out-of-bag error {out_of_bag:.2f}, for new patients {new:.2f}")
