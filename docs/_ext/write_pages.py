"""Writes the generated pages into `docs/generated/` before Sphinx reads its sources.

The API reference is generated from the `__all__` of each folder of the package. Only the sections
of the guide to which estimators link are listed by hand.

- `<address>.rst`, one page for each public name;
- `groups.txt`, the tables of names that docs/api.rst includes.

Unchanged files are not written again, so that a second build is short.
"""

import functools
import importlib
import inspect
import re
from pathlib import Path

import sklearn.ensemble

PACKAGE = "sklearn_ensemble_theory"
# The folders and modules of the package that export names, in the order of the reference.
GROUPS = {
    "averaging": "Averaging",
    "boosting": "Boosting",
    "boosting.losses": "Losses",
    "boosting.steps": "Steps",
    "smoothing": "Smoothing",
    "combining": "Combining",
    "erm": "Empirical risk minimisers",
    "trees": "Trees",
    "bounds": "Bounds",
    "uncertainty": "Uncertainty",
    "inspection": "Inspection",
    "export": "Export",
    "metrics": "Scores of distributions",
    "datasets": "Datasets",
    "_version": "Versions",
}
GUIDE = Path(__file__).parents[1] / "user_guide"
# The section of the guide on each estimator, by its name without Classifier or Regressor. Other
# names link to the page that mentions them first.
SECTIONS = {
    "AdaBoost": "boosting#adaboost-and-its-error-bound",
    "AdaBoostRegressor": "boosting#regression",
    "AgnosticBoost": "noisy_labels#the-three-algorithms",
    "BaggedNearestNeighbors": "averaging_neighbors",
    "Bagging": "averaging#when-to-choose-which",
    "AdditiveBoosting": "l2_boosting#any-loss",
    "BallConstrained": "erm#linear-classifiers-in-a-ball",
    "BestColumn": "greedy#gradient-boosting-as-a-greedy-algorithm",
    "BinnedTree": "trees",
    "DecisionStump": "boosting#weak-learners",
    "DivideAndConquer": "blocks_and_sketches#divide-and-conquer",
    "ExtraTrees": "averaging#random-cuts",
    "FrankWolfe": "greedy#frank-wolfe",
    "GradientBoosting": "boosting#gradient-boosting",
    "HistGradientBoosting": "boosting#histgradientboosting",
    "Histogram": "histograms",
    "L2Boosting": "l2_boosting",
    "LPBoost": "noisy_labels#the-three-algorithms",
    "LinearL2Boosting": "smoothing",
    "LogitBoost": "l2_boosting#logitboost",
    "MassartBoost": "noisy_labels#the-three-algorithms",
    "MatchingPursuit": "greedy#matching-pursuit",
    "NadarayaWatson": "smoothing#the-smoothers-on-their-own",
    "RandomForest": "averaging#random-forests",
    "RandomProjection": "random_projections",
    "ReLUUnit": "greedy#rectified-linear-units",
    "SketchedLinearRegression": "blocks_and_sketches#sketched-least-squares",
    "SmoothBoost": "noisy_labels#the-three-algorithms",
    "SmoothingSpline": "smoothing#the-smoothers-on-their-own",
    "Stacking": "combining#learned-weights",
    "SuperLearner": "combining#a-super-learner",
    "Voting": "combining#votes",
}

# Of names that are common words, or are mentioned before they are explained.
OTHER_SECTIONS = {
    "frame": "inspection#a-model-as-a-table",
    "network": "greedy#rectified-linear-units",
    "ReliabilityDisplay": "uncertainty#calibration",
    "shap": "other_tools#shap",
    "sklearn": "other_tools",
}


def members(module, short):
    """(address, object) of each name that a module exports; a module in it is another group."""
    for name in getattr(module, "__all__", ()):
        member = getattr(module, name)
        if not inspect.ismodule(member):
            yield f"{short.get(name, module.__name__)}.{name}", member


def public_names():
    """`{group: [(address, object), ...]}` of what each folder exports, at its shortest address."""
    package = importlib.import_module(PACKAGE)
    found = {}
    for group in GROUPS:
        try:
            module = importlib.import_module(f"{PACKAGE}.{group}")
        except ModuleNotFoundError as error:
            if error.name != f"{PACKAGE}.{group}":
                raise
            continue
        found[group] = list(members(module, dict.fromkeys(package.__all__, PACKAGE)))
    listed = {address for names in found.values() for address, _ in names}
    exported = {f"{PACKAGE}.{name}" for name in package.__all__ if not name.startswith("__")}
    if exported - listed:
        raise ValueError(f"exported, but in no folder's __all__: {sorted(exported - listed)}")
    return found


@functools.cache
def headings(name):
    """`{anchor: heading}` of a page of the guide; the anchor of its title is the empty string."""
    lines = (GUIDE / f"{name}.md").read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("# ") for line in lines if re.match("#+ ", line)]
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    return {"": titles[0], **dict(zip(anchors[1:], titles[1:]))}


@functools.cache
def guide_order():
    """The pages of the guide with their text, in the order of its table of contents."""
    trees = re.findall(r"```{toctree}\n(.*?)```", (GUIDE / "index.md").read_text("utf-8"), re.S)
    names = re.findall(r"^\w+$", "\n".join(trees), re.M)
    return {name: (GUIDE / f"{name}.md").read_text(encoding="utf-8") for name in names}


def section(name):
    """The section of the guide on a public name: (page, anchor)."""
    stem = re.sub("(Classifier|Regressor)$", "", name)
    if place := SECTIONS.get(name, SECTIONS.get(stem)) or OTHER_SECTIONS.get(name):
        page, _, anchor = place.partition("#")
        return page, anchor
    word = re.compile(rf"\b{name}\b")
    pages = (page for page, text in guide_order().items() if name in text and word.search(text))
    return next(pages, "index"), ""


def page(address, member):
    """The reStructuredText of one public name's page."""
    module, name = address.rsplit(".", 1)
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if module == PACKAGE and name in sklearn.ensemble.__all__:
        lines += [
            f"In the place of scikit-learn's :class:`~sklearn.ensemble.{name}`: `what differs "
            f"<../user_guide/differences.html#{name.lower()}>`__.",
            "",
        ]
    where, anchor = section(name)
    link = f"../user_guide/{where}.html{'#' * bool(anchor)}{anchor}"
    lines += [f"User guide: `{headings(where)[anchor]} <{link}>`__.", ""]
    if inspect.isclass(member):
        lines += [f".. autoclass:: {name}", "   :members:", "   :inherited-members:"]
        if any("__call__" in vars(each) for each in inspect.getmro(member)):
            lines += ["   :special-members: __call__"]
    elif callable(member):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. autodata:: {name}"]
    lines += ["", f".. minigallery:: {address}", "   :add-heading: Gallery examples"]
    return "\n".join([*lines, "   :heading-level: -", ""])


def tables(found):
    """What docs/api.rst includes: a table for each group, and the hidden tree of its pages."""
    lines = []
    for group, names in found.items():
        if not names:
            continue
        doc = inspect.getdoc(importlib.import_module(f"{PACKAGE}.{group}")) or ""
        title = GROUPS[group]
        label = f".. _api-{group.strip('_').replace('.', '-')}:"
        lines += [label, "", title, "-" * len(title), "", doc.split("\n\n")[0], ""]
        lines += [".. autosummary::", ""]
        lines += [f"   ~{address}" for address, _ in names]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {title}", ""]
        lines += [f"   {address.rsplit('.', 1)[1]} <generated/{address}>" for address, _ in names]
        lines += [""]
    return "\n".join(lines)


def write_pages(app, config):
    folder = Path(app.srcdir, "generated")
    folder.mkdir(exist_ok=True)
    found = public_names()
    pages = {f"{address}.rst": page(address, m) for names in found.values() for address, m in names}
    for old in folder.glob(f"{PACKAGE}.*.rst"):
        if old.name not in pages:
            old.unlink()
    pages["groups.txt"] = tables(found)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


ROLE = re.compile(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`>]*>)?`")
# The name of a parameter or attribute, alone or before its type.
NAME = re.compile(r"\s*\*{0,2}\w+_?(, \*{0,2}\w+_?)*( : |$)")
CODE = re.compile(r"(`+.*?`+)")
ENDING = re.compile(r"(?<=\w)_(?![\w`])")
INITIAL = re.compile(r"^(\s*(?:\.\. \[\w+\] )?)(?=[A-Z]\. )")


def plain(lines):
    """The lines of a docstring, with text escaped that docutils would take for markup.

    Labels and glossary terms in inherited methods refer to scikit-learn's documentation and are
    replaced by their text. In "array of shape (n_features_in_,)" the underscore is not a link, the
    initial of an author at the beginning of a reference is not a list item, and |y - u| is not a
    substitution. Code, formulas and tables are not changed, nor the names that a section describes.
    """
    math = None  # indentation of the formula that the line belongs to
    for line in lines:
        text = line.lstrip()
        indentation = len(line) - len(text)
        if math is not None and text and indentation <= math:
            math = None
        if text.startswith(".. math::"):
            math = indentation
        if math is None and not text.startswith((">>> ", "... ", "| ")):
            line = INITIAL.sub(r"\1\\", ROLE.sub(r"\1", line))
            name = NAME.match(line)
            start = name.end() if name else 0
            parts = CODE.split(line[start:])
            parts[::2] = [ENDING.sub(r"\\_", p).replace("|", r"\|") for p in parts[::2]]
            line = line[:start] + "".join(parts)
        yield line


def cited_as(work):
    """How text cites an entry of References, in brackets: by the surnames of its authors."""
    authors = re.split(r'["*(]', work)[0]
    return re.sub(r"\b[A-Z]\. ?", "", authors).strip(" .")


def with_references(lines, member):
    """The lines of a docstring, with the works that it cites from the docstring of its module.

    What several functions of a module cite stands once, in the References of the module.
    """
    found = re.split(
        r"^References\n-+\n", inspect.getdoc(inspect.getmodule(member)) or "", flags=re.M
    )
    works = found[1].strip().split("\n\n") if len(found) == 2 else []
    text = " ".join(line.strip() for line in lines)
    works = [
        w for w in works if re.search(rf"\[(?:[^\[\]]*; )?{re.escape(cited_as(w))}[,;\]]", text)
    ]
    lines, entries = list(lines), [line for w in works for line in [*w.split("\n"), ""]]
    if not works:
        return lines
    if "References" not in lines:
        end = lines.index("Examples") if "Examples" in lines else len(lines)
        lines[end:end] = ["References", "----------", ""]
    start = lines.index("References") + 2
    return [*lines[:start], *entries, *lines[start:]]


def clean_docstring(app, what, name, member, options, lines):
    lines[:] = list(plain(with_references(lines, member) if what == "function" else lines))


def compile_template_once():
    """numpydoc's, which it compiles for each docstring: a fifth of the time of a build."""
    from numpydoc import docscrape_sphinx  # here, as the tests need no numpydoc

    kept, made = {}, docscrape_sphinx.SandboxedEnvironment
    docscrape_sphinx.SandboxedEnvironment = lambda loader: kept.setdefault(
        type(loader), made(loader=loader)
    )


def setup(app):
    compile_template_once()
    app.connect("config-inited", write_pages)
    # Before numpydoc, which rewrites the sections and numbers their references.
    app.connect("autodoc-process-docstring", clean_docstring, priority=100)
    return {"parallel_read_safe": True}
