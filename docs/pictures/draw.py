"""Draws the small pictures of the first page: `python docs/pictures/draw.py`.

They are stored in the repository, so a site that is built without the gallery has them too. Each
picture shows one promise, which is its title, drawn by the estimators of this checkout.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.class_weight import compute_sample_weight

from sklearn_ensemble_theory import (
    BaggedNearestNeighborsRegressor,
    GradientBoostingClassifier,
    L2BoostingRegressor,
    RandomForestRegressor,
    bounds,
)
from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay

FOLDER = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "0.6"
STYLE = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def intervals(axis):
    """A forest with its standard errors, and quantiles for new targets."""
    rng = np.random.default_rng(0)
    x = rng.random(600)
    y = np.sin(7 * x) + (0.1 + 0.6 * x) * rng.standard_normal(600)
    forest = RandomForestRegressor(
        1000, max_samples=0.25, bootstrap=False, min_samples_leaf=5, random_state=0
    ).fit(x[:, None], y)
    points = np.linspace(0.02, 0.98, 150)
    grid = points[:, None]
    mean, error = forest.predict(grid), forest.standard_error(grid)
    low, high = forest.predict_quantiles(grid, [0.05, 0.95]).T
    axis.plot(x, y, ".", color=GREY, ms=3, mec="none")
    axis.fill_between(points, low, high, color=BLUE, alpha=0.15, lw=0, label="90 % of new targets")
    axis.fill_between(
        points, mean - 2 * error, mean + 2 * error, color=BLUE, alpha=0.5, lw=0, label="± 2 SE"
    )
    axis.plot(points, mean, color=BLUE, lw=1.2)
    axis.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(-2.4, 3.1))
    axis.set_title("Error bars and intervals of a forest")
    axis.legend(loc="upper left", ncols=2, columnspacing=1)


def curves(axis):
    """A term of an additive model: what a value of one feature adds to the prediction."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = L2BoostingRegressor("cv").fit(X, y)
    ShapeFunctionDisplay.from_estimator(model, ["bmi"], X=X, ax=axis)
    axis.set_title("What a value of one feature adds")


def rounds(axis):
    """The held-out error after every round; the number of rounds is where it is smallest."""
    X, y = load_diabetes(return_X_y=True)
    model = L2BoostingRegressor("cv", smoothing_rounds=0, learning_rate=0.02).fit(X, y)
    end = 4 * model.n_estimators_
    held_out = model.cv_results_["mean_score"][: end + 1]
    axis.plot(held_out, color=BLUE)
    axis.axvline(model.n_estimators_, color=ORANGE, lw=1.2)
    axis.annotate(
        f"{model.n_estimators_} rounds",
        (model.n_estimators_, 0.97 * held_out[0]),
        (6, -6),
        textcoords="offset points",
        color=ORANGE,
    )
    axis.set(xlabel="round", ylabel="held-out squared error", ylim=(0, None))
    axis.set_title("Every round is cross-validated in one fit")


def exact(axis):
    """How far bagged nearest neighbours are from their limit, which one fit computes."""
    X, y = load_diabetes(return_X_y=True)
    X, y, X_new = X[:300], y[:300], X[300:]
    limit = BaggedNearestNeighborsRegressor(max_samples=30).fit(X, y).predict(X_new)
    numbers, learner = [3, 10, 30, 100, 300, 1000], KNeighborsRegressor(1)
    distances = [
        np.mean(
            [
                (
                    BaggingRegressor(learner, n, max_samples=30, bootstrap=False, random_state=seed)
                    .fit(X, y)
                    .predict(X_new)
                    - limit
                )
                ** 2
                for seed in range(3)
            ]
        )
        ** 0.5
        for n in numbers
    ]
    axis.semilogx(numbers, distances, "o-", color=GREY, label="bagging by resampling")
    axis.axhline(0, color=BLUE, lw=2, label="closed form, one fit")
    axis.set(xlabel="number of resampled fits", ylabel="distance to the limit")
    axis.set_title("Exact answers instead of simulations")
    axis.minorticks_off()
    axis.legend(loc="upper right")


def theorems(axis):
    """A bound beside the probability that it bounds."""
    n = np.arange(10, 401, 10)
    tosses = np.random.default_rng(0).random((4000, n[-1])) < 0.5
    deviations = np.cumsum(tosses, axis=1)[:, n - 1] / n - 0.5
    axis.semilogy(n, (deviations >= 0.1).mean(axis=0).clip(1e-5), color=GREY, label="simulated")
    axis.semilogy(n, bounds.hoeffding_tail(0.1, n), color=BLUE, label="bounds.hoeffding_tail")
    axis.set(xlabel="number of rows", ylabel="P(error ≥ 0.1)", ylim=(3e-4, 1.5))
    axis.set_title("A theorem beside a simulation")
    axis.minorticks_off()
    axis.legend(loc="upper right")


def seconds(axis):
    """A row of the page on speed: gradient boosting of 31 leaves on 100,000 rows, one thread."""
    page = (FOLDER.parent / "user_guide" / "speed_and_memory.md").read_text(encoding="utf-8")
    row = next(line for line in page.split("\n") if line.startswith("| 31 leaves | 100,000 |"))
    times = [float(cell) for cell in row.split("|")[3:7]]
    names = ["this package", "scikit-learn", "XGBoost", "LightGBM"]
    bars = axis.barh(names, times, color=[BLUE, GREY, GREY, GREY])
    axis.bar_label(bars, fmt="%.2f", padding=3)
    axis.invert_yaxis()
    axis.set(xlabel="seconds of a fit", xlim=(0, 1.2 * max(times)))
    axis.set_title("100,000 rows, 100 trees of 31 leaves, one thread", x=-0.4)


def thresholds(axis):
    """The costs of errors in docs/user_guide/imbalanced.md, at all thresholds."""
    X, y = make_classification(6000, n_informative=6, weights=[0.95], class_sep=0.8, random_state=0)
    X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)
    at = np.linspace(0.005, 0.95, 190)
    for label, weight, color in [
        ("without weights", None, BLUE),
        ("with weights", compute_sample_weight("balanced", y), ORANGE),
    ]:
        model = GradientBoostingClassifier(random_state=0).fit(X, y, weight)
        yes = model.predict_proba(X_new)[:, 1] >= at[:, None]
        cost = 10 * (~yes & (y_new == 1)).sum(axis=1) + (yes & (y_new == 0)).sum(axis=1)
        axis.plot(at, cost, color=color, label=label)
    axis.set(xlabel="threshold", ylabel="cost of the errors", ylim=(0, 1000))
    axis.set_title("Weights only move the best threshold")
    axis.legend(loc="upper center")


PICTURES = [intervals, curves, rounds, exact, theorems, seconds, thresholds]


def main():
    for draw in PICTURES:
        with plt.rc_context(STYLE):
            figure, axis = plt.subplots(figsize=(3.6, 2.5), layout="constrained")
            draw(axis)
            path = FOLDER / f"{draw.__name__}.png"
            figure.savefig(path, dpi=150)
            plt.close(figure)
        # 64 colours are enough, and a quarter of the size.
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    main()
