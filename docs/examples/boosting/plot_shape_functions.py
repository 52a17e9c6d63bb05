"""
Shape functions of an additive model
====================================

Each stump depends on one feature. The sum of the stumps of a feature is a step function, its *shape
function*, and the prediction is the intercept plus the values of the p shape functions.
`L2BoostingRegressor` stores them in `shape_functions_`, centred on the training rows, in units of
the target.

The data: 442 diabetes patients, ten baseline variables, and the progression of the disease a year
later, on a scale from 25 to 346.
"""

# %%
# `n_estimators="cv"` selects the numbers of smoothing rounds and of stumps with the smallest
# squared error over five folds. In these data the functions are smooth, and hardly any stump is
# needed.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from sklearn_ensemble_theory import BaggingRegressor, L2BoostingRegressor
from sklearn_ensemble_theory.boosting import CVRounds

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = L2BoostingRegressor(CVRounds(max_estimators=4_000), learning_rate=0.01)
model.fit(X, y)
r2 = cross_val_score(model, X, y, cv=5)
print(f"{model.n_smoothing_rounds_} smoothing rounds, {model.n_estimators_} stumps")
print(f"R² over five outer folds: {r2.mean():.3f}")

# %%
# Fits to bootstrap samples of the patients show how much the functions vary. Each fit selects its
# own number of rounds.
bag = BaggingRegressor(model, n_estimators=40, random_state=0).fit(X, y)


def value_at(member, j, x):
    """Shape function j of a fitted model, at points x."""
    edges, values = member.shape_functions_[j]
    return values[np.searchsorted(edges, x)]


# %%
# The six most important functions. The line is the fit, the band contains the middle 80 % of the
# bootstrap fits at each point, and the ticks are the patients.
order = np.argsort(model.feature_importances_)[::-1][:6]
names = {"s5": "s5: log triglycerides", "s3": "s3: HDL cholesterol", "s6": "s6: blood sugar"}
figure, axes = plt.subplots(2, 3, figsize=(10, 5.6), sharey=True, layout="constrained")
for axis, j in zip(axes.flat, order):
    column = X.iloc[:, j]
    x = np.linspace(column.min(), column.max(), 400)
    resampled = np.array([value_at(member, j, x) for member in bag.estimators_])
    axis.fill_between(x, *np.quantile(resampled, [0.1, 0.9], axis=0), color="C0", alpha=0.2, lw=0)
    axis.plot(x, value_at(model, j, x), color="C0", lw=1.8)
    axis.plot(column, np.full(len(X), -55.0), "|", color="0.4", ms=5, alpha=0.4)
    axis.axhline(0, color="0.7", lw=0.8)
    axis.set_xlabel(X.columns[j])
    axis.set_title(
        f"{names.get(X.columns[j], X.columns[j])} ({model.feature_importances_[j]:.0%})",
        fontsize=10,
    )
for axis in axes[:, 0]:
    axis.set_ylabel("progression, added")
figure.suptitle(f"Six of ten shape functions; intercept {model.intercept_:.0f}")

# %%
# `predict_terms` returns the terms of the sum for given patients.
patient = X.iloc[[3]]
terms = model.predict_terms(patient)[0]
for j in np.argsort(-np.abs(terms))[:5]:
    print(f"{X.columns[j]:>4} = {patient.iloc[0, j]:7.2f}   adds {terms[j]:+6.1f}")
print(
    f"intercept {model.intercept_:.1f} + terms {terms.sum():+.1f} = {model.predict(patient)[0]:.1f}"
)

plt.show()
