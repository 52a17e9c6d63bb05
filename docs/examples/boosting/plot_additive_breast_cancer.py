"""
What raises the risk in the breast cancer data
==============================================

The data are 569 tumours with thirty measurements of the nuclei of their cells. They describe ten
quantities, such as the radius or the concavity: the mean, the standard error and the "worst" value,
which is the mean of the three largest values. The question is which tumours are malignant, and
which measurements raise the risk. `LogitBoostClassifier` fits an additive model of the log-odds:
the intercept plus one function of each measurement.
"""

# %%
# The classes are named so that the second one in alphabetical order, whose log-odds the model
# describes, is "malignant". A random forest and gradient boosting fit interactions as well. In
# these data that does not give better probabilities: the log-loss of the additive model is smaller.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sklearn_ensemble_theory import LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    LocalExplanationDisplay,
    ReliabilityDisplay,
    ShapeFunctionDisplay,
    report_html,
)

data = load_breast_cancer(as_frame=True)
X, y = data.data, np.where(data.target == 0, "malignant", "benign")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
model = LogitBoostClassifier(CVRounds(folds), max_bins=32)
peers = {
    "additive (LogitBoost)": model,
    "gradient boosting": HistGradientBoostingClassifier(learning_rate=0.05, max_iter=150),
    "random forest": RandomForestClassifier(random_state=0),
}
held_out = {
    name: cross_val_predict(peer, X, y, cv=folds, method="predict_proba")[:, 1]
    for name, peer in peers.items()
}
for name, probability in held_out.items():
    print(f"{name:22s} log-loss over five folds {log_loss(y, probability):.3f}")

# %%
# The importance of a term is its mean absolute contribution to the log-odds. The measurements are
# strongly correlated: the radius, the perimeter and the area of a nucleus are almost the same
# number. Such features share their effect, and a small importance does not mean that a measurement
# is unrelated to the disease.
model.fit(X, y)
display = ImportanceDisplay.from_estimator(model, max_bars=12)

# %%
# The six largest terms. Above 0 a value speaks for a malignant tumour, below 0 for a benign one. A
# difference of 0.69 doubles the odds, and one of 2.3 multiplies them by ten. Most functions are low
# for small values, high for large ones and steep between the two: there the measurement separates
# the classes. The bands are plus and minus two standard errors, the histograms show the tumours.
display = ShapeFunctionDisplay.from_estimator(model, X=X)

# %%
# The prediction for a tumour is the sum of its terms. On the left, a clear case. On the right, the
# tumour for which the held-out probability is closest to one half: its measurements disagree. The
# model that is drawn was fitted to this tumour as well, and is therefore more certain.
probability = held_out["additive (LogitBoost)"]
unclear = np.abs(probability - 0.5).argmin()
clear = probability.argmax()
figure, axes = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
for axis, i in zip(axes, (clear, unclear)):
    LocalExplanationDisplay.from_estimator(model, X.iloc[[i]], max_terms=7, ax=axis)
print(f"Held-out probabilities: {probability[clear]:.3f} and {probability[unclear]:.3f}")

# %%
# Are the probabilities right? In ten groups of tumours, by their held-out probabilities, the share
# of malignant ones is compared with the mean probability. Most tumours are clear cases, so the
# groups in the middle, with wide intervals, decide.
display = ReliabilityDisplay.from_predictions(y == "malignant", probability)

# %%
# A physician does not read Python. A report is one file that a browser opens without a network: all
# terms with their pictures and tables, the folds, the parameters.
report = report_html(model, title="Risk of malignant tumours", max_terms=12)
print(f"The report has {report.count('<img')} pictures; {report.count('<script')} scripts.")
plt.show()
