"""The fit of Frank-Wolfe boosting: what its parameters mean, the radius, and what is kept."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import LeastSquaresTask, SignTask
from sklearn_ensemble_theory._rows import rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._scaling import (
    TargetScale,
    largest_entry,
    power_of_two,
    within_range,
)
from sklearn_ensemble_theory._typing import available_if
from sklearn_ensemble_theory.boosting._frank_wolfe.l1_ball import SolverOptions
from sklearn_ensemble_theory.boosting._frank_wolfe.solvers import (
    AtomSolver,
    ColumnSolver,
    Problem,
    sum_of_members,
)
from sklearn_ensemble_theory.boosting._frank_wolfe.step_sizes import STEP_SIZES
from sklearn_ensemble_theory.boosting._loop import RoundReports, rows_for_callbacks
from sklearn_ensemble_theory.boosting._weak_learners import check_takes_weights, weak_learner
from sklearn_ensemble_theory.boosting.losses._registry import make_loss
from sklearn_ensemble_theory.erm._relu import ReLUNetwork

# radius="cv" tries radii from an eighth to 64 times the norm of the best single atom.
RADII = np.geomspace(1 / 8, 64, 16)
# The parameters that choose a variant, and the variant's name.
VARIANTS = {"away_steps": "away", "pairwise": "pairwise", "fully_corrective": "corrective"}


def _has_network_units(model):
    """For `available_if`: whether the weak learner is a network unit."""
    return hasattr(model.estimator, "to_network")


class BaseFrankWolfe(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """`fit` of :class:`FrankWolfeRegressor` and :class:`FrankWolfeClassifier`."""

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "radius": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "step": [StrOptions(set(STEP_SIZES))],
        "away_steps": ["boolean"],
        "pairwise": ["boolean"],
        "fully_corrective": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "radii": ["array-like", None],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_gap_")

    @abstractmethod
    def _encode(self, y):
        """Targets as the loss needs them, and the attributes that describe the classes."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Minimise the risk over the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse matrices are accepted if `estimator` is None.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out: the splits of `cv` refer to all
            rows, while an integer `cv` splits the rows of positive weight.
        **fit_params : dict
            Passed to the `fit` of the weak learners if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the loss is not differentiable, or if two parameters cannot be combined.
        """
        raise_for_params(fit_params, self, "fit")
        routed = {}
        if routing_enabled() and self.estimator is not None:
            routed = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        self._checked_radii()
        options = SolverOptions(self.step, self._variant(), self.n_estimators, self.tol)
        all_X = X
        X, all_y = self._validate(X, y, reset=True, y_numeric=not is_classifier(self))
        y, description = self._encode(all_y)
        loss = self._make_loss()
        loss.check_target(y)
        given = sample_weight is not None
        if given and self.estimator is not None:
            check_takes_weights(self.estimator, "estimator")
        kept = rows_of_positive_weight(sample_weight, X)
        splits = None
        if self.radius == "cv":
            splits = splits_of_rows(self.cv, X, y, kept.rows, is_classifier(self))
        X, y = kept.take(X, y)
        everything = Problem(loss, X, y, kept.weight, self.fit_intercept)
        rng = check_random_state(self.random_state)

        def solver(problem):
            if self.estimator is None:
                return ColumnSolver(problem, options)
            weight = problem.weight if given else None
            kind = SignTask if is_classifier(self.estimator) else LeastSquaresTask
            task = kind(random_state=rng)
            learner = weak_learner(self.estimator, problem.X, weight, task, routed)
            return AtomSolver(problem, options, learner)

        full, chosen = solver(everything), {"radius_": self.radius}
        if splits is not None:
            chosen = self._choose_radius(full, solver, everything, splits)

        def attributes(solution):
            return (
                self._attributes_of(solution, full.is_exact)
                | description
                | chosen
                | {"loss_": loss}
            )

        reports = RoundReports(
            self,
            self.n_estimators,
            data=lambda: rows_for_callbacks(all_X, all_y, kept, given),
            attributes=attributes,
        )
        solution = full.solve(chosen["radius_"], reports=None if reports.is_silent else reports)
        reports.finish(solution.stop_reason, lambda: solution)
        for name in ("cv_radii_", "cv_risks_", "coef_", "estimators_", "estimator_weights_"):
            self.__dict__.pop(name, None)
        vars(self).update(attributes(solution))
        self._n_rows, self._n_effective = len(y), 1 / float(np.sum(kept.normalised**2))
        self._largest_value = largest_entry(X)
        return self

    def _variant(self):
        names = [name for name in VARIANTS if getattr(self, name)]
        if len(names) > 1:
            raise ValueError(f"{names[0]} and {names[1]} cannot be combined.")
        if not names:
            return "plain"
        if names[0] != "fully_corrective":
            if self.estimator is not None:
                raise ValueError(
                    f"{names[0]}=True requires estimator=None, the columns of X; use "
                    "fully_corrective=True with weak learners."
                )
            if self.step == "open_loop":
                raise ValueError(f"{names[0]}=True requires step='line_search' or step='short'.")
        return VARIANTS[names[0]]

    def _make_loss(self):
        loss = make_loss(self.loss, n_classes=2 if is_classifier(self) else 0)
        if not loss.differentiable:
            raise ValueError(
                f"loss: {type(loss).__name__} is not differentiable; Frank-Wolfe requires a "
                "differentiable loss."
            )
        if self.step == "short" and not np.isfinite(loss.smoothness):
            raise ValueError(
                f"step='short' requires a loss with a finite smoothness constant; "
                f"{type(loss).__name__} has none. Use step='line_search'."
            )
        return loss

    def _validate(self, X, *y, reset, **options):
        options["accept_sparse"] = ["csc", "csr"] if self.estimator is None else False
        return validate_data(self, X, *y, dtype=np.float64, order="C", reset=reset, **options)

    def _choose_radius(self, full, solver, problem, splits):
        """The radius with the least held-out risk; each fold goes from small to large."""
        radii = self._checked_radii()
        if radii is None:
            with np.errstate(over="ignore"):
                radii = within_range(full.norm_of_one_atom() * RADII)
        # Squares of the targets themselves might overflow or vanish; powers of two are exact.
        unit = power_of_two(full.target.scale)
        risks = np.empty((len(radii), len(splits)))
        for fold, (train, held) in enumerate(splits):
            on_fold, start, held_out = solver(problem.rows(train)), None, problem.rows(held)
            y = held_out.y / unit
            for k, radius in enumerate(radii):
                solution = on_fold.solve(float(radius), start)
                start = solution.start
                scores = solution.scores(held_out.X) / unit
                risks[k, fold] = problem.loss.risk(y, scores, held_out.weight)
        best = int(risks.mean(axis=1).argmin())
        risks = TargetScale(0.0, unit).squares_in_units(risks)
        return {"radius_": float(radii[best]), "cv_radii_": radii, "cv_risks_": risks}

    def _checked_radii(self):
        """The radii to try, in increasing order; None if they are not given."""
        if self.radii is None:
            return None
        try:
            radii = np.sort(np.ravel(np.asarray(self.radii, dtype=np.float64)))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"radii must contain positive numbers only: {error}.") from None
        if not (len(radii) and np.isfinite(radii).all() and radii[0] > 0):
            raise ValueError("radii must contain positive numbers only.")
        return radii

    def _attributes_of(self, solution, is_exact):
        """The fitted attributes of a solution."""
        return {
            **solution.attributes(),
            "intercept_": float(solution.intercept),
            "dual_gaps_": solution.gaps,
            "train_scores_": solution.risks,
            "n_iter_": max(len(solution.gaps) - 1, 0),
            "stop_reason_": solution.stop_reason,
            "variation_norm_": solution.variation_norm,
            "is_exact_": is_exact,
            "dual_gap_": float(solution.gaps[-1]),
        }

    def _scores(self, X):
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if self.estimator is None:
            return np.asarray(X @ self.coef_) + self.intercept_
        return sum_of_members(X, self.estimators_, self.estimator_weights_, self.intercept_)

    @available_if(_has_network_units)
    def to_network(self) -> ReLUNetwork:
        """The scores as a network with one hidden layer of rectified linear units.

        Available if the weak learner has the method `to_network`, as
        :class:`~sklearn_ensemble_theory.ReLUUnitRegressor` has.

        Returns
        -------
        network : ReLUNetwork
            The network.
        """
        check_is_fitted(self)
        networks: list[Any] = [member.to_network() for member in self.estimators_]
        empty = ReLUNetwork(np.zeros((0, self.n_features_in_)), np.zeros(0), np.zeros(0), 0.0)
        weights = self.estimator_weights_
        return ReLUNetwork(
            np.concatenate([empty.hidden_weights, *(n.hidden_weights for n in networks)]),
            np.concatenate([empty.hidden_biases, *(n.hidden_biases for n in networks)]),
            np.concatenate(
                [empty.output_weights, *(b * n.output_weights for b, n in zip(weights, networks))]
            ),
            self.intercept_ + float(sum(b * n.output_bias for b, n in zip(weights, networks))),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing of this estimator and of its weak learner.

        Returns
        -------
        routing : MetadataRouter
            Routing information.
        """
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
