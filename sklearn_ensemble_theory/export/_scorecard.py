"""An additive model as a card to read: terms by importance, each with a few rows of values.

A card has fewer rows than a term has bins. Neighbouring bins are merged where that adds least to
the weighted sum of squares around the means of the groups, as in the hierarchical clustering of
Ward; of categories, those of the most weight have rows of their own.

References
----------
J. H. Ward (1963). "Hierarchical grouping to optimize an objective function". Journal of the
American Statistical Association 58.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_ensemble_theory._bins import labels_of_edges
from sklearn_ensemble_theory._scaling import power_of_two
from sklearn_ensemble_theory.inspection._additive_terms import removed_terms

from ._plain import Additive, PlainModel, PlainTerm

# A pair has a table of so many groups of each feature.
_GROUPS_OF_PAIR = 4
_LINKS = {
    "identity": "prediction = score",
    "log": "prediction = exp(score)",
    "softmax": "probabilities of the classes = softmax of their scores",
}


def text(model: Additive, *, max_rows: int = 8, max_terms: int | None = None) -> str:
    """Write a score card to read: the intercept, and the terms by importance with a few values.

    Neighbouring bins are merged where they differ least, and categories of little weight come
    together: the card shows the model, it is not all of it. `frame` has all values,
    `sql` and `onnx` predict.

    Parameters
    ----------
    model : estimator
        A fitted `AdditiveBoostingRegressor`, `L2BoostingRegressor` or `LogitBoostClassifier`.
    max_rows : int, default=8
        At most so many rows for each term, in addition to the row of missing values; pairs have
        tables of four rows and columns.
    max_terms : int, default=None
        So many terms, those of the largest `term_importances_`; None means all that are not 0.

    Returns
    -------
    text : str
        Also the edits that were made after the fit.

    Raises
    ------
    ValueError
        If a number is less than 1.

    Notes
    -----
    O(B^2) for each term of B bins.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, export
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = L2BoostingRegressor(n_estimators=300).fit(X, y)
    >>> print(export.text(model, max_rows=3, max_terms=1))
    L2BoostingRegressor: score = intercept + one value of each term; prediction = score.
    <BLANKLINE>
      intercept  152.1
    <BLANKLINE>
    s5: 22.5 on average, in absolute value
                             value    rows
      <= 4.2836              -32.2  26.2 %
      4.2836 < x <= 4.74925   -7.8  32.4 %
      > 4.74925               26.5  41.4 %
    <BLANKLINE>
    10 terms of less importance are not shown.
    Rows of several bins or categories have means over the training rows.
    """
    counts: list[tuple[str, Any]] = [("max_rows", max_rows), ("max_terms", max_terms)]
    for name, value in counts:
        is_int = isinstance(value, Integral) and not isinstance(value, bool)
        if value is None and name == "max_terms":
            continue
        if not is_int or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
    plain = PlainModel.of(model)
    link = _LINKS.get(plain.link, "prediction = inverse link of score")
    if plain.link == "logit":
        what = "prediction" if plain.classes is None else f"probability of {plain.classes[1]!r}"
        link = f"{what} = 1 / (1 + exp(-score))"
    lines = [f"{type(model).__name__}: score = intercept + one value of each term; {link}.", ""]
    # All values with the same decimals: three digits of the largest one.
    largest = max([float(np.abs(term.values).max()) for term in plain.terms], default=0.0)
    decimals = max(2 - int(np.floor(np.log10(largest))), 0) if largest > 0 else 2

    def number(value: float) -> str:
        if largest > 0 and not 1e-5 <= largest < 1e9:
            return f"{value:.3g}"
        return f"{value:.{decimals}f}".replace("-0." + "0" * decimals, "0." + "0" * decimals)

    many = len(plain.intercept) > 1
    labels = [str(c) for c in plain.classes or ()] if many else ["value"]
    lines += _table([["", *labels]] if many else [], [["intercept", *map(number, plain.intercept)]])

    importances = model.term_importances_
    order = np.argsort(-importances, kind="stable").tolist()
    shown = [t for t in order if plain.terms[t].values.any()]
    removed = removed_terms(model)
    empty = [plain.terms[t].name for t in sorted(set(order) - set(shown))]
    empty = [name for name in empty if name not in removed]
    for t in shown[:max_terms]:
        term = plain.terms[t]
        lines += ["", f"{term.name}: {number(importances[t])} on average, in absolute value"]
        lines += (
            _pair(term, plain, labels, many, number)
            if len(term.features) == 2
            else _feature(term, plain, labels, max_rows, number)
        )
    notes = []
    if len(shown) > (max_terms or len(shown)):
        notes.append(f"{len(shown) - (max_terms or 0)} terms of less importance are not shown.")
    if empty:
        notes.append(f"Always 0: {', '.join(empty)}.")
    if removed:
        notes.append(f"Removed after the fit: {', '.join(removed)}.")
    if edits := getattr(model, "edits_", ()):
        notes.append("Edited after the fit:")
        notes += [f"  {edit}" for edit in edits]
    notes.append("Rows of several bins or categories have means over the training rows.")
    return "\n".join([*lines, "", *notes])


def _feature(
    term: PlainTerm, plain: PlainModel, labels: list[str], max_rows: int, number: Any
) -> list[str]:
    names, groups = groups_of(term, 0, plain, max_rows)
    rows = []
    for name, group in zip(names, groups):
        means = _mean(term.values[group], term.weights[group])
        share = term.weights[group].sum() / term.weights.sum()
        rows.append([name, *map(number, means), f"{100 * share:.1f} %"])
    return _table([["", *labels, "rows"]], rows)


def _pair(
    term: PlainTerm, plain: PlainModel, labels: list[str], many: bool, number: Any
) -> list[str]:
    """The first feature downwards, the second one across; a table for each class."""
    down, rows = groups_of(term, 0, plain, _GROUPS_OF_PAIR)
    across, columns = groups_of(term, 1, plain, _GROUPS_OF_PAIR)
    lines = []
    names = [plain.names[j] for j in term.features]
    for k, label in enumerate(labels):
        cells = [
            [
                number(
                    _mean(
                        term.values[np.ix_(a, b)][..., k].reshape(-1, 1),
                        term.weights[np.ix_(a, b)].ravel(),
                    )[0]
                )
                for b in columns
            ]
            for a in rows
        ]
        head = f"{names[0]} \\ {names[1]}" + f", score of {label}" * many
        lines += _table([[head, *across]], [[name, *own] for name, own in zip(down, cells)])
    return lines


def groups_of(
    term: PlainTerm, axis: int, plain: PlainModel, most: int
) -> tuple[list[str], list[np.ndarray]]:
    """The groups of bins of a feature of a term, at most so many and one of missing values."""
    j = term.features[axis]
    known, place = plain.categories[j], term.places[axis]
    other = tuple(i for i in range(term.weights.ndim) if i != axis)
    weights = term.weights.sum(axis=other)
    values = np.moveaxis(term.values, axis, 0)
    if other:  # each entry of the other feature counts by its weight
        share = term.weights.sum(axis=axis)
        values = values * np.sqrt(share / share.sum())[:, None]
    values = values.reshape(len(weights), -1)
    if known is None:
        groups = merged(values[:-1], weights[:-1], most)
        ends = labels_of_edges(place)
        names = []
        for group in groups:
            low, high = group[0], group[-1] + 1
            below = f"{ends[low - 1]} < " if low else ""
            above = f" <= {ends[high - 1]}" if high <= len(ends) else ""
            name = f"{below}x{above}" if below and above else f"{below[:-3]}{above}".strip()
            names.append(f"> {name}" if below and not above else name or "all")
    else:
        heavy = np.argsort(-weights[:-1], kind="stable")
        single = len(known) if len(known) <= most else most - 1
        kept = heavy[:single]
        kept = kept[np.argsort(values[kept].mean(axis=1), kind="stable")]
        groups, names = [np.array([c]) for c in kept], [str(known[c]) or "''" for c in kept]
        if rest := len(known) - single:
            groups.append(np.sort(heavy[single : len(known)]))
            names.append(f"{rest} others")
    if weights[-1] > 0 or values[-1].any():
        groups.append(np.array([len(weights) - 1]))
        names.append("missing" if known is None else "missing, unknown")
    return names, groups


def merged(values: np.ndarray, weights: np.ndarray, most: int) -> list[np.ndarray]:
    """At most so many groups of neighbouring bins (B, C), equal ones together. O(B^2 C)."""
    groups = [np.array([b]) for b in range(len(weights))]
    size = np.abs(values).max()  # squares of units near 1 do not overflow
    means = values / power_of_two(size) if size > 0 else values.copy()
    weights = weights.copy()
    while len(groups) > 1:
        squares = ((means[1:] - means[:-1]) ** 2).sum(axis=1)
        total = weights[1:] + weights[:-1]
        costs = squares * weights[1:] * weights[:-1] / np.where(total > 0, total, 1.0)
        # Bins without weight cost nothing, and go to the nearer side.
        best = int(np.lexsort((squares, costs))[0])
        if len(groups) <= most and squares.min() > 0:
            break
        if len(groups) <= most:
            best = int(squares.argmin())
        both = slice(best, best + 2)
        means[best] = _mean(means[both], weights[both])
        weights[best] += weights[best + 1]
        groups[best] = np.concatenate(groups[both])
        del groups[best + 1]
        means, weights = np.delete(means, best + 1, axis=0), np.delete(weights, best + 1)
    return groups


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of rows (n, C); without weights where all are 0."""
    return np.average(values, axis=0, weights=weights if weights.any() else None)


def _table(head: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns: names to the left, numbers to the right."""
    table = [*head, *rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    return [
        "  ".join(
            ["  " + row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]
        ).rstrip()
        for row in table
    ]
