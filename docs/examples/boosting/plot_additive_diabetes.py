"""
Reading an additive model: the progression of diabetes
======================================================

An additive model predicts the intercept plus one function of each feature, so you can draw
everything it has learned. This example fits `L2BoostingRegressor` to 442 diabetes patients with ten
baseline variables, whose target is the progression of the disease a year later, on a scale from 25
to 346. It asks first whether a sum of functions is enough. Then it reads the model: the sizes of
its terms, the terms with their uncertainty, and the predictions for two patients.
"""

# %%
# Whether the additive form is too simple for the data is a question for cross-validation. A linear
# model is simpler; gradient boosting with deeper trees and random forests also fit interactions.
# If they do not predict better, you lose nothing with the model that you can read.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from sklearn_ensemble_theory import L2BoostingRegressor
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    LocalExplanationDisplay,
    ShapeFunctionDisplay,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"s3": "HDL", "s5": "log triglycerides", "s6": "glucose"})
model = L2BoostingRegressor("cv", learning_rate=0.01)
peers = {
    "additive (L2-boosting)": model,
    "linear": LinearRegression(),
    "gradient boosting, depth 3": HistGradientBoostingRegressor(
        max_depth=3, learning_rate=0.05, max_iter=80
    ),
    "random forest": RandomForestRegressor(min_samples_leaf=5, random_state=0),
}
for name, peer in peers.items():
    r2 = cross_val_score(peer, X, y, cv=KFold(5, shuffle=True, random_state=0))
    print(f"{name:28s} R² over five folds {r2.mean():.3f}")

# %%
# The importance of a term is its mean absolute contribution to the training rows, in units of the
# target. Two variables matter most, the body mass index and the logarithm of the triglycerides.
model.fit(X, y)
display = ImportanceDisplay.from_estimator(model)

# %%
# The six largest terms. Each curve shows how much a variable adds to the prediction. The bands are
# plus and minus two standard errors, and the histograms show where the patients are. Given X, the
# curves end at the least and the largest value. All panels have the same scale, so steep curves are
# large effects: the prediction rises by about 100 from the lowest to the highest body mass index.
# The bands are wide where there are few patients, and a curve should not be interpreted there.
display = ShapeFunctionDisplay.from_estimator(model, X=X)

# %%
# The prediction for a patient is the intercept plus the terms, without any approximation. The left
# patient has a high prediction mainly because of the body mass index, the right one a low
# prediction because of several variables.
predictions = model.predict(X)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for axis, i in zip(axes, (predictions.argmax(), predictions.argmin())):
    LocalExplanationDisplay.from_estimator(model, X.iloc[[i]], max_terms=6, ax=axis)
plt.show()
