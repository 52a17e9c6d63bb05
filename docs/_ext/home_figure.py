"""Draws the figure of the home page, with the estimators of this checkout.

Drawn again when this file changes; remove `docs/generated/home*.png` to see a change of the
package.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingRegressor,
    LinearL2BoostingRegressor,
    SmoothingSplineRegressor,
)

BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"


def target(x):
    return np.sin(7 * x) + 2 * (x > 0.62)


def draw(n_columns=3):
    """One panel for each of the three families, on the same 150 rows, in a row or a column."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(150))
    y = target(x) + 0.45 * rng.standard_normal(150)
    grid = np.linspace(0.005, 0.995, 400)
    X, points = x[:, None], grid[:, None]

    with plt.rc_context({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False}):
        shape = (3 // n_columns, n_columns)
        size = (4 * n_columns, 3.9 * shape[0])
        figure, panels = plt.subplots(
            *shape, figsize=size, sharey=n_columns > 1, layout="constrained"
        )
        for panel in panels:
            panel.plot(x, y, "o", color="0.75", ms=3.5, mec="none")
            panel.set_xlabel("x")
        for panel in panels if n_columns == 1 else panels[:1]:
            panel.set_ylabel("y")
        left, middle, right = panels

        bag = BaggingRegressor(
            n_estimators=500, max_samples=0.25, bootstrap=False, random_state=0
        ).fit(X, y)
        for member in bag.estimators_[:6]:
            left.plot(grid, member.predict(points), color=ORANGE, lw=0.6, alpha=0.6)
        mean, error = bag.predict(points), bag.standard_error(points)
        left.fill_between(grid, mean - 2 * error, mean + 2 * error, color=BLUE, alpha=0.25, lw=0)
        left.plot(grid, mean, color=BLUE, lw=2)
        left.plot([], [], color=ORANGE, lw=1, label="single trees")
        left.plot([], [], color=BLUE, lw=2, label="mean ± 2 standard errors")
        left.set_title("Averaging: deep trees")

        stumps = GradientBoostingRegressor(
            max_depth=1, n_estimators=300, learning_rate=0.3, random_state=0
        ).fit(X, y)
        stages = list(stumps.staged_predict(points))
        for n_rounds, color, width in [(1, ORANGE, 1.5), (10, GREEN, 1.5), (100, BLUE, 2)]:
            label = f"{n_rounds} round{'s' * (n_rounds > 1)}"
            middle.plot(grid, stages[n_rounds - 1], color=color, lw=width, label=label)
        middle.set_title("Boosting: stumps")

        spline = SmoothingSplineRegressor(df=4)
        path = LinearL2BoostingRegressor(spline, learning_rate=0, time="gcv").fit(X, y)
        times = [1, path.time_, 100 * path.time_]
        labels = ["time 1", f"time {path.time_:.0f}, chosen by GCV", f"time {100 * path.time_:.0f}"]
        styles = [(ORANGE, 1.5), (BLUE, 2), (RED, 1)]
        for fitted, (color, width), label in zip(
            path.predict_path(points, times).T, styles, labels
        ):
            right.plot(grid, fitted, color=color, lw=width, label=label)
        right.set_title("Linear smoothing: splines, boosted")

        low, high = y.min(), y.max()
        for panel in panels:
            panel.set(ylim=(low - 0.15, high + 0.42 * (high - low)), xlim=(0, 1))
            panel.legend(loc="upper left", frameon=False, fontsize=10.5)
    return figure


def write_figure(app, config):
    for name, n_columns in [("home", 3), ("home_narrow", 1)]:
        path = Path(app.srcdir, "generated", f"{name}.png")
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.stat().st_mtime < Path(__file__).stat().st_mtime:
            figure = draw(n_columns)
            figure.savefig(path, dpi=160)
            plt.close(figure)


def setup(app):
    app.connect("config-inited", write_figure)
    return {"parallel_read_safe": True}
