"""The report on an additive model: one file, whose numbers and names are those of the model."""

import base64
import copy
import html
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error

from sklearn_ensemble_theory import L2BoostingRegressor, LogitBoostClassifier, export
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import report_html

VOID = {"meta", "img", "br", "link"}
EVIL = "<script>alert('x')</script>\"'&\x01 $a_{$"


class Page(HTMLParser):
    """The elements of a page, which have to be closed in their order, and the cells of tables."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.rows, self.headings = [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "h3":
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        if self.stack and self.stack[-1] == "h3":
            self.headings[-1] += data

    def pictures(self):
        """The roots of the pictures, which are XML."""
        sources = [a["src"] for tag, a in self.elements if tag == "img"]
        assert all(s.startswith("data:image/svg+xml;base64,") for s in sources)
        return [ElementTree.fromstring(base64.b64decode(s.split(",", 1)[1])) for s in sources]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=200), "age": rng.uniform(20, 60, 200)})
    X["city"] = pd.Categorical(rng.choice(["Rome", "<b>Bern</b>"], 200))
    X["constant"] = 1.0
    X.loc[:20, "age"] = np.nan
    y = X[EVIL] + 0.1 * X["age"].fillna(70) * (X["city"] == "Rome") + rng.normal(size=200)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model(table):
    return L2BoostingRegressor(
        CVRounds(max_estimators=200), max_bins=6, learning_rate=0.1, interactions=[(1, 2)]
    ).fit(*table)


@pytest.fixture(scope="module")
def report(model, table):
    return report_html(model, *table, title=EVIL)


@pytest.fixture(scope="module")
def page(report):
    return Page(report)


def test_names_are_text_and_nothing_is_loaded(page):
    assert not {"script", "b", "iframe", "link", "object"} & {tag for tag, _ in page.elements}
    assert all(not name.startswith("on") for _, a in page.elements for name in a)
    for tag, a in page.elements:
        assert not {"src", "srcset", "data"} & set(a) or tag == "img"
        assert a.get("href", "#").startswith("#")
    policy = [a for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy[0]["content"]
    assert EVIL in page.headings


def test_pictures_have_no_scripts_or_addresses(page):
    pictures = page.pictures()
    assert len(pictures) == 1 + 4 + 3 + 1 + 2  # importances, terms, rows, calibration, rounds
    for picture in pictures:
        for element in picture.iter():
            assert not element.tag.endswith("script")
            links = [v for name, v in element.attrib.items() if name.endswith("href")]
            assert all(link.startswith(("#", "data:image/png")) for link in links)


def test_links_lead_to_sections(page):
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for tag, a in page.elements if tag == "a"]
    assert links == [f"#{i}" for i in ids]
    assert ids == [
        "summary",
        "importances",
        "terms",
        "unused",
        "rows",
        "scores",
        "rounds",
        "parameters",
    ]


def test_terms_by_importance_with_their_values(model, page):
    order = np.argsort(-model.term_importances_, kind="stable")
    assert page.headings == [model.term_names_[t] for t in order if model.term_importances_[t] > 0]
    cells = {row[0]: row for row in page.rows if len(row) == 4}
    values, errors = model.shape_functions_[2][1], model.shape_standard_errors_[2]
    for b, name in enumerate(["<b>Bern</b>", "Rome"]):
        shown = [float(x.replace("\N{MINUS SIGN}", "-")) for x in cells[name][1:3]]
        assert shown == pytest.approx([values[b], errors[b]], rel=0.01)
    assert cells["missing"][3] == "10.5 %"


def test_scores_and_parameters(model, page, table):
    facts = {row[0]: row[1] for row in page.rows if len(row) in (2, 3)}
    error = root_mean_squared_error(table[1], model.predict(table[0]))
    assert float(facts["root mean squared error"]) == pytest.approx(error, rel=0.01)
    assert facts["rows"] == "200"
    assert facts["intercept"] == f"{model.intercept_:.3g}"
    assert facts["learning_rate"] == "0.1"
    assert facts["terms with an effect"] == "4 of 5, 1 of them pairs"
    changed = [row[0] for row in page.rows if row[2:] == ["not the default"]]
    given = {"interactions", "learning_rate", "max_bins", "n_estimators"}
    assert set(changed) == given


def test_a_report_is_the_same_every_time(model, report, table, tmp_path):
    path, open_figures = tmp_path / "report.html", plt.get_fignums()
    assert report_html(model, *table, title=EVIL, path=path) == report
    assert path.read_text(encoding="utf-8") == report
    assert plt.get_fignums() == open_figures


def test_without_rows(model):
    few = report_html(model, max_terms=1)
    assert len(Page(few).pictures()) == 1 + 1 + 2
    assert "Terms without a picture" in few


def test_edits_are_listed(model, monkeypatch):
    edited = copy.copy(model)
    edit = SimpleNamespace(method="set_term", term="age", arguments={"values": "<i>"})
    monkeypatch.setattr(type(model), "edits_", [edit])
    text = report_html(edited, max_terms=1)
    assert "<td>set_term</td><td>age</td><td>values=&#x27;&lt;i&gt;&#x27;</td>" in text


def test_removed_terms_and_bands_of_edited_values(model):
    values = model.shape_functions_[1][1].copy()
    values[0] += 1.0
    edited = model.set_term("age", values).remove_terms([EVIL, ("age", "city")])
    text = report_html(edited)
    section = text.split('<section id="removed">')[1].split("</section>")[0]
    assert section.endswith(f"<p>{html.escape(EVIL)}, age &amp; city</p>\n")
    unused = text.split('<section id="unused">')[1].split("</section>")[0]
    assert "<p>constant</p>" in unused
    assert html.escape(EVIL) not in unused
    assert "Values that were edited have none." in text
    errors = [row[2] for row in Page(text).rows if len(row) == 4 and "up to" in row[0]]
    assert errors[0] == ""
    assert float(errors[1]) == pytest.approx(model.shape_standard_errors_[1][1], rel=0.01)
    # A term that was set again is there.
    back = edited.set_term(EVIL, model.shape_functions_[0][1])
    section = report_html(back).split('<section id="removed">')[1].split("</section>")[0]
    assert section.endswith("<p>age &amp; city</p>\n")
    card = export.text(edited)
    assert f"Removed after the fit: {EVIL}, age & city." in card
    assert "Always 0: constant." in card


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes, 2:], np.array(["<a>", "<b>", "_c"])[y[y < n_classes]]
    model = LogitBoostClassifier(20, max_bins=6, interactions=[(0, 1)]).fit(X, y)
    text = report_html(model, X.tolist(), y)
    page = Page(text)
    terms = sum(model.term_importances_ > 0)
    has_pair = model.term_importances_[-1] > 0
    assert len(page.headings) == terms + has_pair * (n_classes - 1) * (n_classes > 2)
    assert "accuracy" in [row[0] for row in page.rows]
    assert ("&lt;b&gt;" in text, "<b>" in text) == (True, False)
    page.pictures()


def test_a_model_without_terms():
    X = np.ones((20, 2))
    model = L2BoostingRegressor(5, smoothing_rounds=0, interactions=0).fit(X, np.arange(20.0))
    text = report_html(model, X, np.arange(20.0))
    page = Page(text)
    assert "No term has an effect" in text
    assert len(page.pictures()) == 1


def test_letters_that_fonts_may_not_have():
    X = pd.DataFrame({"年齢": np.arange(20.0), "😀": 1.0})
    model = L2BoostingRegressor(5).fit(X, np.arange(20.0))
    assert Page(report_html(model, X)).headings == ["年齢"]


def test_refusals(model, table, monkeypatch):
    X, y = table
    with pytest.raises(ValueError, match="y is of the rows of X"):
        report_html(model, y=y)
    with pytest.raises(ValueError, match="X has no rows"):
        report_html(model, X.iloc[:0])
    with pytest.raises(ValueError, match="max_terms"):
        report_html(model, max_terms=0)
    with pytest.raises(TypeError, match="additive model"):
        report_html(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"report_html requires matplotlib.*\[plot\]"):
        report_html(model)


def test_style_reads_in_light_and_dark(report):
    style = re.search(r"<style>(.*?)</style>", report, re.DOTALL).group(1)
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style
    assert "@import" not in style
