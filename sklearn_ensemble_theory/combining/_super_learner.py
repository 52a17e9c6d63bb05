"""The super learner: a library of members of all families, combined by what they predict for rows
that they have not seen [van der Laan, Polley and Hubbard, 2007].

No member is fitted for each fold where its one fit tells what it predicts for held-out rows
(`HoldsOutRows`). The weights are those of a stack: of smallest held-out risk on the simplex.
"""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import count
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ensemble_theory._blocks import by_chunks, checked_offset
from sklearn_ensemble_theory._categories import CategoricalColumns
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._features import (
    Features,
    columns_of_text,
    is_frame,
)
from sklearn_ensemble_theory._folds import (
    Split,
    drawn_splits,
    is_number_of_folds,
    training_on_each_class,
)
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST
from sklearn_ensemble_theory._offsets import offset_to_predict, offset_to_score
from sklearn_ensemble_theory._rows import (
    Rows,
    checked_groups,
    checked_weights,
    normalised_weights,
    number_of_rows,
    one_column,
    validate_data,
)
from sklearn_ensemble_theory._running import MAX_SEED, Progress
from sklearn_ensemble_theory._scores import (
    ClassifierMixin,
    RegressorMixin,
    r2_of,
)
from sklearn_ensemble_theory._typing import (
    ArrayLike,
    CVLike,
    Estimator,
    MatrixLike,
    RandomStateLike,
)
from sklearn_ensemble_theory.boosting.losses._losses import make_loss
from sklearn_ensemble_theory.bounds import held_out_error_bound
from sklearn_ensemble_theory.ensembles._held_out import TEXTS as TEXTS_OF_HELD_OUT
from sklearn_ensemble_theory.ensembles._held_out import HeldOut
from sklearn_ensemble_theory.ensembles._prediction_sets import SetRule

from ._library import MEMBERS, Library, default_members, warn_of_many_categories
from ._member_fits import (
    Member,
    Outputs,
    refuse_unweighted,
)
from ._member_weights import (
    LOSSES_OF_MEANS,
    LOSSES_OF_NUMBERS,
    LOSSES_WITH_PRIOR,
    WeightedMean,
)
from ._named_members import rows_to_fit
from ._stack import RuleOfWeights
from ._super_learning import (
    LibraryMember,
    Mixture,
    SuperPlan,
    SuperProblem,
    Tempering,
    fit_super_learner,
    numbers_of_columns,
)

# Rows of the prior of equal weights.
PRIOR_ROWS = 1.0


TEXTS = {
    "members": """
        Parameters
        ----------
        members : "auto" or list of str, estimators or (str, estimator) pairs, default="auto"
            The library. These members have names: "linear" (ridge or logistic regression, or the
            linear model of the loss), "neighbors" (bagged nearest neighbours), "extra_trees",
            "forest", "boosting" (trees of depth 3), "additive" (additive model with pairs of
            features) and "boosting_31_leaves". "auto" is all of them, but "neighbors" only for at
            most 20,000 rows whose weights are whole numbers or equal, and the two forests only for
            at least 100 rows. Other estimators are cloned. They are fitted again for each fold if
            a single fit does not give held-out predictions.
        """,
    "cv": """
        cv : int, cross-validation splitter, iterable or None, default=None
            The folds, the same for all members that use folds. An integer is the number of folds,
            which are drawn from a fixed seed; None is 5, or fewer for few rows.
        """,
    "time_limit": """
        time_limit : float or None, default=None
            Seconds. The cheapest members are fitted first. A member is left out if it would take
            longer than the time left, judged by the members before it. The first member is always
            fitted. None is no limit.
        """,
    "attributes": """
        leaderboard_ : dict of arrays
            A table that pandas reads, with a row for each member, the best first. Its columns are
            "name", "loss" (the mean loss of rows that the member has not seen), "standard_error" of
            this mean, "weight" and "seconds" (of its fit).
        members_ : dict of str to estimator
            The fitted members by name. Where X is a frame, those of the library take an array with
            the numbers of its categories.
        member_weights_ : dict of str to float
            The weights, of sum 1.
        mixture_ : Mixture
            What the fit has found, as one record: the members, their weights, and what is done with
            the mean of what they predict.
        held_out_loss_ : float
            The mean loss of the weighted predictions of these rows. It is a little too small,
            because the weights are chosen for it.
        held_out_ : object
            The predictions of the rows that no member has seen, by weights that are learned from
            the other folds: arrays `y`, `predictions`, `rows` and `groups`.
        %(names_in_fit)s
        """,
    "notes": """
        One fit of each member also gives its predictions for rows that it has not seen. Boosting
        and additive models use the folds that choose their number of rounds, forests predict out of
        bag, and bagged neighbours leave out each row in closed form. The linear model is fitted
        again for each fold. The weights have the sum 1 and minimise the mean loss of these
        predictions. One more row, in which all members are equally good, is added (not for
        "absolute_error", "poisson" and "gamma"). Suppose that the loss is bounded and the library
        fixed beforehand. The risk then exceeds the risk of the best member by a term of the order
        of log(number of members) / n for n rows (van der Laan, Polley and Hubbard 2007).
        Cross-validation costs a constant factor.

        There is no standard error of a prediction over training sets, because none is right without
        fits to other rows: see the user guide. Intervals and sets of new targets come from the
        held-out rows.

        Cost: the sum of the fits of the members, each about that of its own cross-validation, and
        O(n k^2) for the weights of k members. A prediction calls only the members with a positive
        weight; weights below a hundredth are set to 0.
        """,
    "references": """
        References
        ----------
        %(Shah)s

        M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
        Applications in Genetics and Molecular Biology* 6.

        L. Breiman (1996). "Stacked regressions". *Machine Learning* 24.
        """,
    "fit": """
        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows; text and categorical columns of a frame are categories, and values may be missing.
        """,
    "fit_ends": """
        %(sample_weight)s
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no fold divides
            them, and forests draw them as a whole.
        """,
    "notes_of_coverage": """
        Notes
        -----
        Coverage is about `coverage`, without a guarantee for finite samples: the members that
        predict a held-out row are fitted to fewer rows than the members of the model.
        """,
    "of_rows": """
        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        """,
    "raises": """
        Raises
        ------
        ValueError
            If a parameter is not valid, or there are fewer than two rows, groups or classes.
        Exception
            The error of the first member, if every member fails.

        Warns
        -----
        UserWarning
            For each member that fails and is left out, with its name and its error.
        """,
}
"""Text that the two classes share."""


CONSTRAINTS: dict[str, list] = {
    "members": [StrOptions({"auto"}), list, tuple],
    "cv": ["cv_object"],
    "time_limit": [None, Interval(Real, 0, None, closed="neither")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


@documented(TEXTS)
class BaseSuperLearner(ReadsOnce, BaseEstimator):
    """The fit of both super learners; not for direct use."""

    _parameter_constraints: ClassVar[dict] = CONSTRAINTS
    members: Literal["auto"] | Sequence[Any]
    loss: str
    cv: Any
    time_limit: float | None
    n_jobs: int | None
    random_state: RandomStateLike
    verbose: int

    leaderboard_: dict[str, np.ndarray]
    members_: dict[str, Any]
    member_weights_: dict[str, float]
    held_out_loss_: float
    mixture_: Mixture

    __metadata_request__fit = GROUPS_ON_REQUEST

    # --- the fit ----------------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """X as the members get it, and y of one column."""
        if is_frame(X):
            return validate_data(self, X, y, y_numeric=not is_classifier(self), as_frame=True)
        return validate_data(self, X, y, y_numeric=not is_classifier(self), **self._checks)

    def _fit_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        offset: Any,
        tempering: Tempering | None = None,
    ) -> Self:
        """`fit` of both classes; y are numbers, or positions of the classes."""
        rows, params = rows_to_fit(X, y, sample_weight, []), {}
        if sample_weight is not None:
            params["sample_weight"] = rows.weight
        if groups is not None:
            groups = checked_groups(groups, X)
            params["groups"] = rows.of(groups)
        if offset is not None:
            params["offset"] = rows.of(offset)
        splits = self._folds(X, y, rows, groups)
        columns = self._columns_of(rows)
        plan = self._plan(rows, columns, params, tempering)
        problem = SuperProblem(rows, numbers_of_columns(columns, rows.X), splits)
        progress = Progress(type(self).__name__, len(plan.members), self.verbose, every=0.0)
        found = fit_super_learner(plan, problem, progress)
        ours = {each.member.name for each in plan.members if each.is_ours}
        self.mixture_ = found.mixture(ours, columns)
        self.members_ = self.mixture_.members
        self.member_weights_ = dict(zip(self.members_, found.weights.tolist()))
        self.leaderboard_, self.held_out_loss_ = found.leaderboard, found.loss
        self.__dict__.pop("held_out_", None)  # of an earlier fit
        if found.held_out is not None:
            self.held_out_ = HeldOut.of(rows, groups, found.rows, found.held_out)
        self._has_offset = offset is not None
        return self

    def _folds(self, X: Any, y: np.ndarray, rows: Rows, groups: Any) -> list[Split]:
        n, of_classes, cv = len(rows.y), isinstance(self, ClassifierMixin), self.cv
        n_units = n if groups is None else len(np.unique(rows.of(groups)))
        if n_units < 2:
            what, got = "rows", f"n_samples = {n}"
            if groups is not None:
                what, got = "groups", f"{n_units} in n_samples = {n} rows"
            raise ValueError(
                f"{type(self).__name__} needs at least two {what}, to hold one out; got {got}."
            )
        if cv is None:
            cv = min(5, n_units)
            if of_classes:
                largest = int(np.bincount(rows.y).max())
                if largest < 2:
                    raise ValueError(
                        f"{type(self).__name__} needs two rows of a class at least, to hold one "
                        f"out; y has a single row of each of its {n} classes."
                    )
                cv = min(cv, largest)
        with warnings.catch_warnings():
            # A class of fewer rows than folds is spread over them.
            warnings.filterwarnings("ignore", "The least populated class in y has only")
            splits = drawn_splits(cv, X, y, rows.numbers, of_classes, groups)
        if not (of_classes and is_number_of_folds(cv)):
            return splits
        of_rows = None if groups is None else rows.of(groups)
        splits = training_on_each_class(splits, rows.y, of_rows)
        if not splits:
            raise ValueError(
                f"{type(self).__name__} needs rows of each class in two groups at least, to hold "
                "one out; here each group has a class of its own."
            )
        return splits

    def _columns_of(self, rows: Rows) -> CategoricalColumns | None:
        """The categories of a frame, where a member of the library is to read their numbers."""
        by_name = isinstance(self.members, str) or any(isinstance(m, str) for m in self.members)
        if not (is_frame(rows.X) and by_name):
            return None
        flags = Features.of(rows.X).flags("from_dtype", rows.X)
        flags[columns_of_text(rows.X, np.flatnonzero(~flags))] = True
        return CategoricalColumns(rows.X, flags)

    def _plan(
        self,
        rows: Rows,
        columns: CategoricalColumns | None,
        params: dict[str, Any],
        tempering: Tempering | None,
    ) -> SuperPlan:
        method, classes = "predict", getattr(self, "classes_", None)
        if classes is not None:
            method = "predict_proba"
        n_rows = len(rows.y) if rows.weight is None else number_of_rows(rows.weight)
        members = self._library(n_rows, columns, params, method)
        if columns is not None:
            ours = {each.member.name for each in members if each.is_ours}
            warn_of_many_categories(columns, ours)
        prior_rows = PRIOR_ROWS if self.loss in LOSSES_WITH_PRIOR else 0.0
        rule = WeightedMean("simplex", loss=self.loss, prior_rows=prior_rows)
        return SuperPlan(
            members,
            RuleOfWeights(rule, Outputs([method], classes)),
            self.loss,
            tempering,
            self.time_limit,
            self.n_jobs,
        )

    def _library(
        self,
        n_rows: float,
        columns: CategoricalColumns | None,
        params: dict[str, Any],
        method: str,
    ) -> list[LibraryMember]:
        """The members that are to be fitted, with the arguments that each takes."""
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        of_classes = isinstance(self, ClassifierMixin)
        categories = [] if columns is None else np.flatnonzero(columns.flags).tolist()
        library = Library(self.loss, of_classes, n_rows, categories, seed)
        given: Any = self.members
        if isinstance(given, str):
            given = default_members(n_rows, params.get("sample_weight"), "offset" in params)
        members: list[LibraryMember] = []
        costs = {name: place for place, name in enumerate(MEMBERS)}
        for each in given:
            name, learner = self._named(each, library, [m.member.name for m in members])
            own = dict(params)
            is_ours = isinstance(each, str)
            if not is_ours and "sample_weight" in own:
                refuse_unweighted(learner, name)
            if "groups" in own and not has_fit_parameter(learner, "groups"):
                del own["groups"]
            if "offset" in own and not has_fit_parameter(learner, "offset"):
                raise ValueError(
                    f"The member {name!r} has no offset in its fit; give members that take one, "
                    "such as 'boosting', 'boosting_31_leaves' and 'additive'."
                )
            if not hasattr(learner, method):
                raise ValueError(
                    f"The member {name!r} has no {method}, by which members are combined."
                )
            cost = costs[name] if is_ours else len(costs)
            members.append(LibraryMember(Member(name, learner, method, own), is_ours, cost))
        if not members:
            raise ValueError("members must have at least one member; it is empty.")
        return members

    def _named(self, given: Any, library: Library, known: list[str]) -> tuple[str, Estimator]:
        """The name and the estimator of an element of `members`."""
        if isinstance(given, str):
            if given not in MEMBERS:
                raise ValueError(
                    f"members has the name {given!r}, which is none of {', '.join(MEMBERS)}."
                )
            name, learner = given, MEMBERS[given](library)
        else:
            pair = given if isinstance(given, tuple | list) and len(given) == 2 else None
            learner = given if pair is None else pair[1]
            name = type(learner).__name__.lower() if pair is None else pair[0]
            kind = is_classifier if isinstance(self, ClassifierMixin) else is_regressor
            if isinstance(learner, type) or not hasattr(learner, "fit") or not kind(learner):
                raise ValueError(
                    f"members has {given!r}, which is neither a name of the library nor a "
                    f"{kind.__name__[3:]} with fit."
                )
            if pair is None:
                name = next(each for each in numbered(name) if each not in known)
        if not isinstance(name, str):
            raise ValueError(f"members has the name {name!r}, which is not a string.")
        if name in known:
            raise ValueError(f"members has the name {name!r} twice; give pairs of other names.")
        return name, learner

    # --- predictions ------------------------------------------------------------------------------

    def _rows_to_predict(self, X: Any) -> Any:
        """X, checked; a frame stays as it is."""
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, X, reset=False, as_frame=True)
            return X
        return validate_data(self, X, reset=False, **self._checks)

    _checks: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr",
        "dtype": "numeric",
        "ensure_all_finite": "allow-nan",
    }

    def drop_unused(self) -> Self:
        """Return a model without the members of weight 0 and without what only intervals need.

        Its predictions are the same; its pickle is smaller.

        Returns
        -------
        smaller : object
            A copy, which shares the members that are left.
        """
        check_is_fitted(self)
        found = copy(self)
        found.mixture_ = self.mixture_.used()
        found.members_ = found.mixture_.members
        found.member_weights_ = {name: self.member_weights_[name] for name in found.members_}
        found.__dict__.pop("held_out_", None)
        return found

    def _held_out(self) -> HeldOut:
        check_is_fitted(self)
        found: HeldOut | None = vars(self).get("held_out_")
        if found is None:
            raise ValueError(
                "Intervals and sets need the held-out predictions of fit, which drop_unused "
                "removes, and several folds; fit again."
            )
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def numbered(name: str) -> Iterator[str]:
    """The name, and the same with numbers from 2."""
    yield name
    yield from (f"{name}-{number}" for number in count(2))


@documented(TEXTS, TEXTS_OF_HELD_OUT)
class SuperLearnerRegressor(RegressorMixin, BaseSuperLearner):
    """Super learner: a weighted mean of boosting, forests, additive, neighbour and linear models.

    %(members)s
    loss : {"squared_error", "absolute_error", "poisson", "gamma"}, default="squared_error"
        What the members are fitted to and the weights make smallest: "poisson" is for counts, and
        "gamma" for amounts above 0. "absolute_error" is used for the weights and for boosting only.
    %(cv)s
    %(time_limit)s
    %(n_jobs)s
    %(random_state)s
    %(verbose)s

    Attributes
    ----------
    %(attributes)s

    See Also
    --------
    SuperLearnerClassifier : The same for classes.
    StackingRegressor : Members and their combination by your own choice.

    Notes
    -----
    %(notes)s

    %(references)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import SuperLearnerRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SuperLearnerRegressor(["linear", "forest"], random_state=0).fit(X[:400], y[:400])
    >>> model.leaderboard_["name"].tolist(), model.leaderboard_["loss"].round(-2)
    (['linear', 'forest'], array([3200., 3400.]))
    >>> model.predict_interval(X[400:401]).round(-1)
    array([[ 80., 260.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "loss": [StrOptions(set(LOSSES_OF_NUMBERS))],
    }

    def __init__(
        self,
        members: Literal["auto"] | Sequence[Any] = "auto",
        *,
        loss: Literal["squared_error", "absolute_error", "poisson", "gamma"] = "squared_error",
        cv: CVLike | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.loss = loss
        self.cv = cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, and find their weights by held-out predictions.

        %(fit)s
        y : array-like of shape (n_samples,)
            Targets; counts for "poisson", and amounts above 0 for "gamma".
        %(fit_ends)s
        offset : array-like of shape (n_samples,), default=None
            Added to the scores of boosting and additive models, which are then the members by
            default: the logarithms of exposures with "poisson" and "gamma".

        %(returns_self)s

        %(raises)s
        """
        X, y = self._checked(X, y)
        y = y.astype(np.float64, copy=False)
        known = y if sample_weight is None else y[checked_weights(sample_weight, X) > 0]
        if self.loss == "gamma" and known.min() <= 0:
            raise ValueError("y has values that are not above 0, as loss='gamma' needs them.")
        if self.loss in LOSSES_OF_MEANS and (known.min() < 0 or known.max() <= 0):
            raise ValueError(f"y has values below 0 or none above, which loss={self.loss!r} needs.")
        return self._fit_rows(X, y, sample_weight, groups, checked_offset(offset, X))

    @by_chunks
    def predict(self, X: MatrixLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict targets.

        %(of_rows)s
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; None is 0, with a warning if the fit had an offset.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The weighted means of the predictions of the members.

        Raises
        ------
        ValueError
            If there is an offset, and the fit had none.
        """
        X = self._rows_to_predict(X)
        offset = offset_to_predict(self, offset, X, self._has_offset)
        if not self._has_offset:
            if offset is not None and offset.any():
                raise ValueError(
                    f"This {type(self).__name__} was fitted without an offset, and its members may "
                    "not take one; pass fit(X, y, offset=...)."
                )
            return self.mixture_.of(X)
        # Members would warn as well, each of them.
        return self.mixture_.of(X, offset=0.0 if offset is None else offset)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination R² of the predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        %(weights_of_rows)s
        offset : array-like of shape (n_samples,), default=None
            As in `fit`, which had one or not.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean of y.

        %(raises_without_offset)s
        """
        check_is_fitted(self)
        offset = offset_to_score(self, offset, X, self._has_offset)
        return r2_of(self, X, y, sample_weight, offset)

    @by_chunks
    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["conformal"] = "conformal",
        side: Literal["both", "lower", "upper"] = "both",
        offset: ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        An interval is the prediction plus and minus the ceil(`coverage` (n + 1))-th smallest
        absolute residual of the n held-out rows. Each held-out row is predicted by members that
        have not seen it, with weights learned from other folds. Residuals of counts and amounts are
        in units of the standard deviation that the loss says. No further fit is made.

        %(of_intervals)s
        offset : array-like of shape (n_samples,), default=None
            As in `fit`.

        %(notes_of_coverage)s

        %(references_of_intervals)s
        """
        held, at = self._held_out(), self.predict(X, offset)
        if self.loss not in LOSSES_OF_MEANS:
            return held.interval_around(at, coverage, method, side)
        loss = make_loss(self.loss)
        return held.interval_around(at, coverage, method, side, loss.deviation, loss.support)


@documented(TEXTS, TEXTS_OF_HELD_OUT)
class SuperLearnerClassifier(ClassifierMixin, BaseSuperLearner):
    """Super learner: a weighted mean of boosting, forests, additive, neighbour and linear models.

    %(members)s
    loss : {"log_loss", "squared_error"}, default="log_loss"
        What the weights make smallest: the log-loss, or the squared error of the probabilities
        (Brier's score).
    %(cv)s
    %(time_limit)s
    %(n_jobs)s
    %(random_state)s
    %(verbose)s

    %(classes_attribute)s
    temperature_ : float
        What the logarithms of the weighted probabilities are divided by; 1 for "squared_error".
    %(attributes)s

    See Also
    --------
    SuperLearnerRegressor : The same for numbers.
    StackingClassifier : Members and their combination by your own choice.

    Notes
    -----
    Probabilities are never 0 or 1. The weighted mean p of the members becomes p^(1/t), divided by
    its sum over the classes. The temperature t has the smallest held-out log-loss under a normal
    prior of log t. A twentieth of a row with the shares of the classes is added.

    A class of a single row, or of a single group, is in the training rows of every fold: no member
    is judged by it.

    %(notes)s

    %(references)s

    R. Ranjan and T. Gneiting (2010). "Combining probability forecasts". *Journal of the Royal
    Statistical Society B* 72.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import SuperLearnerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SuperLearnerClassifier(["linear", "forest"], random_state=0).fit(X, y)
    >>> model.leaderboard_["name"].tolist(), model.leaderboard_["loss"].round(2)
    (['linear', 'forest'], array([0.08, 0.17]))
    """

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "loss": [StrOptions({"log_loss", "squared_error"})],
    }

    def __init__(
        self,
        members: Literal["auto"] | Sequence[Any] = "auto",
        *,
        loss: Literal["log_loss", "squared_error"] = "log_loss",
        cv: CVLike | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.loss = loss
        self.cv = cv
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, and find their weights by held-out predictions.

        %(fit)s
        y : array-like of shape (n_samples,)
            Labels.
        %(fit_ends)s

        %(returns_self)s

        %(raises)s
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        weight = None if sample_weight is None else checked_weights(sample_weight, X)
        known = y if weight is None else y[weight > 0]
        classes = np.unique(known)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y has one class, "
                f"{classes.tolist()}."
            )
        self.classes_ = classes
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        share = normalised_weights(None if weight is None else weight[weight > 0], len(known))
        shares = np.bincount(np.searchsorted(classes, known), share)
        n_rows = len(known) if weight is None else number_of_rows(weight[weight > 0])
        tempering = Tempering(shares, n_rows, self.loss == "log_loss")
        self._fit_rows(X, codes, sample_weight, groups, None, tempering)
        found = self.mixture_.tempering
        assert found is not None
        self.temperature_ = found.temperature
        return self

    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the probabilities of the classes.

        %(of_rows)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, none of which is 0.
        """
        X = self._rows_to_predict(X)
        return self.mixture_.of(X)

    @by_chunks
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the logarithms of the probabilities of the classes.

        %(of_rows)s

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms, all finite.
        """
        return np.log(self.predict_proba(X))

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict classes.

        %(of_rows)s

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The labels of the largest probabilities.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

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

        By the probabilities of the held-out rows, each by members that have not seen it and by
        weights that are learned from other folds. No further fit is made.

        %(set_parameters)s

        %(notes_of_coverage)s

        %(references_of_sets)s
        """
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
        return self._held_out().set_around(self.predict_proba(X), rule)

    def error_bound(
        self, X: MatrixLike | None = None, y: ArrayLike | None = None, *, delta: float = 0.05
    ) -> float:
        """Upper limit of the probability of a wrong label, by rows that the model has not seen.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            New rows, independent of the fit. `None` takes the held-out rows of the fit.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        delta : float, default=0.05
            Probability of failure, in (0, 1).

        Returns
        -------
        bound : float
            The exact binomial limit for the number of errors,
            :func:`~sklearn_ensemble_theory.bounds.held_out_error_bound`. For new rows the error of
            the model is at most that with probability 1 - delta. From the rows of the fit it is an
            estimate of this limit. Each row is predicted by members and weights from other rows.
            These are fitted to fewer rows than the model, and differ between rows.

        Raises
        ------
        ValueError
            If only one of X and y is given, or `drop_unused` has removed the held-out rows.
        """
        if (X is None) != (y is None):
            raise ValueError(
                "error_bound needs both X and y, or neither of them for the rows of the fit."
            )
        if X is None:
            held = self._held_out()
            wrong = held.predictions.argmax(axis=1) != held.y
        else:
            check_is_fitted(self)
            wrong = self.predict(X) != one_column(np.asarray(y))
            check_consistent_length(X, wrong)
        return float(held_out_error_bound(int(wrong.sum()), len(wrong), delta))
