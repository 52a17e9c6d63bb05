"""Differences from the scikit-learn classes of the same name: a table for the site and its test.

`DIFFERENCES` lists where the same parameters give another model. Further parameters and methods
are read from the signatures. docs/user_guide/differences.md includes the tables made of both, the
page of a class links to its section, and tests/test_differences.py compares the table with the
classes.
"""

import inspect
from pathlib import Path

import sklearn.ensemble
from sklearn.tree import DecisionTreeClassifier

import sklearn_ensemble_theory as package

# (whether the default model is scikit-learn's for the same seed, parameters that make it so or as
# near as it gets, [(what differs, how to get scikit-learn's)])
TREES = (
    "Above 10,000 rows (1,000 for the absolute error of random forests and bagging) the columns "
    "are cut into 2047 bins, which takes a tenth of the time.",
    "`max_bins=None`",
)
ZERO_WEIGHTS = ("Rows of weight 0 are left out before anything is drawn.", "drop them yourself")
WITHOUT = (
    "`max_samples` with `bootstrap=False` draws rows without replacement. scikit-learn's forests "
    "refuse it.",
    "leave `max_samples=None`",
)
LEARNERS = (
    "Learners without `sample_weight` are fitted to rows drawn by their weights. scikit-learn "
    "refuses them.",
    "",
)
AT_ZERO = (
    "A score of exactly 0 predicts the first of two classes, as equal probabilities do.",
    "",
)
MIDDLES = (
    "A leaf for the absolute error or a quantile predicts the middle of the interval of its "
    "medians or quantiles. For Huber's loss it is the exact minimum instead of one step towards "
    "it.",
    "",
)
TIES = (
    "A seed decides between equally good splits; in scikit-learn rounding decides. The models "
    "then differ from that node on.",
    "",
)
BINS = (
    "Trees are grown on columns in 255 bins, for any number of rows.",
    "`max_bins=None`: scikit-learn's exact trees, up to ties",
)
SINGLE = (
    "Trees read a column of X in single precision only if that keeps its values apart. All rows "
    "decide the edges of bins, not 200,000 of them.",
    "",
)
CATEGORIES = (
    "If there are more than `max_bins` categories, the rarest share a bin. Means of small "
    "categories are shrunk; scikit-learn leaves out categories of fewer than ten rows. In both "
    "libraries the weight of a category counts as a number of rows, to which ten are added. So "
    "weights that are all multiplied by a number give another fit.",
    "if your weights count no rows, divide them by their mean",
)
TIES_OF_BINS = (
    "Equally good splits are drawn at random, for `random_state=None` by a fixed seed.",
    "",
)
TOL = (
    "`tol` of early stopping is a share of the deviance of the constant model on the validation "
    "rows, so it does not depend on the units of y. For the squared error it equals "
    "scikit-learn's for a target of variance 1. For two equally frequent classes it is 1.39 times "
    "scikit-learn's.",
    "divide `tol` by the variance of y",
)
NEGATIVE = ("Negative weights are refused.", "")
ONE_CLASS = ("A target of one class is refused.", "")
THREADS = ("`n_jobs=None` uses all cores for large tables.", "`n_jobs=1`")
MOVED = (
    "With `monotonic_cst`, impurities, importances and pruning of trees in bins use the final "
    "values of the nodes. scikit-learn uses the values before the constraint moves them.",
    "`max_bins=None`",
)
OOB = ("You can combine `oob_score` and `warm_start`.", "")
FOREST = (True, {}, [TREES, WITHOUT, OOB, ZERO_WEIGHTS, NEGATIVE, MOVED])
DIFFERENCES = {
    "AdaBoostClassifier": (
        False,
        {"variant": "discrete", "estimator": DecisionTreeClassifier(max_depth=1)},
        [
            (
                "With stumps and more than two classes the default is AdaBoost.MH, with one score "
                "for each class, instead of SAMME. On digits about a third of the predictions "
                "differ.",
                '`variant="discrete"`',
            ),
            (
                "The default learner is the stump of the least weighted error. scikit-learn's "
                "default stump has the least Gini impurity.",
                "`estimator=DecisionTreeClassifier(max_depth=1)`",
            ),
            LEARNERS,
            AT_ZERO,
        ],
    ),
    "AdaBoostRegressor": (True, {}, [LEARNERS]),
    "BaggingClassifier": (True, {}, [OOB, ZERO_WEIGHTS, NEGATIVE]),
    "BaggingRegressor": (True, {}, [OOB, ZERO_WEIGHTS, NEGATIVE]),
    "ExtraTreesClassifier": FOREST,
    "ExtraTreesRegressor": FOREST,
    "RandomForestClassifier": FOREST,
    "RandomForestRegressor": FOREST,
    "GradientBoostingClassifier": (
        False,
        {"max_bins": None},
        [
            BINS,
            TIES,
            AT_ZERO,
            TOL,
            THREADS,
            NEGATIVE,
        ],
    ),
    "GradientBoostingRegressor": (
        False,
        {"max_bins": None},
        [
            BINS,
            TIES,
            MIDDLES,
            TOL,
            THREADS,
            NEGATIVE,
        ],
    ),
    "HistGradientBoostingClassifier": (
        False,
        {},
        [SINGLE, CATEGORIES, TIES_OF_BINS, TOL, NEGATIVE, ONE_CLASS],
    ),
    "HistGradientBoostingRegressor": (False, {}, [SINGLE, CATEGORIES, TIES_OF_BINS, TOL, NEGATIVE]),
    "StackingClassifier": (True, {}, [NEGATIVE]),
    "StackingRegressor": (True, {}, [NEGATIVE]),
    "VotingClassifier": (True, {}, [NEGATIVE]),
    "VotingRegressor": (True, {}, [NEGATIVE]),
}


def signatures(name):
    return [inspect.signature(getattr(m, name)).parameters for m in (package, sklearn.ensemble)]


def further_parameters(name):
    ours, theirs = signatures(name)
    return [parameter for parameter in ours if parameter not in theirs]


def further_methods(name):
    ours, theirs = (getattr(m, name) for m in (package, sklearn.ensemble))
    return sorted(
        method
        for method in dir(ours)
        if not method.startswith("_")
        and not hasattr(theirs, method)
        and callable(inspect.getattr_static(ours, method, None))
        and not method.endswith("_request")
    )


def sections():
    parts = []
    for name, (same, _, rows) in DIFFERENCES.items():
        link = f"{package.__name__}.{name}"
        parts += ["", f"## {name}", ""]
        model = "equals" if same else "differs from"
        parts += [
            f"{{class}}`~{link}` replaces {{class}}`sklearn.ensemble.{name}`. By default its model "
            f"{model} scikit-learn's for the same data and `random_state`.",
            "",
        ]
        if rows:
            parts += ["| difference | to get scikit-learn's |", "|---|---|"]
            parts += [f"| {here} | {there or 'no parameter'} |" for here, there in rows]
            parts += [""]
        for what, names in (
            ("parameters", further_parameters(name)),
            ("methods", further_methods(name)),
        ):
            if names:
                parts += [f"Further {what}: {', '.join(f'`{x}`' for x in names)}.", ""]
    return "\n".join(parts)


def write_sections(app, config):
    path = Path(app.srcdir, "generated", "differences.txt")
    path.parent.mkdir(exist_ok=True)
    text = sections()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("config-inited", write_sections)
    return {"parallel_read_safe": True}
