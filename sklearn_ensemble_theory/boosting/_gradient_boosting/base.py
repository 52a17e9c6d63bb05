"""The fit of gradient boosting: any loss, any regressor, any step rule."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._trees import check_single_precision, is_tree, single_precision
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.boosting._core.learners import (
    CloneOptions,
    check_takes_weights,
    seeded_clone,
    weak_learner,
)
from sklearn_ensemble_theory.boosting._core.loop import Round, boost
from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting._core.second_order import LEAST_CURVATURE, SecondOrderRisk
from sklearn_ensemble_theory.boosting._core.steps import STEP_RULES, Step
from sklearn_ensemble_theory.boosting._gradient_boosting.ensemble import AdditiveModel, HeldOut
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.boosting.losses.registry import make_loss
from sklearn_ensemble_theory.trees._estimators.estimators import BinnedTreeRegressor
from sklearn_ensemble_theory.trees._packed.packed_trees import PackedCache


class Rows(NamedTuple):
    """Rows with their targets as the loss takes them; `weight` as the user gave it, or None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def take(self, part: np.ndarray) -> "Rows":
        weight = None if self.weight is None else self.weight[part]
        return Rows(self.X[part], self.y[part], weight)


class BaseGradientBoosting(
    CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "step": [StrOptions(set(STEP_RULES))],
        "output_bound": [Interval(Real, 0, None, closed="neither"), None],
        "reoptimize_leaves": ["boolean"],
        "second_order": ["boolean"],
        "init": [HasMethods(["fit", "predict"]), StrOptions({"zero"}), None],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    @abstractmethod
    def _encode(self, y):
        """Targets as the loss takes them, and the fitted attributes that describe the classes."""

    @abstractmethod
    def _encode_known(self, y, description):
        """The same for further targets, which must fit the description."""

    @abstractmethod
    def _decode(self, y, description):
        """The user's targets from those that the loss takes."""

    @abstractmethod
    def _predict_init(self, init, loss, X):
        """The predictions of a fitted `init`, as the loss's link takes them."""

    # --- fit --------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Boost the base learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; sparse where the base learner accepts it.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out.
        X_val, y_val : array-like of shape (n_val, n_features) and (n_val,), default=None
            Validation rows. Their risk is recorded in `validation_scores_`. If `n_iter_no_change`
            is given, it determines when to stop, and no fraction of X is held out.
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of the validation rows.
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
            loss or the base learner, or the base learner does not support given weights.
        """
        fit_params = self._routed(fit_params)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together.")
        estimator = self._base_learner(X)
        if is_classifier(estimator):
            name = type(estimator).__name__
            raise ValueError(
                f"estimator must be a regressor, as it is fitted to gradients; got {name}."
            )
        continued = self.warm_start and self.__sklearn_is_fitted__()
        rows, description, loss = self._read(X, y, sample_weight, estimator, continued)
        rng = self._rng if continued else check_random_state(self.random_state)
        split_seed = self._split_seed if continued else rng.randint(np.iinfo(np.int32).max)
        train, held_out = rows, None
        if X_val is not None:
            held_out = self._read_validation(X_val, y_val, sample_weight_val, description)
            loss.check_target(held_out.y)
        elif self.n_iter_no_change is not None:
            train, held_out = self._split(rows, split_seed)

        n_threads = ThreadTeam.of(self.n_jobs).n_threads
        kind = SecondOrderRisk if self.second_order else EmpiricalRisk
        risk = kind(loss, train.y, train.weight, n_threads)
        step = self._make_step(risk, description)
        model = self._begin(loss, train, rng, description, continued)
        options = CloneOptions(
            random_state=rng,
            fit_params=fit_params,
            subsample=self.subsample,
            n_scores=model.n_scores,
            risk=risk,
            reoptimise_leaves=(
                self.reoptimize_leaves and step.reoptimizes_leaves and not self.second_order
            ),
            reweighted=self.second_order,
            min_weight_leaf=LEAST_CURVATURE if self.second_order else 0.0,
            n_threads=n_threads,
        )
        learner = weak_learner(estimator, train.X, train.weight, step.task(risk), options)
        step.prepare(learner)
        u = model.scores(train.X)
        rounds = boost(risk, learner, step, u, start=len(model.members))
        self._grow(model, rounds, None if held_out is None else HeldOut(model, *held_out))

        # Everything has been fitted: from here on nothing fails.
        self._rng, self._split_seed, self.estimator_ = rng, split_seed, estimator
        self._set_model(model, description, followed=held_out is not None)
        return self

    def _routed(self, fit_params):
        raise_for_params(fit_params, self, "fit")
        if not routing_enabled():
            return {}
        return process_routing(self, "fit", **fit_params)["estimator"]["fit"]

    def _base_learner(self, X=None):
        """The base learner for X; binned trees are for dense data."""
        if self.estimator is not None:
            return self.estimator
        tree = DecisionTreeRegressor if sp.issparse(X) else BinnedTreeRegressor
        return tree(max_depth=3)

    def _read(self, X, y, sample_weight, estimator, continued):
        """The rows to fit, what describes their targets, and the loss."""
        X, y = self._validate(X, y, reset=not continued, y_numeric=not is_classifier(self))
        y, description = self._encode(y)
        if continued and not self._same_description(description):
            raise ValueError(
                "With warm_start=True, y must not have other classes than in the previous fit."
            )
        loss = make_loss(self.loss, _n_classes(description))
        if sample_weight is not None:
            check_takes_weights(estimator, "estimator")
            kept = rows_of_positive_weight(sample_weight, X)
            (X, y), sample_weight = kept.take(X, y), kept.weight
        loss.check_target(y)
        if self.second_order:
            check_takes_weights(estimator, "estimator", "second_order")
            SecondOrderRisk.check(loss, y, loss.n_scores(_n_classes(description)))
        return Rows(X, y, sample_weight), description, loss

    def _validate(self, X, *y, **options):
        """X, and y where it is given, validated; in single precision where trees will hold it."""
        estimator = self._base_learner(X)
        options["accept_sparse"] = ["csr", "csc"] if _accepts_sparse(estimator) else False
        if not sp.issparse(X) and _input_tag(estimator, "allow_nan"):
            options["ensure_all_finite"] = "allow-nan"
        found = validate_data(self, X, *y, dtype=[np.float64, np.float32], **options)
        X, *y = found if y else (found,)
        if is_tree(estimator):
            X = single_precision(X)
        elif getattr(estimator, "_reads_single_precision", False):
            check_single_precision(X)
        return (X, *y) if y else X

    def _same_description(self, description):
        return all(
            np.array_equal(getattr(self, name), value) for name, value in description.items()
        )

    def _read_validation(self, X, y, weight, description):
        X = self._validate(X, reset=False)
        check_consistent_length(X, y)
        y = self._encode_known(np.asarray(y), description)
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise ValueError("y_val must contain finite numbers only.")
        if weight is not None:
            weight = check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
        return Rows(X, y, weight)

    def _split(self, rows, seed):
        """The rows to fit and the rows that decide when to stop."""
        parts = train_test_split(
            np.arange(len(rows.y)),
            test_size=self.validation_fraction,
            random_state=seed,
            stratify=rows.y if is_classifier(self) else None,
        )
        return tuple(rows.take(part) for part in map(np.sort, parts))

    def _make_step(self, risk: EmpiricalRisk, description: dict) -> Step:
        step = STEP_RULES[self.step].of(self)
        step.check(risk, risk.loss.n_scores(_n_classes(description)))
        if self.subsample < 1 and not step.fits_some_rows:
            raise ValueError(f"step={self.step!r} requires subsample=1.0, got {self.subsample!r}.")
        if self.second_order and not step.takes_newton_targets:
            raise ValueError(
                f"second_order=True requires step='fixed' or 'line_search', got {self.step!r}."
            )
        return step

    def _begin(
        self, loss: Loss, train: Rows, rng: Any, description: dict, continued: bool
    ) -> AdditiveModel:
        """The model before the first new round."""
        if not continued:
            init = self._fit_init(loss, train, rng, description)
            n_scores = loss.n_scores(_n_classes(description))
            return AdditiveModel(loss, init, n_scores, self._predict_init)
        model = AdditiveModel.of(self)
        if self.n_estimators < len(model.members):
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(model.members)} rounds "
                "of the previous fit, which warm_start=True continues."
            )
        # The parameter `loss` may have changed since the rounds so far.
        model.loss = loss
        return model

    def _fit_init(self, loss, train, rng, description):
        """What the scores start from: a constant, or a fitted estimator."""
        if self.init is None:
            return loss.initial_scores(train.y, train.weight, _n_classes(description))
        if isinstance(self.init, str):
            return 0.0
        init = seeded_clone(self.init, rng)
        y = self._decode(train.y, description)
        if train.weight is None:
            return init.fit(train.X, y)
        check_takes_weights(init, "init")
        return init.fit(train.X, y, sample_weight=train.weight)

    def _grow(
        self, model: AdditiveModel, rounds: Iterator[Round], held_out: HeldOut | None
    ) -> None:
        """Add rounds until there are enough, the risk stops improving, or a callback ends it."""
        n_more = self.n_estimators - len(model.members)
        context = self._init_callback_context(max_subtasks=n_more)
        context.call_on_fit_task_begin(estimator=self)
        progress = Progress(type(self).__name__, n_more, self.verbose, unit="rounds")
        # A context for each round costs more than a round of few rows.
        follows = bool(getattr(self, "_skl_callbacks", None))
        for record in islice(rounds, n_more):
            if follows:
                task = context.subcontext(task_name="round")
                task.call_on_fit_task_begin(estimator=self)
            members = [record.predictor] if model.n_scores == 1 else record.predictor
            model.members.append(members)
            model.steps.append(record.step)
            model.train_scores.append(record.risk)
            if held_out is not None:
                model.validation_scores.append(held_out.risk_after(members, record.step))
            if self.verbose:
                progress.advance(model.last_risks())
            del record  # its outputs are an array of n numbers
            if follows and task.call_on_fit_task_end(estimator=self):
                model.stop_reason = "callback"
                break
            if self._has_stopped_improving(model.validation_scores):
                model.stop_reason = "early stopping"
                break
        else:
            if len(model.members) < self.n_estimators:
                model.stop_reason = "weak learner"
        progress.finish(model.stop_reason)
        context.call_on_fit_task_end(estimator=self)

    def _has_stopped_improving(self, scores):
        """Whether the last rounds improved on the best before them by no more than tol."""
        patience = self.n_iter_no_change
        if patience is None or len(scores) <= patience:
            return False
        return min(scores[-patience:]) >= min(scores[:-patience]) - self.tol

    def _set_model(self, model: AdditiveModel, description: dict, followed: bool) -> None:
        """Set the fitted attributes."""
        vars(self).update(description)
        self.init_, self.loss_ = model.init, model.loss
        self.steps_ = np.array(model.steps)
        self.train_scores_ = np.array(model.train_scores)
        self.__dict__.pop("validation_scores_", None)
        if followed:
            self.validation_scores_ = np.array(model.validation_scores)
        self.n_estimators_ = len(model.members)
        self.stop_reason_ = model.stop_reason
        self.estimators_ = np.empty((len(model.members), model.n_scores), dtype=object)
        for row, members in zip(self.estimators_, model.members):
            row[:] = members
        self._packed = PackedCache()

    # --- after the fit ----------------------------------------------------------------------

    def _check_X(self, X):
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _raw(self, X):
        """The scores of each row."""
        X = self._check_X(X)
        return AdditiveModel.of(self).scores(X)

    def _staged_raw(self, X):
        """The scores after each round, in one array that changes."""
        X = self._check_X(X)
        return islice(AdditiveModel.of(self).staged_scores(X), 1, None)

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = self._base_learner()
        # The default is an exact tree for sparse X.
        tags.input_tags.sparse = self.estimator is None or _accepts_sparse(estimator)
        tags.input_tags.allow_nan = _input_tag(estimator, "allow_nan")
        return tags


def _accepts_sparse(estimator):
    # Trees do; before scikit-learn 1.7 their tags do not state it.
    return is_tree(estimator) or _input_tag(estimator, "sparse")


def _input_tag(estimator, name):
    """A tag of the estimator's input; False for an object without tags."""
    tagged = hasattr(estimator, "__sklearn_tags__")
    return tagged and bool(getattr(get_tags(estimator).input_tags, name))


def _n_classes(description):
    return len(description.get("classes_", ()))
