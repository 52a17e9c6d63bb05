"""Addresses of classes: saved models outlive a move of files, and HTML views link to our pages.

`tests/data/models.skops` was written by ``python -m tests.test_addresses`` with this release. It is
not to be written again because a file of the package has been moved.
"""

import inspect
import pickle
import pickletools
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.utils import estimator_html_repr

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionStumpRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    NadarayaWatsonRegressor,
    RandomForestClassifier,
    RandomProjectionRegressor,
    SmoothBoostClassifier,
    _addresses,
)
from sklearn_ensemble_theory._addresses import DOCUMENTATION, FOLDERS

from .estimators import estimator_classes, make

STORED = Path(__file__).parent / "data" / "models.skops"
every_estimator = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)


def training_rows():
    X, y = make_friedman1(60, 5, random_state=0)
    return X, y, (y > np.median(y)).astype(int)


def fitted_models():
    """Models without anything of scikit-learn's, whose files may differ between its releases."""
    X, y, labels = training_rows()
    binned = {"max_bins": 16, "max_depth": 3, "random_state": 0}
    return {
        "forest": RandomForestClassifier(3, **binned).fit(X, labels),
        "extra trees": ExtraTreesRegressor(3, **binned).fit(X, y),
        "adaboost": AdaBoostClassifier(n_estimators=5).fit(X, labels),
        "adaboost.r2": AdaBoostRegressor(
            DecisionStumpRegressor(), n_estimators=3, random_state=0
        ).fit(X, y),
        "smooth boosting": SmoothBoostClassifier(n_estimators=4).fit(X, labels),
        "pursuit": MatchingPursuitRegressor(3).fit(X, y),
    }


def test_a_stored_file_of_models_is_read():
    skops_io = pytest.importorskip("skops.io")
    content = STORED.read_bytes()
    trusted = skops_io.get_untrusted_types(data=content)
    assert all(name.startswith(package.__name__) for name in trusted), trusted
    stored, fresh = skops_io.loads(content, trusted=trusted), fitted_models()
    X, *_ = training_rows()
    assert set(stored) == set(fresh)
    for name, model in fresh.items():
        known = stored[name]
        assert type(known) is type(model)
        method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        np.testing.assert_allclose(
            getattr(known, method)(X), getattr(model, method)(X), rtol=1e-9, err_msg=name
        )


class Squares:
    """A loss of a user's own."""

    def value(self, y, u):
        return (y - u) ** 2

    def gradient(self, y, u):
        return 2 * (u - y)


def other_models():
    """Models that hold classes which the defaults of the contract do not."""
    X, y, labels = training_rows()
    smoother = NadarayaWatsonRegressor(0.5)
    yield LinearL2BoostingRegressor(smoother).fit(X, y)
    yield LinearL2BoostingRegressor(LinearRegression()).fit(X, y)
    yield RandomProjectionRegressor(projection="relu", random_state=0).fit(X, y)
    yield GradientBoostingRegressor(loss=Squares(), n_estimators=2).fit(X, y)
    yield GradientBoostingClassifier(n_estimators=2).fit(X, np.digitize(y, [10.0, 15.0]))
    yield RandomForestClassifier(
        3, bootstrap="bernoulli", class_weight="balanced_subsample", random_state=0
    ).fit(X, np.column_stack([labels, labels]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_pickle_names_no_file_of_the_package():
    for model in [*fitted_models().values(), *other_models()]:
        named = {
            argument.split(" ")[0]
            for opcode, argument, _ in pickletools.genops(pickle.dumps(model, protocol=2))
            if opcode.name == "GLOBAL" and argument.startswith(f"{package.__name__}.")
        }
        named = {name.removeprefix(f"{package.__name__}.") for name in named}
        assert named <= {"_addresses", *FOLDERS}, named


def test_every_folder_that_exports_is_listed():
    exporting = {
        name.removeprefix(f"{package.__name__}.")
        for name, module in sys.modules.items()
        if name.startswith(f"{package.__name__}.")
        and hasattr(module, "__path__")
        and hasattr(module, "__all__")
        and "._" not in name
    }
    assert exporting == set(FOLDERS)


def test_every_class_is_found_at_its_address():
    """Names are unique, so none replaces another."""
    address = f"{package.__name__}._addresses"
    seen = set()
    for where, module in list(sys.modules.items()):
        if where.startswith(f"{package.__name__}."):
            for found in list(vars(module).values()):
                if inspect.isclass(found) and found.__module__ == address:
                    seen.add(found)
                    assert getattr(sys.modules[address], found.__name__) is found
    assert len(seen) > 100


def test_a_renamed_class_is_found_by_its_old_name(monkeypatch):
    monkeypatch.setitem(_addresses.RENAMED, "DrawsOfOldReleases", "Bootstrap")
    monkeypatch.setattr(_addresses, "DrawsOfOldReleases", None, raising=False)
    _addresses.give_addresses(package)
    assert _addresses.DrawsOfOldReleases is _addresses.Bootstrap


@every_estimator
def test_the_html_view_links_to_the_page_of_the_class(cls):
    link = f"{DOCUMENTATION}/generated/{package.__name__}.{cls.__name__}.html"
    model = make(cls)
    assert model._get_doc_link() == link
    assert f'href="{link}"' in estimator_html_repr(model)


def test_a_subclass_of_a_user_has_no_page():
    class Own(RandomForestClassifier):
        pass

    assert Own()._get_doc_link() == ""


if __name__ == "__main__":
    import skops.io

    STORED.write_bytes(skops.io.dumps(fitted_models(), compression=zipfile.ZIP_DEFLATED))
