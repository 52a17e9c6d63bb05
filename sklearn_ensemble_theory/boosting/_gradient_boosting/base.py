"""The fit of gradient boosting: any loss, any regressor, any step rule."""

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._hot_loops.teams import ThreadTeam
from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import rows_of_positive_weight
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.boosting._gradient_boosting._chunks.chunked_boosting import (
    fit_in_chunks,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.drawn_scores import DrawnScores
from sklearn_ensemble_theory.boosting._gradient_boosting.ensemble import AdditiveModel, HeldOut
from sklearn_ensemble_theory.boosting._gradient_boosting.fitted import FittedRounds
from sklearn_ensemble_theory.boosting._gradient_boosting.observers import Observers
from sklearn_ensemble_theory.boosting._gradient_boosting.reading import Rows, n_classes_of
from sklearn_ensemble_theory.boosting._loop import BoostingRounds, boost, fitted_rows
from sklearn_ensemble_theory.boosting._risk import LEAST_CURVATURE, EmpiricalRisk, SecondOrderRisk
from sklearn_ensemble_theory.boosting._steps import STEP_RULES, Step
from sklearn_ensemble_theory.boosting._weak_learners import (
    seeded_clone,
    weak_learner,
)
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.trees._packed import PackedCache

# Fitted attributes that not every fit sets.
OPTIONAL = ("validation_scores_", "oob_improvement_", "oob_scores_", "oob_score_")


class BaseGradientBoosting(
    FittedRounds, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    _parameter_constraints: ClassVar[dict] = {
        **FittedRounds._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
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
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

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
        monitor: Callable[[int, Any, dict], Any] | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Boost the base learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Dask collection
            Training data; sparse where the base learner accepts it.
        y : array-like of shape (n_samples,), or Dask collection
            Targets.
        sample_weight : array-like of shape (n_samples,) or Dask collection, default=None
            Non-negative weights. Rows of weight 0 are left out.
        monitor : callable, default=None
            Called after each round as ``monitor(i, model, variables)``: the index of the round, a
            copy of the estimator as if the fit had ended with this round, and a dict with the
            training rows "X", "y" and "sample_weight" and their scores "raw_predictions". The fit
            ends where it returns True.
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
            loss or the base learner, the base learner does not support given weights, or
            parameters of the default trees are given together with `estimator`. With Dask
            collections also for parameters that need all rows in memory (see the notes above).
        """
        self._check_tree_parameters()
        if self.criterion != "deprecated":
            warn_user(
                "The parameter criterion has no effect, as in scikit-learn from 1.9 on, which "
                "deprecates it: the default trees minimise the squared error. Leave it out.",
                FutureWarning,
            )
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
        # A copy: a fit that fails must not have drawn from the earlier model's generator.
        rng = deepcopy(self._rng) if continued else check_random_state(self.random_state)
        split_seed = self._split_seed if continued else None
        train, held_out, part = rows, None, None
        if X_val is not None:
            held_out = self._read_validation(X_val, y_val, sample_weight_val, description)
            loss.check_target(held_out.y)
        elif self.n_iter_no_change is not None:
            split_seed = self._seed_of_split(rng) if split_seed is None else split_seed
            part, others = self._split(rows, split_seed)
            train, held_out = rows.take(part), rows.take(others)
        estimator = self._of_all_rows(estimator, len(train.y))

        n_threads = ThreadTeam.of(self.n_jobs).n_threads
        kind = SecondOrderRisk if self.second_order else EmpiricalRisk
        risk = kind(loss, train.y, train.weight, n_threads)
        risk.adapts = True
        step = self._make_step(risk, description)
        model = self._begin(loss, train, rng, description, continued)
        task = step.task(
            risk,
            n_scores=model.n_scores,
            random_state=rng,
            subsample=self.subsample,
            reoptimise_leaves=(
                self.reoptimize_leaves and step.reoptimizes_leaves and not self.second_order
            ),
            reweighted=self.second_order,
            min_weight_leaf=LEAST_CURVATURE if self.second_order else 0.0,
            n_threads=n_threads,
            shares_generator=self.estimator is None,
        )
        learner = weak_learner(estimator, train.X, train.weight, task, fit_params)
        step.prepare(learner)
        u = model.scores(train.X)
        rounds = boost(risk, learner, step, u, start=len(model.members))
        followed = None if held_out is None else HeldOut(model, *held_out)

        def attributes():
            return self._fitted_attributes(model, description, estimator, held_out is not None)

        def data():
            kept = rows_of_positive_weight(sample_weight, X)
            weight = {} if train.weight is None else {"sample_weight": train.weight}
            y = self._decode(train.y, description)
            return {"X": fitted_rows(X, kept, part), "y": y, "metadata": weight}

        observers = Observers(
            self,
            self.n_estimators - len(model.members),
            monitor,
            attributes=attributes,
            data=data,
            variables=lambda: (
                {**train._asdict(), "sample_weight": train.weight} | {"raw_predictions": u}
            ),
        )
        self._grow(model, rounds, followed, observers)

        # Everything has been fitted: from here on nothing fails.
        self._rng, self._split_seed = rng, split_seed
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        vars(self).update(attributes())
        return self

    def _fit_chunks(self, rows):
        """`fit` of rows in chunks."""
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        vars(self).update(fit_in_chunks(self, rows))

    def _routed(self, fit_params):
        raise_for_params(fit_params, self, "fit")
        if not routing_enabled():
            return {}
        return process_routing(self, "fit", **fit_params)["estimator"]["fit"]

    def _make_step(self, risk: EmpiricalRisk, description: dict) -> Step:
        step = STEP_RULES[self.step].of(self)
        step.check(risk, risk.loss.n_scores(n_classes_of(description)))
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
            n_scores = loss.n_scores(n_classes_of(description))
            return AdditiveModel(loss, init, n_scores, self._predict_init)
        model = AdditiveModel.to_continue(self)
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
            return loss.initial_scores(train.y, train.weight, n_classes_of(description))
        if isinstance(self.init, str):
            return self.init
        init = seeded_clone(self.init, rng)
        y = self._decode(train.y, description)
        if train.weight is None:
            return init.fit(train.X, y)
        if not has_fit_parameter(init, "sample_weight"):
            name = type(init).__name__
            raise ValueError(
                f"init={name}: The initial estimator {name} does not support sample weights."
            )
        return init.fit(train.X, y, sample_weight=train.weight)

    def _grow(
        self,
        model: AdditiveModel,
        rounds: BoostingRounds,
        held_out: HeldOut | None,
        observers: Observers,
    ) -> None:
        """Add rounds until there are enough, the risk stops improving, or an observer ends it."""
        risk: Any = rounds.risk
        drawn = None
        if self.subsample < 1:
            drawn = DrawnScores(risk, rounds.u, is_first=not model.members)
        n_more = self.n_estimators - len(model.members)
        for record in islice(rounds, n_more):
            observers.begin_round()
            members = [record.predictor] if model.n_scores == 1 else record.predictor
            model.members.append(members)
            model.steps.append(record.step)
            model.train_scores.append(record.risk)
            model.loss = risk.scored_loss
            if math.isnan(record.risk):
                raise ValueError(
                    "The predictions of the estimator are NaN for some training rows; X may have "
                    "missing values that it cannot use."
                )
            rows = None if drawn is None else getattr(rounds.learner, "rows", None)
            model.record_drawn(drawn, rows, record.risk)
            if held_out is not None:
                score = held_out.risk_after(members, record.step, model.loss)
                model.validation_scores.append(score)
            index = record.index
            del record  # its outputs are an array of n numbers
            reason = observers.round_ends(index, model.last_risks)
            if reason is None and self._has_stopped_improving(model):
                reason = "early stopping"
            if reason is not None:
                model.stop_reason = reason
                break
        else:
            if len(model.members) < self.n_estimators:
                model.stop_reason = "weak learner"
        observers.finish(model.stop_reason)

    def _has_stopped_improving(self, model: AdditiveModel) -> bool:
        """Whether the last validation risk is not below one of those before it by more than tol."""
        patience, scores = self.n_iter_no_change, model.validation_scores
        if patience is None or len(scores) <= patience:
            return False
        factor, first = model.loss._deviance_factor, -1 - int(patience)
        return factor * scores[-1] + self.tol >= factor * max(scores[first:-1])

    def _fitted_attributes(
        self, model: AdditiveModel, description: dict, estimator: Any, followed: bool
    ) -> dict[str, Any]:
        """The fitted attributes after the rounds so far."""
        factor = model.loss._deviance_factor
        estimators = np.empty((len(model.members), model.n_scores), dtype=object)
        for row, members in zip(estimators, model.members):
            row[:] = members
        found = {
            **description,
            "_start": model.init,
            "_packed": PackedCache(),
            "estimator_": estimator,
            "estimators_": estimators,
            "loss_": model.loss,
            "n_estimators_": len(model.members),
            "n_trees_per_iteration_": model.n_scores,
            "steps_": np.array(model.steps),
            "stop_reason_": model.stop_reason,
            "train_score_": factor * np.array(model.in_bag_scores),
            "train_scores_": np.array(model.train_scores),
        }
        if followed:
            found["validation_scores_"] = np.array(model.validation_scores)
        if model.has_oob_scores:
            found["oob_improvement_"] = factor * np.array(model.oob_improvements)
            found["oob_scores_"] = factor * np.array(model.oob_scores)
            found["oob_score_"] = float(found["oob_scores_"][-1])
        return found
