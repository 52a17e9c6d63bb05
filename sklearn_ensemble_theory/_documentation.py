"""Text that several docstrings share is written once.

A line of a docstring that holds nothing but ``%(name)s`` is replaced by the text of that name, with
the line's own indent, when the class or function is defined: help(), the site and editors that
ask the running object see the whole text.
"""

import re
from collections.abc import Callable, Mapping
from textwrap import dedent, indent
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Any)
LINE = re.compile(r"^([ \t]*)%\((\w+)\)s[ \t]*$", re.MULTILINE)
# Texts name texts that name others, two or three times. A text that names itself does not end.
MOST_LEVELS = 10


def documented(*texts: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """The decorator of a class, whose own methods it fills in too, or of a function.

    `texts` are mappings of names to texts, after those of `COMMON`. A name without a text is a
    KeyError when the module is imported, and a text that contains itself a ValueError.
    """
    known = {name: text for each in (COMMON, *texts) for name, text in each.items()}

    def filled(text: str, owner: str) -> str:
        def shared(line: re.Match) -> str:
            if line[2] not in known:
                raise KeyError(f"the docstring of {owner} names the text {line[2]!r}")
            return indent(dedent(known[line[2]]).strip("\n"), line[1])

        # A text may name others.
        for _ in range(MOST_LEVELS):
            if not LINE.search(text):
                return text
            text = LINE.sub(shared, text)
        names = sorted({line[2] for line in LINE.finditer(text)})
        raise ValueError(f"the docstring of {owner} names a text that contains itself: {names}")

    def decorated(target: Documented) -> Documented:
        members = [target]
        if isinstance(target, type):
            members += vars(target).values()
            # A class method, and a method by `available_if`, have docstrings of their own beside
            # those of their functions.
            for name in ("__func__", "fn"):
                members += [
                    getattr(each, name) for each in vars(target).values() if hasattr(each, name)
                ]
        for member in members:
            # Without docstrings (python -OO) nothing is filled in. Data and constants have the
            # docstring of their class, which is not theirs to change.
            text = getattr(member, "__doc__", None)
            if not isinstance(text, str) or "%(" not in text or not LINE.search(text):
                continue
            member.__doc__ = filled(text, getattr(member, "__qualname__", target.__name__))
        return target

    return decorated


COMMON = {
    "n_jobs": """
        n_jobs : int or None, default=None
            Number of parallel jobs, as in scikit-learn: None is 1 unless in a
            `joblib.parallel_config` context, -1 is all processors. The result does not depend on
            it.
        """,
    "random_state": """
        random_state : int, RandomState instance or None, default=None
            Seed of the random numbers; an int gives the same result each time.
        """,
    "verbose": """
        verbose : int, default=0
            Report the progress of the fit: the larger the number, the more often.
        """,
    "sample_weight": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; None gives each row the weight 1. Rows of weight 0
            are left out.
        """,
    "X": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        """,
    "of_X": """
        Parameters
        ----------
        %(X)s
        """,
    "of_excess_risk": """
        Parameters
        ----------
        X, y : ignored
            The fit has stored all that the bound needs of the training rows.
        method : {"excess_risk"}, default="excess_risk"
            What is bounded.
        """,
    "dense_X": """
        X : array-like of shape (n_samples, n_features)
            The rows.
        """,
    "of_dense_X": """
        Parameters
        ----------
        %(dense_X)s
        """,
    "y_regression": """
        y : array-like of shape (n_samples,)
            The targets.
        """,
    "y_classification": """
        y : array-like of shape (n_samples,)
            The class labels.
        """,
    "n_features_in_": """
        n_features_in_ : int
            Number of features seen during `fit`.
        """,
    "feature_names_in_": """
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of the features seen during `fit`, if all of them are strings.
        """,
    "names_in_fit": """
        %(n_features_in_)s
        %(feature_names_in_)s
        """,
    "classes_": """
        classes_ : ndarray of shape (n_classes,)
            The class labels, sorted.
        """,
    "classes_attribute": """
        Attributes
        ----------
        %(classes_)s
        """,
    "categories_": """
        categories_ : list of n_features_in_ arrays or None
            The categories of each categorical feature, sorted; None for other features.
        """,
    "self": """
        self : object
            The fitted estimator.
        """,
    "returns_self": """
        Returns
        -------
        %(self)s
        """,
    "rows_to_predict": """
        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        """,
    "sparse_rows_to_predict": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        """,
    "returns_predictions": """
        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """,
    "returns_outputs": """
        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """,
    "returns_labels": """
        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """,
    "returns_log_probabilities": """
        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms of the class probabilities, in the order of `classes_`.
        """,
    "returns_probabilities": """
        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """,
    "yields_predictions": """
        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """,
    "coverage": """
        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.
        """,
    "weights_or_equal": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        """,
    "weights_of_rows": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        """,
    "raises_without_offset": """
        Raises
        ------
        ValueError
            If the fit had an offset, and these rows have none.
        """,
    "raises_parameters": """
        Raises
        ------
        ValueError
            If a parameter is not valid.
        """,
    "learner_params": """
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.
        """,
    "weights_and_cv": """
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out: the splits of `cv` refer to all
            rows, while an integer `cv` splits the rows of positive weight.
        """,
    "cost_of_walks": """
        Notes
        -----
        Cost: O(depth) a row and tree.
        """,
    "fit_targets": """
        Parameters
        ----------
        %(dense_X)s
        %(y_regression)s
        %(sample_weight)s

        %(returns_self)s
        """,
    "class_weight": """
        class_weight : dict, "balanced" or None, default=None
            Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight},
            or "balanced" for weights that give all classes the same total.
        """,
    "references_Soloff": """
        References
        ----------
        %(Soloff)s
        """,
    "references_DSGA": """
        References
        ----------
        %(DSGA)s
        """,
    "references_Bach": """
        References
        ----------
        %(Bach)s
        """,
    "Bach": """
        F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.
        """,
    "Dombry": """
        C. Dombry and Y. Esstafa. "Behavior of linear L2-boosting algorithms in the vanishing
        learning rate asymptotic".
        """,
    "references_Shah": """
        References
        ----------
        %(Shah)s
        """,
    "references_Ghoshdastidar": """
        References
        ----------
        %(Ghoshdastidar)s
        """,
    "references_Dombry": """
        References
        ----------
        %(Dombry)s
        """,
    "DSGA": """
        *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
        University.
        """,
    "Ghoshdastidar": """
        D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods".
        Technical University of Munich.
        """,
    "Soloff": """
        J. A. Soloff, R. F. Barber and R. Willett (2024). "Bagging provides assumption-free
        stability". *Journal of Machine Learning Research* 25.
        """,
    "Shah": """
        R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
        """,
}
