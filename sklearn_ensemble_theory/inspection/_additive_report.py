"""A report on an additive model: one HTML file with pictures in it, which needs no network."""

import base64
import html
import inspect
import io
import warnings
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from sklearn_ensemble_theory._bins import labels_of_edges
from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory._offsets import at_offset_zero
from sklearn_ensemble_theory._rows import checked_weights
from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike
from sklearn_ensemble_theory._version import __version__

from ._additive_terms import (
    TermShape,
    check_additive,
    check_number_of,
    names_of_terms,
    removed_terms,
    scores_of_classes,
    shapes_of_terms,
    unit_of_terms,
)
from ._calibration import MeanReliability, ReliabilityDisplay
from ._cv_path import CVPathDisplay
from ._importances import ImportanceDisplay, LocalExplanationDisplay
from ._plotting import COLORS, number, pyplot
from ._shape_functions import PanelStyle, draw_term, shared_scales

# Nothing but what is in the file: no script, no address, pictures as data.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #555; --page: #fff; --line: #ddd;
  --card: #fafafa; --link: #005a9e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #a8a8a8; --page: #161616; --line: #3a3a3a; --card: #1f1f1f;
    --link: #7cc0ff; }
  img, .key { filter: invert(0.9) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; background: var(--page);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 0.5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 0.3rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
a { color: var(--link); }
nav a { margin-right: 1rem; white-space: nowrap; }
.soft, figcaption, caption { color: var(--soft); font-size: 0.9rem; }
.grid { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
.wide { grid-template-columns: repeat(auto-fill, minmax(min(34rem, 100%), 1fr)); }
.grid > article, .grid > figure { border: 1px solid var(--line); border-radius: 6px;
  padding: 0.8rem; background: var(--card); min-width: 0; }
figure { margin: 0; }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.scroll { overflow-x: auto; max-height: 24rem; overflow-y: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; }
th, td { text-align: left; padding: 0.15rem 0.9rem 0.15rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.n, th.n { text-align: right; }
.key { display: inline-block; width: 1.6em; height: 0.3em; margin: 0 0.4em 0.2em 1em; }
@media print { article, figure { break-inside: avoid; } }
"""
CONTROLS = bytes(set(range(32)) - {9, 10, 13})
MOST_ROWS = 400  # of a table of the values of a term


def report_html(
    estimator: AdditiveEstimator,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    title: str | None = None,
    max_terms: int = 50,
    path: str | Path | None = None,
) -> str:
    """Write a report on a fitted additive model: one HTML file that opens without a network.

    It says how the intercept and the terms add up to a prediction, and how important each term is.
    Each term has a picture and a table of its values, the most important term first. It also lists
    features that the model does not use, edits after the fit, the scores of the folds by the number
    of rounds, and the parameters. With X it also explains the rows of the least, the middle and the
    largest prediction, and with y it compares predictions with what was observed. Rows of the fit
    flatter a model there: give others.

    The file has no script and loads nothing. It can be read with light and dark backgrounds, and
    printed. It contains values of X: the least and the largest one of each feature, marks at up to
    500 of them, and three whole rows. A report without X contains the thresholds and the weights of
    the bins, which are in the model.

    Parameters
    ----------
    estimator : estimator
        A fitted additive model: :class:`L2BoostingRegressor` or :class:`LogitBoostClassifier`.
    X : array-like of shape (n_samples, n_features), default=None
        Rows, in the best case new ones.
    y : array-like of shape (n_samples,), default=None
        Their targets or classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, where predictions are compared with y.
    offset : array-like of shape (n_samples,), default=None
        The offsets of the rows, for models that take them in `predict`.
    title : str, default=None
        The title; by default it names the class of the estimator.
    max_terms : int, default=50
        Number of terms with a picture; the others are listed.
    path : str or Path, default=None
        Where to write the report, as UTF-8.

    Returns
    -------
    report : str
        The report, a whole HTML document.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If the estimator is not an additive model.
    ValueError
        If y, `sample_weight` or `offset` is given without X, or X has no rows.

    See Also
    --------
    ShapeFunctionDisplay : The pictures of the terms.
    ReliabilityDisplay : Predictions against what was observed.

    Notes
    -----
    The cost is about a tenth of a second for each picture, and the predictions for X.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import report_html
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(100).fit(X[:300], y[:300])
    >>> report = report_html(model, X[300:], y[300:], title="Progression of diabetes")
    >>> report.count("<img") >= 6, "<script" in report
    (True, False)
    """
    pyplot("report_html")
    check_additive(estimator)
    check_number_of("max_terms", max_terms)
    if path is not None and not isinstance(path, (str, PathLike)):
        raise TypeError(f"path must be a str or a Path; got {path!r:.100}.")
    for name, given in (("y", y), ("sample_weight", sample_weight), ("offset", offset)):
        if given is not None and X is None:
            raise ValueError(f"{name} is of the rows of X, which has to be given too.")
    if X is not None and np.shape(X)[:1] == (0,):
        raise ValueError("X has no rows.")
    options = {} if offset is None else {"offset": offset}
    title = f"Additive model: {type(estimator).__name__}" if title is None else str(title)
    sizes = np.asarray(estimator.term_importances_, dtype=float)
    order = np.argsort(-sizes, kind="stable")
    used = [int(t) for t in order if sizes[t] > 0]

    # What depends on rows comes first: unfit rows are refused before the pictures are drawn.
    rows, scores = [], []
    if X is not None and used:
        rows = _rows(estimator, X, options)
    if y is not None:
        scores = _scores(estimator, X, y, sample_weight, options)
    parts = [
        ("summary", "The model", _summary(estimator, sizes, used)),
        ("importances", "Importance of the terms", _importances(estimator) if used else []),
        ("terms", "Terms", _terms(estimator, used, max_terms, X)),
        ("unused", "Features without an effect", _unused(estimator, used)),
        ("removed", "Removed terms", _removed(estimator)),
        ("edits", "Edits after the fit", _edits(estimator)),
        ("rows", "Predictions of single rows", rows),
        ("scores", "Predictions and what was observed", scores),
        ("rounds", "Number of rounds", _rounds(estimator)),
        ("parameters", "Parameters of the fit", _parameters(estimator)),
    ]
    parts = [part for part in parts if part[2]]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in parts)
    body = "\n".join(
        f'<section id="{key}">\n<h2>{name}</h2>\n' + "\n".join(lines) + "\n</section>"
        for key, name, lines in parts
    )
    report = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{_text(title)}</h1>
<nav>{links}</nav>
<main>
{body}
</main>
</body>
</html>
"""
    if path is not None:
        Path(path).write_text(report, encoding="utf-8", errors="xmlcharrefreplace")
    return report


# --- the parts ------------------------------------------------------------------------------------


def _summary(estimator: AdditiveEstimator, sizes: np.ndarray, used: Sequence[int]) -> list[str]:
    classes = scores_of_classes(estimator)
    unit = unit_of_terms(estimator)
    sums = {
        "identity": "The prediction is the intercept plus the terms.",
        "log": "The logarithm of the prediction is the intercept plus the terms: a term of 0.69 "
        "doubles the prediction.",
        "logit": f"The {unit} are the intercept plus the terms: a term of 0.69 doubles the odds, "
        "one of minus 0.69 halves them.",
        "softmax": "Each class has a score, which is its intercept plus its terms. The "
        "probabilities are proportional to the exponentials of the scores.",
    }
    links = ["identity", "logit"] if len(classes) == 1 else ["", "softmax"]
    link = getattr(estimator, "link_", links[is_classifier(estimator)])
    intercepts = np.ravel(estimator.intercept_)
    labels = [f" of {c}" if c else "" for c in classes]
    pairs = [t for t in used if len(estimator.term_features_[t]) == 2]
    facts: list[tuple[str, Any]] = [
        (f"intercept{c}", number(float(x))) for c, x in zip(labels, intercepts)
    ]
    facts += [
        ("features", estimator.n_features_in_),
        ("terms with an effect", f"{len(used)} of {len(sizes)}, {len(pairs)} of them pairs"),
        ("weight of the training rows", number(float(estimator.bin_weights_[0].sum()))),
        ("rounds of stumps", getattr(estimator, "n_estimators_", 0)),
        ("smoothing rounds", getattr(estimator, "n_smoothing_rounds_", 0)),
        ("edits after the fit", len(getattr(estimator, "edits_", ()))),
        ("made with", f"sklearn-ensemble-theory {__version__}"),
    ]
    return [
        f"<p>{_text(sums.get(link, sums['identity']))}</p>",
        "<p>A term is a function of one feature, or of a pair of them, whose mean over the "
        "training rows is 0. Its height says what the model does with a value and not what the "
        "value causes: features that are correlated share their effects.</p>",
        _table([(name, str(value)) for name, value in facts], head=True),
    ]


def _importances(estimator: AdditiveEstimator) -> list[str]:
    figure, ax = _figure(7.0, 0.32 * min(20, len(estimator.term_features_)) + 1.3)
    ImportanceDisplay.from_estimator(estimator, ax=ax)
    ax.set_title("")
    return [_picture(figure, "Bars of the mean absolute contributions of the terms.")]


def _terms(estimator: AdditiveEstimator, used: Sequence[int], max_terms: int, X) -> list[str]:
    if not used:
        return ["<p>No term has an effect: the prediction is the same for all rows.</p>"]
    classes = scores_of_classes(estimator)
    unit, drawn = unit_of_terms(estimator), used[:max_terms]
    shapes = shapes_of_terms(estimator, drawn, None, X)
    style = PanelStyle(unit, classes, *shared_scales(shapes, 2.0), 20, 2.0)
    about = [
        f"All curves have one scale, and all maps the same colours: what is added to the {unit}."
    ]
    if any(s.errors is not None and not s.is_pair for s in shapes):
        about.append("Bands are plus and minus two standard errors, for new training rows.")
        if any(s.errors is not None and np.isnan(s.errors).any() for s in shapes):
            about.append("Values that were edited have none.")
    about.append("Grey histograms are the distributions of the training rows.")
    if X is not None:
        about.append("Marks below the curves are the rows given for the report.")
    if any(s.is_pair for s in shapes):
        about.append("Grey cells of a map have no training rows.")
    lines = [f"<p>{_text(' '.join(about))}</p>"]
    if len(classes) > 1:
        keys = [
            f'<span class="key" style="background: {COLORS[c % len(COLORS)]}"></span>{_text(label)}'
            for c, label in enumerate(classes)
        ]
        lines.append(f"<p>Classes: {''.join(keys)}</p>")
    lines.append('<div class="grid">')
    for shape in shapes:
        figure, ax = _figure(3.8, 3.0)
        draw_term(ax, shape, style)
        ax.set_title("")
        for each in figure.axes:
            each.tick_params(labelsize="small")
            for label in (each.xaxis.label, each.yaxis.label):
                label.set_fontsize("small")
        name = f"{shape.name}, {shape.of_class}" if shape.of_class else shape.name
        lines += [
            f"<article>\n<h3>{_text(name)}</h3>",
            _picture(figure, f"The term {name}."),
            f'<p class="soft">{_text(_facts(shape))}</p>',
            _values(shape, [shape.of_class] if shape.of_class else classes),
            "</article>",
        ]
    lines.append("</div>")
    if len(used) > len(drawn):
        names, sizes = names_of_terms(estimator), estimator.term_importances_
        rest = [(names[t], number(float(sizes[t]))) for t in used[max_terms:]]
        lines.append(_table([("term", "importance"), *rest], "Terms without a picture", "tn"))
    return lines


def _facts(shape: TermShape) -> str:
    """A sentence about a term."""
    low, high = float(shape.values.min()), float(shape.values.max())
    text = f"From {number(low, signed=True)} to {number(high, signed=True)}"
    if shape.importance is not None:
        text += f", {number(shape.importance)} in the mean of the absolute values"
    for axis, side in zip(shape.axes, (1, 0)):
        if shape.weights is None or not axis.missing:
            continue
        own = shape.weights if not shape.is_pair else shape.weights.sum(axis=side)
        share = float(own[-1] / max(own.sum(), np.finfo(float).tiny))
        text += f"; {axis.name}: {number(100 * share)} % of the training rows {axis.missing_label}"
    return f"{text}."


def _values(shape: TermShape, labels: Sequence[str]) -> str:
    """The values of a term as a table that can be opened."""
    counts = [axis.n_bins + axis.missing for axis in shape.axes]
    if np.prod(counts) > MOST_ROWS:
        return ""
    total = 1.0 if shape.weights is None else max(float(shape.weights.sum()), 1e-300)
    head = [axis.name for axis in shape.axes] if shape.is_pair else ["value"]
    several = len(labels) > 1
    head += [f"adds, {c}" if several else "adds" for c in labels]
    if shape.errors is not None:
        head += [f"± {c}" if several else "standard error" for c in labels]
    head += [] if shape.weights is None else ["training rows"]
    rows = [tuple(head)]
    for cell in np.ndindex(*counts):
        row = [_bin_label(axis, b) for axis, b in zip(shape.axes, cell)]
        row += [number(float(x), signed=True) for x in shape.values[cell]]
        if shape.errors is not None:
            row += ["" if np.isnan(x) else number(float(x)) for x in shape.errors[cell]]
        if shape.weights is not None:
            row.append(f"{number(100 * float(shape.weights[cell]) / total)} %")
        rows.append(tuple(row))
    kinds = "t" * len(shape.axes) + "n" * (len(head) - len(shape.axes))
    return f"<details><summary>values</summary>{_table(rows, '', kinds)}</details>"


def _bin_label(axis, b: int) -> str:
    if b >= axis.n_bins:
        return axis.missing_label
    if axis.categorical:
        return str(axis.edges[b])
    edges = [x.replace("-", "\N{MINUS SIGN}") for x in labels_of_edges(axis.edges)]
    if not edges:
        return "all values"
    if b == 0:
        return f"up to {edges[0]}"
    return f"above {edges[b - 1]}" + (f", up to {edges[b]}" if b < len(edges) else "")


def _unused(estimator: AdditiveEstimator, used: Sequence[int]) -> list[str]:
    known, names = {j for t in used for j in estimator.term_features_[t]}, feature_names(estimator)
    removed = removed_terms(estimator)
    left = [j for j in range(len(names)) if j not in known and names[j] not in removed]
    if not left or not used:
        return []
    # A feature without a threshold and without missing values has one bin: it was constant.
    single = [j for j in left if estimator.bin_weights_[j].shape[0] == 1]
    lines = [f"<p>{_text(', '.join(names[j] for j in left))}</p>"]
    if single:
        text = "Of these the same for all training rows: " + ", ".join(names[j] for j in single)
        lines.append(f'<p class="soft">{_text(text)}.</p>')
    return lines


def _removed(estimator: AdditiveEstimator) -> list[str]:
    names = removed_terms(estimator)
    if not names:
        return []
    return [
        "<p>These terms of the fit were removed after it; the other terms stayed as they were.</p>",
        f"<p>{_text(', '.join(names))}</p>",
    ]


def _edits(estimator: AdditiveEstimator) -> list[str]:
    rows = []
    for edit in getattr(estimator, "edits_", ()):
        given = getattr(edit, "arguments", None) or {}
        options = ", ".join(f"{k}={_short(v)}" for k, v in given.items())
        what = getattr(edit, "method", "")
        rows.append((what or _short(edit), getattr(edit, "term", ""), options))
    if not rows:
        return []
    head = [("edit", "term", "arguments")]
    return [
        "<p>These changes were made after the fit, in this order.</p>",
        _table([*head, *rows], "", "ttt"),
    ]


def _rows(estimator: AdditiveEstimator, X, options) -> list[str]:
    """The rows of the least, the middle and the largest prediction, as sums of terms."""
    if len(scores_of_classes(estimator)) > 1 or options:
        return []
    is_chance, estimator = is_classifier(estimator), at_offset_zero(estimator)
    found = np.asarray(estimator.predict_proba(X)[:, 1] if is_chance else estimator.predict(X))
    order = np.argsort(found, kind="stable")
    places = {"least": order[0], "middle": order[len(order) // 2], "largest": order[-1]}
    lines = ['<div class="grid wide">']
    for name, i in places.items():
        figure, ax = _figure(6.4, 3.8)
        row = X.iloc[[i]] if hasattr(X, "iloc") else _row(X, int(i))
        LocalExplanationDisplay.from_estimator(estimator, row, max_terms=8, ax=ax)
        lines += [
            f"<figure>{_picture(figure, f'The terms of row {i}.')}",
            f"<figcaption>row {i}, of the {name} prediction</figcaption></figure>",
        ]
    return [*lines, "</div>"]


def _row(X, i: int) -> Any:
    return X[i : i + 1] if hasattr(X, "shape") else [X[i]]


def _scores(estimator: AdditiveEstimator, X, y, sample_weight, options) -> list[str]:
    """Scores of predictions, and means of groups of them against what was observed."""
    figure, ax = _figure(4.8, 4.8)
    means = ReliabilityDisplay.from_estimator(
        estimator, X, y, sample_weight=sample_weight, ax=ax, **options
    ).reliability
    y = np.asarray(y)
    weight = None if sample_weight is None else checked_weights(sample_weight, y)
    given = {"sample_weight": weight}
    if is_classifier(estimator):
        chances = estimator.predict_proba(X, **options)
        found = estimator.classes_[np.argmax(chances, axis=1)]
        distance = means.calibration_error if isinstance(means, MeanReliability) else np.nan
        facts = [
            ("log-loss", log_loss(y, chances, labels=estimator.classes_, **given)),
            ("accuracy", accuracy_score(y, found, **given)),
            ("mean distance of the points from the diagonal", distance),
        ]
    else:
        found = estimator.predict(X, **options)
        facts = [
            ("root mean squared error", root_mean_squared_error(y, found, **given)),
            ("mean absolute error", mean_absolute_error(y, found, **given)),
            ("mean of y minus mean prediction", _mean_difference(y, found, weight)),
        ]
        if len(y) > 1:
            facts.append(("R²", r2_score(y, found, **given)))
    rows = [("rows", str(len(y)))]
    rows += [(name, number(float(value))) for name, value in facts]
    return [
        "<p>For the rows given with the report. If the model was fitted to them, it looks better "
        "here than it will be for new rows.</p>",
        _table(rows, head=True),
        _picture(figure, "Means of groups of predictions against those of the observed values."),
    ]


def _mean_difference(y: np.ndarray, found: np.ndarray, weight: np.ndarray | None) -> float:
    difference = float(np.average(y - found, weights=weight))
    # Rounding errors of a model with the mean of y are no difference.
    return difference if abs(difference) > 1e-12 * float(np.abs(y).max()) else 0.0


def _rounds(estimator: AdditiveEstimator) -> list[str]:
    if not hasattr(estimator, "cv_results_"):
        return []
    figure, ax = _figure(6.4, 3.8)
    results = CVPathDisplay.from_estimator(estimator, ax=ax).results
    at = results["n_estimators"] == estimator.n_estimators_
    mean, error = (number(float(results[name][at][0])) for name in ("mean_score", "standard_error"))
    pictures = [(figure, "rounds of stumps")]
    smoothing = getattr(estimator, "smoothing_results_", None)
    if smoothing is not None and len(smoothing["smoothing_rounds"]) > 1:
        figure, ax = _figure(6.4, 3.8)
        CVPathDisplay(smoothing, estimator.n_smoothing_rounds_).plot(ax)
        ax.set_xlabel("smoothing rounds")
        pictures.insert(0, (figure, "smoothing rounds, which come first"))
    figures = [
        f"<figure>{_picture(figure, f'Losses of the folds by the number of {what}.')}"
        f"<figcaption>{what}</figcaption></figure>"
        for figure, what in pictures
    ]
    return [
        f"<p>The mean loss of the model over the folds, each by the rows that were left out, is "
        f"{mean}, with a standard error of {error}.</p>",
        '<div class="grid wide">',
        *figures,
        "</div>",
    ]


def _parameters(estimator: AdditiveEstimator) -> list[str]:
    defaults = {
        name: p.default
        for name, p in inspect.signature(type(estimator).__init__).parameters.items()
    }
    rows = [("parameter", "value", "")]
    for name, value in estimator.get_params(deep=False).items():
        text = _short(value)
        note = "" if text == _short(defaults.get(name)) else "not the default"
        rows.append((name, text, note))
    return [_table(rows, "", "ttt")]


# --- HTML -----------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    """Escape what is not HTML of ours: names of features, classes, parameters."""
    return html.escape(str(value))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:199] + "…"


def _table(
    rows: Iterable[tuple[str, ...]], caption: str = "", kinds: str = "", head: bool = False
) -> str:
    """A table of texts: the first row, or with `head` the first column, are headings.

    `kinds` has a letter for each column: t for text, n for numbers.
    """
    lines = ['<div class="scroll"><table>']
    lines += [f"<caption>{_text(caption)}</caption>"] if caption else []
    for i, row in enumerate(rows):
        cells = []
        for c, cell in enumerate(map(_text, row)):
            is_number = ' class="n"' if kinds[c : c + 1] == "n" else ""
            if head and c == 0:
                cells.append(f'<th scope="row">{cell}</th>')
            elif not head and i == 0:
                cells.append(f'<th scope="col"{is_number}>{cell}</th>')
            else:
                cells.append(f"<td{is_number}>{cell}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table></div>"])


def _figure(width: float, height: float) -> tuple[Any, Any]:
    # Not one of pyplot, which would keep it, and show it in a notebook.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _picture(figure, description: str) -> str:
    """A figure as SVG within an image, in which no name can be a script or a style of the page."""
    from matplotlib import rc_context

    file = io.BytesIO()
    # The salt makes the same file of the same model; text stays text, which is shorter than paths.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "report"}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with warnings.catch_warnings():
            # The font of matplotlib measures the text; that of the reader shows it.
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(file, format="svg", transparent=True, dpi=150, metadata=nothing)
    # Control characters, which names may have, are not allowed in XML.
    data = base64.b64encode(file.getvalue().translate(None, CONTROLS)).decode("ascii")
    width, height = (round(96 * inches) for inches in figure.get_size_inches())
    size = f'width="{width}" height="{height}"'
    return f'<img alt="{_text(description)}" {size} src="data:image/svg+xml;base64,{data}">'
