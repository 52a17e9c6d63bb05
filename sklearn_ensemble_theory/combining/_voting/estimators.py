"""`VotingClassifier` and `VotingRegressor`."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, assert_all_finite, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_ensemble_theory._compat import StrOptions, fit_context, raise_for_params
from sklearn_ensemble_theory._data.validation import finite_predictions
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.combining._members import is_dropped
from sklearn_ensemble_theory.combining._outputs import checked_targets
from sklearn_ensemble_theory.combining._voting.base import BaseVoting
from sklearn_ensemble_theory.combining._voting.class_votes import ClassVotesMixin
from sklearn_ensemble_theory.combining._voting.error_bounds import VoteBoundsMixin


class SeveralOutputsError(NotImplementedError, ValueError):
    """y has several columns: scikit-learn's error for it, and one of the data."""


class VotingClassifier(VoteBoundsMixin, ClassVotesMixin, ClassifierMixin, BaseVoting):
    """Vote of given classifiers: the majority of their labels or the mean of their probabilities.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted. A member can be left out by
        `set_params(name="drop")`.

    voting : {"hard", "soft"}, default="hard"
        `"hard"` predicts the label with most votes; of labels with equally many, the first in
        `classes_`. `"soft"` predicts the label with the largest mean probability, again the first
        of equal ones; it needs members with `predict_proba` and probabilities that are calibrated.

    weights : array-like of shape (n_classifiers,), default=None
        Weights of the votes or probabilities; `None` is equal weights. They are read at
        prediction, and can be changed without a new fit. :class:`StackingClassifier` learns them.

    n_jobs : int, default=None
        Number of members fitted in parallel.

    flatten_transform : bool, default=True
        With `voting="soft"`, whether `transform` returns an array of shape (n_samples,
        n_classifiers * n_classes) instead of (n_classifiers, n_samples, n_classes).

    verbose : bool, default=False
        Whether to print the time of each fit.

    prefit : bool, default=False
        Whether the members have been fitted, so that `fit` combines them as they are; their
        classes must be among those of y.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members that are not dropped. Their classes are the positions 0, 1, ... in
        `classes_`, with `prefit=True` the labels.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    le_ : :class:`~sklearn.preprocessing.LabelEncoder`
        The map from labels to positions in `classes_`.

    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    VotingRegressor : The mean of regressors.
    StackingClassifier : Weights or a final classifier learned from held-out predictions.
    BaggingClassifier : Votes of one classifier on resampled rows.

    Notes
    -----
    The cost is one fit of each member and, for n rows at `predict`, one prediction of each and
    O(n T) for T members. Rows of weight 0 are left out.

    The vote of consistent classifiers is consistent [Ghoshdastidar, theorem En.1], and its error
    is at most twice the mean error of its members (`error_bound`). Votes are most useful for
    members of similar accuracy that make different errors; otherwise learned weights are better.
    `vc_error_bound` bounds the error from the training error and the VC dimensions of the classes
    of the members.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_ensemble_theory import DecisionStumpClassifier, VotingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> vote = VotingClassifier(
    ...     [
    ...         ("stump", DecisionStumpClassifier()),
    ...         ("bayes", GaussianNB()),
    ...         ("tree", DecisionTreeClassifier(random_state=0)),
    ...     ]
    ... ).fit(X, y)
    >>> round(1 - vote.score(X_new, y_new), 2), round(vote.error_bound(X_new, y_new), 2)
    (0.1, 0.2)
    """

    _parameter_constraints: dict = {
        **BaseVoting._parameter_constraints,
        "voting": [StrOptions({"hard", "soft"})],
        "flatten_transform": ["boolean"],
    }

    def __init__(
        self,
        estimators: list,
        *,
        voting: Literal["hard", "soft"] = "hard",
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: bool = False,
        prefit: bool = False,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.prefit = prefit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the members accept them.

        y : array-like of shape (n_samples,)
            Labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, given to the `fit` of every member, or routed where
            metadata routing is enabled. Rows of weight 0 are left out.

        **fit_params : dict
            Routed to the `fit` of the members where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        NotImplementedError
            If y has several columns; the error is a ValueError as well.
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If a parameter is not valid, or y is not discrete.

        Notes
        -----
        Cost: one fit of each member.
        """
        raise_for_params(fit_params, self, "fit")
        assert_all_finite(np.asarray(y), input_name="y")
        kind = type_of_target(y, input_name="y")
        if kind in ("unknown", "continuous"):
            raise ValueError(
                f"Unknown label type: {kind}. Maybe you are trying to fit a classifier, which "
                "expects discrete classes on a regression target with continuous values."
            )
        if kind not in ("binary", "multiclass"):
            raise SeveralOutputsError(
                f"{type(self).__name__} only supports binary or multiclass classification. "
                "Multilabel and multi-output classification are not supported: y must have one "
                "column."
            )
        return self._fit(X, column_or_1d(y, warn=True), sample_weight, fit_params)

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        encoder = LabelEncoder().fit(y)
        return encoder.transform(y), {"le_": encoder, "classes_": encoder.classes_}

    def _check_prefit(self, name: str, member: Any, description: dict[str, Any]) -> None:
        unknown = np.setdiff1d(member.classes_, description["classes_"])
        if len(unknown):
            raise ValueError(
                f"The classes {unknown.tolist()} of the fitted member {name!r} are not in y."
            )


class VotingRegressor(RegressorMixin, BaseVoting):
    """Mean of given regressors.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted. A member can be left out by
        `set_params(name="drop")`.

    weights : array-like of shape (n_regressors,), default=None
        Weights of the members; `None` is equal weights. They are read at prediction, and can be
        changed without a new fit. :class:`StackingRegressor` learns them.

    n_jobs : int, default=None
        Number of members fitted in parallel.

    verbose : bool, default=False
        Whether to print the time of each fit.

    prefit : bool, default=False
        Whether the members have been fitted, so that `fit` combines them as they are.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted members that are not dropped.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    VotingClassifier : The vote of classifiers.
    StackingRegressor : Weights or a final regressor learned from held-out predictions.
    BaggingRegressor : The mean of one regressor on resampled rows.

    Notes
    -----
    The cost is one fit of each member and, for n rows at `predict`, one prediction of each and
    O(n T) for T members. Rows of weight 0 are left out. The mean squared error of the mean is the
    mean of those of the members minus the mean of their squared differences from it, so that it is
    never larger than the average member's, and much smaller only if members differ [Bach, §10.1].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, VotingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> vote = VotingRegressor([("ridge", RidgeCV()), ("stumps", L2BoostingRegressor(100))])
    >>> vote.fit(X[:300], y[:300]).predict(X[300:303]).round()
    array([203., 126., 195.])
    >>> vote.transform(X[300:303]).mean(axis=1).round()
    array([203., 126., 195.])
    """

    _parameter_constraints: dict = {**BaseVoting._parameter_constraints}

    def __init__(
        self,
        estimators: list,
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        prefit: bool = False,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.prefit = prefit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, as the members accept them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several outputs where the members accept them.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, given to the `fit` of every member, or routed where
            metadata routing is enabled. Rows of weight 0 are left out.

        **fit_params : dict
            Routed to the `fit` of the members where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If a parameter is not valid.

        Notes
        -----
        Cost: one fit of each member.
        """
        raise_for_params(fit_params, self, "fit")
        return self._fit(X, checked_targets(y), sample_weight, fit_params)

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        return y, {"_n_outputs": 1 if y.ndim == 1 else y.shape[1]}

    def _check_prefit(self, name: str, member: Any, description: dict[str, Any]) -> None:
        pass

    @finite_predictions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the mean of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Weighted mean predictions.

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return self._average([member.predict(X) for member in self.estimators_])

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_regressors * n_outputs)
            The outputs of the first member, then those of the second, ...

        Notes
        -----
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        return np.column_stack([member.predict(X) for member in self.estimators_])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used, except that it has to agree with `feature_names_in_`.

        Returns
        -------
        names : ndarray of str
            Class and member, with several outputs followed by the number of the output.
        """
        check_is_fitted(self)
        return self._names_out(input_features, self._n_outputs if self._n_outputs > 1 else None)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = [m for _, m in self._pairs() or [] if not is_dropped(m)]
        tags.target_tags.multi_output = all(
            get_tags(member).target_tags.multi_output for member in members
        )
        return tags
