"""What the displays share: matplotlib, imported when it is needed, colours, numbers and axes."""

import math
import textwrap
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from sklearn_ensemble_theory._documentation import documented as documented

# What every display says.
AXES = {
    "ax": """
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        """,
    "drawn": """
        ax_ : matplotlib.axes.Axes
            The axes, after `plot`.
        figure_ : matplotlib.figure.Figure
            The figure, after `plot`.
        """,
    "figure_": """
        figure_ : matplotlib.figure.Figure
            The figure, after `plot`.
        """,
    "attributes_drawn": """
        Attributes
        ----------
        %(drawn)s
        """,
    "returns_display": """
        Returns
        -------
        display : display of this class
            The display, drawn.
        """,
    "of_plot": """
        Parameters
        ----------
        %(ax)s

        %(returns_display)s
        """,
    "drawn_panels": """
        Attributes
        ----------
        axes_ : ndarray of matplotlib.axes.Axes of shape (n_panels,)
            The axes of the panels, after `plot`.
        ax_ : matplotlib.axes.Axes
            The first of them.
        figure_ : matplotlib.figure.Figure
            The figure, after `plot`.
        """,
    "n_cols": """
        n_cols : int, default=3
            Largest number of panels in a row.
        """,
    "of_panels": """
        Parameters
        ----------
        %(ax)s
        %(n_cols)s
        """,
    "use_from_estimator": """
        Use `from_estimator` to create a display; the constructor stores its arguments.
        """,
}
# The palette of Okabe and Ito, which people with any colour blindness can tell apart; black and
# yellow, which is too light for lines, are left out.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NEGATIVE, POSITIVE = COLORS[:2]
DIVERGING = "RdBu_r"  # the same: blue below 0, red above it
GREY = "0.55"
FEW_VALUES = 8  # of a parameter: all of them get a tick


def pyplot(name: str) -> Any:
    """matplotlib.pyplot, or an ImportError that says what to install for the display `name`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{name} requires matplotlib: pip install 'sklearn-ensemble-theory[plot]'."
        ) from error
    return plt


def own_axes(display: Any, ax: Any, **size: Any) -> Any:
    """Return the given axes, or those of a new figure of this size."""
    plt = pyplot(type(display).__name__)
    return plt.subplots(layout="constrained", **size)[1] if ax is None else checked_axes(ax, "ax")


def checked_axes(ax: Any, name: str) -> Any:
    """The axes; a TypeError for what draws nothing, as a figure does not."""
    if not (hasattr(ax, "plot") and hasattr(ax, "set_xlabel")):
        raise TypeError(f"{name} must be axes of matplotlib; got {type(ax).__name__}.")
    return ax


def shortened(text, length: int = 24) -> str:
    """Return a label of at most `length` characters, in which a dollar sign is one."""
    text = " ".join(str(text).split())  # in one line
    text = text if len(text) <= length else text[: length - 1].rstrip() + "…"
    return text.replace("$", r"\$")  # two of them would enclose a formula


def wrapped(text, length: int, n_lines: int) -> str:
    """Return a title in lines of at most `length` characters, shortened to so many lines."""
    wrapper = textwrap.TextWrapper(
        length, max_lines=n_lines, placeholder="…", break_on_hyphens=False
    )
    return wrapper.fill(str(text)).replace("$", r"\$")


def number(x: float, decimals: int | None = None, signed: bool = False) -> str:
    """Return a number with so many decimals, or with three significant digits."""
    if decimals is None:
        text = f"{x:.0f}" if 100 <= abs(x) < 1e6 else f"{x:.3g}"
    else:
        text = f"{x:.{decimals}f}"
    text = text.replace("-", "\N{MINUS SIGN}")
    return f"+{text}" if signed and x >= 0 else text


def decimals_of(numbers: np.ndarray) -> int | None:
    """Decimals that give the largest of them three significant digits; None for extreme scales."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    if not 1e-4 <= largest < 1e6:
        return None
    return max(0, 2 - int(np.floor(np.log10(largest))))


def few_ticks(ax, axis: str) -> None:
    """Ticks that do not overlap in a small panel, also where the numbers are long."""
    ax.locator_params(axis=axis, nbins=5)
    ax.ticklabel_format(axis=axis, scilimits=(-3, 5), useMathText=True)


def label_of_scale(ax, axis: str, name: str, ends: tuple[float, float], ticks: Any = None) -> None:
    """Name an axis that has ticks between these ends, if they are not given.

    A power of ten of the ticks becomes a part of the name: matplotlib writes it at the end of the
    axis, over the end of a long name.
    """
    few_ticks(ax, axis)
    its_axis = ax.xaxis if axis == "x" else ax.yaxis
    low, high = ends
    if ticks is None:
        ticks = its_axis.get_major_locator().tick_values(low, high)
    its_axis.set_ticks([x for x in np.asarray(ticks).tolist() if low <= x <= high])
    largest = max(abs(low), abs(high))
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    # Numbers that differ in late digits keep matplotlib's ticks, which subtract a constant.
    if not -3 <= power < 5 and high - low > 1e-3 * largest:
        its_axis.set_major_formatter(lambda x, _: number(x / 10.0**power))
        name = rf"{name} ($\times 10^{{{power}}}$)"
    its_axis.set_label_text(name)


def as_axes(ax, n_axes: int, name: str) -> np.ndarray:
    """Return the axes that a user gave, as an array of `n_axes`."""
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) != n_axes:
        raise ValueError(f"{name} must have {n_axes} elements, one a panel; got {len(axes)}.")
    for each in axes:
        checked_axes(each, name)
    return axes


def rows_of_panels(n: int, n_cols: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of n panels, with at most n_cols in a row."""
    n_cols = min(n, n_cols) if n != 4 or n_cols != 3 else 2  # two by two, not three and one
    return -(-n // n_cols), n_cols


# --- an axis for the values of a parameter, which need not be numbers -----------------------------


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, Real) and not isinstance(v, bool) and math.isfinite(v) for v in values)


def places_of(values: Sequence[Any]) -> np.ndarray:
    """Return the values themselves, or 0, 1, ... where one is no finite number."""
    return np.asarray(values, dtype=float) if _are_numbers(values) else np.arange(len(values)) * 1.0


def set_value_axis(ax, values: Sequence[Any], name: str) -> None:
    """Label the horizontal axis; logarithmic where the values grow by factors.

    As in scikit-learn's validation curves, that is where the largest difference of neighbours is
    more than five times the smallest one.
    """
    ax.set_xlabel(name)
    if not _are_numbers(values):
        ax.set_xticks(np.arange(len(values)), [str(v) for v in values])
        return
    ordered = np.sort(np.asarray(values, dtype=float))
    # A value that is given twice has no gap.
    gaps = np.diff(np.unique(ordered))
    if len(gaps) > 1 and ordered[0] > 0 and gaps.max() > 5 * gaps.min():
        ax.set_xscale("log")
    if len(ordered) <= FEW_VALUES:
        ax.set_xticks(ordered, [f"{v:g}" for v in ordered])
        ax.minorticks_off()
