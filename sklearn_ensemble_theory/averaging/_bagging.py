"""Bagging of any estimator, by any of the sampling schemes [Bach, §10.1]."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    own_requests,
    raise_for_params,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import CLASS_WEIGHT, ReadsOnce, fit_context
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._folds import Split
from sklearn_ensemble_theory._learners import (
    GROUPS_ON_REQUEST,
    coded_by_output,
    coded_learner,
    has_input_tag,
    one_column_only,
    takes_columns,
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
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike, available_if
from sklearn_ensemble_theory.averaging._averages import (
    AveragedClassifier,
    AveragedRegressor,
    check_learner,
    member_params,
    member_router,
)
from sklearn_ensemble_theory.averaging._bagging_texts import BAGGING
from sklearn_ensemble_theory.averaging._bags import (
    Bag,
    BagFit,
    BaggingPlan,
    BaggingProblem,
    MemberSpec,
    begin,
    members_of_block,
    out_of_bag_of,
    takes_frames,
)
from sklearn_ensemble_theory.averaging._draw_options import (
    BOOTSTRAP_CONSTRAINTS,
    PACMembers,
    StableSamples,
)
from sklearn_ensemble_theory.averaging._forest_blocks import fit_forest, read_rows
from sklearn_ensemble_theory.averaging._forest_distributions import ForestDistribution
from sklearn_ensemble_theory.averaging._learner_blocks import (
    LearnerRows,
    RowsInChunks,
    facts_of_block,
    of_learner_rows,
)
from sklearn_ensemble_theory.averaging._out_of_bag import (
    OutOfBag,
    check_metric,
    out_of_bag_attributes,
    out_of_bag_score,
)
from sklearn_ensemble_theory.averaging._sampling import draws_of
from sklearn_ensemble_theory.ensembles._ensemble import Ensemble, MemberDraws
from sklearn_ensemble_theory.ensembles._hierarchical_shrinkage import Shrinkage
from sklearn_ensemble_theory.ensembles._intervals import prediction_interval
from sklearn_ensemble_theory.ensembles._jackknife import standard_error
from sklearn_ensemble_theory.ensembles._prediction_sets import SET_TEXTS, SetRule, prediction_set
from sklearn_ensemble_theory.ensembles._predictions import (
    each_prediction,
    mean_prediction,
    out_of_bag_mean,
)
from sklearn_ensemble_theory.ensembles._quantiles import predicted_quantiles
from sklearn_ensemble_theory.ensembles._training_rows import TrainingRows
from sklearn_ensemble_theory.trees._columns import MOST_BINS
from sklearn_ensemble_theory.trees._packed import PackedCache
from sklearn_ensemble_theory.trees._pickled import PickledInBlocks
from sklearn_ensemble_theory.trees._shrinkage import (
    SHRINKAGE,
    check_not_shrunk,
    record_shrinkage,
)

OUT_OF_BAG = ("oob_score_", "oob_scores_", "oob_prediction_", "oob_decision_function_")


def in_codes(learner: Any, classes: np.ndarray | list[np.ndarray] | None) -> Any:
    """The learner for codes of the classes; those of several outputs follow each other."""
    if isinstance(classes, list):
        return coded_by_output(learner, classes)
    return coded_learner(learner, classes)


@documented(BAGGING)
class BaseBagging(
    PickledInBlocks,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    ReadsOnce,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base of the bagged ensembles; not for direct use.

    A concrete class also is a `BaggedRegressor` or `BaggedClassifier`, and defines the learner
    that it bags and the plan of its fit.
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"pac"}),
            PACMembers,
            callable,
        ],
        "max_samples": [
            None,
            StrOptions({"stable"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StableSamples,
            callable,
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": BOOTSTRAP_CONSTRAINTS,
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "max_bins": [StrOptions({"auto"}), None, Interval(Integral, 2, MOST_BINS, closed="both")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # The fitted members, and what repeats their draws.
    estimator_: BaseEstimator
    estimators_: list
    estimators_features_: list[np.ndarray]
    _seeds: np.ndarray
    oob_score: bool | Callable[..., float]
    _member_spec: MemberSpec
    _training: TrainingRows | RowsInChunks | None
    _oob: OutOfBag | None

    _cure_of_order: ClassVar[str] = ""  # of chunks that are no random samples
    _keeps_X: ClassVar = False  # whether a fit keeps X, whatever the members are

    # How X is checked: whatever the base learner accepts.
    _validation: ClassVar[dict] = {
        "accept_sparse": ["csr", "csc"],
        "dtype": None,
        "ensure_all_finite": False,
    }

    @abstractmethod
    def _get_estimator(self) -> BaseEstimator:
        """The learner to bag; the default where the user gave none."""

    def _learner_for(self, X: Any) -> Any:
        """The learner for X before it is checked, of which some columns may be categorical."""
        estimator = self._get_estimator()
        if callable(self.oob_score):
            check_metric(self.oob_score)
        check_learner(self, estimator)
        return estimator

    @abstractmethod
    def _plan(self, learner: Any, X: Any, target: dict) -> BaggingPlan:
        """The plan of a fit to rows with as many columns as X has."""

    def _shared_plan(self, learner: Any) -> dict[str, Any]:
        """The fields of a plan that all bagged ensembles have."""
        return {
            "name": type(self).__name__,
            "n_estimators": self.n_estimators,
            "draws": draws_of(self.bootstrap),
            "max_samples": self.max_samples,
            "max_bins": self.max_bins,
            "method": self._prediction_method(learner),
            "oob_score": self.oob_score,
            "ties": getattr(self, "ties", "first"),
            "class_weight": getattr(self, "class_weight", None),
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
        }

    # --------------------------------------------------------------------------------------- Fit

    __metadata_request__fit = GROUPS_ON_REQUEST

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
            if the base learner accepts them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or a Dask collection. Several columns, real or classes, if the base learner
            takes them, as trees, forests and nearest neighbours do.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows before any draw. A row's probability (`bootstrap=True`
            or `False`), rate ("poisson") or concentration ("bayesian") is proportional to its
            weight. With "bernoulli", a row has its weight if it is drawn. With `bootstrap=True` and
            an int as `max_samples`, integer weights are equivalent in distribution to repeating
            rows. Rows that are drawn as groups or blocks keep their weights. May be a Dask
            collection.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, for example those of one patient. Groups are
            drawn in place of rows, with equal probabilities, and `max_samples` is a number of
            groups or a fraction of it. All rows of a group that is drawn enter, as often as it was
            drawn. A row is out of bag only if no row of its group was drawn. Standard errors are
            over data sets with new groups, and intervals are for rows of a new group.
        **fit_params : dict
            Routed to the members' `fit` if metadata routing is enabled.

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
        Cost: B fits of the base learner on at most s distinct rows each, O(s log s) for each draw,
        and O(n p) once (O(n p log n) with bins). Members are fitted in threads if the base learner
        is a scikit-learn tree or a binned tree, and in processes for other learners.

        With Dask collections, member b is drawn from the rows of one chunk and fitted where the
        chunk is. The rows of forests with `bootstrap="poisson"` or "bernoulli" are drawn from all
        chunks. `oob_score`, `warm_start` and `groups` cannot be used. Methods that need the
        training rows or the draws raise a ValueError. See "Larger than memory" in the user guide.
        """
        raise_for_params(fit_params, self, "fit")
        if sp.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        goes_on = self.warm_start and hasattr(self, "estimators_")
        learner, before = self._learner_for(X), self._bag_before() if goes_on else None
        drawn_twice = getattr(self, "bootstrap_features", False)
        frames = takes_frames(X, learner, drawn_twice) and (before is None or before.spec.frames)
        if before is not None:
            check_continued(self, X, learner)
            check_not_shrunk(self, "fit with warm_start=True")
        checks = {"as_frame": frames, "learner": learner, **self._validation}
        X, y = validate_data(self, X, y, multi_output=True, **checks)
        learner = numbered_learner(learner, fitted_encoder(self))
        if sample_weight is not None:
            sample_weight = in_usual_units(checked_weights(sample_weight, X))
        codes = None if groups is None else group_codes(groups, X)
        y, target = self._encode_y(y)
        learner = in_codes(learner, target.get("classes_"))
        run = begin(
            self._plan(learner, X, target),
            BaggingProblem(
                X=X,
                y=y,
                target=target,
                weight=sample_weight,
                groups=codes,
                frames=frames,
                routed=member_params(self, with_groups(fit_params, groups, learner), "fit"),
            ),
            before,
        )
        del X
        if len(run):
            self._fit_members(run)
            self._keep(run.bag())
        else:
            warn_user("Warm-start fitting without increasing n_estimators does not fit new trees.")
        if len(run) or run.out_of_bag is not None:
            self._set_out_of_bag(run.out_of_bag, target.get("classes_"))
        return self

    def _fit_members(self, run: BagFit) -> None:
        """Fit the members one by one; callbacks may end the fit early."""
        context = self._init_callback_context(max_subtasks=len(run))
        context.call_on_fit_task_begin(estimator=self, X=run.X, y=run.y)
        progress = Progress(type(self).__name__, len(run), self.verbose)

        def fitted_so_far() -> dict:
            return {
                **run.target,
                "estimator_": run.spec.estimator,
                "estimators_": list(run.members),
                "estimators_features_": list(run.features),
                "_member_spec": run.spec.without_data(),
            }

        given = {"estimator": self, "X": run.X, "y": run.y}
        for _ in run:
            task = context.subcontext(task_name="member")
            task.call_on_fit_task_begin(estimator=self)
            oob = run.out_of_bag
            progress.advance(f"out-of-bag score {oob.scores[-1]:.4g}" if oob else "")
            if task.call_on_fit_task_end(**given, reconstruction_attributes=fitted_so_far):
                break
        progress.finish("callback")
        context.call_on_fit_task_end(**given, reconstruction_attributes=fitted_so_far)

    def _bag_before(self) -> Bag:
        """The fit that a warm start goes on with."""
        names = "classes_", "n_classes_", "n_outputs_"
        return Bag(
            learner=self.estimator_,
            members=self.estimators_,
            features=self.estimators_features_,
            seeds=self._seeds,
            spec=self._member_spec,
            rows=self._training,
            target={name: getattr(self, name) for name in names if hasattr(self, name)},
            out_of_bag=self._oob,
            has_score=hasattr(self, "oob_score_"),
        )

    def _keep(self, bag: Bag) -> None:
        """The fitted attributes."""
        for name in SHRINKAGE:
            self.__dict__.pop(name, None)
        self.__dict__.update(bag.target)
        self.estimator_, self.estimators_ = bag.learner, bag.members
        self.estimators_features_, self._seeds = bag.features, bag.seeds
        self._member_spec, self._training = bag.spec, bag.rows
        self._packed = PackedCache()

    def _set_out_of_bag(self, oob: OutOfBag | None, classes: Any) -> None:
        """Set the fitted attributes of the out-of-bag estimates, and remove those of before."""
        for name in OUT_OF_BAG:
            self.__dict__.pop(name, None)
        self._oob = None
        if oob is not None:
            self.__dict__.update(out_of_bag_attributes(oob, classes, self.warm_start))

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """Member b is fitted to rows of block b mod K of K blocks, where the block is.

        Trees whose rows are drawn one by one are fitted to rows of all blocks.
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
        if len(rows.given) > 1 and draws_of(self.bootstrap).scheme.draws_each_row:
            learner = self._learner_of_all_chunks(rows.meta)
            if learner is not None:
                self._fit_to_all_chunks(rows, learner)
                return
        if self.max_samples == "stable" or isinstance(self.max_samples, StableSamples):
            raise ValueError(
                'max_samples="stable" needs members drawn from all rows, but with Dask collections '
                "they are drawn from chunks; give a number."
            )
        is_pac = self.n_estimators == "pac" or isinstance(self.n_estimators, PACMembers)
        if is_pac and len(rows.given) > 1:
            raise ValueError(
                'n_estimators="pac" needs members drawn from all rows, but here each is drawn from '
                f"one of {len(rows.given)} chunks; give a number, or use X.rechunk(-1)."
            )
        learner = self._learner_for(rows.meta)
        unfitted = clone(self)  # without the members of a fit before
        frames = takes_frames(rows.meta, learner, getattr(self, "bootstrap_features", False))
        encode, checks = type(self)._encode_y, self._validation
        read, learner = LearnerRows.of(unfitted, encode, rows, learner, checks, as_frame=frames)
        facts = rows.given.sum(of_learner_rows, read, facts_of_block)
        if facts is None:
            raise ValueError("X has no rows.")
        if read.encoder is not None:
            self._encoder = read.encoder
        facts.warn_of_order(Features.of(rows.meta), self._cure_of_order)
        learner = in_codes(learner, facts.target.get("classes_"))
        plan = self._plan(learner, rows.meta, facts.target)
        n_members = plan.n_members(sum(facts.lengths.values()), rows.checks.n_features)
        blocks = facts.chunks
        if n_members < len(blocks):
            warn_user(
                f"n_estimators={n_members} is less than the number of chunks, {len(blocks)}, each "
                f"of which has members of its own: rows of {len(blocks) - n_members} chunks are "
                "not used."
            )
            blocks = blocks[:n_members]
        seeds = plan.draw_seeds(n_members)
        # Members go round the blocks, and each block fits its own where its rows are.
        step, largest = len(blocks), max(facts.lengths.values())
        by_block = {number: seeds[first::step] for first, number in enumerate(blocks)}
        found = rows.given.taken(blocks).each(
            of_learner_rows, read, members_of_block, plan, by_block, facts.target, largest
        )
        members: list = [None] * n_members
        features = [np.empty(0, dtype=np.intp)] * n_members
        for first, bag in enumerate(found):
            members[first::step], features[first::step] = bag.members, bag.features
            seeds[first::step] = bag.seeds
        self._keep(
            Bag(
                learner=found[0].learner,
                members=members,
                features=features,
                seeds=seeds.astype(int),
                spec=found[0].spec,
                rows=RowsInChunks(),
                target=facts.target,
            )
        )
        self._set_out_of_bag(None, None)

    def _learner_of_all_chunks(self, meta: Any) -> Any:
        """The tree in bins that is grown on rows of all chunks; None if there is none."""
        return None

    def _fit_to_all_chunks(self, rows: ChunkedRows, learner: Any) -> None:
        """Each member is a tree on rows that are drawn from all blocks."""
        problem = read_rows(rows, learner, is_classifier(self))
        if problem.encoder is not None:
            self._encoder = problem.encoder
        target: dict[str, Any] = {"n_outputs_": 1}
        if problem.classes is not None:
            target |= {"classes_": problem.classes, "n_classes_": len(problem.classes)}
        plan = self._plan(problem.learner, rows.meta, target)
        n_features = rows.checks.n_features
        n_members = plan.n_members(problem.summary.targets.n_rows, n_features)
        members, seeds = fit_forest(plan, problem, n_members, self.verbose)
        spec = MemberSpec(
            estimator=None,
            scheme=RowsInChunks(),
            n_features=n_features,
            n_classes=target.get("n_classes_", 0),
        )
        self._keep(
            Bag(
                learner=problem.learner,
                members=members,
                features=[np.arange(n_features)] * n_members,
                seeds=seeds.astype(int),
                spec=spec,
                rows=RowsInChunks(),
                target=target,
            )
        )
        self._set_out_of_bag(None, None)

    # -------------------------------------------------------------------------- What is handed out

    @property
    def ensemble_(self) -> Ensemble:
        """The members, their draws and the training rows, for functions of a fitted ensemble."""
        own = vars(self)
        if "estimators_" not in own:
            check_is_fitted(self)
        path, held_out = own.get("shrinkage_path_"), own.get("oob_prediction_")
        return Ensemble(
            members=self.estimators_,
            learner=self.estimator_,
            features=self.estimators_features_,
            seeds=own.get("_seeds", np.empty(0, dtype=int)),
            # A scheme is a `WeightLaw`; where it stayed with the rows, every use is an error.
            draws=cast(MemberDraws, self._member_spec),
            rows=own.get("_training"),
            method=self._prediction_method(self.estimator_),
            n_features=self.n_features_in_,
            feature_names=own.get("feature_names_in_"),
            encoder=fitted_encoder(self),
            n_jobs=self.n_jobs,
            packed=own.get("_packed") or PackedCache(),
            held_out=own.get("oob_decision_function_") if held_out is None else held_out,
            max_samples=self.max_samples,
            class_weight=own.get("class_weight"),
            n_shrinkages=0 if path is None else len(path["reg_param"]),
            check=self._validate_X,
        )

    def __replace__(
        self,
        *,
        members: Sequence | None = None,
        keeps_rows: bool = True,
        shrinkage: Shrinkage | None = None,
    ) -> Self:
        """A copy with other members of the same draws, or without the training rows."""
        found, own = copy(self), vars(self)
        changes: dict[str, Any] = {} if keeps_rows else {"_training": None}
        if shrinkage is not None:
            members = shrinkage.members
            record_shrinkage(found, shrinkage.reg_param, shrinkage.grid, shrinkage.loss)
        if members is not None:
            # What was derived from the members before holds them; a copy is without it.
            rows = copy(self._training) if keeps_rows else None
            changes |= {"estimators_": list(members), "_packed": PackedCache(), "_training": rows}
        found.__dict__.update(changes)
        if shrinkage is not None and "oob_score_" in own:
            for name in OUT_OF_BAG:
                found.__dict__.pop(name, None)
            found.__dict__.update(self._out_of_bag_of(shrinkage.members))
        return found

    def _out_of_bag_of(self, members: list) -> dict[str, Any]:
        """The attributes of the out-of-bag estimates of other members; none without the rows."""
        classes, rows = getattr(self, "classes_", None), self._training
        if not isinstance(rows, TrainingRows):
            return {"_oob": None}
        score = out_of_bag_score(self.oob_score, rows.y, classes, getattr(self, "ties", "first"))
        known = Bag(
            learner=self.estimator_,
            members=members,
            features=self.estimators_features_,
            seeds=self._seeds,
            spec=self._member_spec,
            rows=rows,
            target={},
        )
        oob = out_of_bag_of(known, self._member_spec, rows.X, rows.y, score, classes is None)
        return out_of_bag_attributes(oob, classes, self.warm_start)

    def _validate_X(self, X: MatrixLike) -> Any:
        as_frame = self._member_spec.frames and is_frame(X)
        checks = {"as_frame": as_frame, "learner": self.estimator_, **self._validation}
        return validate_data(self, X, reset=False, **checks)

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """The rows out of bag, NaN for a row that every member has seen; by no splits."""
        if (self.bootstrap is False and self.max_samples in (None, 1.0)) or np.ndim(y) > 1:
            return None
        given = self.oob_score
        self.oob_score = given or not self._keeps_X
        try:
            self.fit(X, y, **params)
        finally:
            self.oob_score = given
        ensemble = self.ensemble_
        return out_of_bag_mean(ensemble, ensemble.method)

    # -------------------------------------------------------------------------------- Predictions

    def _mean_prediction(self, X: Any, method: str, params: dict | None = None) -> np.ndarray:
        return mean_prediction(self.ensemble_, X, method, params)

    @by_chunks
    def standard_error(
        self,
        X: MatrixLike,
        method: Literal["auto", "infinitesimal", "jackknife", "u-statistic"] = "auto",
    ) -> np.ndarray:
        """Compute the standard error of the mean of the ensemble over training sets.

        It estimates the standard deviation, over training sets, of the mean of infinitely many
        members. The spread of the members is another quantity, see
        :func:`~sklearn_ensemble_theory.inspection.ensemble_std`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points at which to compute the standard error.
        method : {"auto", "infinitesimal", "jackknife", "u-statistic"}, default="auto"
            "infinitesimal" measures how the mean would change with a small increase of the weight
            of each training row [Wager, Hastie and Efron, 2014]. "jackknife", the jackknife after
            bootstrap, measures how the mean changes without the row, and needs draws that leave
            rows out. "u-statistic" compares members with disjoint rows, and needs
            `bootstrap="disjoint"` [Xu, Zhu and Shao, 2022]. "auto" is "u-statistic" for disjoint
            draws. It is the infinitesimal jackknife if a row is drawn at most once
            (`bootstrap=False` with `max_samples`, or "bernoulli") and for blocks and "bayesian".
            For all other draws it is the square root of the mean of the two squared errors.

        Returns
        -------
        error : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Standard errors, in units of y; for a classifier an array of shape
            (n_samples, n_classes) with the standard error of each mean probability. They are
            positive, and 0 only if all members agree. The error at a point does not depend on
            the other points.

        Raises
        ------
        ValueError
            If there are fewer than 2 members, or fewer than two groups of disjoint members for
            "u-statistic". If all members were fitted to all rows with the same weights (for
            "jackknife", to all rows). For the infinitesimal jackknife if rows of different weights
            were drawn without replacement. If the rows were drawn for another method.

        Warns
        -----
        StandardErrorWarning
            If Monte Carlo noise exceeds two thirds of the estimated variance at some points, with
            their number: more members are needed. Also for the infinitesimal jackknife of draws
            with replacement if the members are trees whose leaves are pure or smaller than 5 rows,
            because it is too small.

        Notes
        -----
        Standard errors are right on average with `max_samples=0.25` and `bootstrap="disjoint"`,
        with `False` for any trees, and close to it with the bootstrap. Without training rows
        (members that are no trees and no `oob_score=True`, or after `forget_training_rows`) errors
        of few members are too large. See :ref:`standard-errors-of-bagging` in the user guide for
        simulations and for what limits each method.

        With `sample_weight` (or `class_weight`) the rows are the units, and their weights are
        fixed: for a weighted mean with shares p_i of the weight the squared error is sum p_i² (y_i
        - mean)². A weight that counts equal observations is something else: repeat the rows.

        Cost: the members' predictions, O(n B²) once for n training rows, and O(B²) for each point,
        or O(n B) if n < B. The memory is O(n B + B²) and blocks of bounded size.

        References
        ----------
        %(Wager)s

        T. Xu, R. Zhu and X. Shao (2022). "On variance estimation of random forests with
        infinite-order U-statistics". arXiv:2202.09008.
        """
        ensemble = self.ensemble_
        return standard_error(ensemble, ensemble.check(X), method)

    # -------------------------------------------------------------------------------- The members

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

        Only if the base learner has `feature_importances_`. A member that is not fitted to a
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

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> BaseEstimator:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[BaseEstimator]:
        """Iterate over the fitted members."""
        return iter(self.estimators_)

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
        return member_router(self, self._get_estimator(), own_requests(self))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = self._get_estimator()
        tags.input_tags.sparse = has_input_tag(learner, "sparse")
        tags.input_tags.allow_nan = has_input_tag(learner, "allow_nan")
        return tags


# --- what regressors and classifiers predict ------------------------------------------------------


@documented(BAGGING)
class BaggedRegressor(AveragedRegressor):
    """A mean of predictions by members of which each training row is left out of some."""

    ensemble_: Ensemble

    @by_chunks
    def predict_quantiles(
        self, X: MatrixLike, quantiles: float | Sequence[float] | ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the target, from the training rows in the leaves of the trees.

        They are the quantiles of `predict_distribution`, and include the noise of the target
        [Meinshausen, 2006].

        %(of_X_predicted)s
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Levels from 0 to 1, in any order.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
            Quantiles, in the units of y; one dimension for a single number as `quantiles`. That of
            level a is the smallest target of a training row with F(y | x) >= a.

        Raises
        ------
        ValueError
            If the members are not trees, if y has several columns, if `quantiles` is not between 0
            and 1, or after `forget_training_rows`.

        Notes
        -----
        Fully grown trees have a single row in most leaves, which is enough if there are many trees.
        There is no guarantee for finite samples; for that see `predict_interval`.

        Cost: the first call assigns the training rows to leaves, O(n B depth), and keeps O(n B)
        numbers. Each row then takes O(B depth + K log K), with K the number of training rows in its
        leaves.

        References
        ----------
        N. Meinshausen (2006). "Quantile regression forests". *Journal of Machine Learning
        Research* 7.
        """
        ensemble = self.ensemble_
        return predicted_quantiles(ensemble, ensemble.check(X), quantiles)

    def predict_distribution(self, X: MatrixLike) -> ForestDistribution:
        """Predict the distribution of the target given each row.

        It has the weight of :func:`~sklearn_ensemble_theory.inspection.training_weights` at the
        target of each training row.

        %(of_X_predicted)s

        Returns
        -------
        distribution : ForestDistribution
            With `cdf(y)`, `ppf(q)`, `expect(function)` and `functional(function)`; y may have
            several columns.

        Raises
        ------
        ValueError
            If the members are not trees, or after `forget_training_rows`.

        Notes
        -----
        Cost: as for `predict_quantiles`, at each call of a method of the distribution.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(X, y)
        >>> of_two = forest.predict_distribution(X[:2])
        >>> of_two.cdf([0, 150, 400]).shape, of_two.ppf(0.9).shape
        ((2, 3), (2,))
        """
        ensemble = self.ensemble_
        return ForestDistribution(ensemble, ensemble.check(X))

    @by_chunks
    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: Literal["jackknife+", "conformal", "normalized", "quantile"] = "jackknife+",
        side: Literal["both", "lower", "upper"] = "both",
        by: Any = None,
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        Each training row i is predicted by the members that are not fitted to it, with mean
        mu_i(x_i) and residual R_i = abs(y_i - mu_i(x_i)). Let mu be the prediction, alpha = 1 -
        `coverage`, and q of n numbers the ceil((1 - alpha) (n + 1))-th smallest of them:

        - "jackknife+" is the jackknife+ after bootstrap: from the floor(alpha (n + 1))-th
          smallest mu_i(x) - R_i to q of mu_i(x) + R_i.
        - "conformal" is mu(x) ± q of R_i.
        - "normalized" is mu(x) ± s(x) q of R_i / s_i(x_i), with s the mean of trees that are
          fitted to the R_i. It is wide where targets are noisy, and short where they are not.
        - "quantile" is the interval between the alpha/2 and the 1 - alpha/2 quantile of
          `predict_quantiles`. It is made wider at both ends by q of max(l_i - y_i, y_i - u_i), with
          l_i and u_i the quantiles at x_i from the trees that are not fitted to row i. If this
          number is negative the interval becomes shorter.

        Choose "normalized" if the noise depends on x, and the default if all targets are about as
        noisy or a guarantee is needed. For time series see
        :class:`~sklearn_ensemble_theory.averaging.SeriesIntervals`.

        %(of_X_predicted)s
        %(coverage)s
        method : {"jackknife+", "conformal", "normalized", "quantile"}, default="jackknife+"
            How the interval is computed.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end is computed from residuals
            with their sign, or from the alpha or 1 - alpha quantile.
        by : int, str, callable or tuple of two arrays, default=None
            Groups of rows, each of which is to be covered with this probability (Mondrian conformal
            prediction). An interval is computed from the residuals of the training rows in the same
            group. Give a feature, by its number or name. You can also give a function that returns
            the values of an array of rows, or the values of all training rows and of the rows of X.
            A function gets the rows as the trees do: numbers in single precision, and categories as
            their numbers in the order of `categories_`.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite, with a warning, if there are too few
            training rows, (n + 1) `coverage` > n, also of a value of `by`. A row that all members
            are fitted to has an infinite residual.

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, y has several columns, or a parameter is outside its
            range. If the members are not trees and were fitted without `oob_score=True`. If the
            members are not trees and you ask for "normalized", "quantile" or a feature or function
            as `by`. For "normalized", if X is sparse.

        Notes
        -----
        *Guarantees.* With many members, "jackknife+" covers rows that are exchangeable with the
        training rows with a probability of at least 1 - 2 alpha, whatever their distribution. With
        `by` this holds for each value. Usually the probability is about 1 - alpha [Kim, Xu and
        Barber, 2020]. The other methods cover about 1 - alpha in simulations. Of an ensemble fitted
        with `groups`, intervals are for one row of a new group [Lee, Barber and Willett, 2023].
        With `bootstrap="moving_block"` there is no guarantee. :ref:`intervals-of-bagging` in the
        user guide compares the methods and says how weights count.

        Cost: that of predictions. For "jackknife+" in addition up to n B / 8 additions of integers
        of 16 bits for each row. The first call after a fit without `oob_score=True` predicts all
        training rows. The first call with "normalized" fits 50 small trees, and with "quantile" it
        assigns the training rows to leaves.

        References
        ----------
        B. Kim, C. Xu and R. F. Barber (2020). "Predictive inference is free with the jackknife+
        after bootstrap". *Advances in Neural Information Processing Systems* 33.

        Y. Lee, R. F. Barber and R. Willett (2023). "Distribution-free inference with hierarchical
        data". arXiv:2306.06342.

        U. Johansson, H. Boström, T. Löfström and H. Linusson (2014). "Regression conformal
        prediction with random forests". *Machine Learning* 97.

        Y. Romano, E. Patterson and E. J. Candès (2019). "Conformalized quantile regression".
        *Advances in Neural Information Processing Systems* 32.

        V. Vovk, A. Gammerman and G. Shafer (2005). *Algorithmic Learning in a Random World*,
        section 4.5, Mondrian conformal predictors. Springer.

        Examples
        --------
        The noise grows with the first feature.

        >>> import numpy as np
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((1000, 2))
        >>> y = X[:, 1] + 2 * X[:, 0] * rng.standard_normal(1000)
        >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
        >>> new = [[0.1, 0.5], [0.9, 0.5]]
        >>> np.diff(forest.predict_interval(new)).ravel().round()
        array([4., 4.])
        >>> np.diff(forest.predict_interval(new, method="normalized")).ravel().round()
        array([1., 5.])
        >>> by_half = forest.predict_interval(new, by=lambda rows: rows[:, 0] > 0.5)
        >>> np.diff(by_half).ravel().round()
        array([2., 5.])
        """
        ensemble = self.ensemble_
        return prediction_interval(ensemble, ensemble.check(X), coverage, method, side, by)


@documented(BAGGING, SET_TEXTS)
class BaggedClassifier(AveragedClassifier):
    """A mean of probabilities by members of which each training row is left out of some."""

    ensemble_: Ensemble

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

        Each training row has a score s_y(x), the score of its class by the members that are not
        fitted to it. A class c is in the set of x if fewer than `coverage` (n + 1) of the n
        training rows have a smaller score than s_c(x).

        %(of_X_classified)s
        coverage : float, default=0.9
            The probability aimed at, on average over the rows.
        %(set_method)s

        %(sets)s

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, if the members are not trees and were fitted without
            `oob_score=True`, or if a parameter is not valid.

        Notes
        -----
        If the scores of the training rows and of the new one are exchangeable the coverage is at
        least `coverage`, whatever the probabilities are. Here they nearly are. The scores come from
        the members not fitted to a row, but the sets from all members, so there is no guarantee for
        finite samples. Coverage is an average over rows and, without `per_class`, over classes.
        Weights and groups of the fit are as for `predict_interval` of the regressors.

        Cost: the predictions, and O(log n + log K) for each row and class. The first call after a
        fit without `oob_score=True` predicts all training rows.

        %(references_of_sets)s

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn_ensemble_theory import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X[:, :2]  # the sepals alone do not tell two of the species apart
        >>> forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
        >>> forest.fit(X[::2], y[::2]).predict_set(X[1::50], method="aps")
        array([[ True,  True,  True],
               [False,  True,  True],
               [False,  True,  True]])
        """
        check_is_fitted(self)
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state, empty)
        ensemble = self.ensemble_
        return prediction_set(ensemble, ensemble.check(X), rule)

    def _each_prediction(self, X: MatrixLike, method: str) -> Iterator[np.ndarray]:
        return each_prediction(self.ensemble_, X, method)

    def _staged_margin_scores(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The mean probabilities, or shares of votes, of the first 1, 2, ... members."""
        ensemble, total = self.ensemble_, np.zeros(1)
        for t, found in enumerate(each_prediction(ensemble, ensemble.check(X), ensemble.method), 1):
            total = total + found
            yield total / t


# --- the two estimators ---------------------------------------------------------------------------


class AnyLearner(BaseBagging):
    """Bagging of any learner, each member with features of its own; not for direct use."""

    def _plan(self, learner: Any, X: Any, target: dict) -> BaggingPlan:
        has_meanings = fitted_encoder(self) is not None
        return BaggingPlan(
            **self._shared_plan(learner),
            learner=learner,
            max_features=self.max_features,
            bootstrap_features=self.bootstrap_features,
            by_column=has_meanings or getattr(learner, "interaction_cst", None) is not None,
            follows_weight=True,
        )


@documented(BAGGING)
class BaggingRegressor(BaggedRegressor, AnyLearner):
    """Bagging of any regressor: the average of fits to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The regressor to bag; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`.
        %(any_learner)s
    n_estimators : int, "pac", PACMembers or callable, default=10
        %(n_estimators)s
    %(bagging_parameters)s
    %(bagging_bins)s

    Attributes
    ----------
    %(members)s
    %(importances)s
    %(n_outputs)s
    %(names_in_fit)s
    %(oob_attributes)s
    %(oob_prediction)s

    See Also
    --------
    BaggingClassifier : The same for classification.
    RandomForestRegressor : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsRegressor : Infinitely many members in closed form.

    Notes
    -----
    The cost is B fits to at most s distinct rows each, O(s log s) for each draw, and with bins O(n
    p log n) once. `predict` calls every member; trees are called together. With the same
    `random_state`, `bootstrap=True` and `False` draw the rows and features that scikit-learn's
    class draws. Bagging was proposed by [Breiman, 1996]. It is useful for learners of high variance
    [Shah, §4.5] and changes little if the base learner is linear in y and stable [Bach, §10.1.2].
    `standard_error` uses the jackknives of [Wager, Hastie and Efron, 2014].
    `sklearn_ensemble_theory.inspection` has further functions of a fitted ensemble.

    %(references_Bach)s

    %(Ghoshdastidar)s

    %(Shah)s

    L. Breiman (1996). "Bagging predictors". *Machine Learning* 24.

    %(Wager)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(n_estimators=200, max_samples=0.5, oob_score=True, random_state=0)
    >>> bag = bag.fit(X[:400], y[:400])
    >>> print(f"{bag.oob_score_:.2f}, with 20 members {bag.oob_scores_[19]:.2f}")
    0.45, with 20 members 0.40
    >>> bag.standard_error(X[400:402]).round()
    array([17.,  8.])
    """

    _parameter_constraints: dict = {**BaseBagging._parameter_constraints}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int | Literal["pac"] | Callable = 10,
        *,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool | str | BaseEstimator = True,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        max_bins: int | Literal["auto"] | None = "auto",
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator


def _estimator_has(name: str) -> Callable[["BaggingClassifier"], bool]:
    """A check that the base learner has this method, whose AttributeError says that it has not."""

    def check(self: "BaggingClassifier") -> bool:
        getattr(self._get_estimator(), name)
        return True

    return check


@documented(BAGGING)
class BaggingClassifier(BaggedClassifier, AnyLearner):
    """Bagging of any classifier: average or vote over fits to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The classifier to bag; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`.
        %(any_learner)s
    n_estimators : int, "pac", PACMembers or callable, default=10
        %(n_estimators)s
    %(bagging_parameters)s
    %(voting)s
    %(bagging_bins)s
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight}, or
        "balanced" for weights that give all classes the same total. For several columns of y a list
        of a dict for each; their weights are multiplied.
    %(ties)s

    Attributes
    ----------
    %(members)s
    %(forest_classes)s
    %(n_outputs)s
    %(importances)s
    %(names_in_fit)s
    %(oob_attributes)s
    %(oob_decision_function)s

    See Also
    --------
    BaggingRegressor : The same for regression.
    RandomForestClassifier : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsClassifier : Infinitely many members in closed form.

    Notes
    -----
    The cost and the draws are as for :class:`BaggingRegressor`: B fits, and O(s log s) for each
    draw of s rows. Bagging was proposed by [Breiman, 1996]; it is useful for learners of high
    variance [Shah, §4.5].

    %(references_Bach)s

    %(Ghoshdastidar)s

    %(Shah)s

    L. Breiman (1996). "Bagging predictors". *Machine Learning* 24.

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

    _several_outputs = True
    _parameter_constraints: dict = {
        **BaseBagging._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
        "ties": [StrOptions({"first", "last"})],
        "class_weight": [*CLASS_WEIGHT, list],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int | Literal["pac"] | Callable = 10,
        *,
        max_samples: int | float | Literal["stable"] | Callable | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool | str | BaseEstimator = True,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        voting: Literal["soft", "hard"] = "soft",
        max_bins: int | Literal["auto"] | None = "auto",
        class_weight: dict | list[dict] | Literal["balanced"] | None = None,
        ties: Literal["first", "last"] = "first",
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.voting = voting
        self.max_bins = max_bins
        self.class_weight = class_weight
        self.ties = ties

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict]:
        learner = self._get_estimator()
        if y.ndim == 2 and y.shape[1] > 1 and not takes_columns(learner):
            raise one_column_only(learner, y.shape[1])
        return super()._encode_y(y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        takes = takes_columns(self._get_estimator())
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = takes
        return tags

    @available_if(_estimator_has("decision_function"))
    @by_chunks
    def decision_function(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' decision functions, if the base learner has one.

        %(of_X_classified)s
        **params : dict
            Routed to the members' `decision_function` if metadata routing is enabled.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, k)
            Mean scores, with the columns that the base learner returns.

        Raises
        ------
        ValueError
            If y has several columns, or the training rows of a member do not contain all classes:
            its scores cannot be averaged with the others.

        Notes
        -----
        Cost: one call of each member.
        """
        raise_for_params(params, self, "decision_function")
        check_is_fitted(self)
        if isinstance(self.classes_, list):
            raise ValueError(
                "decision_function requires a single output; y of the fit has "
                f"{len(self.classes_)}. Use predict_proba."
            )
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
