"""Public names have the address that users import them from; HTML views link to their pages."""

import codecs
import importlib
import inspect
import locale
import pickle
import pkgutil
import re
from pathlib import Path

import pytest
from sklearn.utils import estimator_html_repr

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import RandomForestClassifier

from .estimators import estimator_classes, make

CITATION = Path(__file__).parents[1] / ".github" / "CITATION.cff"
every_estimator = pytest.mark.parametrize("cls", estimator_classes(), ids=lambda c: c.__name__)
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


def test_every_public_name_has_the_address_of_the_folder_that_exports_it():
    exporting = [
        module for module in MODULES if "._" not in module.__name__ and hasattr(module, "__all__")
    ]
    assert len(exporting) > 9
    for module in exporting:
        for name in module.__all__:
            member, expected = getattr(module, name), package if name in package.__all__ else module
            assert inspect.ismodule(member) or member.__module__ == expected.__name__, name
    for name in package.__all__:
        member = getattr(package, name)
        assert not callable(member) or member.__module__ == package.__name__, name


def test_private_classes_are_where_their_address_says():
    public = {getattr(m, name) for m in MODULES for name in getattr(m, "__all__", ())}
    for module in MODULES:
        for name, member in vars(module).items():
            ours = inspect.isclass(member) and member.__module__.startswith(package.__name__)
            if ours and name[:2] != "__" and member not in public:
                assert getattr(importlib.import_module(member.__module__), member.__name__)


@every_estimator
def test_a_class_is_pickled_by_its_public_address(cls):
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert f"{cls.__module__}\n{cls.__name__}\n".encode() in pickle.dumps(cls, protocol=0)


@pytest.mark.skipif(
    codecs.lookup(locale.getpreferredencoding(False)).name == "ascii",
    reason="scikit-learn reads its script in the encoding of the locale, and it is not ASCII",
)
@every_estimator
def test_the_html_view_links_to_the_page_of_the_class(cls):
    site = re.search(r'^url: "(.*)"$', CITATION.read_text(encoding="utf-8"), re.MULTILINE)[1]
    link = f"{site}/generated/{cls.__module__}.{cls.__name__}.html"
    model = make(cls)
    assert model._get_doc_link() == link
    assert f'href="{link}"' in estimator_html_repr(model)


def test_a_subclass_of_a_user_has_no_page():
    class Own(RandomForestClassifier):
        pass

    assert Own()._get_doc_link() == ""
