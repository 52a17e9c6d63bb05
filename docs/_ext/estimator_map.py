"""The map from what a reader has, or wants, to an estimator: a drawing and the same as a list.

It is written down in `MAP` only; docs/which_estimator.md includes the drawing and the list. Every
estimator of the package is in it (tests/test_site.py). Both link to the pages of the reference.
"""

import re
import textwrap
from html import escape
from pathlib import Path

from sklearn_ensemble_theory import trees

PACKAGE = "sklearn_ensemble_theory"
BOTH = ("Classifier", "Regressor")
CLASSES, NUMBERS = BOTH[:1], BOTH[1:]
# (what a reader has or wants, page of the guide): (condition, name, kinds). Without kinds, the name
# is whole.
MAP = {
    ("Predict well from a table", "averaging"): [
        ("good without tuning, tables of any size", "RandomForest", BOTH),
        ("y is noisy, or many features matter", "ExtraTrees", BOTH),
        ("any loss, missing values, with early stopping", "GradientBoosting", BOTH),
        ("thousands of rows, many interactions, little tuning", "HistGradientBoosting", BOTH),
        ("two or more classes, reliable labels, few parameters", "AdaBoost", CLASSES),
    ],
    ("Combine models of different kinds", "combining"): [
        ("the best predictions in one line, nothing to choose", "SuperLearner", BOTH),
        ("enough rows to learn weights from held-out predictions", "Stacking", BOTH),
        ("few rows, or members that are fitted already", "Voting", BOTH),
    ],
    ("How sure is the model?", "uncertainty"): [
        ("standard errors and intervals, with little tuning", "RandomForest", BOTH),
        ("standard errors and intervals of your own learner", "Bagging", BOTH),
        ("bands around curves, y is a number", "L2Boosting", NUMBERS),
        ("distributions, and intervals that follow the noise", "GradientBoosting", BOTH),
    ],
    ("Millions of rows", "speed_and_memory"): [
        ("in memory: trees on bins, in threads", "GradientBoosting", BOTH),
        ("in chunks or on a cluster, one curve for each feature", "L2Boosting", NUMBERS),
        ("in chunks or on a cluster, curves for classes", "LogitBoost", CLASSES),
        ("a linear model, in chunks", "SketchedLinearRegression", ()),
    ],
    ("Groups and time", "groups"): [
        ("several rows of one patient, user or site: groups=", "RandomForest", BOTH),
        ('a time series: bootstrap="moving_block"', "Bagging", BOTH),
    ],
    ("Categories, missing values", "from_a_csv"): [
        ("no encoding, one curve for each feature, y is a number", "L2Boosting", NUMBERS),
        ("no encoding, one curve for each feature, classes", "LogitBoost", CLASSES),
        ("no encoding, features interact", "GradientBoosting", BOTH),
        ("no encoding, good without tuning", "RandomForest", BOTH),
    ],
    ("One class is rare", "imbalanced"): [
        ("probabilities and a threshold of your own", "LogitBoost", CLASSES),
        ("rank the rows well: average precision", "HistGradientBoosting", CLASSES),
        ('weights of the classes: class_weight="balanced"', "RandomForest", CLASSES),
        ('a fixed share of each class in every draw: "stratified"', "Bagging", CLASSES),
    ],
    ("Improve a learner of your own", "base_learners"): [
        ("it has high variance: a deep tree, a small network", "Bagging", BOTH),
        ("it is weak, without sample_weight, and y is a number", "AdaBoost", NUMBERS),
        ("it is linear in y and too smooth", "LinearL2Boosting", NUMBERS),
        ("its time grows faster than the number of rows", "DivideAndConquer", BOTH),
    ],
    ("Read the model", "additive_models"): [
        ("one curve for each feature, y is a number", "L2Boosting", NUMBERS),
        ("one curve for each feature, log-odds of classes", "LogitBoost", CLASSES),
        (
            "one curve for each feature: counts, amounts, quantiles, exposures",
            "AdditiveBoosting",
            NUMBERS,
        ),
        ("a linear model of few columns", "MatchingPursuit", NUMBERS),
        ("a table: rates in the cells of two or three features", "Histogram", BOTH),
        ("one simple rule", "DecisionStump", BOTH),
    ],
    ("Bound the norm, with a certificate", "greedy"): [
        ("a sum of columns, stumps or units, any smooth loss", "FrankWolfe", BOTH),
        ("a linear classifier in a ball", "BallConstrained", CLASSES),
        ("a vote of few members, of the largest soft margin", "LPBoost", CLASSES),
    ],
    ("Some labels are wrong", "noisy_labels"): [
        ("random flips, at an unknown rate", "SmoothBoost", CLASSES),
        ("you know nothing about the labels", "AgnosticBoost", CLASSES),
        ("you know a bound on the probability of a wrong label", "MassartBoost", CLASSES),
    ],
    ("A smooth function of few features", "smoothing"): [
        ("one feature, or several with additive effects", "SmoothingSpline", NUMBERS),
        ("few features that interact, a few thousand rows", "NadarayaWatson", NUMBERS),
        ("up to about ten features with a meaningful distance", "BaggedNearestNeighbors", BOTH),
    ],
    ("Linear regression on very large X", "blocks_and_sketches"): [
        ("many more rows than columns", "SketchedLinearRegression", ()),
        ("more columns than rows, all with some signal", "RandomProjection", NUMBERS),
    ],
    ("A part for an ensemble of your own", "trees"): [
        ("trees on columns that are binned only once", "BinnedTree", BOTH),
        ("rectified linear units", "ReLUUnit", NUMBERS),
        ("single columns, for a linear model of any loss", "BestColumn", NUMBERS),
    ],
}
# Sizes in units of the drawing, which is shown at 1 pixel per unit where there is room.
WIDTH, ROW, GAP, BOX = 960, 40, 14, 32
QUESTION, CONDITION, ESTIMATOR = (0, 180), (216, 330), (574, WIDTH - 574)
LETTER, BOLD = 6.8, 8.2  # mean widths at a font size of 13


def estimators(name, kinds):
    """The names of the classes at one end of the map."""
    return [name + kind for kind in kinds] or [name]


def full_name(name):
    """The name of a class with the module that users import it from."""
    return f"{PACKAGE}.trees.{name}" if name in trees.__all__ else f"{PACKAGE}.{name}"


def address(name):
    return f"generated/{full_name(name)}.html"


def lines_of(text, width, letter=LETTER):
    return textwrap.wrap(text, int((width - 20) / letter))


def text_at(x, y, text, width, kind):
    """Text in lines, the middle of which is at the height y."""
    lines = lines_of(text, width, BOLD if kind == "question" else LETTER)
    top = y - 8 * (len(lines) - 1) + 4.5
    spans = "".join(
        f'<tspan x="{x}" y="{top + 16 * i:g}">{escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return f'<text class="{kind}">{spans}</text>'


def box(x, y, width, height, kind):
    top = y - height / 2
    return f'<rect class="{kind}" x="{x}" y="{top:g}" width="{width}" height="{height}" rx="6"/>'


def chips(name, kinds, y):
    """The estimators at the end of a row: a name, and a link for each kind, or one link."""
    x, width = ESTIMATOR
    parts = [box(x, y, width, BOX, "estimator")]
    if len(kinds) < 2:
        (whole,) = estimators(name, kinds)
        parts += [f'<a href="{address(whole)}">{text_at(x + 10, y, whole, width, "link")}</a>']
        return parts
    parts += [text_at(x + 10, y, name, width, "name")]
    for kind, start in zip(kinds, (x + width - 172, x + width - 84)):
        link = f'<a href="{address(name + kind)}" aria-label="{name}{kind}">'
        parts += [f"{link}{text_at(start, y, kind, 200, 'link')}</a>"]
    return parts


def drawing():
    """The map as an SVG element, whose colours are those of the page (custom.css)."""
    parts, y = [], 0
    for (question, page), ends in MAP.items():
        height = ROW * len(ends)
        middle = y + height / 2
        start, stop = QUESTION[1], CONDITION[0]
        for i, (condition, name, kinds) in enumerate(ends):
            row = y + ROW * (i + 0.5)
            bend = (start + stop) / 2
            curve = f"C{bend:g} {middle:g} {bend:g} {row:g} {stop} {row:g}"
            parts.append(f'<path d="M{start} {middle:g}{curve}"/>')
            right = sum(CONDITION)
            parts.append(f'<path d="M{right} {row:g}H{ESTIMATOR[0]}"/>')
            parts.append(box(CONDITION[0], row, CONDITION[1], BOX + 2, "condition"))
            parts.append(text_at(CONDITION[0] + 10, row, condition, CONDITION[1], "plain"))
            parts += chips(name, kinds, row)
        parts.append(f'<a href="user_guide/{page}.html">')
        lines = len(lines_of(question, QUESTION[1], BOLD))
        parts.append(box(0, middle, QUESTION[1], 20 + 16 * lines, "question"))
        parts.append(text_at(12, middle, question, QUESTION[1], "question"))
        parts.append("</a>")
        y += height + GAP
    return "\n".join(
        [
            f'<svg class="estimator-map" viewBox="0 0 {WIDTH} {y - GAP}" role="group" '
            'xmlns="http://www.w3.org/2000/svg" aria-label="Map of the estimators">',
            *parts,
            "</svg>",
        ]
    )


def listing():
    """The map as nested lists in MyST markdown, for narrow screens and for reading aloud."""
    lines = []
    for (question, page), ends in MAP.items():
        lines += [f"**[{question}](user_guide/{page}.md)**", ""]
        for condition, name, kinds in ends:
            roles = [f"{{class}}`~{full_name(whole)}`" for whole in estimators(name, kinds)]
            # Code, so that its quotes stay as they are.
            marked = re.sub(r'\w+="?\w*"?|"\w+"', r"`\g<0>`", condition)
            lines += [f"- {marked}: {', '.join(roles)}"]
        lines += [""]
    return "\n".join(lines)


def write_map(app, config):
    path = Path(app.srcdir, "generated", "which_estimator.txt")
    text = f"```{{raw}} html\n{drawing()}\n```\n\n## As a list\n\n{listing()}"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("config-inited", write_map)
    return {"parallel_read_safe": True}
