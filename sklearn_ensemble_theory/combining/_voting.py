"""Votes and means of given members with given weights."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import any_collection, by_chunks
from sklearn_ensemble_theory._compat import (
    StrOptions,
    raise_for_params,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._learners import (
    GROUPS_ON_REQUEST,
    coded_learner,
    largest_column,
    with_groups,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    are_wrong,
    checked_feature_names,
    checked_groups,
    checked_weights,
    codes_of_labels,
    finite_predictions,
    normalised_weights,
    one_column,
)
from sklearn_ensemble_theory._scores import ClassifierMixin, RegressorMixin
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CVLike,
    MatrixLike,
    RandomStateLike,
    available_if,
)
from sklearn_ensemble_theory.bounds import (
    held_out_voting_error_bound,
    voting_generalization_bound,
)
from sklearn_ensemble_theory.ensembles._certificates import (
    BY_MEMBERS,
    VoteLosses,
    held_out_bound,
)
from sklearn_ensemble_theory.ensembles._certificates import TEXTS as TEXTS_OF_CERTIFICATES
from sklearn_ensemble_theory.ensembles._held_out import TEXTS as TEXTS_OF_HELD_OUT
from sklearn_ensemble_theory.ensembles._held_out import (
    HeldOut,
    held_out_is_set,
    held_out_of,
    obstacle_to_scores,
)
from sklearn_ensemble_theory.ensembles._intervals import one_of
from sklearn_ensemble_theory.ensembles._prediction_sets import SetRule

from ._aggregation import tandem_weights
from ._member_blocks import MembersInBlocks, read_targets, refuse_members_in_memory
from ._member_fits import (
    MembersProblem,
    Outputs,
    fit_members,
)
from ._named_members import (
    TEXTS,
    NamedMembers,
    checked_targets,
    fit_arguments,
    is_dropped,
    routed_to_splitter,
    rows_to_fit,
)

# Folds in which rows are held out for `weights="tandem"`.
N_FOLDS = 5
CONSTRAINTS: dict[str, list] = {
    "estimators": [list],
    "weights": ["array-like", None],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
    "held_out": ["cv_object", StrOptions({"prefit"})],
    "reuse_fits": ["boolean"],
}

VOTING_TEXTS = {
    "estimators": """
        Parameters
        ----------
        estimators : list of (str, estimator) tuples
            The members, with a name each. Clones of them are fitted. A member can be left out by
            `set_params(name="drop")`.
        """,
    "n_jobs": """
        n_jobs : int, default=None
            Number of members fitted in parallel.
        """,
    "verbose": """
        verbose : bool, default=False
            Whether to print the time of each fit.
        """,
    "held_out": """
            An int, a splitter or an iterable are splits by which `fit` also predicts held-out rows:
            as many further fits of each member as there are splits, without `reuse_fits`. "prefit"
            takes the members as they are, and the rows of `fit` are new to them. None keeps
            nothing.
        """,
    "attributes": """
        named_estimators_ : :class:`~sklearn.utils.Bunch`
            The fitted members by name.
        held_out_ : object
            With `held_out`, the predictions of each member for held-out rows: arrays `y`, `rows`
            and `groups`, and a list `predictions`.
        %(names_of_members)s
        """,
    "cost_of_votes": """
        Notes
        -----
        The cost is one fit of each member and, for n rows at `predict`, one prediction of each and
        O(n T) for T members. Rows of weight 0 are left out.
        """,
    "notes_of_coverage": """
        Notes
        -----
        Coverage is about `coverage`, without a guarantee for finite samples: the members that
        predict a held-out row are fitted to fewer rows than the members of the ensemble. With
        ``held_out="prefit"`` the rows of `fit` are exchangeable with new ones, and it is at least
        `coverage` [split conformal prediction]. A row that a splitter holds out several times
        counts once. `weights` are those at the time of the call.

        Cost: a prediction of each member, and O(log n) for each row and class.
        """,
}
"""Text that the two classes share."""


class SeveralOutputsError(NotImplementedError, ValueError):
    """y has several columns: scikit-learn's error for it, and one of the data."""


def checked_labels(y: Any, name: str) -> np.ndarray:
    """Labels of two or more classes in one column, for the ensemble of this name."""
    assert_all_finite(np.asarray(y), input_name="y")
    kind = type_of_target(y, input_name="y")
    if kind in ("unknown", "continuous"):
        raise ValueError(
            f"Unknown label type: {kind}. Maybe you are trying to fit a classifier, which "
            "expects discrete classes on a regression target with continuous values."
        )
    if kind not in ("binary", "multiclass"):
        raise SeveralOutputsError(
            f"{name} only supports binary or multiclass classification. "
            "Multilabel and multi-output classification are not supported: y must have one "
            "column."
        )
    return one_column(y)


@documented(TEXTS)
class BaseVoting(TransformerMixin, NamedMembers):
    """What votes and means have in common: the fit of the members, and the weighted mean."""

    weights: Any
    n_jobs: int | None
    verbose: bool
    held_out: Any
    reuse_fits: bool

    _parameter_constraints: dict = CONSTRAINTS

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Dask collection
            Training rows, as the members accept them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or Dask collection
            Labels in one column, or targets; several outputs where the members accept them.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, given to the `fit` of every member, or routed where
            metadata routing is enabled. Rows of weight 0 are left out.
        %(groups)s
        **fit_params : dict
            Routed to the `fit` of the members if metadata routing is enabled.

        %(fitted_members)s

        Raises
        ------
        NotImplementedError
            If labels have several columns; the error is a ValueError as well.
        TypeError
            If weights are given and the `fit` of a member does not accept them.
        ValueError
            If a parameter is not valid, or labels are not discrete.

        Notes
        -----
        Cost: one fit of each member, and one for each split of `held_out`.
        """
        raise_for_params(fit_params, self, "fit")
        of_classes = isinstance(self, ClassifierMixin)
        y = checked_labels(y, type(self).__name__) if of_classes else checked_targets(y)
        pairs = self._checked_pairs()
        for name in ("weights_", "dual_gap_", "held_out_", "_kept"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if isinstance(self.weights, str) and sample_weight is not None:
            raise ValueError(
                f"weights={self.weights!r} is defined for rows of equal weight; fit without "
                "sample_weight, or give the weights."
            )
        self._check_weights()

        # The rows of positive weight are fitted. Labels become positions in `classes_`.
        rows = rows_to_fit(X, y, sample_weight, [member for _, member in pairs])
        groups = checked_groups(groups, X)
        fit_params = with_groups(fit_params, groups, self)
        if of_classes:
            self.le_ = LabelEncoder().fit(rows.y)
            self.classes_ = self.le_.classes_
            rows = replace(rows, y=self.le_.transform(rows.y))
        else:
            self._n_outputs = 1 if rows.y.ndim == 1 else rows.y.shape[1]
        obstacle = obstacle_to_scores(rows.y)
        learned = isinstance(self.weights, str)
        needs_held_out = learned or (self.held_out is not None and obstacle is None)
        if of_classes and self._members_are_fitted:
            # Their columns are aligned with `classes_` by label, so that none may be unknown.
            for name, member in pairs:
                self._check_is_fitted(name, member)
                if not np.isin(member.classes_, self.classes_).all():
                    unknown = np.setdiff1d(member.classes_, self.classes_).tolist()
                    raise ValueError(
                        f"The classes {unknown} of the fitted member {name!r} are not in y."
                    )
        plan = self._plan_of_members(
            pairs,
            rows,
            fit_arguments(sample_weight, fit_params, X, rows),
            needs_held_out,
            share=needs_held_out,
        )
        plan = replace(plan, by_own=self.reuse_fits)
        if self.verbose and not needs_held_out:
            told = [
                replace(each, message=("Voting", f"({k} of {len(pairs)}) Processing {each.name}"))
                for k, each in enumerate(plan.members, 1)
            ]
            plan = replace(plan, members=told, verbose=0)
        splits: list[Any] = []
        if needs_held_out and not plan.are_fitted:
            cv = N_FOLDS if self.held_out is None else self.held_out
            splits = self._splits(cv, X, y, rows, groups, sample_weight, fit_params)
        problem = MembersProblem(rows, splits, self._name_of_splits)
        fitted, held = fit_members(plan, problem, self._known)
        self._set_fitted(fitted)
        if self.held_out is not None:
            self._kept: HeldOut | str | None = obstacle
            if held is not None and obstacle is None:
                self._kept = HeldOut.of(rows, groups, held.rows, held.predictions)
                self.held_out_ = self._kept
        if learned and held is not None:
            self._learn_weights(rows.y[held.rows], held.predictions)
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        pairs = self._checked_pairs()
        for name in ("weights", "held_out"):
            value = getattr(self, name)
            if isinstance(value, str) or (name == "held_out" and value is not None):
                raise ValueError(
                    f"{name}={value!r} needs all rows in memory; with Dask collections leave it at "
                    "its default."
                )
        self._check_weights()
        refuse_members_in_memory(pairs)
        if rows.has_weights:
            self._check_weights_of_chunks()
        classes: np.ndarray | None = None
        if isinstance(self, ClassifierMixin):
            self.le_ = LabelEncoder().fit(read_targets(rows).labels)
            classes = self.classes_ = self.le_.classes_
        else:
            self._n_outputs = 1
        blocks = MembersInBlocks.of(rows, classes)
        self._set_fitted([blocks.fitted(n, coded_learner(m, classes)) for n, m in pairs])
        for name in ("weights_", "dual_gap_", "held_out_", "_kept"):  # of an earlier fit
            self.__dict__.pop(name, None)

    def _learn_weights(self, y: np.ndarray, predictions: list[np.ndarray]) -> None:
        """Weights by the members' predictions of rows that they are not fitted to."""
        raise NotImplementedError

    def _method_of(self, name: str = "", member: Any = None) -> str:
        """The method of all members; `voting` is read at each prediction."""
        return "predict_proba" if getattr(self, "voting", "hard") == "soft" else "predict"

    def _of_members(self, X: MatrixLike) -> list[np.ndarray]:
        """The predictions of each member that are combined: numbers, probabilities, or classes.

        Classes are positions in `classes_`.
        """
        members, classes = self.estimators_, getattr(self, "classes_", None)
        n_outputs = getattr(self, "_n_outputs", None)
        methods = [self._method_of()] * len(members)
        outputs = Outputs(methods, classes, self._members_are_fitted, n_outputs)
        return outputs.of_members(members, X)

    def _check_weights(self) -> None:
        if not isinstance(self.weights, str):
            self._weights_of([member for _, member in self.estimators])

    def _kept_weights(self) -> np.ndarray | None:
        """Return the weights of the members that were not dropped; None where all are equal.

        They are read at prediction, and may not be those of the fit.
        """
        if isinstance(self.weights, str):
            check_is_fitted(
                self,
                "weights_",
                msg=f"weights={self.weights!r} are learned by fit, and this %(name)s was not "
                "fitted with them; fit again.",
            )
            return self.weights_
        return self._weights_of(list(self.named_estimators_.values()))

    def _weights_of(self, members: list) -> np.ndarray | None:
        """Return the weights of those of the members that are not dropped, after their checks."""
        if self.weights is None:
            return None
        if np.ndim(self.weights) != 1:
            raise ValueError(f"weights must be one number for each member, got {self.weights!r}.")
        if len(self.weights) != len(members):
            raise ValueError(
                f"Number of `estimators` and weights must be equal; got {len(self.weights)} "
                f"weights, {len(members)} estimators"
            )
        # Weights of dropped members are not looked at: they may not make the sum positive.
        used = [weight for member, weight in zip(members, self.weights) if not is_dropped(member)]
        try:
            found = np.asarray(used, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"weights must be numbers, got {self.weights!r}.") from None
        if not np.isfinite(found).all() or not found.sum() > 0:
            raise ValueError(
                "weights must be finite, and the sum of those of the members that are not dropped "
                f"positive, got {self.weights!r}."
            )
        return found

    def _average(self, arrays: list[np.ndarray]) -> np.ndarray:
        """Return the weighted mean of one array for each member."""
        # The plain mean first: weights that are normalised round differently.
        values, weights = np.asarray(arrays), self._kept_weights()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(values, axis=0, weights=weights)
        if np.isfinite(mean).all():
            return mean
        # The sum overflows, which the mean need not.
        share = normalised_weights(weights, len(values))
        return np.einsum("i...,i->...", values, share)

    def fit_transform(
        self, X: MatrixLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> np.ndarray:
        """Fit the members and return their predictions for the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        predictions : ndarray
            As of `transform`.

        Notes
        -----
        Cost: a fit and a prediction of each member.
        """
        return super().fit_transform(X, y, **fit_params)

    def _names_out(self, input_features: Any, n_columns: int | None) -> np.ndarray:
        """Names of the columns of `transform`: one for each member, or `n_columns` numbered."""
        check_is_fitted(self, "n_features_in_")
        checked_feature_names(self, input_features, generate_names=False)
        prefix = type(self).__name__.lower()
        numbers = [""] if n_columns is None else range(n_columns)
        pairs = self._pairs(dropped=False)
        names = [f"{prefix}_{name}{i}" for name, _ in pairs for i in numbers]
        return np.asarray(names, dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the members request, for metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters of `fit` are routed to the `fit` of each member and to the splitter.
        """
        return routed_to_splitter(super().get_metadata_routing(), self.held_out)

    _name_of_splits = "held_out"

    @property
    def _members_are_fitted(self) -> bool:
        return isinstance(self.held_out, str)  # "prefit"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


@documented(TEXTS, TEXTS_OF_CERTIFICATES, TEXTS_OF_HELD_OUT, VOTING_TEXTS)
class VotingClassifier(ClassifierMixin, BaseVoting):
    """Combine given classifiers by a majority vote or the mean of their probabilities.

    %(estimators)s

    voting : {"hard", "soft"}, default="hard"
        `"hard"` predicts the label with most votes; of labels with equally many, the first in
        `classes_`. `"soft"` predicts the label with the largest mean probability, again the first
        of equal ones; it needs members with `predict_proba` and probabilities that are calibrated.

    weights : array-like of shape (n_classifiers,) or "tandem", default=None
        Weights of the votes or probabilities; `None` is equal weights. They are read at
        prediction, and can be changed without a new fit. `"tandem"` learns the weights with the
        smallest :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`, see the notes.
        :class:`StackingClassifier` learns weights of the smallest loss.

    %(n_jobs)s

    flatten_transform : bool, default=True
        With `voting="soft"`, whether `transform` returns an array of shape (n_samples,
        n_classifiers * n_classes) instead of (n_classifiers, n_samples, n_classes).

    %(verbose)s

    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest number of votes or mean probability is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    held_out : int, cross-validation splitter, iterable or "prefit", default=None
        Whether `predict_set` is possible, and the rows for `weights="tandem"`, which has five folds
        by default.
        %(held_out)s

    %(reuse_fits)s

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members that are not dropped. Their classes are the positions 0, 1, ... in
        `classes_`, with `held_out="prefit"` the labels.
    le_ : :class:`~sklearn.preprocessing.LabelEncoder`
        The map from labels to positions in `classes_`.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    weights_ : ndarray of shape (n_classifiers,)
        With `weights="tandem"` the weights of the members that are not dropped, of sum 1.
    dual_gap_ : float
        With `weights="tandem"`: the mean tandem loss plus c KL(weights || uniform), which the
        weights minimise, exceeds its minimum by at most that.
    %(attributes)s

    See Also
    --------
    VotingRegressor : The mean of regressors.
    StackingClassifier : Weights or a final classifier learned from held-out predictions.
    BaggingClassifier : Votes of one classifier on resampled rows.

    %(cost_of_votes)s

    The vote of consistent classifiers is consistent [Ghoshdastidar, theorem En.1], and its error
    is at most twice the mean error of its members (`error_bound`). Votes are most useful for
    members of similar accuracy that make different errors. If the members differ in accuracy,
    learned weights are better.

    `weights="tandem"` minimises the bound of [Masegosa et al., 2020], which counts how often two
    members err on the same rows. Each of some 100 steps costs O(T³). See :ref:`tandem-weights` in
    the user guide, also for when the bound holds.

    References
    ----------
    A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2020). "Second order PAC-Bayesian bounds
    for the weighted majority vote". *Advances in Neural Information Processing Systems* 33.

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
        **CONSTRAINTS,
        "voting": [StrOptions({"hard", "soft"})],
        "weights": ["array-like", StrOptions({"tandem"}), None],
        "ties": [StrOptions({"first", "last"})],
        "flatten_transform": ["boolean"],
    }

    def __init__(
        self,
        estimators: list,
        *,
        voting: Literal["hard", "soft"] = "hard",
        weights: ArrayLike | Literal["tandem"] | None = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: bool = False,
        ties: Literal["first", "last"] = "first",
        held_out: CVLike | Literal["prefit"] | None = None,
        reuse_fits: bool = False,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.ties = ties
        self.held_out = held_out
        self.reuse_fits = reuse_fits

    def _is_soft(self) -> bool:
        if self.voting == "hard":
            raise AttributeError(f"predict_proba is not available when voting={self.voting!r}")
        return True

    # ------------------------------------------------------------------------- Learned weights

    def _learn_weights(self, y: np.ndarray, predictions: list[np.ndarray]) -> None:
        losses = self._losses(y, np.ones(len(y), dtype=bool), predictions)
        found = VoteLosses.of_held_out_rows([losses], len(self.estimators_))
        self.weights_, self.dual_gap_ = tandem_weights(found.tandem, int(found.n_samples))

    def _losses(
        self, code: np.ndarray, known: np.ndarray, predictions: list[np.ndarray]
    ) -> np.ndarray:
        """The losses of all members, of shape (n, T), for known labels or none of the classes."""
        if self.voting == "hard":
            return np.column_stack([~known | (own != code) for own in predictions]).astype(float)
        true = np.column_stack([proba[np.arange(len(code)), code] for proba in predictions])
        return np.clip(1 - true * known[:, None], 0.0, 1.0)

    # ----------------------------------------------------------------------------- Predictions

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict labels by the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The label with most votes or the largest mean probability, of equal ones the first or
            last in `classes_`, as `ties` says.

        Notes
        -----
        Cost: a prediction of each member, and O(n K) for n rows and K classes.
        """
        check_is_fitted(self)
        return self.le_.inverse_transform(largest_column(self._scores(X), self.ties))

    @available_if(lambda self: self._is_soft())
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the mean of the members' probabilities; with `voting="soft"`.

        %(rows_only)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Weighted mean probabilities, with columns in the order of `classes_`.

        %(cost_of_members)s
        """
        check_is_fitted(self)
        return self._average(self._of_members(X))

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the labels or probabilities that each member predicts.

        %(rows_only)s

        Returns
        -------
        predictions : ndarray
            With `voting="hard"` the positions in `classes_` of the labels, of shape (n_samples,
            n_classifiers); with `"soft"` the probabilities, of shape (n_samples, n_classifiers *
            n_classes), or with `flatten_transform=False` (n_classifiers, n_samples, n_classes).

        %(cost_of_members)s
        """
        if self.voting == "soft" and not self.flatten_transform and any_collection(X):
            raise ValueError(
                "flatten_transform=False has the rows as the second axis, which Dask collections "
                "cannot have; use flatten_transform=True."
            )
        return self._flat_transform(X)

    @by_chunks
    def _flat_transform(self, X: MatrixLike) -> np.ndarray:
        check_is_fitted(self)
        if self.voting == "hard":
            return np.asarray(self._of_members(X)).T
        proba = self._of_members(X)
        return np.hstack(proba) if self.flatten_transform else np.asarray(proba)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`.

        %(ignored_features)s

        Returns
        -------
        names : ndarray of str
            Class and member, with `voting="soft"` followed by the number of the class.
        """
        if self.voting == "soft" and not self.flatten_transform:
            check_is_fitted(self, "n_features_in_")
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        numbered = self.voting == "soft"
        return self._names_out(input_features, len(self.classes_) if numbered else None)

    def _scores(self, X: MatrixLike) -> np.ndarray:
        """The mean probability of each class, or the sum of the weights of the members for it."""
        return self.predict_proba(X) if self.voting == "soft" else self._votes(self._of_members(X))

    def _votes(self, codes: list[np.ndarray]) -> np.ndarray:
        """The sum of the weights of the members for each class."""
        weights = self._kept_weights()
        # One member after the other: the votes of all members at once would be K times as large.
        votes = np.zeros((len(codes[0]), len(self.classes_)))
        for code, weight in zip(codes, np.ones(len(codes)) if weights is None else weights):
            votes[np.arange(len(votes)), code] += weight
        return votes

    def _shares(self, predictions: list[np.ndarray]) -> np.ndarray:
        """The mean probabilities, or shares of votes, of the classes."""
        if self.voting == "soft":
            return self._average(predictions)
        votes = self._votes([np.asarray(codes, dtype=np.intp) for codes in predictions])
        return votes / votes.sum(axis=1, keepdims=True)

    def _staged_margin_scores(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Yield the mean probabilities, or shares of votes, of all members."""
        check_is_fitted(self)
        scores = self._scores(X)
        yield scores if self.voting == "soft" else scores / scores.sum(axis=1, keepdims=True)

    @available_if(held_out_is_set('5, a splitter or "prefit"'))
    @by_chunks
    def predict_set(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        *,
        method: Literal["lac", "aps", "raps"] = "lac",
        per_class: bool = False,
        randomized: bool = False,
        penalty: float = 0.05,
        k_reg: int = 1,
        random_state: RandomStateLike = None,
        empty: bool = True,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        Each of the n held-out rows has a score s_y(x), the score of its class by members that are
        not fitted to it. With `voting="hard"` the shares of votes are the probabilities. A class c
        is in the set of x if fewer than `coverage` (n + 1) held-out rows have a smaller score than
        s_c(x). Only with `held_out`.

        %(set_parameters)s

        %(notes_of_coverage)s

        %(references_of_sets)s
        """
        check_is_fitted(self)
        held = held_out_of(getattr(self, "_kept", None))
        held = replace(held, predictions=self._shares(held.predictions))
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
        return held.set_around(self._shares(self._of_members(X)), rule)

    # ------------------------------------------------------------------- Bounds on the error

    def error_bound(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        delta: float | None = None,
        method: str = "markov",
        vc_dimensions: ArrayLike | None = None,
    ) -> float:
        """Bound on the error of the vote, by the losses of its members on given rows.

        The loss of a member on a row is 1 if it errs; with `voting="soft"` it is 1 - p, with p the
        probability that it gives to the label. The vote errs only if the weighted mean loss is at
        least 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a bound on the error on new rows, ones that the members were not fitted to.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for `method="markov"`.
        delta : float, default=None
            `None` bounds the error on the given rows. A number in (0, 1) bounds the probability
            of an error on a new row, with probability 1 - delta over the given rows, which must be
            independent of the fit of the members.
        method : str, default="markov"
            What the bound is computed from:

            %(bounds_by_members)s
            - `"binomial"`: the errors of the vote itself on the rows. See
              :func:`~sklearn_ensemble_theory.bounds.held_out_error_bound`.
            - `"vc"`: the error of the vote on the training rows, independent draws without weights,
              plus :func:`~sklearn_ensemble_theory.bounds.voting_generalization_bound`. For two
              classes and `voting="hard"`.
        vc_dimensions : int or array-like of shape (n_classifiers,), default=None
            For `method="vc"`: VC dimensions of the classes of functions of the members that are not
            dropped; one number if they are equal. That of linear classifiers is n_features + 1.

        Returns
        -------
        bound : float
            At most 1, where it says nothing.

        Raises
        ------
        ValueError
            If a weight of a member is negative, delta is not in (0, 1), rows have weights that the
            method does not take, or the vote is of another kind.

        Notes
        -----
        `"markov"` is [Ghoshdastidar, theorem En.1], step 3.1 of its proof, with a member drawn by
        the weights as the randomised classifier. It and `"binomial"`, mostly the smallest bound,
        are valid for weights that were chosen before the rows were seen. The other bounds add
        KL(weights || uniform) and are also valid for weights that were chosen on these very rows.
        Cost: a prediction of each member.
        """
        check_is_fitted(self)
        one_of("method", method, ("markov", "binomial", "vc", *BY_MEMBERS))
        if method == "vc":
            return self._vc_error_bound(X, y, sample_weight, delta, vc_dimensions)
        weights = self._kept_weights()
        # A vote with negative weights may err where most members are right.
        if weights is not None and np.min(weights) < 0:
            raise ValueError("weights must not be negative for error_bound.")
        if delta is not None and not (isinstance(delta, Real) and 0 < delta < 1):
            raise ValueError(f"delta must be a number in (0, 1), got {delta!r}.")
        if method != "markov":
            is_direct = method == "binomial"
            wrong = are_wrong(y, self.predict(X), self.classes_) if is_direct else None
            shares = np.ones(len(self.estimators_)) if weights is None else weights
            weight = None if sample_weight is None else checked_weights(sample_weight, X)
            return held_out_bound(method, wrong, self._loss_blocks(X, y), shares, weight, delta)
        share = self._scores(X)
        # A label that no member knows is an error of all of them.
        code, known = codes_of_labels(y, self.classes_, len(share))
        share = share / share.sum(axis=1, keepdims=True)
        # Shares may exceed 1 by rounding, which the bound refuses.
        true = np.clip(share[np.arange(len(share)), code], 0.0, 1.0) * known
        w = None if sample_weight is None else checked_weights(sample_weight, true)
        return held_out_voting_error_bound(true, w, delta)

    def _vc_error_bound(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        delta: float | None,
        vc_dimensions: ArrayLike | None,
    ) -> float:
        """[Ghoshdastidar, theorem En.1] and what precedes it."""
        # The labels of a soft vote are not determined by those of its members.
        if self.voting != "hard" or len(self.classes_) > 2:
            raise ValueError('method="vc" needs voting="hard" and two classes.')
        if sample_weight is not None or delta is None:
            raise ValueError('method="vc" needs delta, such as delta=0.05, and no sample_weight.')
        members = len(self.estimators_)
        if vc_dimensions is None or np.shape(vc_dimensions) not in ((), (members,)):
            raise ValueError(f'method="vc" needs vc_dimensions, one number or {members}.')
        dimensions = np.broadcast_to(vc_dimensions, members)
        wrong = are_wrong(y, self.predict(X), self.classes_)
        deviation = voting_generalization_bound(len(wrong), dimensions, delta)
        return min(1.0, float(wrong.mean()) + deviation)

    def _loss_blocks(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """Yield the losses of all members, if they are asked for."""
        predictions = self._of_members(X)
        yield self._losses(*codes_of_labels(y, self.classes_, len(predictions[0])), predictions)


@documented(TEXTS, TEXTS_OF_HELD_OUT, VOTING_TEXTS)
class VotingRegressor(RegressorMixin, BaseVoting):
    """Combine given regressors by the (weighted) mean of their predictions.

    %(estimators)s

    weights : array-like of shape (n_regressors,), default=None
        Weights of the members; `None` is equal weights. They are read at prediction, and can be
        changed without a new fit. :class:`StackingRegressor` learns them.

    %(n_jobs)s

    %(verbose)s

    held_out : int, cross-validation splitter, iterable or "prefit", default=None
        Whether `predict_interval` is possible.
        %(held_out)s

    %(reuse_fits)s

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted members that are not dropped.
    %(attributes)s

    See Also
    --------
    VotingClassifier : The vote of classifiers.
    StackingRegressor : Weights or a final regressor learned from held-out predictions.
    BaggingRegressor : The mean of one regressor on resampled rows.

    %(cost_of_votes)s

    The mean squared error of the ensemble is the mean of the members' errors minus the mean of
    their squared differences from the ensemble. It is never larger than that of the average member,
    and much smaller only if members differ [Bach, §10.1].

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, VotingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> vote = VotingRegressor([("ridge", RidgeCV()), ("stumps", L2BoostingRegressor(100))])
    >>> vote.fit(X[:300], y[:300]).predict(X[300:303]).round()
    array([230., 122., 201.])
    >>> vote.transform(X[300:303]).mean(axis=1).round()
    array([230., 122., 201.])
    """

    def __init__(
        self,
        estimators: list,
        *,
        weights: ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        held_out: CVLike | Literal["prefit"] | None = None,
        reuse_fits: bool = False,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.held_out = held_out
        self.reuse_fits = reuse_fits

    @finite_predictions
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the mean of the members' predictions.

        %(rows_only)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Weighted mean predictions.

        %(cost_of_members)s
        """
        check_is_fitted(self)
        return self._average(self._of_members(X))

    @available_if(held_out_is_set('5, a splitter or "prefit"'))
    @by_chunks
    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["conformal"] = "conformal",
        side: Literal["both", "lower", "upper"] = "both",
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        They are the prediction plus and minus the ceil(`coverage` (n + 1))-th smallest absolute
        residual of the n held-out rows, each predicted by members that are not fitted to it. Only
        with `held_out`.

        %(of_intervals)s

        %(notes_of_coverage)s

        %(references_of_intervals)s
        """
        check_is_fitted(self)
        held = held_out_of(getattr(self, "_kept", None))
        held = replace(held, predictions=self._average(held.predictions))
        return held.interval_around(self.predict(X), coverage, method, side)

    @by_chunks
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the predictions of each member.

        %(rows_only)s

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_regressors * n_outputs)
            The outputs of the first member, then of the second member, ...

        %(cost_of_members)s
        """
        check_is_fitted(self)
        return np.column_stack(self._of_members(X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`.

        %(ignored_features)s

        Returns
        -------
        names : ndarray of str
            Class and member, with several outputs followed by the number of the output.
        """
        check_is_fitted(self)
        return self._names_out(input_features, self._n_outputs if self._n_outputs > 1 else None)
