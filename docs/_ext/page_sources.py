"""What the site adds to the markdown pages as it reads them; on GitHub they stay as they are.

- *Links to examples and lectures.* A page links to the script, which exists in a clone. On the
  site the link leads to the page of the gallery, with its figures.
- *Ends of examples.* The empty line after an example, without which a doctest would read the end
  of the block as a part of its result, is left out.
- *Search words.* `WORDS` are what a reader may type and no title says. They are entries of the
  index, which the search of the site lists first. After a build each of them has to lead to its
  page. (Sphinx forgets the entries of pages that a second build does not write: begin anew.)
"""

import json
import re
from pathlib import Path

EXAMPLE = re.compile(r"\(((?:\.\./)*)(examples|lectures)/((?:\w+/)?plot_\w+)\.py\)")
INDEX = re.compile(r"\(((?:\.\./)*)(examples|lectures)/README\.rst\)")
BLOCK = re.compile(r"^(```pycon\n(?:(?!```).*\n)*?)\n+```\n", re.MULTILINE)
WORDS = {
    "getting_started": ["install", "installation", "pip", "quick start", "tutorial"],
    "user_guide/additive_models": [
        *("EBM", "GAM", "explainable boosting machine", "generalized additive model"),
        *("glass box", "interpretable model", "shape function"),
    ],
    "user_guide/averaging": ["bagging", "bootstrap", "random forest", "out-of-bag"],
    "user_guide/boosting": ["gradient boosting", "custom loss", "early stopping"],
    "user_guide/forest_weights": [
        *("RF-GAP", "distributional random forest", "honest trees", "imputation", "kneighbors"),
        *("outliers", "proximity", "proximity matrix"),
    ],
    "user_guide/coming_from": ["MAPIE", "interpret", "migration", "CatBoost"],
    "user_guide/questions": ["FAQ", "dates", "exposure", "timestamps"],
    "user_guide/from_a_csv": [
        *("CSV", "categorical features", "missing values", "read_csv", "save a model"),
    ],
    "user_guide/groups": ["GroupKFold", "block bootstrap", "clustered data", "time series"],
    "user_guide/imbalanced": [
        *("calibration", "class weight", "class_weight", "imbalance", "imbalanced"),
        *("rare class", "threshold", "unbalanced"),
    ],
    "user_guide/certificates": ["PAC-Bayes", "certificate", "tandem loss"],
    "user_guide/inspection": [
        "feature importance",
        "permutation importance",
        "variable importance",
    ],
    "user_guide/larger_than_memory": [
        "Dask",
        "big data",
        "out of core",
        "partial_fit",
        "fit_batches",
    ],
    "user_guide/noisy_labels": ["label noise", "wrong labels"],
    "user_guide/other_tools": ["ONNX", "Optuna", "SHAP", "partial dependence", "skops"],
    "user_guide/speed_and_memory": ["LightGBM", "XGBoost", "memory", "n_jobs", "speed"],
    "user_guide/which_defaults": ["defaults", "hyperparameters", "tuning"],
    "user_guide/uncertainty": [
        *("conformal", "conformal prediction", "confidence interval", "error bar", "jackknife"),
        *("CRPS", "NGBoost", "predictive distribution", "probabilistic prediction"),
        *("prediction interval", "quantile forest", "quantile regression forest"),
        *("standard error", "uncertainty"),
    ],
}


def complete_source(app, name, source):
    """The page with links to the gallery and, below its title, its search words."""
    text = EXAMPLE.sub(r"(\1auto_\2/\3.rst)", source[0])
    text = INDEX.sub(r"(\1auto_\2/index.rst)", text)
    text = BLOCK.sub(r"\1```\n", text)
    if name in WORDS:
        entries = ", ".join(f"! {word}" for word in WORDS[name])
        title, rest = text.split("\n", 1)
        text = f"{title}\n\n```{{index}} {entries}\n```\n{rest}"
    source[0] = text


def lead_to_titles(app, doctree):
    """Results of the search words have the text of the page below them, not an empty one."""
    if app.env.docname in WORDS:
        from docutils import nodes  # here, as the tests need no Sphinx
        from sphinx import addnodes

        title = next(doctree.findall(nodes.section))["ids"][0]
        for index in doctree.findall(addnodes.index):
            index["entries"] = [
                (kind, word, title, *rest) for kind, word, _, *rest in index["entries"]
            ]


def misled(index, written):
    """The words of written pages that do not lead there, given the data of `searchindex.js`."""
    for page, words in WORDS.items():
        for word in words if page in written else ():
            places = index["indexentries"].get(word.lower(), [])
            if [index["docnames"][place[0]] for place in places if place[2]] != [page]:
                yield f"a search for {word!r} does not lead to {page}"


written = set()  # the pages that this build writes


def note_page(app, page, template, context, doctree):
    written.add(page)


def check_words(app, exception):
    if not exception and app.builder.name == "html":
        from sphinx.util import logging  # here, as the tests need no Sphinx

        text = Path(app.outdir, "searchindex.js").read_text(encoding="utf-8")
        index = json.loads(text[text.index("{") : text.rindex("}") + 1])
        for fault in misled(index, written):
            logging.getLogger(__name__).warning(fault)


def setup(app):
    app.connect("source-read", complete_source)
    app.connect("doctree-read", lead_to_titles)
    app.connect("html-page-context", note_page)
    app.connect("build-finished", check_words)
    return {"parallel_read_safe": True}
