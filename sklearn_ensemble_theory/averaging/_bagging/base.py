"""The fit of bagged ensembles: one for every sampling scheme and every base learner.

A concrete class defines the learner that it bags (`_get_estimator`), how y is encoded and how the
mean of the members' predictions becomes a prediction; a forest also overrides the methods of the
section "What a forest overrides".
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags

from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    raise_for_params,
    validate_parameters,
)
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._learners import (
    has_prepared_members,
    is_tree,
    prepare_members,
    reads_numbers,
    reads_single_precision,
)
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    checked_weights,
    in_usual_units,
    is_frame,
    validated,
)
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.averaging._bagging._fits.chunk_members import (
    fit_members_of_chunks,
)
from sklearn_ensemble_theory.averaging._bagging._fits.member_fits import fit_members
from sklearn_ensemble_theory.averaging._bagging.bins import can_be_binned, with_bins
from sklearn_ensemble_theory.averaging._bagging.fitted_members import FittedMembersMixin
from sklearn_ensemble_theory.averaging._bagging.members import (
    MAX_SEED,
    BaggingMemberSpec,
    MemberRoutingMixin,
    MemberSpec,
    member_input,
    random_state_names,
    takes_sample_weight,
)
from sklearn_ensemble_theory.averaging._bagging.out_of_bag import (
    OutOfBagScoresMixin,
    Score,
)
from sklearn_ensemble_theory.averaging._bagging.uncertainty import UncertaintyMixin
from sklearn_ensemble_theory.averaging._inference.importances import OutOfBagImportancesMixin
from sklearn_ensemble_theory.averaging._inference.training_rows import TrainingRows
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    SamplingDesign,
    SamplingScheme,
    group_codes,
    scheme_of_rows,
)
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators
from sklearn_ensemble_theory.trees._columns import MOST_BINS
from sklearn_ensemble_theory.trees._packed import PackedCache
from sklearn_ensemble_theory.trees._sklearn_trees import check_counts, target_offset


class BaseBagging(
    UncertaintyMixin,
    OutOfBagImportancesMixin,
    OutOfBagScoresMixin,
    FittedMembersMixin,
    MemberRoutingMixin,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of the bagged ensembles; not for direct use."""

    n_estimators: int | Literal["pac"]
    max_samples: int | float | None
    bootstrap: bool | str
    block_length: int | None
    oob_score: bool | Callable[..., float]
    warm_start: bool
    random_state: RandomStateLike
    verbose: int
    max_bins: int | Literal["auto"] | None
    delta: float

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"pac"})],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean", StrOptions({name for name in SCHEMES if isinstance(name, str)})],
        "block_length": [None, Interval(Integral, 1, None, closed="left")],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "max_bins": [StrOptions({"auto"}), None, Interval(Integral, 2, MOST_BINS, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # ------------------------------------------------------------- What a concrete class defines

    @abstractmethod
    def _get_estimator(self) -> BaseEstimator:
        """The learner to bag; the default where the user gave none."""

    @abstractmethod
    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(y as the members are fitted to it, the fitted attributes that describe it)."""

    @abstractmethod
    def _prediction_method(self, estimator: BaseEstimator) -> str:
        """The method of a member whose results are averaged; "vote" for the class predicted."""

    @abstractmethod
    def _oob_scorer(self, y: np.ndarray, classes: Any) -> Score:
        """`score(rows, predictions)` of out-of-bag predictions on the training rows `rows`.

        `classes` are the labels of the codes in y; None for regression.
        """

    @abstractmethod
    def _oob_attributes(self, mean: np.ndarray, score: float) -> dict[str, Any]:
        """The fitted attributes that hold the out-of-bag estimates."""

    # ------------------------------------------------------------------- What a forest overrides

    _validation: ClassVar[dict[str, Any]] = {
        "accept_sparse": ["csr", "csc"],
        "dtype": None,
        "ensure_all_finite": False,
    }

    # Whether the trees may be replaced by binned ones whose random cuts are uniform over bins.
    _random_cuts: ClassVar[bool] = False

    def _scheme_class(self) -> type[SamplingScheme]:
        return SCHEMES[self.bootstrap]

    def _weights_of_rows(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes: Any, grouped: bool
    ) -> np.ndarray | None:
        """The weights of the rows before any draw."""
        follows = self._scheme_class().mean_follows_weight or grouped
        if sample_weight is not None and not follows:
            warn_user(
                f"When fitting {type(self).__name__} with sample_weight "
                f"it is recommended to use bootstrap=True, got {self.bootstrap}."
            )
        return sample_weight

    def _make_scheme(
        self,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        classes: Any,
        groups: np.ndarray | None,
    ) -> SamplingScheme:
        weight = self._weights_of_rows(y, sample_weight, classes, groups is not None)
        strata = None
        if classes is not None:
            strata = y if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].ravel()
        design = SamplingDesign(groups, strata, self.block_length)
        return scheme_of_rows(self._scheme_class(), len(y), self.max_samples, weight, design)

    def _make_member_spec(self, **shared: Any) -> MemberSpec:
        max_features = self.max_features
        n_features = shared["n_features"]
        if not isinstance(max_features, Integral):
            max_features = max(1, int(max_features * n_features))
        if max_features > n_features:
            raise ValueError(f"max_features={max_features} must be <= n_features={n_features}.")
        return BaggingMemberSpec(
            max_features=int(max_features),
            bootstrap_features=self.bootstrap_features,
            random_states=random_state_names(shared["estimator"]),
            **shared,
        )

    # --------------------------------------------------------------------------------------- Fit

    def _hands_on(self, X: Any, estimator: Any) -> bool:
        """Whether members get X as the data frame that it is.

        Columns that are drawn twice would have the same name.
        """
        drawn_twice = getattr(self, "bootstrap_features", False)
        return (
            is_frame(X) and not drawn_twice and not reads_numbers(estimator, has_prepared_members)
        )

    def _check_learner(self, estimator: BaseEstimator) -> None:
        """Raise an error if the learner, or a parameter of it, cannot be used."""

    def _validate_X(self, X: MatrixLike) -> Any:
        as_frame = self._member_spec.frames and is_frame(X)
        return validated(self, X, as_frame=as_frame, reset=False, **self._validation)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members, each on rows and features drawn at random.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask collection. Sparse, missing and infinite values are accepted
            where the base learner accepts them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or a Dask collection.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows before any draw. The probability of a row is
            proportional to its weight (`bootstrap=True` or `False`), or its rate is
            (`"poisson"`), or its concentration (`"bayesian"`); with `"bernoulli"` the weight is
            that of the row where it is drawn. With `bootstrap=True` and an int as `max_samples`,
            integer weights are equivalent in distribution to repeating rows. Rows that are drawn
            as groups or blocks keep their weights. May be a Dask collection.

        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together: those of one patient, or of one user. Groups
            are drawn in place of rows, with equal probabilities, and `max_samples` is a number of
            groups or a fraction of it. All rows of a group that is drawn enter, as often as it was
            drawn. A row is out of bag only if no row of its group was drawn, standard errors are
            over data sets of fresh groups, and intervals are for rows of a new group.

        **fit_params : dict
            Routed to the members' `fit` where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If a parameter or `groups` cannot be used with the data, the base learner or each other;
            the message names the parameter.

        Notes
        -----
        Cost: `n_estimators` fits of the base learner on at most s distinct rows each, O(s log s)
        a member for the draw, and O(n p) once, O(n p log n) with bins. Members are fitted in
        threads when the base learner is a tree of scikit-learn's or a binned one, whose growth
        releases the interpreter lock, and otherwise in processes.

        With Dask collections member b is drawn from the rows of one chunk, b modulo the number of
        chunks with rows of positive weight, by the sampling scheme for those rows, and fitted where
        the chunk is: `max_samples` and balanced class weights are of the chunk's rows, and members
        see fewer rows than in memory. The rows of a chunk should be a random sample of all. They
        are read twice. With a single chunk, ``X.rechunk(-1)``, the members are those of a fit in
        memory. `oob_score`, `warm_start` and `groups` cannot be used, callbacks are not called, and
        methods that need the training rows or the draws, such as `standard_error` and
        `predict_interval`, raise a ValueError.
        """
        raise_for_params(fit_params, self, "fit")
        if sp.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        estimator = self._get_estimator()
        self._check_learner(estimator)
        continued = self.warm_start and hasattr(self, "estimators_")
        frames = self._hands_on(X, estimator) and (not continued or self._member_spec.frames)
        X, y = validated(self, X, y, as_frame=frames, multi_output=True, **self._validation)
        if sample_weight is not None:
            sample_weight = in_usual_units(checked_weights(sample_weight, X))
        codes = None if groups is None else group_codes(groups, X)
        y, description = self._encode_y(y)
        classes = description.get("classes_")
        scheme = self._make_scheme(y, sample_weight, classes, codes)
        if continued:
            self._check_same_groups(scheme)
        given = X
        estimator, spec, X, y = self._prepared(
            estimator,
            scheme,
            X,
            y,
            description=description,
            frames=frames,
            routed=self._route(self._with_groups(estimator, fit_params, groups), "fit"),
        )
        is_fresh = spec.checked and not np.may_share_memory(X, given)
        del given

        n_known = len(self.estimators_) if continued else 0
        n_more = self._n_members(len(y)) - n_known
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_known} when warm_start==True"
            )
        if n_more == 0:
            warn_user("Warm-start fitting without increasing n_estimators does not fit new trees.")
            if self.oob_score and not hasattr(self, "oob_score_"):
                self._set_oob_score_and_attributes(
                    self._start_out_of_bag(spec, X, y, classes, continued)
                )
            return self
        rng = check_random_state(self.random_state)
        if n_known:
            rng.randint(MAX_SEED, size=n_known)  # the seeds of the known members
        seeds = rng.randint(MAX_SEED, size=n_more)
        oob = None
        if self.oob_score:
            oob = self._start_out_of_bag(spec, X, y, classes, continued)
        members, features = fit_members(self, spec, X, y, seeds, oob, description)

        # Everything has been fitted: from here on nothing fails.
        for name, value in description.items():
            setattr(self, name, value)
        self.estimator_ = estimator
        self.estimators_ = (self.estimators_ if continued else []) + members
        self.estimators_features_ = (self.estimators_features_ if continued else []) + features
        self._seeds = np.concatenate([self._seeds[:n_known] if continued else [], seeds])
        self._seeds = self._seeds[: len(self.estimators_)].astype(int)
        self._member_spec = spec.without_data()
        self._packed = PackedCache()
        self._training = TrainingRows.of(estimator, X, y, is_fresh)
        self._set_oob_score_and_attributes(oob)
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, each of which members are drawn from."""
        learned = fit_members_of_chunks(self, rows)
        self._set_oob_score_and_attributes(None)
        self.__dict__.update(learned)

    def _prepared(
        self,
        estimator: BaseEstimator,
        scheme: SamplingScheme,
        X: Any,
        y: np.ndarray,
        *,
        description: dict[str, Any],
        frames: bool,
        routed: dict[str, Any] | None = None,
        largest: int = 0,
    ) -> tuple[BaseEstimator, MemberSpec, Any, np.ndarray]:
        """(the learner, what the members share, X and y as they take them).

        `largest` is the number of rows of the largest chunk, by which bins are chosen.
        """
        n_rows = max(largest, X.shape[0])
        estimator = with_bins(
            estimator, X, y, self.max_bins, random_cuts=self._random_cuts, n_rows=n_rows
        )
        classes, n_features = description.get("classes_"), X.shape[1]
        if reads_single_precision(estimator):
            validate_parameters(estimator)
            check_counts(estimator, y)
        prepared, checked = None, False
        if not routed and can_be_binned(X, y):
            prepared = prepare_members(estimator, X, scheme.sample_weight, self.n_jobs)
        if prepared is None:
            X, checked = member_input(estimator, X)
        elif classes is None:
            y = y.astype(np.float64, copy=False)
        plain = prepared is not None or is_tree(estimator)
        spec = self._make_member_spec(
            estimator=clone(estimator) if plain else estimator,
            n_features=n_features,
            scheme=scheme,
            weighted=prepared is not None or takes_sample_weight(estimator),
            plain=plain,
            prepared=prepared,
            frames=frames,
            checked=checked,
            out_of_bag=self._prediction_method(estimator) if self.oob_score else None,
            n_classes=int(np.sum(description.get("n_classes_", 0))),
            fit_params=routed or {},
            offset=target_offset(estimator, y) if classes is None else 0.0,
        )
        self._check_combination(spec)
        return estimator, spec, X, y

    def _check_combination(self, spec: MemberSpec) -> None:
        """Raise an error if the scheme cannot be used with the learner or out-of-bag scores."""
        scheme, learner = spec.scheme, type(spec.estimator).__name__
        if not scheme.draws_counts and not spec.weighted:
            raise ValueError(
                f"bootstrap={scheme.bootstrap!r} draws weights that are not integers, or rows with "
                f"weights of their own, and {learner}.fit does not accept sample_weight; use for "
                "instance bootstrap=True, without groups and sample_weight together."
            )
        if self.oob_score and not scheme.leaves_rows_out:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True or some rows are not drawn "
                f"otherwise; with bootstrap={scheme.bootstrap!r} and max_samples="
                f"{self.max_samples} every member is fitted to every row."
            )

    def _check_same_groups(self, scheme: SamplingScheme) -> None:
        """Raise an error if the known members were drawn by other groups, or by none."""
        before, now = self._member_spec.scheme.unit_of_row, scheme.unit_of_row
        same = before is now if before is None or now is None else np.array_equal(before, now)
        if not same:
            raise ValueError(
                "groups must be those of the previous fit with warm_start=True, or None in both."
            )

    def _n_members(self, n_samples: int) -> int:
        if self.n_estimators == "pac":
            return bagging_pac_n_estimators(n_samples, self.delta)
        return self.n_estimators

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            base = get_tags(self._get_estimator()).input_tags
        except (AttributeError, TypeError):
            return tags  # not an estimator, which the parameter check of `fit` reports
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags
