"""
Corrections of a fitted model
=============================

The terms of an additive model can be looked at, and corrected where they contradict what is known.
Each of these edits returns a new model and keeps a record.

The data are simulated: the risk of 3,000 patients grows with age and with blood pressure. But the
oldest patients were treated with more care, and a blood pressure that was not measured is a 0.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from sklearn_ensemble_theory import LogitBoostClassifier
from sklearn_ensemble_theory.boosting import smooth_term
from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay


def patients(n, seed, as_treated):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.uniform(20, 95, n), "pressure": rng.normal(130, 15, n)})
    log_odds = (X["age"] - 65) / 12 + (X["pressure"] - 130) / 15
    if as_treated:
        log_odds -= 3.0 * (X["age"] > 85)
        X.loc[rng.random(n) < 0.05, "pressure"] = 0.0
    return X, rng.random(n) < 1 / (1 + np.exp(-log_odds))


X, y = patients(3000, 0, as_treated=True)
model = LogitBoostClassifier("cv").fit(X, y)

# %%
# The curve of age falls above 85: whoever used the model to decide who needs care would withhold it
# from those who need it most. Nothing in the data says so; what is known about age does. Pressures
# near 0 stand for patients without a measurement.
ShapeFunctionDisplay.from_estimator(model, X=X)

# %%
# The nearest function that does not fall, by isotonic regression, is flat from 70 on. The curve of
# pressure becomes smooth, except for its first bin, which holds the zeros. This bin has the value
# of its neighbour while the curve is smoothed, and gets its old value back in the end. All that was
# changed is on record.
corrected = model.monotonize("age")
term = model.term_names_.index("pressure")
values = model.shape_functions_[term][1].copy()
of_zeros, values[0] = values[0], values[1]
corrected = smooth_term(corrected.set_term("pressure", values), "pressure", df=8)
values = corrected.shape_functions_[term][1].copy()
values[0] = of_zeros
corrected = corrected.set_term("pressure", values)
print(*corrected.edits_, sep="\n")
ShapeFunctionDisplay.from_estimator(corrected, X=X)

# %%
# The corrected model is worse where patients are treated as they were, and better where they are
# not. Cross-validation would have chosen the first model: the correction is knowledge that is not
# in the data.
for as_treated in (True, False):
    new, outcome = patients(20_000, 1, as_treated)
    losses = [log_loss(outcome, each.predict_proba(new)) for each in (model, corrected)]
    print(
        f"{'treated as before' if as_treated else 'not treated':>17}: {losses[0]:.3f}, "
        f"corrected {losses[1]:.3f}"
    )

plt.show()
