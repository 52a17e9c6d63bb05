"""The fit of gradient boosting: any loss, any regressor, any step rule.

A fit in memory reads the rows and their targets, holds rows out for early stopping, puts together
the three parts of the boosting loop (`_loop`: the risk of a loss, a weak learner, a step rule) and
adds its rounds to an `AdditiveModel`, whose lists become the fitted attributes. Rows of a Dask
collection are boosted in `blocks.py`.
"""

import math
from abc import ABCMeta
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from dataclasses import replace
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from ..._blocks import checked_offset
from ..._categories import (
    MOST_DENSE_VALUES,
    check_same_columns,
    fitted_categories,
    fitted_encoder,
    numbered_learner,
)
from ..._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    parameter_names,
    raise_for_params,
    routing_enabled,
)
from ..._door import fit_context
from ..._features import Features
from ..._folds import drawn_splits, split_off
from ..._learners import (
    grows_leaves,
    has_input_tag,
    is_tree,
    reads_numbers,
    reads_single_precision,
    with_groups,
)
from ..._rows import (
    ChunkedRows,
    Rows,
    checked_groups,
    checked_weights,
    has_columns,
    is_frame,
    kept_rows,
    one_column,
    validate_data,
)
from ..._running import Progress, warn_user
from ..._typing import ArrayLike, MatrixLike, available_if
from ...trees._binned_tree import BinnedTreeRegressor
from ...trees._columns import MISSING, MOST_BINS
from ...trees._options import check_no_constraint
from ...trees._sklearn_trees import check_single_precision, single_precision
from ...trees._weak_learners import category_flags
from .._loop import BoostingRounds, RoundReports, boost
from .._risk import LEAST_CURVATURE, EmpiricalRisk, SecondOrderRisk
from .._steps import STEP_RULES, Step
from .._base_learners import check_takes_weights, seeded_clone, weak_learner
from ..losses import Loss
from ..losses._base import share_taken
from ..losses._losses import make_loss
from ..losses._separable import SeparableLoss
from .blocks import fit_blocks
from .ensemble import (
    LARGEST_TARGET,
    AdditiveModel,
    DrawnScores,
    HeldOut,
    Metric,
    classes_of,
    decoded,
    encoded,
    n_threads_of,
)
from .folds import (
    SEEDS,
    Folds,
    PartFits,
    boost_folds,
    mean_model,
    risks_of_rounds,
    standard_errors,
)
from .resampling import Resampling
from .uncertainty import confidence_interval, forget_training_rows, standard_error

# Parameters that describe the default trees, with their defaults.
TREE_DEFAULTS: dict[str, Any] = {
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_depth": 3,
    "min_impurity_decrease": 0.0,
    "max_features": None,
    "max_leaf_nodes": None,
    "ccp_alpha": 0.0,
    "monotonic_cst": None,
}
# And those of binned ones only.
BINNED_DEFAULTS: dict[str, Any] = {
    "l2_regularization": 0.0,
    "max_bins": 255,
    "categorical_features": "from_dtype",
    "cat_smooth": 10.0,
    "interaction_cst": None,
}
# And those of the rounds in which they are grown.
ROUND_DEFAULTS: dict[str, Any] = {"min_weight_leaf": None, "features_per_tree": None}
# And those of losses by name.
LOSS_PARAMETERS = ("alpha", "power")
# Fitted attributes that not every fit sets.
OPTIONAL = (
    "validation_scores_",
    "oob_improvement_",
    "oob_scores_",
    "oob_score_",
    "cv_path_",
    "n_rounds_",
    "_fold_shares",
    "_resampling",
)


def accepts_sparse(estimator) -> bool:
    # Trees do; before scikit-learn 1.7 their tags do not state it.
    return is_tree(estimator) or has_input_tag(estimator, "sparse")


def check_one_score(n_scores: int) -> None:
    """Raise a ValueError for an offset of rows with several scores."""
    if n_scores > 1:
        raise ValueError(
            f"offset requires one score for each row, of one target or two classes; here are "
            f"{n_scores}."
        )


class GivenRows(NamedTuple):
    """Validation rows as the user gives them; all None where there are none."""

    X: Any
    y: Any
    sample_weight: Any
    offset: Any

    def check(self, offset: Any) -> None:
        """Raise a ValueError for a part without the others; training rows have this offset."""
        if (self.X is None) != (self.y is None):
            names = ("y_val", "X_val") if self.X is None else ("X_val", "y_val")
            raise ValueError("{} is provided, but {} was not provided.".format(*names))
        for name in ("sample_weight", "offset"):
            if self.X is None and getattr(self, name) is not None:
                raise ValueError(f"{name}_val is provided, but X_val and y_val were not provided.")
        if self.X is not None and (offset is None) != (self.offset is None):
            names = ("offset_val", "offset") if offset is None else ("offset", "offset_val")
            raise ValueError("{} is provided, but {} was not provided.".format(*names))


def _members_are_trees(model) -> bool:
    """For `available_if`: whether the base learner is a tree, or an AttributeError."""
    learner = model._base_learner()
    if not (is_tree(learner) or reads_single_precision(learner)):
        raise AttributeError(f"{type(learner).__name__} is not a tree.")
    return True


class BaseGradientBoosting(
    CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """All of gradient boosting but the public predictions."""

    _get_param_names = parameter_names
    _rng: np.random.RandomState
    _split_seed: int | None
    _parameter_constraints: ClassVar[dict] = {
        **{name: DecisionTreeRegressor._parameter_constraints[name] for name in TREE_DEFAULTS},
        **{name: BinnedTreeRegressor._parameter_constraints[name] for name in BINNED_DEFAULTS},
        "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both"), None],
        "monotonic_cst": ["array-like", dict, None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "cv": ["cv_object"],
        "max_estimators": [Interval(Integral, 1, None, closed="left")],
        "cv_rule": [StrOptions({"minimum", "one_standard_error"})],
        "cv_prediction": [StrOptions({"refit", "mean"})],
        "keep_training_rows": ["boolean"],
        "learning_rate": [Interval(Real, 0, None, closed="left"), callable],
        "step": [StrOptions(set(STEP_RULES))],
        "output_bound": [Interval(Real, 0, None, closed="neither"), None],
        "reoptimize_leaves": ["boolean"],
        "second_order": ["boolean"],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict"])],
        "criterion": [StrOptions({"squared_error", "friedman_mse", "deprecated"})],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [StrOptions({"loss", *get_scorer_names()}), callable, None],
        "min_weight_leaf": [Interval(Real, 0, None, closed="left"), None],
        "features_per_tree": [
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    # --- fit --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        monitor: Callable[[int, Any, dict], Any] | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Boost the base learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Dask collection
            Training data; sparse where the base learner accepts it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or Dask collection
            Targets; several columns of real targets, in memory.
        sample_weight : array-like of shape (n_samples,) or Dask collection, default=None
            Non-negative weights. Rows of weight 0 are left out.
        monitor : callable, default=None
            Called after each round as ``monitor(i, model, variables)``: the index of the round, a
            copy of the estimator as if the fit had ended with this round, and a dict with the
            training rows "X", "y" and "sample_weight" and their scores "raw_predictions". The fit
            ends where it returns True.
        X_val, y_val : array-like of shape (n_val, n_features) and of that of y, default=None
            Validation rows. Their risk is recorded in `validation_scores_`. If `n_iter_no_change`
            is given, it determines when to stop, and no fraction of X is held out.
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of the validation rows.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient. Where
            `n_iter_no_change` holds rows out, it holds out `validation_fraction` of the groups, and
            all rows of a group are on the same side, as in the folds of ``n_estimators="cv"``. A
            warm start needs the same groups.
        offset : array-like of shape (n_samples,), default=None
            What is known of the scores, on the scale of the link: the scores are the offset and
            what is fitted. For counts in the times `exposure`, with a logarithmic link, it is
            ``np.log(exposure)``. Of one score a row (no more than two classes), in memory, and not
            with an estimator as `init`. A warm start needs the same offset.
        offset_val : array-like of shape (n_val,), default=None
            The offset of the validation rows.
        **fit_params : dict
            Routed to the base learners' `fit` if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the targets are outside the loss's domain, the step rule cannot be used with the
            loss or the base learner, the base learner does not support given weights, or
            parameters of the default trees are given together with `estimator`. With Dask
            collections also for parameters that need all rows in memory (see the notes above).
        """
        self._check_tree_parameters(X)
        if self.criterion != "deprecated":
            warn_user(
                "The parameter criterion has no effect, as in scikit-learn from 1.9 on, which "
                "deprecates it: the default trees minimise the squared error. Leave it out.",
                FutureWarning,
            )
        raise_for_params(fit_params, self, "fit")
        if routing_enabled():
            passed = with_groups(fit_params, groups, self._base_learner(X))
            fit_params = process_routing(self, "fit", **passed)["estimator"]["fit"]
        if monitor is not None and not callable(monitor):
            raise TypeError(f"monitor must be callable, got {type(monitor).__name__}.")
        validation = GivenRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_rows(X, y, sample_weight, validation, groups, offset, monitor, fit_params)

    def _fit_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        given: GivenRows,
        groups: Any,
        offset: Any,
        monitor: Callable[[int, Any, dict], Any] | None = None,
        fit_params: dict | None = None,
    ) -> Self:
        """`fit` of all classes; `given` decide when to stop, where the user has any."""
        given.check(offset)
        learner = self._base_learner(X)
        if is_classifier(learner):
            name = type(learner).__name__
            raise ValueError(
                f"estimator must be a regressor, as it is fitted to gradients; got {name}."
            )
        self._check_init(offset)
        if self._most_rounds == "cv":
            self._check_folds(monitor)
        continued = self.warm_start and self.__sklearn_is_fitted__()
        train, classes, loss = self._read(X, y, sample_weight, learner, continued)
        learner = numbered_learner(learner, fitted_encoder(self))
        n_classes = 0 if classes is None else len(classes)
        self._check_constraints(learner, self.n_features_in_, loss, n_classes)
        given_y, checked_X, groups = np.asarray(y), train.X, checked_groups(groups, X)
        offset = checked_offset(offset, X)
        if offset is not None:
            check_one_score(loss.n_scores(n_classes))
            offset = train.of(offset)
        train = replace(train, groups=None if groups is None else train.of(groups), offset=offset)

        # The rows that decide when to stop: given ones, or a share of X, which stays the same when
        # a fit is continued. The generator is a copy: a fit that fails must not have drawn from
        # the earlier model's.
        rng = deepcopy(self._rng) if continued else check_random_state(self._seed_of_rounds())
        split_seed = self._split_seed if continued else None
        validation = None
        if given.X is not None:
            validation = self._read_validation(given, train, classes, loss)
        elif self._patience is not None and self.validation_fraction is not None:
            if split_seed is None:
                split_seed = self._seed_of_split(rng)
            train, validation = self._split(train, split_seed, loss)
        fit_params = train.params_of(X, fit_params)
        n_threads = n_threads_of(self.n_jobs)
        scorer = None if self.scoring == "loss" else check_scoring(self, self.scoring)

        def metric_of(rows: Rows, known: Any, attributes: Callable[[], dict]) -> Metric | None:
            if scorer is None:
                return None
            # As the user gave them; of an array that the checks have left as it was no second copy.
            y, own = decoded(rows.y, classes), rows.X if known is checked_X else rows.of(known)
            return Metric(scorer, self, attributes, own, y, rows.weight)

        # Callbacks and the monitor may look at the model after each round, and end the fit.
        def attributes() -> dict:
            followed = validation is not None
            return found | self._fitted_attributes(model, learner, classes, followed)

        def data() -> dict:
            weight = {} if train.weight is None else {"sample_weight": train.weight}
            return {"X": train.of(X), "y": decoded(train.y, classes), "metadata": weight}

        def monitored(index: int) -> bool:
            assert monitor is not None
            so_far = copy(self)
            so_far.__dict__.update(attributes())
            seen = {"X": train.X, "y": train.y, "sample_weight": train.weight}
            return bool(monitor(index, so_far, {**seen, "raw_predictions": rounds.u}))

        parts = PartFits(self, train, loss, learner, classes, fit_params)
        found: dict[str, Any] = {}
        n_rounds, folds, splits = self._most_rounds, None, []
        if n_rounds == "cv":
            # Folds are drawn in the order of y: of the first of several targets.
            by = given_y if given_y.ndim == 1 else given_y[:, 0]
            splits = drawn_splits(self.cv, X, by, train.numbers, classes is not None, groups)
            folds = parts.folds(splits, rng, lambda rows, of: metric_of(rows, X, of))
            n_rounds, found = self._rounds_of(folds, 1.0 if scorer is None else -1.0)
        if folds is not None and self.cv_prediction == "mean":
            reports = RoundReports(self, 0, data=data, attributes=attributes)
            model = mean_model(folds.models(n_rounds))
            for each in risks_of_rounds(model, train):
                model.add_risks(each)
            reports.finish("the models of the folds are averaged")
        else:
            model, rounds = self._begin_rounds(
                train, loss, learner, classes, rng, fit_params, n_threads, continued
            )
            held_out = None
            if validation is not None:
                metric = metric_of(validation, X if given.X is None else given.X, attributes)
                held_out = HeldOut(model, validation, metric)
            judge = self._judge_of_training(
                train, lambda rows: metric_of(rows, X, attributes), split_seed
            )
            if not continued:
                risk: Any = rounds.risk
                self._before_rounds(model, risk, rounds.u, held_out, judge)
            n_more = n_rounds - len(model.members)
            reports = RoundReports(self, n_more, data=data, attributes=attributes)
            ends = None if monitor is None else monitored
            self._add_rounds(model, rounds, n_more, held_out, judge, reports, ends)
        if self.keep_training_rows:
            # The generator is left as it is without.
            seed = int(deepcopy(rng).randint(SEEDS))
            n_rounds = found.get("n_rounds_", len(model.members))
            found["_resampling"] = Resampling.of(parts, n_rounds, seed, folds, splits)

        # Everything has been fitted: from here on nothing fails.
        self._rng, self._split_seed = rng, split_seed
        self._set_fitted(attributes())
        return self

    def _check_init(self, offset: Any) -> None:
        """Raise a ValueError where the start of the scores cannot be used with an offset."""
        if offset is not None and hasattr(self.init, "fit"):
            raise ValueError(
                f"offset cannot be used with init={type(self.init).__name__}(), which is not "
                "fitted with it; add the scores that this estimator predicts to the offset."
            )

    def _check_folds(self, monitor: Any) -> None:
        """Raise a ValueError for what cannot be used with rounds by cross-validation."""
        others = {"warm_start": self.warm_start, "n_iter_no_change": self._patience is not None}
        for name, is_given in others.items():
            if is_given:
                raise ValueError(
                    f'{name}={getattr(self, name)!r} cannot be used with n_estimators="cv".'
                )
        # The mean of the folds' models is no model of rounds.
        if self.cv_prediction != "mean":
            return
        if monitor is not None:
            raise ValueError('monitor cannot be used with cv_prediction="mean".')
        if hasattr(self.init, "fit"):
            raise ValueError(
                'init must be None or "zero" with cv_prediction="mean"; got '
                f"{type(self.init).__name__}."
            )

    def _rounds_of(self, folds: Folds, sign: float) -> tuple[int, dict]:
        """The number of rounds that the folds choose, and what is known of it after the fit."""
        progress = Progress(
            type(self).__name__, self.max_estimators, self.verbose, unit="rounds of all folds"
        )
        n_rounds, path = boost_folds(folds, self.max_estimators, sign, progress, self.cv_rule)
        return n_rounds, {"cv_path_": path, "n_rounds_": n_rounds, "_fold_shares": folds.shares}

    def _begin_rounds(
        self,
        train: Rows,
        loss: Loss,
        learner: Any,
        classes: np.ndarray | None,
        rng: np.random.RandomState,
        fit_params: dict | None,
        n_threads: int,
        continued: bool = False,
    ) -> tuple[AdditiveModel, BoostingRounds]:
        """The model before the first new round, and its rounds: the three parts of the loop."""
        n_classes = 0 if classes is None else len(classes)
        if self.estimator is None and self.subsample < 1:
            # Shares of rows, of a default tree, are those of all rows and not of the rows drawn.
            learner = clone(learner)
            for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
                share = getattr(learner, name)
                if not isinstance(share, Integral):
                    setattr(learner, name, max(least, math.ceil(share * len(train))))
        # The joint step of trees: splits of the second order where there is one, and exact leaves.
        n_scores = loss.n_scores(n_classes)
        has_vectors = n_scores > 1 and self._asks_for_vectors()
        if has_vectors:
            self._check_vectors(learner)
        exact = self.step == "joint" and grows_leaves(learner)
        curved = not loss.is_quadratic and SecondOrderRisk.has_curvature(loss, train.y, n_scores)
        second_order = self._takes_second_order(loss, curved)
        newton = second_order or (exact and curved)
        kind = SecondOrderRisk if newton else EmpiricalRisk
        risk = kind(loss, train.y, train.weight, n_threads)
        risk.adapts = True
        step = self._make_step(risk, n_scores)
        step.only_forwards = getattr(learner, "monotonic_cst", None) is not None
        model = self._begin(loss, train, rng, classes, continued, has_vectors)
        risk.rate = share_taken(step.constant(), model.n_scores)
        task = step.task(
            risk,
            n_scores=model.n_scores,
            random_state=rng,
            subsample=self.subsample,
            reoptimise_leaves=exact
            or (self.reoptimize_leaves and step.reoptimizes_leaves and not newton),
            exact_leaves=exact,
            reweighted=newton,
            min_weight_leaf=self._least_leaf(second_order),
            features_per_tree=self.features_per_tree,
            n_threads=n_threads,
            shares_generator=self.estimator is None,
            has_vectors=has_vectors,
            n_components=self.target_components if has_vectors else None,
        )
        weak = weak_learner(learner, train.X, train.weight, task, fit_params)
        step.prepare(weak)
        u = model.scores_of(train)
        if train.offset is not None:
            size = np.max(np.abs(loss.gradient(train.y, u)), initial=0.0)
            if not size <= LARGEST_TARGET:
                raise ValueError(
                    "offset differs too much between rows: derivatives of the loss are "
                    f"{size:.1g}, above {LARGEST_TARGET:g}."
                )
        rounds = boost(risk, weak, step, u, start=len(model.members))
        return model, rounds

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of a Dask collection."""
        self._check_tree_parameters()
        self._set_fitted(fit_blocks(self, rows))

    def _set_fitted(self, attributes: dict) -> None:
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)

    def _add_rounds(
        self,
        model: AdditiveModel,
        rounds: BoostingRounds,
        n_more: int,
        held_out: HeldOut | None,
        judge: Callable[[np.ndarray], float] | None,
        reports: RoundReports,
        ends: Callable[[int], bool] | None,
    ) -> None:
        """Add rounds until there are enough, the risk stops improving, or an observer ends it."""
        risk: Any = rounds.risk
        patience, last = self._patience, len(model.members) + n_more
        drawn = None
        if self.subsample < 1:
            drawn = DrawnScores(risk, rounds.u, is_first=not model.members)
        # Rounds that nobody looks at are made in one piece: all, or as many as a stop waits for.
        at_once = n_more if patience is None else int(patience)
        if not reports.is_silent or ends is not None or judge is not None:
            at_once = 0
        rounds.allow(min(at_once, n_more))
        # A round is stored with its risks before anybody is asked whether it shall be the last:
        # callbacks and monitors see the model with it.
        for record in islice(rounds, n_more):
            reports.begin_round()
            members = [record.predictor] if model.n_scores == 1 else record.predictor
            model.members.append(members)
            model.steps.append(record.step)
            model.loss = risk.scored_loss
            if math.isnan(record.risk):
                raise ValueError(
                    "The predictions of the estimator are NaN for some training rows; X may have "
                    "missing values that it cannot use."
                )
            rows = None if drawn is None else getattr(rounds.learner, "rows", None)
            if drawn is None or rows is None:
                model.add_risks(record.risk)
            else:
                before = model.oob_scores[-1] if model.oob_scores else 0.0
                model.add_risks(record.risk, drawn.after(rows, before))
            if held_out is not None:
                score = held_out.score_after(members, record.step)
                model.validation_scores.append(score)
            if judge is not None:
                model.judged_scores.append(judge(rounds.u))
            index = record.index
            del record  # its outputs are an array of n numbers

            if reports.end_round(model.last_risks):
                model.stop_reason = "callback"
                break
            if ends is not None and ends(index):
                model.stop_reason = "monitor"
                break
            rounds.allow(min(at_once, last - len(model.members)))
            if patience is not None and self._is_no_better(model):
                model.stop_reason = "early stopping"
                break
        else:
            if len(model.members) < last:
                model.stop_reason = "weak learner"
        rounds.end()
        reports.finish(model.stop_reason)

    # --- the number of rounds ---------------------------------------------------------------------

    @property
    def _most_rounds(self) -> Any:
        return self.n_estimators

    @property
    def _patience(self) -> int | None:
        """The number of rounds that early stopping waits for an improvement; None without it."""
        return self.n_iter_no_change

    def _judge_of_training(
        self, train: Rows, metric_of: Callable[[Rows], Any], seed: int | None
    ) -> Callable[[np.ndarray], float] | None:
        """What computes the metric of training rows from the scores of all; None for none."""
        return None

    def _before_rounds(
        self, model: AdditiveModel, risk: EmpiricalRisk, u: np.ndarray, held_out: Any, judge: Any
    ) -> None:
        """What is to be known of the model without rounds."""

    def _is_no_better(self, model: AdditiveModel) -> bool:
        """Whether the last risk is not below one of those before it by more than tol.

        In the units of scikit-learn's deviance; the other way round for a metric.
        """
        scores, patience = model.validation_scores, int(self._patience or 0)
        if len(scores) <= patience:
            return False
        factor = model.loss._deviance_factor if self.scoring == "loss" else -1.0
        highest = max(factor * score for score in scores[-1 - patience : -1])
        return bool(factor * scores[-1] + self.tol >= highest)

    # --- the parts of the fit ---------------------------------------------------------------------

    def _takes_second_order(self, loss: Loss, curved: bool) -> bool:
        """Whether rounds are of the second order, for a loss that is curved and not quadratic."""
        return self.second_order

    def _least_leaf(self, second_order: bool) -> float:
        """The least weight of a leaf, or sum of second derivatives."""
        if self.min_weight_leaf is not None:
            return float(self.min_weight_leaf)
        return LEAST_CURVATURE if second_order else 0.0

    def _fitted_attributes(
        self, model: AdditiveModel, learner: Any, classes: np.ndarray | None, followed: bool
    ) -> dict:
        """The fitted attributes after the rounds so far."""
        return model.attributes(learner, classes, followed)

    def _make_loss(self, n_classes: int) -> Loss:
        """The loss for a target of so many classes; 0 for a real target."""
        given = {name: getattr(self, name) for name in LOSS_PARAMETERS if hasattr(self, name)}
        return make_loss(self.loss, n_classes, **given)

    def _make_step(self, risk: EmpiricalRisk, n_scores: int) -> Step:
        step = STEP_RULES[self.step].of(self)
        step.check(risk, n_scores)
        if self.subsample < 1 and not step.fits_some_rows:
            raise ValueError(f"step={self.step!r} requires subsample=1.0, got {self.subsample!r}.")
        if self.second_order and not step.takes_newton_targets:
            names = [repr(name) for name, rule in STEP_RULES.items() if rule.takes_newton_targets]
            raise ValueError(
                f"second_order=True requires step={' or '.join(names)}, got {self.step!r}."
            )
        return step

    def _begin(
        self,
        loss: Loss,
        train: Rows,
        rng: np.random.RandomState,
        classes: np.ndarray | None,
        continued: bool,
        has_vectors: bool,
    ) -> AdditiveModel:
        """The model before the first new round."""
        n_classes = 0 if classes is None else len(classes)
        if continued:
            model = AdditiveModel.to_continue(self)
            if self._most_rounds < len(model.members):
                raise ValueError(
                    f"n_estimators={self.n_estimators} is less than the {len(model.members)} "
                    "rounds of the previous fit, which warm_start=True continues."
                )
            # The parameter `loss` may have changed since the rounds so far.
            model.loss = loss
            if loss.n_scores(n_classes) != model.n_scores:
                raise ValueError(
                    f"With warm_start=True, y must have {model.n_scores} columns, as in the "
                    "previous fit."
                )
            if has_vectors != model.has_vectors:
                name, now = self._vectors_parameter, getattr(self, self._vectors_parameter)
                raise ValueError(
                    f"{name}={now!r} is not that of the fit that warm_start=True goes on."
                )
            return model
        start: Any = self.init
        if self.init is None and train.offset is not None:
            start = loss.optimal_shift(train.y, train.offset, train.weight)
        elif self.init is None:
            start = loss.initial_scores(train.y, train.weight, n_classes)
        elif not isinstance(self.init, str):
            start = seeded_clone(self.init, rng)
            name, weight = type(start).__name__, {}
            if train.weight is not None:
                weight = {"sample_weight": train.weight}
                if not has_fit_parameter(start, "sample_weight"):
                    raise ValueError(
                        f"init={name}: The initial estimator {name} does not support sample "
                        "weights."
                    )
            start.fit(train.X, decoded(train.y, classes), **weight)
        n_scores = loss.n_scores(n_classes)
        return AdditiveModel(loss, start, n_scores, classes is not None, has_vectors)

    # --- the base learner -------------------------------------------------------------------------

    def _base_learner(self, X=None) -> Any:
        """The base learner for X; binned trees are for data that may be dense, without pruning."""
        if self.estimator is not None:
            return self.estimator
        # What has no parameter of a name leaves it at its default.
        described = {name: getattr(self, name, value) for name, value in TREE_DEFAULTS.items()}
        # A large sparse X is left to scikit-learn's trees, unless it has categories.
        is_large = sp.issparse(X) and math.prod(X.shape) > MOST_DENSE_VALUES
        if is_large and self._names_categories() and (self.max_bins or 0) <= MISSING:
            is_large = False
        if self.max_bins is None or is_large or self.ccp_alpha != 0:
            return DecisionTreeRegressor(**described)
        described |= {name: getattr(self, name) for name in BINNED_DEFAULTS}
        return BinnedTreeRegressor(**described)

    def _names_categories(self) -> bool:
        given = self.categorical_features
        return given is not None and not (isinstance(given, str) and given == "from_dtype")

    # The parameter, where there is one, that asks for one tree for all scores of a round by this
    # value; with it comes `target_components`.
    _vectors_parameter: ClassVar[str] = ""
    _vectors_value: ClassVar[str] = ""

    def _takes_targets(self) -> bool:
        """Whether y may have several columns."""
        return isinstance(self, RegressorMixin) and bool(self._vectors_parameter)

    def _asks_for_vectors(self) -> bool:
        name = self._vectors_parameter
        return bool(name) and getattr(self, name) == self._vectors_value

    def _check_vectors(self, learner: Any) -> None:
        """Raise a ValueError where the base learner has no leaves with a number for each score."""
        if (
            type(learner) is not BinnedTreeRegressor
            or learner.criterion != "squared_error"
            or learner.splitter != "best"
            or learner.ccp_alpha > 0
            or learner.max_bins > MISSING
        ):
            name = "the default trees" if self.estimator is None else type(learner).__name__
            raise ValueError(
                f"{self._vectors_parameter}={self._vectors_value!r} requires trees in at most "
                f"{MISSING} bins, of the squared error, without pruning, which {name} here are "
                f"not; use another {self._vectors_parameter}."
            )
        features = Features.known_to(self, self.n_features_in_)
        for name, given in {
            "monotonic_cst": features.signs(learner.monotonic_cst),  # None where all are 0
            "interaction_cst": learner.interaction_cst,
            "features_per_tree": self.features_per_tree,
        }.items():
            if given is not None:
                raise ValueError(
                    f"{self._vectors_parameter}={self._vectors_value!r} requires trees without "
                    f"{name}; use another {self._vectors_parameter}."
                )

    def _check_tree_parameters(self, X=None) -> None:
        """Raise a ValueError where parameters describe trees that are not used."""
        if self.estimator is None:
            is_binned = isinstance(self._base_learner(X), BinnedTreeRegressor)
            for name, is_given in {
                "categorical_features": self._names_categories(),
                "interaction_cst": self.interaction_cst is not None,
                "l2_regularization": self.l2_regularization > 0,
                "features_per_tree": self.features_per_tree is not None,
            }.items():
                if is_given and not is_binned:
                    raise ValueError(
                        f"{name} requires trees in bins: max_bins must not be None, ccp_alpha must "
                        f"be 0, and a sparse X have at most {MOST_DENSE_VALUES:,} values."
                    )
            return
        for name, default in {**TREE_DEFAULTS, **BINNED_DEFAULTS, **ROUND_DEFAULTS}.items():
            value = getattr(self, name)
            is_same = value is default or (
                default is not None and np.ndim(value) == 0 and value == default
            )
            if not is_same:
                raise ValueError(
                    f"{name}={value!r} describes the default trees, but the base learner is "
                    f"estimator={type(self.estimator).__name__}; set it there, or use "
                    "estimator=None."
                )

    def _check_constraints(self, learner, n_features: int, loss: Loss, n_classes: int) -> None:
        """Raise a ValueError where the constraints of the default trees do not fit the data."""
        if self.estimator is not None:
            return
        features = Features.known_to(self, n_features)
        features.interactions(self.interaction_cst)
        n_scores = loss.n_scores(n_classes)
        signs = features.signs(self.monotonic_cst, n_classes if n_scores > 1 else 0)
        if signs is None:
            return
        if isinstance(learner, BinnedTreeRegressor):
            flags = category_flags(learner, n_features)
            if flags is not None:
                check_no_constraint(features, signs, flags)

    # --- rows -------------------------------------------------------------------------------------

    def _read(
        self, X, y, sample_weight, learner, continued: bool
    ) -> tuple[Rows, np.ndarray | None, Loss]:
        """The rows of positive weight, the classes of a classifier, and the loss."""
        of_classes = isinstance(self, ClassifierMixin)
        if continued:
            check_same_columns(self, X, learner)
        several = self._takes_targets() and has_columns(y) and np.shape(y)[1] > 1
        options = {"multi_output": True} if several else {}
        X, y = self._validate(
            X, y, learner=learner, reset=not continued, y_numeric=not of_classes, **options
        )
        classes = classes_of(y) if of_classes else None
        y = encoded(y, classes)
        if continued and classes is not None and not np.array_equal(self.classes_, classes):
            raise ValueError(
                "With warm_start=True, y must not have other classes than in the previous fit."
            )
        n_classes = 0 if classes is None else len(classes)
        loss = self._make_loss(n_classes)
        if several:
            loss = SeparableLoss.of(loss, y.shape[1])
        # Equal weights are None: loops over the rows then need not read them.
        rows = Rows(X, y, None, range(len(y)))
        if sample_weight is not None:
            check_takes_weights(learner, "estimator")
            rows = kept_rows(X, y, sample_weight)
            if of_classes and len(rows) < len(y) and (rows.y == rows.y[0]).all():
                raise ValueError(
                    "y contains 1 class after sample_weight trimmed classes with zero weights, "
                    "while a minimum of 2 classes are required."
                )
        loss.check_target(rows.y)
        if self.second_order:
            check_takes_weights(learner, "estimator", "second_order")
            SecondOrderRisk.check(loss, rows.y, loss.n_scores(n_classes))
        return rows, classes, loss

    def _read_validation(
        self, given: GivenRows, train: Rows, classes: np.ndarray | None, loss: Loss
    ) -> Rows:
        """The validation rows that the user has given."""
        X, y = self._validate(given.X, reset=False), given.y
        check_consistent_length(X, y)
        if has_columns(y) and np.shape(y)[1] == 1:
            y = one_column(y)  # as y itself
        y = encoded(np.asarray(y), classes)
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise ValueError("y_val must contain finite numbers only.")
        if y.shape[1:] != train.y.shape[1:]:
            raise ValueError(
                f"y_val must have the columns of y; got the shapes {y.shape} and {train.y.shape}."
            )
        weight = None
        if given.sample_weight is not None:
            try:
                weight = checked_weights(given.sample_weight, X)
            except ValueError as error:
                raise ValueError(f"sample_weight_val: {error}") from error
        # With those of the training rows: counts of which all are 0 have a risk.
        self._check_part(loss, np.concatenate([train.y, y]), "y_val")
        known = checked_offset(given.offset, given.X, "offset_val")
        return Rows(X, y, weight, range(len(y)), offset=known)

    def _validate(self, X, *y, learner=None, **options) -> Any:
        """X, and y where it is given, validated; in single precision where trees will hold it."""
        learner = self._base_learner(X) if learner is None else learner
        takes_sparse = self.estimator is None or accepts_sparse(learner)
        # Other formats are converted to the first.
        options["accept_sparse"] = ("csr", "csc") if takes_sparse else False
        # A base learner of the user gets frames as they are, and checks them.
        hands_on = not reads_numbers(self.estimator, "prepare_rounds")
        as_frame = hands_on and is_frame(X)
        if not as_frame:
            options["dtype"] = [np.float64, np.float32]
        found = validate_data(self, X, *y, as_frame=as_frame, learner=learner, **options)
        read, *y = found if y else (found,)
        if not as_frame:
            is_small = math.prod(read.shape) <= MOST_DENSE_VALUES
            if sp.issparse(read) and is_small and not accepts_sparse(learner):
                read = read.toarray()  # a small one, for the default trees
                check_single_precision(read)
            elif is_tree(learner):
                read = single_precision(read)
            elif getattr(learner, "_reads_single_precision", False):
                check_single_precision(read)
        return (read, *y) if y else read

    def _seed_of_rounds(self) -> Any:
        return self.random_state

    def _seed_of_split(self, rng: np.random.RandomState) -> int:
        """A number as `random_state` is the seed itself, as in scikit-learn."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(rng.randint(np.iinfo(np.int32).max))

    def _split(self, rows: Rows, seed: int, loss: Loss) -> tuple[Rows, Rows]:
        """The rows to fit, and those that decide when to stop."""
        stratify = rows.y if isinstance(self, ClassifierMixin) else None
        part, others = split_off(len(rows), self.validation_fraction, seed, stratify, rows.groups)
        train = rows.take(part)
        if stratify is not None and len(np.unique(train.y)) < len(np.unique(rows.y)):
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed, a smaller validation_fraction, or X_val and y_val."
            )
        self._check_part(loss, train.y, "The training data after the early stopping split")
        return train, rows.take(others)

    @staticmethod
    def _check_part(loss: Loss, y: np.ndarray, what: str) -> None:
        """Raise a ValueError where the loss cannot be fitted to a part of the targets alone."""
        try:
            loss.check_target(y)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from error

    # --- the fitted model -------------------------------------------------------------------------

    categories_ = property(fitted_categories)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.estimators_)

    def __getitem__(self, index: int) -> np.ndarray:
        """The members of this round."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterate over the members of the rounds."""
        return iter(self.estimators_)

    def _scores(self, X, offset=None) -> np.ndarray:
        check_is_fitted(self)
        known = vars(self).get("_known_scores")  # of a model that a metric looks at
        if known is not None and X is known[0]:
            scores: np.ndarray = known[1].copy()
            return scores
        return AdditiveModel.of(self).scores_of(self._rows_with(X, offset))

    def _staged_scores(self, X, offset=None) -> Iterator[np.ndarray]:
        """The scores after each round."""
        check_is_fitted(self)
        rows = self._rows_with(X, offset)
        for u in islice(AdditiveModel.of(self).staged_scores(rows.X), 1, None):
            yield u if rows.offset is None else u + rows.offset

    def _rows_with(self, X, offset) -> Rows:
        """Rows to predict."""
        X = self._validate(X, reset=False)
        known = checked_offset(offset, X)
        if known is not None:
            check_one_score(self._n_scores)
        return Rows(X, np.empty(0), None, range(X.shape[0]), offset=known)

    standard_error = standard_error
    confidence_interval = confidence_interval
    forget_training_rows = forget_training_rows

    @property
    def cv_results_(self) -> dict[str, np.ndarray]:
        """The scores of the folds by the number of rounds."""
        check_is_fitted(self)
        if "cv_path_" not in vars(self):
            raise AttributeError('cv_results_ requires n_estimators="cv".')
        path, shares = self.cv_path_[1:], self._fold_shares
        found = {
            "n_estimators": np.arange(1, len(path) + 1),
            "mean_score": path @ shares,
            "standard_error": standard_errors(path, shares),
        }
        return found | {f"split{k}_score": scores for k, scores in enumerate(path.T)}

    @property
    def init_(self) -> Any:
        """The fitted estimator that predicts what the scores start from, or "zero"."""
        check_is_fitted(self)
        start = self._start
        if hasattr(start, "predict") or isinstance(start, str):
            return start
        # A dummy whose constant prediction is that of the constant scores.
        p, loss = self.n_features_in_, self.loss_
        if isinstance(self, RegressorMixin):
            mean = np.asarray(loss.inverse_link(np.asarray(start)))
            return DummyRegressor(strategy="constant", constant=mean).fit(
                np.zeros((1, p)), [mean.tolist()]
            )
        X, u = np.zeros((len(self.classes_), p)), np.asarray(start, dtype=float)[None]
        if not loss.probability:
            dummy = DummyClassifier(strategy="constant", constant=self._decide(u)[0])
            return dummy.fit(X, self.classes_)
        shares = loss.class_probabilities(u)[0]
        return DummyClassifier(strategy="prior").fit(X, self.classes_, sample_weight=shares)

    @property
    def initial_scores_(self) -> Any:
        """The constant scores before the first round; None where `init` is an estimator."""
        check_is_fitted(self)
        if hasattr(self._start, "predict"):
            return None
        return 0.0 if isinstance(self._start, str) else self._start

    @property
    def max_features_(self) -> int:
        """The number of features that the trees consider at each node."""
        check_is_fitted(self)
        first: Any = next(iter(self.estimators_.flat), None)
        return int(first.max_features_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over the members, of sum 1.

        Trees are weighted by the reduction of the squared error by their splits, as in
        scikit-learn. Other members with importances have equal weights.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        try:
            for member in self.estimators_.ravel():
                if is_tree(member) or getattr(member, "_reads_single_precision", False):
                    total += member.tree_.compute_feature_importances(normalize=False)
                else:
                    total += member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"feature_importances_ is not available, because {type(self.estimator_).__name__} "
                "does not have it."
            ) from error
        return total / total.sum() if total.any() else total

    @available_if(_members_are_trees)
    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf of each tree that a row falls into; for trees as base learners only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_rounds) or (n_samples, n_rounds, K)
            Indices of nodes. The third axis, for classifiers, has the length of that of
            `estimators_`.

        Notes
        -----
        Cost: O(depth) a row and tree.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        X = single_precision(X) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
        leaves = np.empty((X.shape[0], *self.estimators_.shape), dtype=np.int64)
        for t, members in enumerate(self.estimators_):
            for k, member in enumerate(members):
                leaves[:, t, k] = member.tree_.apply(X)
        is_alone = isinstance(self, RegressorMixin) and leaves.shape[2] == 1
        return leaves[:, :, 0] if is_alone else leaves

    # --- routing and tags ---------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator and of its base learner.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base_learner(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._base_learner()
        # The default is an exact tree for sparse X.
        tags.input_tags.sparse = self.estimator is None or accepts_sparse(learner)
        tags.input_tags.allow_nan = has_input_tag(learner, "allow_nan")
        tags.target_tags.multi_output = self._takes_targets()
        return tags
