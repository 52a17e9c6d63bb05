"""A report in a browser: no message of the console, no request, every picture is shown.

It needs playwright and a Chromium: that of playwright, or one on the path.
"""

import numpy as np
import pandas as pd
import pytest

from sklearn_ensemble_theory import LogitBoostClassifier
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import report_html

EVIL = "<script>document.title = 'changed'</script><img src=x onerror=alert(1)> \x01 年"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=300), "age": rng.uniform(20, 60, 300)})
    X["city"] = pd.Categorical(rng.choice([EVIL, "Rome"], 300))
    X.loc[:20, "age"] = np.nan
    y = np.where(X[EVIL] + (X["city"] == "Rome") + rng.normal(size=300) > 0, EVIL, "other")
    model = LogitBoostClassifier(CVRounds(max_estimators=200), max_bins=8, interactions=1).fit(X, y)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report_html(model, X, y, title=EVIL, path=path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_opens_alone(browser, report, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report)
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [report]
    assert page.title().startswith("<script>")
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert page.evaluate(broken) == 0
    assert page.locator("img").count() >= 6
    # Nothing is cut off at the side.
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    page.close()
