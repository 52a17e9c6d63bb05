"""The chart of `compare.py`: scores as dots with intervals, ours and its peer on one line."""

import math
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_ensemble_theory.compare.show import counts

OURS, PEER = "#0b5394", "#d9730d"  # blue and orange: also different for the colour-blind
LINE = 0.34  # inches per line of the chart
DODGE = 0.17  # distance of the two sides, in lines


def draw_chart(path: str | Path, rows: Any, caption: str) -> None:
    """One panel for each data set, one line for each estimator, saved as PNG; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tasks: dict[str, Any] = {}
    for row in rows:
        if not row.ours.failed:
            tasks.setdefault(row.task, {}).setdefault(row.dataset, {})[row.estimator] = row
    orders = {task: best_first(panels) for task, panels in tasks.items()}
    heights = [LINE * len(order) + 0.9 for order in orders.values()]
    n_columns = max(len(panels) for panels in tasks.values())
    head, foot = 0.75, 0.55
    height = sum(heights) + head + foot
    figure = plt.figure(figsize=(4.2 + 3.4 * max(n_columns, 2), height))
    top = height - head
    for (task, panels), tall in zip(tasks.items(), heights):
        left, right = 2.9 / figure.get_figwidth(), 1 - 0.15 / figure.get_figwidth()
        width = (right - left) / len(panels)
        for k, (name, block) in enumerate(panels.items()):
            gap_column = 1.25 / figure.get_figwidth()  # the differences, right of the axes
            box = (left + k * width, (top - tall + 0.6) / height)
            axes = figure.add_axes((*box, width - gap_column, (tall - 0.9) / height))
            draw_panel(axes, name, block, orders[task])
            if k == 0:
                peers = {n: row.peer for rows in panels.values() for n, row in rows.items()}
                draw_names(axes, orders[task], peers)
        top -= tall
    draw_legend(figure, height)
    figure.text(0.5, 0.14 / height, caption, ha="center", va="bottom", fontsize=8, color="0.3")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_differences(path: str | Path, rows: Any, caption: str) -> None:
    """All differences to the peers in one panel, a colour for each data set, saved as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row.difference is not None]
    means: dict[str, Any] = {}
    for row in rows:
        means.setdefault(row.estimator, []).append(row.difference)
    order = sorted(means, key=lambda name: (-np.mean(means[name]), name))
    sets = list(dict.fromkeys(row.dataset for row in rows))
    figure, axes = plt.subplots(figsize=(5.4, 0.18 * len(order) + 1.9), layout="constrained")
    axes.axvline(0, color="0.4", linewidth=1)
    for k, name in enumerate(sets):
        own = [row for row in rows if row.dataset == name]
        # Side by side within a line: their intervals would hide each other.
        shift = 0.6 * ((k + 0.5) / len(sets) - 0.5)
        axes.errorbar(
            [row.difference for row in own],
            [order.index(row.estimator) + shift for row in own],
            xerr=[0 if math.isnan(row.difference_se) else row.difference_se for row in own],
            fmt="o",
            markersize=4,
            elinewidth=1,
            label=f"{name} ({own[0].metric})",
        )
    for y in range(0, len(order), 2):
        axes.axhspan(y - 0.5, y + 0.5, color="0.955", zorder=0)
    # Histograms of many features are far behind; small differences should be seen beside them.
    axes.set_xscale("symlog", linthresh=0.05, linscale=1.5)
    ticks = [-0.5, -0.05, 0, 0.05, 0.2]
    axes.set_xticks(ticks, [f"{tick:+g}" if tick else "0" for tick in ticks], fontsize=8)
    axes.minorticks_off()
    axes.set_yticks(range(len(order)), order, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("score minus that of the peer, ± one standard error", fontsize=8.5, loc="right")
    axes.set_ylabel("estimator of this package", fontsize=9)
    better, equal, worse = counts(rows)
    axes.set_title(
        f"Beside their scikit-learn peers: better on {better} of\n"
        f"{len(rows)} comparisons, equal on {equal}, worse on {worse}",
        fontsize=9.5,
        loc="right",
    )
    figure.legend(fontsize=8, loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel(textwrap.fill(caption, 80), fontsize=7, color="0.3")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def best_first(panels: Any) -> Any:
    """The estimators of one task by their mean rank over its data sets."""
    ranks: dict[str, Any] = {}
    for block in panels.values():
        by_score = sorted(block, key=lambda name: -block[name].ours.score)
        for rank, name in enumerate(by_score):
            ranks.setdefault(name, []).append(rank / len(by_score))
    return sorted(ranks, key=lambda name: (np.mean(ranks[name]), name))


def draw_panel(axes: Any, title: str, block: Any, order: Any) -> None:
    """The scores of one data set, and the paired differences as numbers on the right."""
    for y, name in enumerate(order):
        if y % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color="0.955", zorder=0)
        row = block.get(name)
        if row is None:
            beside(axes, "not run", y, 0.5, ha="center", color="0.5", fontsize=7)
            continue
        paired = row.difference is not None
        draw_dot(axes, row.ours, y - paired * DODGE, OURS, "o", OURS)
        if paired:
            draw_dot(axes, row.theirs, y + paired * DODGE, PEER, "D", "white")
            beside(axes, row.gap, y, 1, points=8, fontsize=7.5, family="monospace")
    beside(axes, "ours minus peer", -0.8, 1, points=8, fontsize=7.5)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_yticks([])
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color="0.85", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.06)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    first = next(iter(block.values()))
    subtitle = f"{title}  ({first.n_rows} rows, {first.n_features} features)"
    axes.set_title(subtitle, fontsize=9, loc="left")
    axes.set_xlabel(first.metric, fontsize=8)


def draw_names(axes: Any, order: Any, peers: Any) -> None:
    """Left of the first panel of a task: each estimator, and its peer below it."""
    for y, name in enumerate(order):
        peer = peers.get(name)
        place: dict[str, Any] = {"points": -8, "ha": "right"}
        beside(axes, name, y - (0.18 if peer else 0), 0, fontsize=8, color=OURS, **place)
        if peer:
            beside(axes, f"vs {peer}", y + 0.24, 0, fontsize=6.5, color=PEER, **place)


def beside(
    axes: Any,
    text: str,
    y: Any,
    x: float,
    points: float = 0,
    ha: str = "left",
    color: str = "0.25",
    **style: Any,
) -> None:
    """Text at line `y` and the share `x` of the panel's width, moved right by some points."""
    axes.annotate(
        text,
        (x, y),
        xycoords=axes.get_yaxis_transform(),
        xytext=(points, 0),
        textcoords="offset points",
        ha=ha,
        va="center",
        color=color,
        annotation_clip=False,
        **style,
    )


def draw_dot(axes: Any, summary: Any, y: Any, color: str, marker: str, face: str) -> None:
    axes.errorbar(
        summary.score,
        y,
        xerr=0 if math.isnan(summary.score_se) else summary.score_se,
        color=color,
        marker=marker,
        markerfacecolor=face,
        markersize=5 if marker == "o" else 4,
        elinewidth=1.2,
        linestyle="none",
        zorder=3,
    )


def draw_legend(figure: Any, height: float) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=OURS, marker="o", markersize=5, label="sklearn_ensemble_theory"),
        Line2D(
            [],
            [],
            color=PEER,
            marker="D",
            markerfacecolor="white",
            markersize=4,
            label="scikit-learn peer",
        ),
    ]
    figure.legend(
        handles=marks,
        loc="upper right",
        ncols=2,
        frameon=False,
        fontsize=9,
        bbox_to_anchor=(0.99, 1 - 0.1 / height),
    )
    figure.text(
        0.15 / figure.get_figwidth(),
        1 - 0.2 / height,
        "Nested cross-validation on real data",
        va="top",
        fontsize=12,
        weight="bold",
    )
