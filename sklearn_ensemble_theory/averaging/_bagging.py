"""Bagging of any estimator, by any of the sampling schemes [Bach, §10.1]."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch, Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import (
    fitted_encoder,
    numbered_learner,
)
from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    own_requests,
    raise_for_params,
)
from sklearn_ensemble_theory._door import CLASS_WEIGHT, fit_context
from sklearn_ensemble_theory._learners import (
    coded_learner,
    is_tree,
    prepare_members,
    reads_numbers,
    reads_single_precision,
    with_groups,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    check_continued,
    checked_weights,
    group_codes,
    in_usual_units,
    is_frame,
    validate_data,
)
from sklearn_ensemble_theory._running import Progress, warn_user
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike, available_if
from sklearn_ensemble_theory.averaging._averages import (
    BaggedClassifier,
    BaggedRegressor,
    check_metric,
    out_of_bag_score,
    split_outputs,
    staged_mean_proba,
)
from sklearn_ensemble_theory.averaging._learner_blocks import (
    LearnerBlock,
    LearnerRows,
    RowsInChunks,
    RowsOfSeveralFits,
    facts_of_block,
    naming_chunk,
    of_learner_rows,
    recoded,
)
from sklearn_ensemble_theory.averaging._members import (
    MAX_SEED,
    MemberSpec,
    OutOfBag,
    fit_members,
    member_params,
    member_router,
    outside_predictions,
    random_state_names,
    takes_bins,
    takes_sample_weight,
    with_bins,
)
from sklearn_ensemble_theory.averaging._sampling import (
    SCHEMES,
    Bernoulli,
    BernoulliOrNone,
    SamplingDesign,
    SamplingScheme,
    scheme_of_rows,
)
from sklearn_ensemble_theory.bounds import (
    bagging_pac_n_estimators,
    bagging_stable_max_samples,
)
from sklearn_ensemble_theory.bounds._stability import LAWS_BY_ROWS
from sklearn_ensemble_theory.ensembles._forest_weights import (
    impute,
    kneighbors,
    outlier_scores,
    proximity,
    training_weights,
)
from sklearn_ensemble_theory.ensembles._importances import (
    permutation_importances,
    unbiased_importances,
)
from sklearn_ensemble_theory.ensembles._jackknife import (
    VarianceDecomposition,
    spread_of_members,
    standard_error,
    variance_decomposition,
)
from sklearn_ensemble_theory.ensembles._mdi_plus import POSITIVE_REG_PARAMS, mdi_plus
from sklearn_ensemble_theory.ensembles._members import (
    mean_prediction,
    member_input,
)
from sklearn_ensemble_theory.ensembles._shrinkage import shrunk_ensemble
from sklearn_ensemble_theory.ensembles._stability import (
    stability_of,
    weighs_by_all_rows,
)
from sklearn_ensemble_theory.ensembles._training_rows import TrainingRows
from sklearn_ensemble_theory.trees._columns import MOST_BINS
from sklearn_ensemble_theory.trees._compact import with_compact_tree
from sklearn_ensemble_theory.trees._packed import PackedCache
from sklearn_ensemble_theory.trees._shrinkage import (
    REG_PARAMS,
    SHRINKAGE,
    check_not_shrunk,
)
from sklearn_ensemble_theory.trees._sklearn_trees import (
    check_counts,
    check_single_precision,
    target_offset,
)


class BaseBagging(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the bagged ensembles; not for direct use.

    A concrete class also is a `BaggedRegressor` or `BaggedClassifier`, and defines the learner
    that it bags; a forest overrides what stands before `fit`.
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"pac"})],
        "max_samples": [
            None,
            StrOptions({"stable"}),
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
        "stability": [Interval(Real, 0, 1, closed="right")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # The fitted members, and what repeats their draws.
    estimator_: BaseEstimator
    estimators_: list
    estimators_features_: list[np.ndarray]
    _seeds: np.ndarray
    _member_spec: MemberSpec
    _training: TrainingRows | RowsInChunks | None

    # How X is checked: whatever the base learner accepts.
    _validation: ClassVar[dict] = {
        "accept_sparse": ["csr", "csc"],
        "dtype": None,
        "ensure_all_finite": False,
    }
    # Whether the trees may be replaced by binned ones whose random cuts are uniform over bins.
    _random_cuts: ClassVar[bool] = False

    @abstractmethod
    def _get_estimator(self) -> BaseEstimator:
        """The learner to bag; the default where the user gave none."""

    def _checked_estimator(self) -> BaseEstimator:
        """The learner to bag, after the checks that need no data."""
        estimator = self._get_estimator()
        check_metric(self.oob_score)
        self._check_learner(estimator)
        return estimator

    def _for_categories(self, estimator: BaseEstimator, X: Any) -> BaseEstimator:
        """The learner for X, of which some columns may be categorical."""
        return estimator

    def _scheme_class(self) -> type[SamplingScheme]:
        scheme = SCHEMES[self.bootstrap]
        redraws = getattr(self, "empty", "redraw") == "redraw"
        return scheme if redraws or scheme is not Bernoulli else BernoulliOrNone

    def _weights_of_rows(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes, grouped: bool
    ) -> np.ndarray | None:
        """The weights of the rows before any draw."""
        follows = self._scheme_class().mean_follows_weight or grouped
        if sample_weight is not None and not follows:
            warn_user(
                f"When fitting {type(self).__name__} with sample_weight "
                f"it is recommended to use bootstrap=True, got {self.bootstrap}."
            )
        return sample_weight

    def _member_options(self, estimator: BaseEstimator, n_samples: int, n_features: int) -> dict:
        """What of a `MemberSpec` says how members differ: their features and random states."""
        max_features = self.max_features
        if not isinstance(max_features, Integral):  # a share of them
            max_features = max(1, int(max_features * n_features))
        max_features = int(max_features)
        if max_features > n_features:
            raise ValueError(f"max_features={max_features} must be <= n_features={n_features}.")
        return {
            "max_features": max_features,
            "bootstrap_features": self.bootstrap_features,
            "random_states": random_state_names(estimator),
        }

    # --------------------------------------------------------------------------------------- Fit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: object,
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
        `predict_interval`, raise a ValueError. So they do where `warm_start=True` goes on with
        other rows, weights or parameters of the draws than before.
        """
        raise_for_params(fit_params, self, "fit")
        if sp.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        estimator = self._for_categories(self._checked_estimator(), X)
        continued = self.warm_start and hasattr(self, "estimators_")
        frames = self._takes_frames(X, estimator) and (not continued or self._member_spec.frames)
        checks = {"as_frame": frames, "learner": estimator, **self._validation}
        if continued:
            check_continued(self, X, estimator)
            check_not_shrunk(self, "fit with warm_start=True")
        for name in SHRINKAGE:
            self.__dict__.pop(name, None)
        X, y = validate_data(self, X, y, multi_output=True, **checks)
        estimator = numbered_learner(estimator, fitted_encoder(self))
        if sample_weight is not None:
            sample_weight = in_usual_units(checked_weights(sample_weight, X))
        codes = None if groups is None else group_codes(groups, X)
        y, target = self._encode_y(y)
        classes = target.get("classes_")
        estimator = coded_learner(estimator, classes)

        # The law of the rows' weights, and what the members share.
        scheme = self._make_scheme(y, sample_weight, classes, codes)
        # Draws can be repeated from their seeds where all of them were made in one way.
        mixed = continued and isinstance(self._member_spec.scheme, RowsOfSeveralFits)
        if continued and not mixed:
            before, now = self._member_spec.scheme.unit_of_row, scheme.unit_of_row
            either = before is not None or now is not None
            if either and (before is None or now is None or not np.array_equal(before, now)):
                raise ValueError(
                    "groups must be those of the previous fit with warm_start=True, or None in "
                    "both."
                )
        routed = member_params(self, with_groups(fit_params, groups, estimator), "fit")
        given = X
        estimator, spec, X, y = self._prepared(
            estimator, scheme, X, y, target, frames=frames, routed=routed
        )
        by_column = fitted_encoder(self) is not None
        by_column |= getattr(estimator, "interaction_cst", None) is not None
        if by_column and spec.prepared is None and not spec.all_features:
            raise ValueError(
                "max_features must be 1.0 where the base learner has categorical features or "
                "interaction_cst, and gets parameters of its fit."
            )
        if not spec.checked and reads_single_precision(estimator):
            check_single_precision(X)  # rows that no member draws may be far ones
        is_fresh = spec.checked and not np.may_share_memory(X, given)
        del given

        rows, same_rows = None, True  # as far as is known
        if continued:
            rows = TrainingRows.of(estimator, X, y, is_fresh)
            before = self._training
            if isinstance(before, RowsOfSeveralFits):
                before = before.rows
            same_rows = not isinstance(before, TrainingRows) or rows.are_those_of(before)
            mixed = mixed or not (same_rows and spec.draws_as(self._member_spec))

        # A warm start keeps the known members, whose draws their seeds repeat, and adds others.
        n_known = len(self.estimators_) if continued else 0
        n_more = self._n_members(len(y)) - n_known
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_known} when warm_start==True"
            )
        if continued and (n_more or self.oob_score):
            self._check_targets_continued(target)
        oob = None
        if self.oob_score and (n_more or not hasattr(self, "oob_score_")):
            oob = self._start_out_of_bag(spec, X, y, classes, continued, same_rows)
        if n_more == 0:
            warn_user("Warm-start fitting without increasing n_estimators does not fit new trees.")
            if oob is not None:
                self._set_oob_score_and_attributes(oob, classes)
            return self
        seeds = check_random_state(self.random_state).randint(MAX_SEED, size=n_known + n_more)
        if n_known:
            seeds[:n_known] = self._seeds[:n_known]
        seeds = scheme.seeds_of_members(seeds)[n_known:]
        members, features = self._fit_members(spec, X, y, seeds, oob, target)

        self.__dict__.update(target)
        if continued:
            members, features = self.estimators_ + members, self.estimators_features_ + features
            seeds = np.concatenate([self._seeds[:n_known], seeds])
        self.estimator_ = estimator
        self.estimators_ = members
        self.estimators_features_ = features
        self._seeds = seeds[: len(members)].astype(int)  # a callback may have ended the fit early
        # Columns in bins are freed before the rows are kept.
        spec = self._member_spec = spec.without_data()
        self._packed = PackedCache()
        self._training = rows or TrainingRows.of(estimator, X, y, is_fresh)
        if mixed:
            self._training = RowsOfSeveralFits(self._training)
            self._member_spec = replace(spec, scheme=RowsOfSeveralFits())
        self._set_oob_score_and_attributes(oob, classes)
        return self

    def _check_targets_continued(self, target: dict) -> None:
        """Refuse other classes, or another number of outputs, than those of the previous fit."""
        n_before, n_now = getattr(self, "n_outputs_", 1), target.get("n_outputs_", 1)
        if n_before != n_now:
            raise ValueError(
                f"y must have as many columns as in the previous fit with warm_start=True, "
                f"{n_before}, got {n_now}."
            )
        before, now = getattr(self, "classes_", []), target.get("classes_", [])
        if not isinstance(now, list):
            before, now = [before], [now]
        if not all(map(np.array_equal, before, now)):
            raise ValueError(
                "y must have the classes of the previous fit with warm_start=True, "
                f"{[list(each) for each in before]}, got {[list(each) for each in now]}."
            )

    def _takes_frames(self, X, estimator: BaseEstimator) -> bool:
        """Whether members get X as the data frame that it is.

        Columns that are drawn twice would have the same name.
        """
        drawn_twice = getattr(self, "bootstrap_features", False)
        return is_frame(X) and not drawn_twice and not reads_numbers(estimator, "prepare_members")

    def _validate_X(self, X: MatrixLike):
        as_frame = self._member_spec.frames and is_frame(X)
        checks = {"as_frame": as_frame, "learner": self.estimator_, **self._validation}
        return validate_data(self, X, reset=False, **checks)

    def _make_scheme(
        self,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        classes,
        groups: np.ndarray | None,
    ) -> SamplingScheme:
        weight = self._weights_of_rows(y, sample_weight, classes, groups is not None)
        strata = None
        if classes is not None:
            strata = y if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].ravel()
        unit = "samples" if groups is None else "groups"
        design = SamplingDesign(groups, strata, self.block_length, unit)
        scheme, size = self._scheme_class(), self.max_samples
        if size == "stable":
            units = np.arange(len(y)) if groups is None else groups
            if scheme.bootstrap not in LAWS_BY_ROWS or (
                groups is None and weight is not None and np.ptp(weight) > 0
            ):
                raise ValueError(
                    f"max_samples='stable' requires one of bootstrap={list(LAWS_BY_ROWS)} and rows "
                    f"of equal weight; got bootstrap={scheme.bootstrap!r}"
                    f"{'' if weight is None else ' and weights'}."
                )
            if weighs_by_all_rows(self):
                raise ValueError(
                    "max_samples='stable' requires class_weight to be no function of all rows, as "
                    "'balanced' is; give the weights as a dict."
                )
            n_units = len(np.unique(units if weight is None else units[weight > 0]))
            if n_units < 2:
                raise ValueError(
                    f"max_samples='stable' requires at least 2 {design.unit}, got {n_units}."
                )
            size = bagging_stable_max_samples(
                n_units,
                self.stability,
                bootstrap=scheme.bootstrap,
                delta=self.delta,
            )
        return scheme_of_rows(scheme, len(y), size, weight, design)

    def _n_members(self, n_samples: int) -> int:
        if self.n_estimators == "pac":
            return bagging_pac_n_estimators(n_samples, self.delta)
        return self.n_estimators

    def _prepared(
        self,
        estimator: BaseEstimator,
        scheme: SamplingScheme,
        X,
        y: np.ndarray,
        target: dict,
        *,
        frames: bool,
        routed: dict | None = None,
        largest: int = 0,
        is_binned: bool = False,
    ) -> tuple[BaseEstimator, MemberSpec, object, np.ndarray]:
        """(the learner, what the members share, X and y as they take them).

        `largest` is the number of rows of the largest block, by which bins are chosen, unless the
        learner `is_binned`.
        """
        n_rows = max(largest, X.shape[0])
        if not is_binned:
            estimator = with_bins(
                estimator, X, y, self.max_bins, random_cuts=self._random_cuts, n_rows=n_rows
            )
        is_real, n_features = "classes_" not in target, X.shape[1]
        if reads_single_precision(estimator):
            estimator._validate_params()
            check_counts(estimator, y)
        # Columns are binned, or converted to single precision, once for all members.
        prepared, checked = None, False
        if not routed and (is_binned or takes_bins(estimator, X, y)):
            prepared = prepare_members(estimator, X, scheme.sample_weight, self.n_jobs)
        if prepared is None:
            X, checked = member_input(estimator, X)
        elif is_real:
            y = y.astype(np.float64, copy=False)
        plain = prepared is not None or is_tree(estimator)
        learner = clone(estimator) if plain else estimator
        weighted = prepared is not None or takes_sample_weight(estimator)
        spec = MemberSpec(
            estimator=learner,
            scheme=scheme,
            n_features=n_features,
            frames=frames,
            checked=checked,
            weighted=weighted,
            plain=plain,
            prepared=prepared,
            out_of_bag=self._prediction_method(estimator) if self.oob_score else None,
            n_classes=int(np.sum(target.get("n_classes_", 0))),
            empty=getattr(self, "empty", "redraw"),
            fit_params=routed or {},
            offset=target_offset(estimator, y) if is_real else 0.0,
            **self._member_options(learner, scheme.n_samples, n_features),
        )
        if not scheme.draws_counts and not weighted:
            raise ValueError(
                f"bootstrap={scheme.bootstrap!r} draws weights that are not integers, or rows with "
                f"weights of their own, and {type(learner).__name__}.fit does not accept "
                "sample_weight; use for instance bootstrap=True, without groups and sample_weight "
                "together."
            )
        if self.oob_score and not scheme.leaves_rows_out:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True or some rows are not drawn "
                f"otherwise; with bootstrap={scheme.bootstrap!r} and max_samples="
                f"{self.max_samples} every member is fitted to every row."
            )
        return estimator, spec, X, y

    def _fit_members(
        self,
        spec: MemberSpec,
        X,
        y: np.ndarray,
        seeds: np.ndarray,
        oob: OutOfBag | None,
        target: dict,
    ) -> tuple[list[BaseEstimator], list[np.ndarray]]:
        """The members of these seeds and their features; callbacks may end the fit early."""
        context = self._init_callback_context(max_subtasks=len(seeds))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        progress = Progress(type(self).__name__, len(seeds), self.verbose)
        members: list[BaseEstimator] = []
        features: list[np.ndarray] = []

        def fitted_so_far() -> dict:
            return {
                **target,
                "estimator_": spec.estimator,
                "estimators_": list(members),
                "estimators_features_": list(features),
                "_member_spec": spec.without_data(),
            }

        # Members come in the order of their seeds, whichever worker is first: an ensemble that a
        # callback ends early is the beginning of the whole one.
        for member, columns, outside in fit_members(spec, X, y, seeds, self.n_jobs):
            task = context.subcontext(task_name="member")
            task.call_on_fit_task_begin(estimator=self)
            members.append(member)
            features.append(columns)
            if oob is not None:
                oob.add(outside)
            progress.advance(f"out-of-bag score {oob.scores[-1]:.4g}" if oob else "")
            if task.call_on_fit_task_end(
                estimator=self, X=X, y=y, reconstruction_attributes=fitted_so_far
            ):
                break
        progress.finish("callback")
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes=fitted_so_far
        )
        return members, features

    def _start_out_of_bag(
        self, spec: MemberSpec, X, y: np.ndarray, classes, continued: bool, same_rows: bool = True
    ) -> OutOfBag:
        """The out-of-bag estimates to add members to: of the known members, or empty."""
        score = out_of_bag_score(self.oob_score, y, classes, getattr(self, "ties", "first"))
        known = getattr(self, "_oob", None) if continued else None
        if continued:
            scheme = self._member_spec.scheme
            n_samples = scheme.n_samples if known is None else len(known.n_predictions)
            if n_samples != len(y) or not same_rows:
                raise ValueError(
                    "oob_score requires the out-of-bag predictions of all members, but those of "
                    f"the previous fit were fitted to {n_samples} other rows. Use "
                    "warm_start=False."
                )
        if known is not None:
            return known.continued(score)
        columns = y.shape[1:] if classes is None else (spec.n_classes,)
        # Sums of targets near the largest float are taken in units of a power of two.
        oob = OutOfBag((len(y), *columns), score, range_exponent(y) if classes is None else 0)
        if continued:  # the previous fit was one without oob_score
            known_members = zip(self.estimators_, self.estimators_features_, self._seeds)
            for member, features, seed in known_members:
                rows = self._member_spec.indices(seed)[1]
                oob.add(outside_predictions(spec, member, X, rows, features))
        return oob

    def _set_oob_score_and_attributes(self, oob: OutOfBag | None, classes) -> None:
        """Set the fitted attributes of the out-of-bag estimates, and remove those of before."""
        for name in ("oob_score_", "oob_scores_", "oob_prediction_", "oob_decision_function_"):
            self.__dict__.pop(name, None)
        self._oob = oob.continued(score=None) if oob is not None and self.warm_start else None
        if oob is None:
            return
        if not oob.n_predictions.all():
            warn_user(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates."
            )
        self.oob_scores_ = np.array(oob.scores)
        self.oob_score_ = oob.scores[-1]
        mean = oob.mean()
        if classes is None:
            self.oob_prediction_ = mean
        elif not isinstance(classes, list):
            self.oob_decision_function_ = mean
        else:
            by_class = np.zeros((len(mean), max(map(len, classes)), len(classes)))
            for k, part in enumerate(split_outputs(mean, classes)):
                by_class[:, : part.shape[1], k] = part
            self.oob_decision_function_ = by_class

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` to blocks of rows: member b is fitted to rows of block b mod K, where the block is.

        K is the number of blocks with rows of positive weight. The rows are read twice.
        """
        if self.oob_score:
            raise ValueError(
                "oob_score needs the training rows in memory and cannot be used with Dask "
                "collections; use oob_score=False."
            )
        if self.warm_start:
            raise ValueError(
                "warm_start=True cannot be used with Dask collections, whose chunks may be others "
                "in the next fit; use warm_start=False."
            )
        if self.max_samples == "stable":
            raise ValueError(
                'max_samples="stable" is of members drawn from all rows and cannot be used with '
                "Dask collections, whose members are drawn from chunks; give a number."
            )
        if self.n_estimators == "pac" and len(rows.given) > 1:
            raise ValueError(
                'n_estimators="pac" is the number of members that are drawn from all rows, and a '
                f"member is drawn from one of {len(rows.given)} chunks here; give a number, or use "
                "X.rechunk(-1)."
            )
        estimator = self._for_categories(self._checked_estimator(), rows.meta)
        unfitted = clone(self)  # without the members of an earlier fit
        frames = self._takes_frames(rows.meta, estimator)
        read, estimator = LearnerRows.of(
            unfitted, rows, estimator, self._validation, as_frame=frames
        )
        facts = rows.given.sum(of_learner_rows, read, facts_of_block)
        if facts is None:
            raise ValueError("X has no rows.")
        estimator = coded_learner(estimator, facts.target.get("classes_"))
        n_members, blocks = self._n_members(sum(facts.lengths.values())), facts.chunks
        if n_members < len(blocks):
            warn_user(
                f"n_estimators={n_members} is less than the number of chunks, {len(blocks)}, each "
                f"of which has members of its own: rows of {len(blocks) - n_members} chunks are "
                "not used."
            )
            blocks = blocks[:n_members]
        seeds = check_random_state(self.random_state).randint(MAX_SEED, size=n_members)
        # Members go round the blocks, and each block fits its own where its rows are.
        step, largest = len(blocks), max(facts.lengths.values())
        by_block = {number: seeds[first::step] for first, number in enumerate(blocks)}
        found = rows.given.taken(blocks).each(
            of_learner_rows,
            read,
            _members_of_block,
            unfitted,
            estimator,
            by_block,
            facts.target,
            largest,
        )
        if read.encoder is not None:
            self._encoder = read.encoder
        self._set_oob_score_and_attributes(None, None)
        for name in SHRINKAGE:
            self.__dict__.pop(name, None)
        self.__dict__.update(facts.target)
        self.estimators_ = [None] * n_members
        self.estimators_features_ = [np.empty(0, dtype=np.intp)] * n_members
        for first, (members, features, own, estimator, spec) in enumerate(found):
            self.estimators_[first::step] = members
            self.estimators_features_[first::step] = features
            seeds[first::step] = own
            if first == 0:
                self.estimator_, self._member_spec = estimator, spec
        self._seeds = seeds.astype(int)
        self._packed = PackedCache()
        self._training = RowsInChunks()

    # -------------------------------------------------------------------------------- Predictions

    def _mean_prediction(self, X, method: str, params: dict | None = None) -> np.ndarray:
        return mean_prediction(self, X, method, params)

    def standard_error(
        self,
        X: MatrixLike,
        method: str = "auto",
    ) -> np.ndarray:
        """Compute the standard error of the mean of the ensemble over training sets.

        The infinitesimal jackknife [Wager, Hastie and Efron, 2014] measures how the mean would
        change with a small increase of the weight of each training row, by the covariance between
        the weights drawn for the row and the predictions of the members. The jackknife after
        bootstrap measures how it changes without the row, by the mean of the members that are not
        fitted to it. Both subtract the expected Monte Carlo error. They estimate the standard
        deviation of the mean of infinitely many members; the spread of the members
        (`ensemble_std`) is another quantity.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute the standard error.

        method : {"auto", "infinitesimal", "jackknife", "u-statistic"}, default="auto"
            The infinitesimal jackknife, or the jackknife after bootstrap, which needs draws that
            leave rows out. `"auto"` is the infinitesimal jackknife where a row is drawn once at
            most (`bootstrap=False` with `max_samples`, or `"bernoulli"`), and for blocks and
            `"bayesian"`, which have no other. Where rows are drawn with replacement, it is the
            square root of the mean of both squared errors. With `bootstrap="disjoint"` it is
            `"u-statistic"`, which needs these draws.

        Returns
        -------
        error : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard errors, in units of y; for a classifier an array of shape
            (n_samples, n_classes) with the standard error of each mean probability. They are
            positive, and 0 only where all members agree. The error at a point does not depend on
            the other points.

        Raises
        ------
        ValueError
            If there are fewer than 2 members, or than two groups of disjoint ones for
            `"u-statistic"`; if all members were fitted to all rows with the same weights (or to all
            rows, for `method="jackknife"`); for the infinitesimal jackknife if rows of different
            weights were drawn without replacement; or if the rows were drawn for another method.

        Warns
        -----
        StandardErrorWarning
            With the number of points at which Monte Carlo noise exceeds two thirds of the estimated
            variance, so that more members are needed; and for the infinitesimal jackknife of draws
            with replacement if the members are trees whose leaves are pure or smaller than 5 rows,
            because it is too small.

        Notes
        -----
        *Which setting is right.* In simulations (`benchmarks/standard_errors.py`) standard errors
        are right on average with `max_samples=0.25` and `bootstrap="disjoint"`, with `False` for
        any trees, and close to it with the bootstrap and `method="auto"`. A fully grown tree does
        not depend on how often a row was drawn; with the bootstrap a part of the row's influence is
        therefore missed by the infinitesimal jackknife, which is too small, and the jackknife after
        bootstrap is too large. [Wager, Hastie and Efron, 2014] propose their mean. Of fully grown
        trees of one feature, which follow two or three rows, two errors cover 82 to 84 % with the
        bootstrap. With `"bayesian"` weights the standard error of fully grown trees is too small.

        *Large subsamples.* Both jackknives are too large for subsamples that are not small: by 13
        to 18 % of the variance for quarters, by a third and more for halves of the rows. With
        `bootstrap="disjoint"` the difference between pairs of members with disjoint rows and pairs
        that are drawn by themselves estimates the variance without bias, for any learner and any
        size up to n/2 [Xu, Zhu and Shao, 2022]. A quarter of the rows at most is best: of halves
        few pairs are independent, and no training row can tell the prior law.

        *Few members.* The noise of B members in the variance at a single point is as large as the
        variance unless B is about n. But the ratio of the variance to the members' own variance,
        rho / (1 - rho), differs little between points. Its mean and variance over at most 500
        training rows, each predicted by the members that were not fitted to it, are a prior law;
        the estimate is the mean of the ratio given its estimate at the point, and given that it is
        positive. The law is computed when it is first asked for, and is that of new points: at a
        training row itself the error is larger than what is found. Where no training X is kept
        (members that are not trees, without `oob_score=True`; after `forget_training_rows`), or no
        row is left out, all positive ratios are taken as equally likely, and errors of few members
        are too large.

        With `sample_weight` (or `class_weight`) the rows are the units, and their weights are
        fixed: for a weighted mean with shares p_i of the weight the squared error is
        sum p_i² (y_i - mean)². It does not depend on the scale of the weights. A weight that counts
        equal observations is something else: repeat the rows.

        Cost: the members' predictions, O(n B²) once for n training rows, and O(B²) for a point, or
        O(n B) if n < B; memory O(n B + B²) and blocks of bounded size.

        References
        ----------
        B. Efron (1992). "Jackknife-after-bootstrap standard errors and influence functions".
        *Journal of the Royal Statistical Society B* 54.

        B. Efron and C. Morris (1973). "Stein's estimation rule and its competitors: an empirical
        Bayes approach". *Journal of the American Statistical Association* 68.

        S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.

        T. Xu, R. Zhu and X. Shao (2022). "On variance estimation of random forests with
        infinite-order U-statistics". arXiv:2202.09008.
        """
        return standard_error(self, X, method)

    def ensemble_std(self, X: MatrixLike) -> np.ndarray:
        """Compute the standard deviation of the predictions of the members around their mean.

        It is the effect of the random draw of rows and features on a single member, and does not
        decrease with the number of members. For the error of the mean see `standard_error`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute it.

        Returns
        -------
        std : ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_classes)
            In the units of y, or of a probability.

        Raises
        ------
        ValueError
            With fewer than 2 members.

        Notes
        -----
        Cost: the members' predictions.
        """
        return spread_of_members(self, X)

    def variance_decomposition(self, X: MatrixLike) -> VarianceDecomposition:
        """Estimate the variance and correlation of members and the variance of their mean.

        Over fresh training sets and fresh draws a member has variance sigma², two members fitted
        to one training set have correlation rho, and the mean of B of them has variance
        rho sigma² + (1 - rho) sigma² / B [Shah, §4.5]. The square of `standard_error` estimates
        rho sigma², the spread of the members estimates (1 - rho) sigma².

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to decompose the variance.

        Returns
        -------
        decomposition : VarianceDecomposition
            With arrays `sigma2`, `rho` and `variance`, one value a point (and output or class).

        Raises
        ------
        ValueError
            As for `standard_error`.

        Notes
        -----
        The cost is that of `standard_error`.

        References
        ----------
        R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.
        """
        return variance_decomposition(self, X)

    @property
    def stability_(self) -> float | np.ndarray:
        """How much a prediction may change if a training row is left out, for any base learner.

        At any point and for any data, the mean of the members changes by at most this number for
        all but the share `delta` of the rows, in the units of y, or of a probability or vote; for
        several targets one number for each. Draws of the members are fresh in both fits, of as many
        rows, and the guarantee is with probability 1 - `delta` over them and a row drawn at random
        [Soloff, Barber and Willett, 2024]; see
        :func:`~sklearn_ensemble_theory.bounds.bagging_stability`, which for a single point, or for
        infinitely many members, has smaller bounds.

        Only where rows (or groups) are drawn alike, some are left out of each member, and outputs
        have a known range: of classifiers, trees and nearest neighbours; not where members depend
        on rows that are not drawn for them, as with `class_weight="balanced"`. Columns that are cut
        into bins count as cut in the same way in both fits, though bins follow all rows.
        """
        return stability_of(self, self.delta)

    # ------------------------------------------------------------------ Members and training rows

    # The ensemble as a weighting of its training rows, where the members are trees.
    training_weights = training_weights
    proximity = proximity
    kneighbors = kneighbors
    outlier_scores = outlier_scores
    impute = impute

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for each member, in the order drawn, repeated as often as drawn.

        They are not stored, but drawn again from the members' seeds at each access, O(s) a member.
        """
        check_is_fitted(self)
        spec = self._member_spec
        # As in scikit-learn, where row numbers fit.
        dtype = np.int32 if spec.scheme.n_samples <= np.iinfo(np.int32).max else np.intp
        return [spec.indices(seed)[1].astype(dtype, copy=False) for seed in self._seeds]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over the members, of sum 1 (0 where no member splits).

        Only where the base learner has `feature_importances_`. A member that is not fitted to a
        feature gives it 0.
        """
        check_is_fitted(self)
        importances = []
        for member, columns in zip(self.estimators_, self.estimators_features_):
            if type(member) is not type(self.estimator_):
                continue  # a constant, of a draw of no rows or of one class
            own = member.feature_importances_
            if own.any():
                full = np.zeros(self.n_features_in_)
                np.add.at(full, columns, own)
                importances.append(full)
        if not importances:
            return np.zeros(self.n_features_in_)
        mean = np.mean(importances, axis=0, dtype=np.float64)
        return mean / mean.sum()

    @property
    def unbiased_feature_importances_(self) -> np.ndarray:
        """Importance of each feature by out-of-bag rows, of mean 0 for an irrelevant feature.

        Of an ensemble of trees, where `feature_importances_` are the mean decreases of the squared
        error or the Gini index at the splits, computed from the rows that the tree was fitted to:
        positive for any feature, and larger for one with many values. Here one of the two means in
        each product is that of the out-of-bag rows [Zhou and Hooker, 2021]. The values are not
        divided by their sum; they are in units of y squared, or of the Gini index, and may be
        negative.
        """
        return unbiased_importances(self)

    def oob_permutation_importances(
        self, n_repeats: int = 1, random_state: RandomStateLike = None
    ) -> Bunch:
        """Compute how much the error of the trees increases if a feature is permuted.

        For each tree and feature the values of the feature are permuted among the rows that the
        tree is not fitted to, and the increase of its loss at these rows is computed: of the
        squared error, or of the share of wrong classes [Breiman, 2001]. The importance of the
        feature is the mean over the rows of the mean increase over the trees that are not fitted
        to the row.

        Parameters
        ----------
        n_repeats : int, default=1
            Number of permutations for each tree and feature.

        random_state : int, RandomState instance or None, default=None
            Seed of the permutations.

        Returns
        -------
        result : :class:`~sklearn.utils.Bunch`
            With the arrays of shape (n_features,) `importances_mean` and `standard_error`, the
            standard error of the mean over the rows, their groups or blocks: what other rows would
            change, not another training set.

        Raises
        ------
        ValueError
            If the members are not trees, X is sparse, y has several columns, there are no
            out-of-bag rows, or `n_repeats` is not a positive integer.

        Notes
        -----
        A feature that is strongly correlated with others gets little where they can replace it in
        other trees, but not in the trees that split on it. Cost: for each tree the predictions of
        its out-of-bag rows, once for each feature that it splits on.

        References
        ----------
        L. Breiman (2001). "Random forests". *Machine Learning* 45.
        """
        return permutation_importances(self, n_repeats, random_state)

    def mdi_plus_importances(self, reg_params: ArrayLike = POSITIVE_REG_PARAMS) -> Bunch:
        """Compute what each feature explains of y in a regression on the splits: MDI+.

        A tree is least squares on a feature for each of its splits, and the mean decrease of
        impurity of a column is the R² of those of its splits, at the rows of the fit. MDI+ [Agarwal
        et al., 2023] fits ridge regression to the splits and the columns themselves, in units of
        their standard deviation. Its importance of a column is by how much the splits on it and the
        column decrease the squared error alone, at rows that are left out of the regression, as a
        share of the error of the mean: of mean about 0 for an irrelevant column.

        Parameters
        ----------
        reg_params : array-like of float, default=(0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
            Penalties, in units of the weights of rows; each tree takes the one of the smallest
            leave-one-out error.

        Returns
        -------
        result : :class:`~sklearn.utils.Bunch`
            With the arrays `importances_mean` of shape (n_features,), means over the trees, and
            `reg_params` of shape (n_estimators,), the chosen penalties.

        Raises
        ------
        ValueError
            If the members are not trees, X is sparse, y has several columns, one of `reg_params` is
            not positive, or after `forget_training_rows`.

        Notes
        -----
        Every row is left out of every tree's regression, by its leverage; out-of-bag rows are not
        part of it anyway. The splits themselves are not chosen anew without the row, so that
        irrelevant columns keep a small positive mean, 0.001 to 0.003 for 150 rows. Values of
        different columns do not add up to the R² of the forest.

        The regression of classes is that of their indicators, and its error the Brier score; the
        paper takes logistic regression and its log-loss, which have no closed form. Missing values
        count as the mean of their column; categorical features have their splits only.

        Cost: for each tree and penalty O(n p depth + n p² + p³), with p columns; no fit, as the
        regression on the splits is hierarchical shrinkage of means in nodes.

        References
        ----------
        A. Agarwal, A. M. Kenney, Y. S. Tan, T. M. Tang and B. Yu (2023). "MDI+: a flexible random
        forest-based feature importance framework". arXiv:2307.01932.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
        >>> importances = forest.mdi_plus_importances().importances_mean
        >>> sorted(X.columns[importances > 0.2])
        ['bmi', 's5']
        """
        return mdi_plus(self, reg_params)

    def __len__(self) -> int:
        """Number of fitted members."""
        return len(self.estimators_)

    def __getitem__(self, index: int) -> BaseEstimator:
        """The fitted member of this index."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[BaseEstimator]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def compact(self, dtype: type = np.float64) -> Self:
        """Remove from the trees what predictions do not need, for a small file.

        Thresholds are kept in single precision, in which trees read X, values in inner nodes,
        impurities and numbers of rows are removed, and integers take as few bytes as they can. All
        predictions stay the same to the last bit, with them `apply`, intervals, quantiles, sets,
        standard errors, `feature_importances_` and importances of out-of-bag rows.

        Parameters
        ----------
        dtype : {np.float64, np.float32}, default=np.float64
            Of the values in the leaves. Single precision takes less, and changes predictions by
            relative 6e-8 at most, except where values are beyond its range: these keep theirs.

        Returns
        -------
        self : object
            The ensemble.

        Raises
        ------
        ValueError
            If the members are not scikit-learn's trees or trees on bins, or `dtype` is another one.

        Notes
        -----
        What is gone until the next fit: partial dependence by recursion, drawings of a tree, and
        impurities and weights in `export.sklearn`, whose predictions are the same; they are NaN
        there, as are its importances. Trees that a warm start adds are as usual until the next
        call.

        The training rows are kept; `forget_training_rows` removes them. The first prediction lays
        out the trees, O(nodes), also for a single row. Sparse X and `apply` need scikit-learn's
        `Tree`, which each call makes again, O(nodes). Cost: O(m log m) for a tree with m leaves.

        Examples
        --------
        >>> import pickle
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
        >>> before, size = forest.predict(X), len(pickle.dumps(forest))
        >>> len(pickle.dumps(forest.compact())) < 0.25 * size
        True
        >>> bool((forest.predict(X) == before).all())
        True
        """
        check_is_fitted(self)
        if dtype is not np.float64 and dtype is not np.float32:
            raise ValueError(f"dtype must be np.float64 or np.float32, got {dtype!r}.")
        for member in self.estimators_:
            if not is_tree(member) and "_node_arrays" not in vars(type(member)):
                name = type(member).__name__
                raise ValueError(f"estimator: compact requires members that are trees, got {name}.")
        self.estimators_ = [with_compact_tree(member, dtype) for member in self.estimators_]
        # What was derived from the members before holds them; a copy is without it.
        self._packed, self._training = copy(self._packed), copy(self._training)
        return self

    def shrink(
        self, reg_param: float | Literal["cv"] = "cv", *, reg_params: ArrayLike = REG_PARAMS
    ) -> Self:
        """Shrink the values in the trees towards those of their ancestors: hierarchical shrinkage.

        With t_0, ..., t_l the nodes that a row passes from the root of a tree to its leaf, N(t) the
        weight of the tree's rows in t, of an honest tree those in the leaves, and E(t) their mean
        of y, or their shares of the classes, the shrunk tree predicts [Agarwal et al., 2022]

            E(t_0) + sum_k (E(t_k) - E(t_{k-1})) / (1 + lambda / N(t_{k-1})).

        Splits stay where they are.

        Parameters
        ----------
        reg_param : float or "cv", default="cv"
            lambda, in units of the weights with which trees are fitted, the numbers of rows of a
            bootstrap sample for instance: at lambda = N(t) half of what a split of the node t says
            is left, 0 changes nothing. "cv" takes from `reg_params` the one of the smallest loss by
            out-of-bag rows, without any fit.

        reg_params : array-like of float, default=(0, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
            What "cv" compares.

        Returns
        -------
        shrunk : object
            Another fitted ensemble, with the attribute `shrinkage_`, the parameter. After "cv" also
            `shrinkage_path_`, a dict with the arrays `reg_param` and `loss`: 1 - R², or the Brier
            score (the sum of the squared errors of the probabilities), both as means over the
            outputs. This ensemble stays as it is.

        Raises
        ------
        ValueError
            If `reg_param` or one of `reg_params` is negative, if members are not trees or have
            nodes of quantiles, after `compact` or `shrink`; for "cv" also if there are no
            out-of-bag rows, or after `forget_training_rows` or a fit of Dask collections.

        Notes
        -----
        A shrunk tree is ridge regression on its splits [Agarwal et al., 2022, theorem 1]. Single
        trees and ensembles of few trees gain most, as do targets with much noise; forests of many
        trees, whose mean takes out the same variance, gain little, and with little noise 0 is best.
        Trees with `monotonic_cst` stay monotonic.

        The loss of "cv" is that of the mean of all B members: for a row with the mean error e of
        the c members that are not fitted to it, e² - s² (1/c - 1/B), with s² the variance of their
        errors. The mean over the c members alone varies more, and of few members would choose too
        large a parameter.

        Predictions, standard errors, intervals and sets are those of the shrunk trees; out-of-bag
        predictions and scores are computed again (removed, after `forget_training_rows`), and the
        residuals of `update_residuals` begin again with those of the training rows.
        `predict_quantiles`, `training_weights` and what follows from them, and importances are as
        before: they rest on the rows in the leaves, or on the impurities. A parameter by "cv" has
        seen all rows: guarantees of intervals hold approximately then, there is no `stability_`,
        and `error_bound` from out-of-bag rows holds for all `reg_params` at once.

        Cost: O(nodes). "cv" finds the leaves of the out-of-bag rows once for all parameters, about
        the cost of an out-of-bag score.

        References
        ----------
        A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu (2022). "Hierarchical shrinkage:
        improving the accuracy and interpretability of tree-based models". *Proceedings of the 39th
        International Conference on Machine Learning*.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(n_estimators=20, oob_score=True, random_state=0)
        >>> forest = forest.fit(X, y)
        >>> shrunk = forest.shrink("cv")
        >>> shrunk.shrinkage_ > 1
        True
        >>> shrunk.oob_score_ > forest.oob_score_ + 0.05
        True
        """
        found = shrunk_ensemble(self, reg_param, reg_params)
        oob, classes = None, getattr(self, "classes_", None)
        if hasattr(self, "oob_score_"):
            found._oob = None
            if isinstance(self._training, TrainingRows):
                spec, rows = self._member_spec, self._training
                oob = found._start_out_of_bag(spec, rows.X, rows.y, classes, continued=True)
            found._set_oob_score_and_attributes(oob, classes)
        return found

    # ------------------------------------------------------------------- What scikit-learn asks for

    @property
    def _max_samples(self) -> int | float:
        """The size of the draws, which scikit-learn's tests read under this name."""
        return self._member_spec.scheme.size

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: to the base learner's method that serves each of ours.

        Returns
        -------
        routing : MetadataRouter
            Routing information of the ensemble.
        """
        return member_router(self, own_requests(self))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            base = get_tags(self._get_estimator()).input_tags
        except (AttributeError, TypeError):
            return tags  # not an estimator, which the parameter check of `fit` reports
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags


def _members_of_block(
    block: LearnerBlock,
    model: BaseBagging,
    estimator: BaseEstimator,
    seeds: dict[int, np.ndarray],
    target: dict,
    largest: int,
) -> tuple[list[BaseEstimator], list[np.ndarray], np.ndarray, BaseEstimator, MemberSpec]:
    """(members, their features and seeds, the learner, what they share) of one block."""
    y = recoded(block.y, block.target, target)
    estimator = clone(estimator)
    with naming_chunk(block.block):
        scheme = model._make_scheme(y, block.weight, target.get("classes_"), None)
        frames = model._takes_frames(block.X, estimator)
        estimator, spec, X, y = model._prepared(
            estimator, scheme, block.X, y, target, frames=frames, largest=largest
        )
    own = scheme.seeds_of_members(seeds[block.block])
    results = list(fit_members(spec, X, y, own, model.n_jobs))
    members, features = [found[0] for found in results], [found[1] for found in results]
    # The scheme has the weights and classes of all rows, which stay here.
    spec = replace(spec.without_data(), scheme=RowsInChunks())
    return members, features, own, estimator, spec


# --- the two estimators ---------------------------------------------------------------------------


class BaggingRegressor(BaggedRegressor, BaseBagging):
    """Bagging of a regressor: the mean of members fitted to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The regressor to bag; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`. Any
        regressor with scikit-learn's interface can be used, including a pipeline. A learner other
        than a tree gets data frames as they are, with the names of the columns that were drawn for
        it (but arrays with `bootstrap_features=True`, which may draw a column twice).

    n_estimators : int or "pac", default=10
        Number of members B. `"pac"` uses ceil(18 ln(2 n / `delta`)) members, with which bagging
        of empirical risk minimisers has optimal sample complexity [Ghoshdastidar, theorem En.3;
        Larsen, 2023].

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each member: an int is the number itself, a float a fraction of
        the total weight, and `None` the number of rows of X. Where groups are drawn it is the
        number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    max_features : int or float, default=1.0
        Number of features drawn for each member: an int is the number itself, a float a fraction
        of all features (at least one is drawn).

    bootstrap : bool or str, default=True
        How the rows of a member are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        - `"disjoint"`: the same with s at most n/2, which is the default; the members of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series [Künsch, 1989]; without `groups`.

        A base learner whose `fit` accepts `sample_weight` is fitted to each distinct row once,
        with the weight drawn; in other base learners a row is repeated as often as it was drawn.
        Rows of weight 0 are left out.

    block_length : int, default=None
        Number of rows of a block with `bootstrap="moving_block"`; `None` is ceil(n^(1/3)). It
        should be longer than the time over which rows are correlated.

    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.

    oob_score : bool or callable, default=False
        Whether to use out-of-bag rows to estimate the score; a callable is the metric,
        `metric(y_true, y_pred)`, instead of R².

    warm_start : bool, default=False
        Whether `fit` keeps the members of the previous fit and adds members up to `n_estimators`.
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.
        With `oob_score` the out-of-bag estimates are continued as well.

    n_jobs : int, default=None
        Number of members fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features and of the members' own randomness.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every member.

    max_bins : int, "auto" or None, default="auto"
        Where the base learner is a decision tree of scikit-learn's: the number of bins, 2 to
        65,535, into which the columns of X are cut, once for all members, so that members
        are :class:`BinnedTreeRegressor`. `None` is exact trees. `"auto"` is exact trees up to
        10,000 rows (for the absolute error at the best cuts up to 1,000), and 2047 bins above
        where X is dense, y has one output and a binned tree has the base learner's parameters.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    empty : {"mean", "zero", "redraw"}, default="redraw"
        What a draw of no rows predicts with `bootstrap="bernoulli"`: "mean", the mean of y;
        "zero", 0; "redraw", nothing, as rows are drawn again. Members without
        rows are constants, which trees' own methods (`predict_quantiles`, importances by
        out-of-bag rows) do not take. :class:`BaggedNearestNeighborsRegressor` has the same
        parameter.

    Attributes
    ----------
    estimator_ : estimator
        The base learner that the members are clones of.

    estimators_ : list of estimators
        The fitted members.

    estimators_features_ : list of ndarray
        Indices of the columns of X to which each member was fitted.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each member, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances of the members, where the base learner has importances.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    oob_score_ : float
        Out-of-bag score, on the rows that were not drawn for at least one member.

    oob_scores_ : ndarray of shape (n_estimators,)
        Out-of-bag score of the first 1, 2, ... members; NaN if it is not defined.

    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction of the members for which the row was not drawn; NaN if there is no such
        member.

    See Also
    --------
    BaggingClassifier : The same for classification.
    RandomForestRegressor : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsRegressor : Infinitely many members in closed form.

    Notes
    -----
    The cost is B fits to at most s distinct rows each, O(s log s) for each draw, and with bins O(n
    p log n) once; `predict` calls every member, trees together. With the same `random_state`,
    `bootstrap=True` and `False` draw the rows and features that scikit-learn's class draws. Bagging
    was proposed by [Breiman, 1996]. It is useful for learners of high variance [Shah, §4.5] and
    changes little where the base learner is linear in y and stable [Bach, §10.1.2].
    `standard_error` is by the jackknives of [Wager, Hastie and Efron, 2014].

    With squared error, y whose mean is more than 10^4 standard deviations away from 0 is centred
    before trees are grown: they would lose the digits of their squared errors.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman (1996). "Bagging predictors". *Machine Learning* 24.

    H. R. Künsch (1989). "The jackknife and the bootstrap for general stationary observations".
    *Annals of Statistics* 17.

    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
    jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(n_estimators=200, max_samples=0.5, oob_score=True, random_state=0)
    >>> bag = bag.fit(X[:400], y[:400])
    >>> print(f"{bag.oob_score_:.2f}, with 20 members {bag.oob_scores_[19]:.2f}")
    0.45, with 20 members 0.40
    >>> bag.standard_error(X[400:402]).round(), bag.ensemble_std(X[400:402]).round()
    (array([17.,  8.]), array([76., 38.]))
    """

    _parameter_constraints: dict = {
        **BaseBagging._parameter_constraints,
        "empty": [StrOptions({"mean", "zero", "redraw"})],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int | Literal["pac"] = 10,
        *,
        max_samples: int | float | Literal["stable"] | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool | str = True,
        block_length: int | None = None,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        max_bins: int | Literal["auto"] | None = "auto",
        delta: float = 0.05,
        stability: float = 0.1,
        empty: Literal["mean", "zero", "redraw"] = "redraw",
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.delta = delta
        self.stability = stability
        self.empty = empty

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator


def _estimator_has(name: str) -> Callable[["BaggingClassifier"], bool]:
    """A check that the base learner has this method, whose AttributeError says that it has not."""

    def check(self: "BaggingClassifier") -> bool:
        getattr(self._get_estimator(), name)
        return True

    return check


class BaggingClassifier(BaggedClassifier, BaseBagging):
    """Bagging of a classifier: the mean or vote of members fitted to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The classifier to bag; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`. Any
        classifier with scikit-learn's interface can be used, including a pipeline. A learner other
        than a tree gets data frames as they are, with the names of the columns that were drawn for
        it (but arrays with `bootstrap_features=True`, which may draw a column twice).

    n_estimators : int or "pac", default=10
        Number of members B. `"pac"` uses ceil(18 ln(2 n / `delta`)) members, with which bagging
        of empirical risk minimisers has optimal sample complexity [Ghoshdastidar, theorem En.3;
        Larsen, 2023].

    max_samples : int, float or "stable", default=None
        Number s of rows drawn for each member: an int is the number itself, a float a fraction of
        the total weight, and `None` the number of rows of X. Where groups are drawn it is the
        number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2). `"stable"` is the largest number with which the mean of infinitely many
        members is as stable as `stability` says, whatever the base learner.

    max_features : int or float, default=1.0
        Number of features drawn for each member: an int is the number itself, a float a fraction
        of all features (at least one is drawn).

    bootstrap : bool or str, default=True
        How the rows of a member are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        - `"disjoint"`: the same with s at most n/2, which is the default; the members of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"stratified"`: draws with replacement within each class, s shared out in proportion to
          the sizes of the classes;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series [Künsch, 1989]; without `groups`.

        A base learner whose `fit` accepts `sample_weight` is fitted to each distinct row once,
        with the weight drawn; in other base learners a row is repeated as often as it was drawn.
        Rows of weight 0 are left out.

    block_length : int, default=None
        Number of rows of a block with `bootstrap="moving_block"`; `None` is ceil(n^(1/3)). It
        should be longer than the time over which rows are correlated.

    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.

    oob_score : bool or callable, default=False
        Whether to use out-of-bag rows to estimate the score; a callable is the metric,
        `metric(y_true, y_pred)`, instead of accuracy.

    warm_start : bool, default=False
        Whether `fit` keeps the members of the previous fit and adds members up to `n_estimators`.
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError.
        With `oob_score` the out-of-bag estimates are continued as well.

    n_jobs : int, default=None
        Number of members fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features and of the members' own randomness.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every member.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the members' probabilities (a member without `predict_proba` votes);
        `"hard"` is the majority vote, which is consistent whenever a single member is
        [Ghoshdastidar, theorem En.1].

    max_bins : int, "auto" or None, default="auto"
        Where the base learner is a decision tree of scikit-learn's: the number of bins, 2 to
        65,535, into which the columns of X are cut, once for all members, so that members
        are :class:`BinnedTreeClassifier`. `None` is exact trees. `"auto"` is exact trees up to
        10,000 rows, and 2047 bins above where X is dense and a binned tree has the base learner's
        parameters.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`, and the share of the training rows that
        `stability` and `stability_` leave aside.

    stability : float, default=0.1
        With `max_samples="stable"`: how much a prediction may change without one of the training
        rows, as a share of the range of the members' outputs (1 for probabilities), for all but
        the share `delta` of the rows. See
        :func:`~sklearn_ensemble_theory.bounds.bagging_stable_max_samples`.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total.

    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest number of votes or mean probability is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    empty : {"mean", "zero", "redraw"}, default="redraw"
        What a draw of no rows predicts with `bootstrap="bernoulli"`: "mean", the class frequencies
        (the most frequent class where members vote); "zero", the first class; "redraw", nothing,
        as rows are drawn again. Members without
        rows are constants, which trees' own methods (`predict_quantiles`, importances by
        out-of-bag rows) do not take. :class:`BaggedNearestNeighborsClassifier` has the same
        parameter.

    Attributes
    ----------
    estimator_ : estimator
        The base learner that the members are clones of.

    estimators_ : list of estimators
        The fitted members.

    estimators_features_ : list of ndarray
        Indices of the columns of X to which each member was fitted.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each member, repeated as often as drawn.

    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    n_classes_ : int
        Number of classes.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances of the members, where the base learner has importances.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    oob_score_ : float
        Out-of-bag score, on the rows that were not drawn for at least one member.

    oob_scores_ : ndarray of shape (n_estimators,)
        Out-of-bag score of the first 1, 2, ... members; NaN if it is not defined.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean prediction of the members for which the row was not drawn; NaN if there is no such
        member.

    See Also
    --------
    BaggingRegressor : The same for regression.
    RandomForestClassifier : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsClassifier : Infinitely many members in closed form.

    Notes
    -----
    The cost is B fits to at most s distinct rows each, O(s log s) for each draw, and with bins O(n
    p log n) once; `predict` calls every member, trees together. With the same `random_state`,
    `bootstrap=True` and `False` draw the rows and features that scikit-learn's class draws. Bagging
    was proposed by [Breiman, 1996]. It is useful for learners of high variance [Shah, §4.5] and
    changes little where the base learner is linear in y and stable [Bach, §10.1.2].
    `standard_error` is by the jackknives of [Wager, Hastie and Efron, 2014].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman (1996). "Bagging predictors". *Machine Learning* 24.

    H. R. Künsch (1989). "The jackknife and the bootstrap for general stationary observations".
    *Annals of Statistics* 17.

    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
    jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn_ensemble_theory import BaggingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bag = BaggingClassifier(
    ...     KNeighborsClassifier(1), n_estimators="pac", max_samples=0.1, random_state=0
    ... ).fit(X, y)
    >>> len(bag), round(bag.score(X, y), 2)
    (181, 0.94)
    """

    _parameter_constraints: dict = {
        **BaseBagging._parameter_constraints,
        "empty": [StrOptions({"mean", "zero", "redraw"})],
        "voting": [StrOptions({"soft", "hard"})],
        "ties": [StrOptions({"first", "last"})],
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int | Literal["pac"] = 10,
        *,
        max_samples: int | float | Literal["stable"] | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool | str = True,
        block_length: int | None = None,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        delta: float = 0.05,
        stability: float = 0.1,
        class_weight: dict | Literal["balanced"] | None = None,
        ties: Literal["first", "last"] = "first",
        empty: Literal["mean", "zero", "redraw"] = "redraw",
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.voting = voting
        self.max_bins = max_bins
        self.delta = delta
        self.stability = stability
        self.class_weight = class_weight
        self.ties = ties
        self.empty = empty

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @available_if(_estimator_has("decision_function"))
    @by_chunks
    def decision_function(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' decision functions, where the base learner has one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' `decision_function` where metadata routing is enabled.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, k)
            Mean scores, with the columns that the base learner returns.

        Raises
        ------
        ValueError
            If the training rows of a member do not contain all classes, so that its scores cannot
            be averaged with the others.

        Notes
        -----
        Cost: one call of each member.
        """
        raise_for_params(params, self, "decision_function")
        check_is_fitted(self)
        counts = [
            len(m.classes_) if hasattr(m, "classes_") else self.n_classes_ for m in self.estimators_
        ]
        of_rows = [type(m) is type(self.estimator_) for m in self.estimators_]
        lacking = np.flatnonzero((np.array(counts) < self.n_classes_) | ~np.array(of_rows))
        if len(lacking):
            raise ValueError(
                f"The rows of member {lacking[0]} do not contain all {self.n_classes_} classes, "
                "so its decision_function cannot be averaged with the others; use predict_proba."
            )
        params = member_params(self, params, "decision_function")
        return self._mean_prediction(self._validate_X(X), "decision_function", params)

    _staged_margin_scores = staged_mean_proba
