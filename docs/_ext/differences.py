"""What differs from the scikit-learn classes of the same name: a table for the site and its test.

`DIFFERENCES` has what the same parameters do otherwise. Further parameters and methods are read
from the signatures. docs/user_guide/differences.md includes what is made of both, the page of a
class links to its section, and tests/test_differences.py holds the table to the classes.
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
    "are in 2047 bins, which takes a tenth of the time.",
    "`max_bins=None`",
)
ZERO_WEIGHTS = ("Rows of weight 0 are left out before anything is drawn.", "drop them yourself")
WITHOUT = (
    "`max_samples` with `bootstrap=False` draws rows without replacement; scikit-learn's forests "
    "refuse it.",
    "leave `max_samples=None`",
)
LEARNERS = (
    "Learners that take no `sample_weight` are fitted to rows drawn by their weights; "
    "scikit-learn refuses them.",
    "",
)
AT_ZERO = (
    "A score of exactly 0 predicts the first of two classes, as equal probabilities do.",
    "",
)
MIDDLES = (
    "Leaves for the absolute error and quantiles are the middle of an interval of medians or "
    "quantiles, and for Huber's loss the exact minimum instead of one step towards it.",
    "",
)
TIES = (
    "Splits that are equally good are decided by a seed; scikit-learn's rounding decides. Models "
    "then differ from that node on.",
    "",
)
BINS = (
    "Trees are grown on columns in 255 bins, at any number of rows.",
    "`max_bins=None`: scikit-learn's exact trees, up to ties",
)
SINGLE = (
    "Trees read X in single precision where it tells the values of a column apart, and all rows "
    "decide the edges of bins, not 200,000.",
    "",
)
CATEGORIES = (
    "Of more than `max_bins` categories the rarest share a bin; means of small categories are "
    "shrunk, where scikit-learn leaves out categories of fewer than ten rows. In both libraries "
    "the weight of a category counts as a number of rows, to which ten are added: weights that are "
    "all multiplied by a number give another fit.",
    "divide weights that count no rows by their mean",
)
TIES_OF_BINS = (
    "Splits that are equally good are drawn, for `random_state=None` by a fixed seed.",
    "",
)
TOL = (
    "`tol` of early stopping is a share of the deviance of the constant model on the rows that "
    "decide, and does not depend on the units of y. For the squared error it is scikit-learn's for "
    "a target of variance 1; for two equally frequent classes it is 1.39 times scikit-learn's.",
    "`tol` divided by the variance of y",
)
NEGATIVE = ("Negative weights are refused.", "")
ONE_CLASS = ("A target of one class is refused.", "")
MOVED = (
    "With `monotonic_cst` the impurities of trees in bins, and importances and pruning, are those "
    "of the values that predict. scikit-learn's are those before the constraint moves the values.",
    "`max_bins=None`",
)
OOB = ("`oob_score` and `warm_start` can be combined.", "")
FOREST = (True, {}, [TREES, WITHOUT, OOB, ZERO_WEIGHTS, NEGATIVE, MOVED])
DIFFERENCES = {
    "AdaBoostClassifier": (
        False,
        {"variant": "discrete", "estimator": DecisionTreeClassifier(max_depth=1)},
        [
            (
                "With stumps and more than two classes the default is AdaBoost.MH, one score for "
                "each class, instead of SAMME. On digits about a third of the predictions differ.",
                '`variant="discrete"`',
            ),
            (
                "The default learner is the stump of the least weighted error; scikit-learn's has "
                "the least Gini impurity.",
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
            ("All cores are used for large tables: `n_jobs=None` is that.", "`n_jobs=1`"),
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
            ("All cores are used for large tables: `n_jobs=None` is that.", "`n_jobs=1`"),
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
        model = "the same as" if same else "another than"
        parts += [
            f"For {{class}}`sklearn.ensemble.{name}`: by default the model of {{class}}`~{link}` "
            f"is {model} scikit-learn's for the same data and `random_state`.",
            "",
        ]
        if rows:
            parts += ["| here | for scikit-learn's |", "|---|---|"]
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
