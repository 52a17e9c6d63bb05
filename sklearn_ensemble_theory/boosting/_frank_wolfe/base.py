"""Frank-Wolfe boosting: a smooth loss over a ball of the variation norm (000 section 10.3.6)."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.boosting._core.learners import check_takes_weights
from sklearn_ensemble_theory.boosting._frank_wolfe.solvers import AtomSolver, ColumnSolver
from sklearn_ensemble_theory.erm._relu.estimators import ReLUNetwork, ReLUUnitRegressor

REGRESSION_LOSSES = {"squared_error": losses.SquaredLoss, "huber": losses.HuberLoss}
CLASSIFICATION_LOSSES = {"log_loss": losses.LogisticLoss}
NOT_SMOOTH = (losses.AbsoluteLoss, losses.QuantileLoss, losses.HingeLoss)
# radius="cv" tries radii from an eighth to 64 times the norm of the best single atom.
RADII = np.geomspace(1 / 8, 64, 16)


class BaseFrankWolfe(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "radius": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "step": [StrOptions({"open_loop", "line_search", "short"})],
        "away_steps": ["boolean"],
        "pairwise": ["boolean"],
        "fully_corrective": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "radii": ["array-like", None],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_gap_")

    @abstractmethod
    def _encode(self, y):
        """Targets as the loss knows them, and the attributes that describe the classes."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Minimise the risk over the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse where `estimator` is None.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 are left out.
        **fit_params : dict
            Routed to the weak learners' `fit` where metadata routing is enabled.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the loss is not smooth, or two parameters exclude each other; the message names
            them.
        """
        raise_for_params(fit_params, self, "fit")
        routed = {}
        if routing_enabled() and self.estimator is not None:
            routed = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        variant = self._variant()
        X, y = self._validate(X, y, reset=True, y_numeric=not is_classifier(self))
        y, description = self._encode(y)
        loss = self._make_loss()
        loss.check_target(y)
        given = sample_weight is not None
        if given and self.estimator is not None:
            check_takes_weights(self.estimator, "estimator")
        kept, splits = rows_of_positive_weight(sample_weight, X), None
        if self.radius == "cv":
            splits = splits_of_rows(self.cv, X, y, kept.rows, is_classifier(self))
        X, y, weight = *kept.take(X, y), kept.weight
        rng = check_random_state(self.random_state)

        def solver(rows=slice(None)):
            common = (
                loss,
                X[rows],
                y[rows],
                weight[rows],
                self.fit_intercept,
                self.step,
                variant,
                self.n_estimators,
                self.tol,
            )
            if self.estimator is None:
                return ColumnSolver(*common)
            return AtomSolver(*common, self.estimator, weight[rows] if given else None, rng, routed)

        everything = solver()
        chosen = {"radius_": self.radius}
        if self.radius == "cv":
            chosen = self._choose_radius(everything, solver, loss, X, y, weight, splits)
        solution = everything.solve(chosen["radius_"])
        self._set(solution, everything, chosen, description, loss)
        return self

    def _variant(self):
        names = [n for n in ("away_steps", "pairwise", "fully_corrective") if getattr(self, n)]
        if len(names) > 1:
            raise ValueError(f"{names[0]} and {names[1]} exclude each other.")
        if not names:
            return "plain"
        if names[0] != "fully_corrective":
            if self.estimator is not None:
                raise ValueError(
                    f"{names[0]} needs the finite dictionary of estimator=None; use "
                    "fully_corrective=True with weak learners."
                )
            if self.step == "open_loop":
                raise ValueError(f"{names[0]} needs step='line_search' or step='short'.")
        return {"away_steps": "away", "pairwise": "pairwise"}.get(names[0], "corrective")

    def _make_loss(self):
        known = CLASSIFICATION_LOSSES if is_classifier(self) else REGRESSION_LOSSES
        loss = known[self.loss]() if isinstance(self.loss, str) else losses.as_loss(self.loss)
        if isinstance(loss, (*NOT_SMOOTH, losses.MultinomialLoss)):
            what = "has several scores" if loss.smoothness < np.inf else "is not smooth"
            raise ValueError(f"loss: {type(loss).__name__} {what}; Frank-Wolfe needs a smooth one.")
        if self.step == "short" and not np.isfinite(loss.smoothness):
            raise ValueError(
                f"step='short' needs a loss with a finite smoothness constant; "
                f"{type(loss).__name__} has none. Use step='line_search'."
            )
        return loss

    def _validate(self, X, *y, reset, **options):
        options["accept_sparse"] = ["csc", "csr"] if self.estimator is None else False
        return validate_data(self, X, *y, dtype=np.float64, order="C", reset=reset, **options)

    def _choose_radius(self, everything, solver, loss, X, y, weight, splits):
        """The radius with the least held-out risk; each fold goes from small to large."""
        radii = self.radii
        radii = everything.first_step() * RADII if radii is None else np.sort(np.ravel(radii))
        if not (len(radii) and np.isfinite(radii).all() and radii[0] > 0):
            raise ValueError("radii must hold positive numbers.")
        risks = np.empty((len(radii), len(splits)))
        for fold, (train, held) in enumerate(splits):
            on_fold, start = solver(train), None
            for k, radius in enumerate(radii):
                solution = on_fold.solve(float(radius), start)
                start = solution.state
                scores = solution.scores(X[held])
                risks[k, fold] = loss.risk(y[held], scores, weight[held])
        best = int(risks.mean(axis=1).argmin())
        return {"radius_": float(radii[best]), "cv_radii_": radii, "cv_risks_": risks}

    def _set(self, solution, solver, chosen, description, loss):
        for name in ("cv_radii_", "cv_risks_", "coef_", "estimators_", "estimator_weights_"):
            self.__dict__.pop(name, None)
        if self.estimator is None:
            self.coef_ = solution.coef
        else:
            self.estimators_ = list(solution.members)
            self.estimator_weights_ = solution.member_weights
        vars(self).update(description, **chosen)
        self.intercept_ = float(solution.intercept)
        self.loss_ = loss
        self.dual_gaps_, self.train_scores_ = solution.gaps, solution.risks
        self.n_iter_ = max(len(solution.gaps) - 1, 0)
        self.stop_reason_ = solution.stop_reason
        self.variation_norm_ = solution.variation_norm
        self.is_exact_ = self.estimator is None or solver.exact
        self.dual_gap_ = float(solution.gaps[-1])

    def _scores(self, X):
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if self.estimator is None:
            return np.asarray(X @ self.coef_) + self.intercept_
        u = np.full(X.shape[0], self.intercept_)
        for member, weight in zip(self.estimators_, self.estimator_weights_):
            u += weight * np.asarray(member.predict(X), dtype=float).reshape(len(u))
        return u

    def to_network(self):
        """The scores as a `ReLUNetwork`, where the weak learners are rectified linear units."""
        check_is_fitted(self)
        if not isinstance(self.estimator, ReLUUnitRegressor):
            raise AttributeError("to_network: the estimator is no ReLUUnitRegressor.")
        if not self.estimators_:
            empty = np.zeros((0, self.n_features_in_))
            return ReLUNetwork(empty, np.zeros(0), np.zeros(0), self.intercept_)
        return ReLUNetwork.of_units(self.estimators_, self.estimator_weights_, self.intercept_)

    def get_metadata_routing(self):
        """Metadata asked for by this estimator and by its weak learner."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.estimator is None:
            return router
        return router.add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None
        return tags
