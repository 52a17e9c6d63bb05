"""The files that a fit passes, in the order in which X meets them, are those of docs/design.md."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

import sklearn_ensemble_theory as package

from .estimators import make

PAGE = Path(__file__).parents[1] / "docs" / "design.md"
FOLDER = Path(package.__file__).parent


TEXT = PAGE.read_text(encoding="utf-8").split("## Life of a fit\n")[1].split("\n## ")[0]
HEAD, *PARTS = re.split(r"^### .*`(\w+)`.*$", TEXT, flags=re.MULTILINE)
FITS = dict(zip(PARTS[::2], PARTS[1::2]))
FILE = r"`((?:\w+/)*\w+\.py|_native/)`"
ON_THE_WAY = set(re.findall(FILE, HEAD))


def met(fit):
    """The files of the package whose functions run, in the order of their first call."""
    files = []

    def record(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and FOLDER in path.parents:
            name = path.relative_to(FOLDER).as_posix()
            if name not in files:
                files.append(name)

    fit()  # what is imported and made once is not part of a fit
    sys.setprofile(record)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize("name", FITS)
def test_files_of_a_fit(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + X[:, 1] ** 2
    estimator = make(getattr(package, name))
    if hasattr(estimator, "smoothing_rounds"):  # with the folds of its default choices
        estimator.set_params(smoothing_rounds="auto", interactions="cv")
    if hasattr(estimator, "estimators"):  # the lives of members are those of other fits
        estimator.set_params(estimators=[("line", LinearRegression()), ("mean", DummyRegressor())])
    target = (y > 0).astype(int) if is_classifier(estimator) else y
    files = met(lambda: estimator.fit(X, target))
    steps = re.findall(r"^\d+\. .*$", FITS[name], flags=re.MULTILINE)
    assert len(steps) <= 15
    told = [file for step in steps for file in re.findall(FILE, step)]
    assert told == [file for file in files if file in told]
    met_files = {re.sub(r"(_native/).*", r"\1", file) for file in files}
    assert met_files - ON_THE_WAY == set(told)


def test_the_page_tells_five_fits():
    assert set(FITS) == {
        "RandomForestRegressor",
        "GradientBoostingRegressor",
        "L2BoostingRegressor",
        "AdaBoostClassifier",
        "StackingRegressor",
    }
