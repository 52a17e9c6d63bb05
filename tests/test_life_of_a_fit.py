"""The files that a fit passes, in the order in which X meets them, are those of docs/design.md."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled

from .estimators import make

PAGE = Path(__file__).parents[1] / "docs" / "design.md"
FOLDER = Path(package.__file__).parent


def told():
    """`{estimator: files in order}` of the section "Life of a fit"."""
    text = PAGE.read_text(encoding="utf-8").split("## Life of a fit\n")[1].split("\n## ")[0]
    parts = re.split(r"^### .*`(\w+)`.*$", text, flags=re.MULTILINE)
    return {
        name: re.findall(r"^\d+\. `([\w/]+\.py)`", steps, flags=re.MULTILINE)
        for name, steps in zip(parts[1::2], parts[2::2])
    }


def met(fit):
    """The files of the package whose functions run, in the order of their first call."""
    files = []

    def record(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and FOLDER in path.parents:
            name = path.relative_to(FOLDER).as_posix()
            if name not in files:
                files.append(name)

    with numba_disabled():
        fit()  # what is imported and made once is not part of a fit
        sys.setprofile(record)
        try:
            fit()
        finally:
            sys.setprofile(None)
    return files


@pytest.mark.parametrize("name", told())
def test_files_of_a_fit(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + X[:, 1] ** 2
    estimator = make(getattr(package, name))
    fit_to = (y > 0).astype(int) if hasattr(estimator, "predict_proba") else y
    steps = told()[name]
    assert steps == [file for file in met(lambda: estimator.fit(X, fit_to)) if file in steps]
    assert set(met(lambda: estimator.fit(X, fit_to))) - {"_hot_loops/compilation.py"} == set(steps)
    assert len(steps) <= 15


def test_the_page_tells_four_fits():
    expected = {"RandomForestRegressor", "GradientBoostingRegressor", "L2BoostingRegressor"}
    assert set(told()) == expected | {"AdaBoostClassifier"}
