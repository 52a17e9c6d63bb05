"""Shared text of docstrings (`_documentation`)."""

import inspect

import pytest
from sklearn.utils.metaestimators import available_if

from sklearn_ensemble_theory._documentation import COMMON, documented

TEXTS = {
    "size": """
        size : int
            The size, of any
            number of lines.
        """,
    "both": """
        %(size)s
        %(random_state)s
        """,
}


@documented(TEXTS)
class Model:
    """A model.

    Parameters
    ----------
    %(both)s
    share : float
        In 100 %(size)s are a part of the line.
    """

    constant = 3.0

    def fit(self, X):
        """Fit.

        Parameters
        ----------
        %(dense_X)s
        """

    @property
    def size_(self):
        """%(size)s"""

    @available_if(lambda self: self.constant > 0)
    def root(self):
        """Root.

        %(size)s
        """

    @staticmethod
    def make(random_state):
        """Make.

        %(random_state)s
        """


def test_texts_are_filled_in_with_the_indent_of_their_line():
    doc = inspect.getdoc(Model)
    assert "size : int\n    The size, of any\n    number of lines.\nrandom_state : int" in doc
    assert "In 100 %(size)s are a part of the line." in doc
    assert "X : array-like of shape (n_samples, n_features)\n    The rows." in inspect.getdoc(
        Model.fit
    )
    assert inspect.getdoc(Model.make).startswith("Make.\n\nrandom_state : int")
    assert inspect.getdoc(vars(Model)["size_"]).startswith("size")
    for method in (Model.root, Model().root):
        assert inspect.getdoc(method).startswith("Root.\n\nsize : int")


def test_functions_are_documented_too():
    @documented()
    def function(random_state):
        """Do.

        %(random_state)s
        """

    assert "Seed of the random numbers" in function.__doc__


def test_an_unknown_name_is_an_error_at_import():
    with pytest.raises(KeyError, match=r"docstring of .*function names the text 'unknown'"):

        @documented()
        def function():
            """%(unknown)s"""


@pytest.mark.parametrize(
    "texts", [{"a": "%(a)s"}, {"a": "%(b)s", "b": "%(a)s"}], ids=["itself", "by another"]
)
def test_a_text_that_names_itself_is_an_error_at_import(texts):
    with pytest.raises(ValueError, match=r"docstring of .*function names a text that contains"):

        @documented(texts)
        def function():
            """Do.

            %(a)s
            """


def test_texts_that_name_others_are_filled_in():
    @documented({"a": "%(b)s", "b": "%(c)s", "c": "the end"})
    def function():
        """Do.

        %(a)s
        """

    assert "the end" in function.__doc__


@pytest.mark.parametrize("name", COMMON)
def test_no_text_names_itself(name):
    assert f"%({name})s" not in COMMON[name]


def test_without_docstrings_nothing_is_done():
    def function():
        pass

    assert documented()(function) is function
    assert function.__doc__ is None
