"""
Rows that are larger than memory
================================

Parquet files are read through Dask, and the model is fitted to sums over their rows: no more than
a chunk for each worker is in memory at a time. The files of this example are small; the code for a
thousand times as many rows is the same.
"""

# %%
# The files: a table of 20,000 rows in each, whose target is an additive function plus noise.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
for number in range(6):
    table = pd.DataFrame(rng.uniform(-1, 1, (20_000, 4)), columns=["a", "b", "c", "d"])
    signal = np.sin(4 * table["a"]) + np.abs(table["b"]) + (table["c"] > 0.3)
    table["y"] = signal + rng.standard_normal(20_000)
    table.to_parquet(Path(folder.name) / f"part{number}.parquet")

# %%
# `fit` reads the files twice: once for quantiles of the features, from which it makes bins, and
# once for the sums over these bins. The number of rounds is chosen by cross-validation from the
# same sums. On a machine with several cores, or on a cluster, start a `dask.distributed.Client`
# first: its workers then share the reading and the sums.
import dask.dataframe as dd

from sklearn_ensemble_theory import L2BoostingRegressor

rows = dd.read_parquet(folder.name)
model = L2BoostingRegressor("cv", learning_rate=0.05).fit(rows[["a", "b", "c", "d"]], rows["y"])
print(f"{model.n_smoothing_rounds_} smoothing rounds, {model.n_estimators_} rounds")

# %%
# The functions of the four features, with the true functions.
truth = [lambda x: np.sin(4 * x), np.abs, lambda x: x > 0.3, np.zeros_like]
fig, axes = plt.subplots(1, 4, figsize=(11, 2.6), sharey=True, layout="constrained")
grid = np.linspace(-1, 1, 401)
for ax, name, f, (edges, values) in zip(axes, "abcd", truth, model.shape_functions_):
    expected = f(grid).astype(float)
    ax.plot(grid, expected - expected.mean(), color="0.6", label="truth")
    ax.plot(grid, values[np.searchsorted(edges, grid)], label="fit")
    ax.set_xlabel(name)
axes[0].set_ylabel("centred function")
axes[3].legend(frameon=False)
plt.show()

# %%
# Predictions are lazy, and computed chunk by chunk when they are asked for.
predictions = model.predict(rows[["a", "b", "c", "d"]])
print(predictions)
print("mean prediction", round(float(predictions.mean()), 4))
print("mean of y      ", round(float(rows["y"].mean().compute()), 4))

# %%
folder.cleanup()
