"""Gradient boosting and forward stagewise modelling: any loss, any regressor, any step rule."""

from abc import ABCMeta, abstractmethod
from collections import deque
from itertools import islice
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    is_classifier,
)
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
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._trees import is_tree, single_precision
from sklearn_ensemble_theory._weak_learners import LeastSquaresTask
from sklearn_ensemble_theory._weights import positive_rows
from sklearn_ensemble_theory.boosting._core.learners import (
    CloneOptions,
    check_takes_weights,
    seeded_clone,
    weak_learner,
)
from sklearn_ensemble_theory.boosting._core.loop import boost
from sklearn_ensemble_theory.boosting._core.risk import EmpiricalRisk
from sklearn_ensemble_theory.boosting._core.steps import STEP_RULES
from sklearn_ensemble_theory.boosting.losses.registry import make_loss


class _Rows(NamedTuple):
    """Rows with their targets as the loss knows them."""

    X: object
    y: np.ndarray
    weight: object  # as the user gave it, or None


class BaseGradientBoosting(
    CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "step": [StrOptions(set(STEP_RULES))],
        "init": [HasMethods(["fit", "predict"]), StrOptions({"zero"}), None],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    @abstractmethod
    def _encode(self, y):
        """Targets as the loss knows them, and the attributes that describe the classes."""

    @abstractmethod
    def _encode_known(self, y, description):
        """The same for further targets, which must fit the description."""

    @abstractmethod
    def _decode(self, y, description):
        """The user's targets from those that the loss knows."""

    # --- fit --------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        **fit_params,
    ):
        """Boost the base learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse where the base learner takes it.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.
        X_val, y_val : array-like of shape (n_val, n_features) and (n_val,), default=None
            Rows to follow the risk on, in `validation_scores_`, and to stop by where
            `n_iter_no_change` is given; then no fraction of X is held out.
        sample_weight_val : array-like of shape (n_val,), default=None
        **fit_params : dict
            Routed to the base learners' `fit` where metadata routing is enabled.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the targets are outside the loss's domain, the step rule does not serve the loss, or
            the base learner does not take weights that are given; the message names the part.
        """
        raise_for_params(fit_params, self, "fit")
        routed = {}
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)["estimator"]["fit"]
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val must be given together.")
        estimator = DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator
        if is_classifier(estimator):
            name = type(estimator).__name__
            raise ValueError(f"estimator: gradients are fitted by regressors, {name} classifies.")
        continued = self.warm_start and self.__sklearn_is_fitted__()
        X, y = self._validate(X, y, reset=not continued, y_numeric=not is_classifier(self))
        y, description = self._encode(y)
        if continued and not self._same_description(description):
            raise ValueError("warm_start: y has other classes than in the fit that is continued.")
        loss = make_loss(self.loss, _n_classes(description))
        if sample_weight is not None:
            check_takes_weights(estimator, "estimator")
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            rows = positive_rows(sample_weight)
            if not isinstance(rows, slice):
                X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
        loss.check_target(y)
        rng = self._rng if continued else check_random_state(self.random_state)
        split_seed = self._split_seed if continued else rng.randint(np.iinfo(np.int32).max)
        train, held_out = _Rows(X, y, sample_weight), None
        if self.n_iter_no_change is not None and X_val is None:
            train, held_out = self._split(train, split_seed)
        if X_val is not None:
            held_out = self._validation_rows(X_val, y_val, sample_weight_val, description)
            loss.check_target(held_out.y)

        risk = EmpiricalRisk(loss, train.y, train.weight)
        step = STEP_RULES[self.step](self.learning_rate)
        step.check(risk)
        if continued:
            state = _State.of(self)
        else:
            state = _State(
                loss,
                self._start(loss, train, rng, description),
                loss.n_scores(_n_classes(description)),
            )
        if continued and self.n_estimators < len(state.members):
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(state.members)} rounds "
                "that warm_start continues."
            )
        u = self._scores(state, train.X)
        options = CloneOptions(
            random_state=rng,
            fit_params=routed,
            subsample=self.subsample,
            n_scores=state.n_scores,
            risk=risk,
            reoptimise_leaves=self.step != "smooth",
        )
        learner = weak_learner(estimator, train.X, train.weight, LeastSquaresTask(), options)
        self._grow(state, boost(risk, learner, step, u, start=len(state.members)), held_out, risk)

        # Everything has been fitted: from here on nothing fails.
        for name, value in description.items():
            setattr(self, name, value)
        self._rng = rng
        self._split_seed = split_seed
        self.estimator_, self.init_, self.loss_ = estimator, state.init, loss
        self.steps_ = np.array(state.steps)
        self.train_scores_ = np.array(state.train_scores)
        self.__dict__.pop("validation_scores_", None)
        if held_out is not None:
            self.validation_scores_ = np.array(state.validation_scores)
        self.n_estimators_ = len(state.members)
        self.stop_reason_ = state.ended
        self.estimators_ = np.empty((len(state.members), len(state.members[0])), dtype=object)
        self.estimators_[:] = state.members
        return self

    def _validate(self, X, *y, **options):
        """X, and y where it is given, validated; in single precision where trees will hold it."""
        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        sparse = _takes_sparse(estimator)
        options["accept_sparse"] = ["csr", "csc"] if sparse else False
        found = validate_data(self, X, *y, dtype=[np.float64, np.float32], **options)
        X, *y = found if y else (found,)
        if is_tree(estimator):
            X = single_precision(X)
        return (X, *y) if y else X

    def _same_description(self, description):
        return all(
            np.array_equal(getattr(self, name), value) for name, value in description.items()
        )

    def _split(self, rows, seed):
        """The rows to fit and the rows to judge by."""
        parts = train_test_split(
            np.arange(len(rows.y)),
            test_size=self.validation_fraction,
            random_state=seed,
            stratify=rows.y if is_classifier(self) else None,
        )
        weight = rows.weight
        return tuple(
            _Rows(rows.X[part], rows.y[part], None if weight is None else weight[part])
            for part in map(np.sort, parts)
        )

    def _validation_rows(self, X, y, weight, description):
        X = self._validate(X, reset=False)
        check_consistent_length(X, y)
        y = self._encode_known(np.asarray(y), description)
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise ValueError("y_val must hold finite numbers.")
        if weight is not None:
            weight = check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
        return _Rows(X, y, weight)

    def _start(self, loss, train, rng, description):
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

    def _grow(self, state, rounds, held_out, risk):
        """Take rounds until there are enough, the validation risk rests, or a callback ends it."""
        n_more = self.n_estimators - len(state.members)
        context = self._init_callback_context(max_subtasks=n_more)
        context.call_on_fit_task_begin(estimator=self)
        progress = Progress(type(self).__name__, n_more, self.verbose, unit="rounds")
        judge = None
        if held_out is not None:
            judge = EmpiricalRisk(risk.loss, held_out.y, held_out.weight)
            scores = self._scores(state, held_out.X)
        state.ended = "n_estimators"
        for record in islice(rounds, n_more):
            task = context.subcontext(task_name="round")
            task.call_on_fit_task_begin(estimator=self)
            members = [record.predictor] if state.n_scores == 1 else record.predictor
            state.members.append(members)
            state.steps.append(record.step)
            state.train_scores.append(record.risk)
            note = f"risk {record.risk:.4g}"
            if judge is not None:
                scores += record.step * self._outputs(members, held_out.X)
                state.validation_scores.append(judge.value(scores))
                note += f", validation {state.validation_scores[-1]:.4g}"
            progress.advance(note)
            if task.call_on_fit_task_end(estimator=self):
                state.ended = "callback"
            elif self._rests(state.validation_scores):
                state.ended = "early stopping"
            if state.ended != "n_estimators":
                break
        context.call_on_fit_task_end(estimator=self)

    def _rests(self, scores):
        """Whether the last rounds improved on the best before them by no more than tol."""
        patience = self.n_iter_no_change
        if patience is None or len(scores) <= patience:
            return False
        return min(scores[-patience:]) >= min(scores[:-patience]) - self.tol

    # --- scores -----------------------------------------------------------------------------

    def _outputs(self, members, X):
        """psi of one round: (n,), or (n, K) for several scores."""
        options = {}
        if is_tree(members[0]) and isinstance(X, np.ndarray):
            options["check_input"] = False  # X is what a tree holds already
        columns = [np.asarray(m.predict(X, **options), dtype=float).ravel() for m in members]
        return columns[0] if len(members) == 1 else np.column_stack(columns)

    def _initial_scores(self, state, X):
        if hasattr(state.init, "predict"):
            return state.loss.scores_from(self._init_predictions(state.init, state.loss, X))
        shape = (X.shape[0],) if state.n_scores == 1 else (X.shape[0], state.n_scores)
        return np.broadcast_to(state.init, shape).copy()

    @abstractmethod
    def _init_predictions(self, init, loss, X):
        """What a fitted `init` predicts, as the loss's link takes it."""

    def _scores(self, state, X):
        """u after all rounds so far."""
        (u,) = deque(self._staged_scores(state, X), maxlen=1)
        return u

    def _staged_scores(self, state, X):
        """The scores before the first round and after each, in one array."""
        u = self._initial_scores(state, X)
        yield u
        for members, b in zip(state.members, state.steps):
            u += b * self._outputs(members, X)
            yield u

    def _check_X(self, X):
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _raw(self, X):
        X = self._check_X(X)
        return self._scores(_State.of(self), X)

    def _staged_raw(self, X):
        X = self._check_X(X)
        return islice(self._staged_scores(_State.of(self), X), 1, None)

    @property
    def feature_importances_(self):
        """Mean importance of each feature over the members, of sum 1.

        Trees count by how much their splits reduce the squared error, as in scikit-learn; other
        members that have importances count alike.
        """
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        try:
            for member in self.estimators_.ravel():
                if is_tree(member):
                    total += member.tree_.compute_feature_importances(normalize=False)
                else:
                    total += member.feature_importances_
        except AttributeError as error:
            raise AttributeError(
                f"feature_importances_: {type(self.estimator_).__name__} has none."
            ) from error
        return total / total.sum() if total.any() else total

    def get_metadata_routing(self):
        """Metadata asked for by this estimator and by its base learner."""
        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        tags.input_tags.sparse = _takes_sparse(estimator)
        return tags


def _takes_sparse(estimator):
    # Trees do; before scikit-learn 1.7 their tags do not say so.
    known = hasattr(estimator, "__sklearn_tags__")
    return is_tree(estimator) or (known and get_tags(estimator).input_tags.sparse)


def _n_classes(description):
    return len(description.get("classes_", ()))


class _State:
    """What has been boosted so far."""

    def __init__(self, loss, init, n_scores):
        self.loss, self.init, self.n_scores = loss, init, n_scores
        self.members, self.steps = [], []
        self.train_scores, self.validation_scores = [], []
        self.ended = None

    @classmethod
    def of(cls, model):
        """The state of a fitted model, to predict from or to continue."""
        state = cls(model.loss_, model.init_, model.estimators_.shape[1])
        state.members = [list(row) for row in model.estimators_]
        state.steps = list(model.steps_)
        state.train_scores = list(model.train_scores_)
        state.validation_scores = list(getattr(model, "validation_scores_", []))
        return state
