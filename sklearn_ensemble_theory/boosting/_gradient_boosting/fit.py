"""The fit that the doors of gradient boosting share: from parameters and rows to attributes.

`BaseGradientBoosting` reads the rows, holds some out for early stopping, and has the rounds made by
`memory.py`; the lists of the `AdditiveModel` become the fitted attributes. Rows of a Dask
collection are boosted in `blocks.py`. Callbacks, monitors and scorers look at the rounds through a
`Watch`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from ..._batches import FitsBatches
from ..._blocks import checked_offset
from ..._categories import (
    MOST_DENSE_VALUES,
    check_same_columns,
    continued_encoder,
    fitted_encoder,
    give_encoder,
    numbered_learner,
)
from ..._compat import CallbackSupportMixin, parameter_names
from ..._copies import warn_of_copies
from ..._features import Features
from ..._folds import Draw, drawn_splits, folds_of_splits, split_off
from ..._learners import (
    BinnedTree,
    has_input_tag,
    is_tree,
    reads_numbers,
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
    within_single_precision,
)
from ..._running import Progress
from ...trees._binned_tree import BinnedTreeRegressor, told_apart
from ...trees._columns import MISSING
from ...trees._options import MOST_LEAVES, MOST_LEVELS, check_no_constraint
from ...trees._sklearn_trees import single_precision
from ...trees._sparse_columns import grows_on_stored
from ...trees._weak_learners import category_flags
from .._base_learners import check_takes_weights
from .._loop import BoostingRounds, RoundReports
from .._risk import SecondOrderRisk
from ..losses import Loss
from ..losses._separable import SeparableLoss
from ..steps import name_of
from .blocks import EarlierRounds, boost_blocks, check_learner, needs_rows, read_blocks
from .choosing_rounds import boost_folds, folds_of, mean_model, results_of
from .fitted import FittedBoosting, check_one_score
from .memory import (
    SEEDS,
    DrawnScores,
    HeldOut,
    Metric,
    Watch,
    add_rounds,
    begin,
    deviance_of_constant,
    risks_of_rounds,
)
from .model import AdditiveModel
from .plan import Plan, Problem, check_part, classes_of, decoded, encoded
from .resampling import Resampling, drawn_folds, fold_of_rows

# A sparse X of this share of stored values is grown on these, where trees can be.
THIN = 0.1
# Fitted attributes that not every fit sets.
OPTIONAL = (
    "validation_scores_",
    "oob_improvement_",
    "oob_scores_",
    "oob_score_",
    "cv_results_",
    "_resampling",
    "_has_offset",
    "_last_round",
)


def is_small(X: Any) -> bool:
    """Whether the values of X, zeros included, are few enough for codes of all of them."""
    return math.prod(X.shape) <= MOST_DENSE_VALUES


def in_thin_columns(X: Any, tree: Any) -> bool:
    """Whether trees in bins are grown on the stored values of a sparse X: few, or not small."""
    is_thin = X.nnz <= THIN * math.prod(X.shape) or not is_small(X)
    return is_thin and grows_on_stored(tree, X)


def accepts_sparse(learner: Any) -> bool:
    # Trees do; before scikit-learn 1.7 their tags do not state it.
    return is_tree(learner) or has_input_tag(learner, "sparse")


FOR_LARGE_SPARSE = (
    f"of a sparse X of more than {MOST_DENSE_VALUES:,} values, zeros included, trees of at most "
    f"{MOST_LEAVES} leaves or {MOST_LEVELS} levels, in at most {MISSING} bins and with all features"
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


class BaseGradientBoosting(FitsBatches, CallbackSupportMixin, FittedBoosting):
    """The fit of all classes of gradient boosting."""

    _get_param_names = parameter_names
    loss: Any
    warm_start: bool
    random_state: Any
    scoring: Any
    validation_fraction: float | None
    tol: float
    verbose: bool | int
    # The generator after the last fit, and the seed of its validation split: for a warm start.
    _rng: np.random.RandomState
    _split_seed: int | None
    _tests_each_row = True  # whether the splits have to; during `__held_out_predictions__`
    _takes_validation_chunks = True
    # Whether y may have several columns.
    _takes_targets = False

    # --- what each class says of itself -----------------------------------------------------------

    @abstractmethod
    def _plan(self, X: Any = None) -> Plan:
        """What the parameters say of a fit to X."""

    @abstractmethod
    def _make_loss(self, n_classes: int) -> Loss:
        """The loss for a target of so many classes; 0 for a real target."""

    @abstractmethod
    def _is_no_better(self, model: AdditiveModel, unit: float) -> bool:
        """Whether early stopping ends the rounds; `unit` is that of `tol`."""

    def _learner_for(self, learner: Any, n_features: int) -> Any:
        """The base learner for so many features."""
        return learner

    def _plan_for(self, plan: Plan, problem: Problem) -> Plan:
        """The plan once the rows are known."""
        return plan

    def _patience(self, plan: Plan, n_rows: int) -> int | None:
        """That of the plan once the number of rows is known."""
        return plan.patience

    @property
    @abstractmethod
    def _may_stop(self) -> bool:
        """Whether early stopping may end the rounds."""

    def _seed_of_split(self, rng: np.random.RandomState) -> int:
        """A number as `random_state` is the seed itself, as in scikit-learn."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(rng.randint(SEEDS))

    def _followed_training(
        self,
        model: AdditiveModel,
        rounds: BoostingRounds,
        train: Rows,
        held_out: HeldOut | None,
        metric_of: Callable[[Rows], Metric | None],
        seed: int | None,
    ) -> Callable[[np.ndarray], float] | None:
        """The metric of the training rows at their scores, where it is followed."""
        return None

    def _fitted_attributes(
        self, model: AdditiveModel, plan: Plan, classes: np.ndarray | None, followed: bool
    ) -> dict:
        """The fitted attributes after the rounds so far."""
        return model.attributes(plan.learner, classes, followed)

    # --- the fit ----------------------------------------------------------------------------------

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
        held_out_folds: Any = None,
    ) -> Self:
        """`fit` of all classes; `given` decide when to stop, where the user has any."""
        given.check(offset)
        plan = self._plan(X)
        self._check_plan(plan, given, offset, monitor)
        continued = self.warm_start and self.__sklearn_is_fitted__()
        problem = self._read(X, y, sample_weight, plan, continued)
        train, classes, loss = problem.rows, problem.classes, problem.loss
        learner = told_apart(plan.learner, train.X, train.y)
        plan = replace(plan, learner=numbered_learner(learner, fitted_encoder(self)))
        plan = self._plan_for(plan, problem)
        self._check_constraints(plan, self.n_features_in_, problem.n_scores, problem.n_classes)
        given_y, checked_X = np.asarray(y), train.X
        if groups is not None:
            groups = checked_groups(groups, X)
            train = replace(train, groups=train.of(groups))
        if offset is not None:
            offset = checked_offset(offset, X)
            check_one_score(problem.n_scores)
            train = replace(train, offset=train.of(offset))

        # The rows that decide when to stop: given ones, or a share of X, which stays the same when
        # a fit is continued. The generator is a copy: a fit that fails must not have drawn from
        # the earlier model's.
        rng = deepcopy(self._rng) if continued else check_random_state(plan.random_state)
        split_seed = self._split_seed if continued else None
        validation = None
        if given.X is not None:
            validation = self._read_validation(given, problem, plan.learner)
        elif plan.patience is not None and self.validation_fraction is not None:
            if split_seed is None:
                split_seed = self._seed_of_split(rng)
            train, validation = self._split(train, split_seed, loss, classes)
        problem = replace(problem, rows=train, fit_params=train.params_of(X, fit_params))

        # Callbacks, monitors and scorers may look at the model after each round.
        def attributes(model: AdditiveModel) -> dict:
            found = self._fitted_attributes(model, plan, classes, validation is not None)
            return found | {"_has_offset": offset is not None}

        scoring = self.scoring if plan.choice is None else plan.choice.scoring
        scorer = None if scoring == "loss" else check_scoring(self, scoring)

        def metric_of(rows: Rows, known: Any = X) -> Metric | None:
            if scorer is None:
                return None
            # As the user gave them; of an array that the checks have left as it was no second copy.
            y, own = decoded(rows.y, classes), rows.X if known is checked_X else rows.of(known)
            weights = {} if rows.weight is None else {"sample_weight": rows.weight}
            return ScoredModel(scorer, self, attributes, own, y, weights)

        of_callbacks: dict[str, Any] = {}

        def data() -> dict:
            weight = {} if train.weight is None else {"sample_weight": train.weight}
            of_callbacks["_rows_of_callbacks"] = train.of(X), train.offset
            y = decoded(train.y, classes)
            return {"X": of_callbacks["_rows_of_callbacks"][0], "y": y, "metadata": weight}

        def monitored(index: int, model: AdditiveModel, u: np.ndarray) -> bool:
            assert monitor is not None
            so_far = copy(self)
            so_far.__dict__.update(attributes(model))
            seen = {"X": train.X, "y": train.y, "sample_weight": train.weight}
            return bool(monitor(index, so_far, {**seen, "raw_predictions": u}))

        reports_of = partial(
            RoundReports, self, data=data, attributes=lambda model: attributes(model) | of_callbacks
        )
        found: dict[str, Any] = {}
        folds, splits = None, []
        # Folds are drawn in the order of y: of the first of several targets.
        by = given_y if given_y.ndim == 1 else given_y[:, 0]
        drawn_by = X, by, train.numbers, classes is not None, groups
        if plan.choice is not None:
            splits = drawn_splits(plan.choice.cv, *drawn_by, parameter="n_estimators__cv")
        fold = None
        if isinstance(held_out_folds, Integral):
            if not 2 <= int(held_out_folds) <= len(train):
                raise ValueError(
                    f"held_out={held_out_folds} must be a number of folds from 2 to {len(train)}, "
                    "the number of rows that are fitted."
                )
            fold = drawn_folds(int(held_out_folds), problem)
        elif isinstance(held_out_folds, str):
            fold = fold_of_rows(splits, len(train), self._tests_each_row)
        elif held_out_folds is not None:
            own = drawn_splits(held_out_folds, *drawn_by, parameter="held_out")
            fold = folds_of_splits(own, len(train), "held_out", each_row=True).astype(np.intp)
        if plan.choice is not None:
            # The folds leave the generator of the final fit as it is.
            folds = folds_of(plan, problem, splits, deepcopy(rng), metric_of)
            progress = Progress(plan.name, plan.n_rounds, plan.verbose, unit="rounds of all folds")
            n_rounds, path = boost_folds(folds, plan.choice, progress)
            plan = replace(plan, n_rounds=n_rounds)
            found["cv_results_"] = results_of(path, folds.shares)
        if folds is not None and plan.choice is not None and plan.choice.prediction == "mean":
            reports = reports_of(0)
            model = mean_model(folds.models(plan.n_rounds))
            for each in risks_of_rounds(model, train):
                model.add_risks(each)
            reports.finish("the models of the folds are averaged", lambda: model)
            found["n_estimators_"] = plan.n_rounds
        else:
            earlier = None
            if continued:
                earlier = self._to_continue(plan, loss, problem.n_scores)
            model, rounds = begin(plan, problem, rng, plan.n_threads, earlier)
            held_out = None
            if validation is not None:
                metric = metric_of(validation, X if given.X is None else given.X)
                held_out = HeldOut(model, validation, metric)
            judge = self._followed_training(model, rounds, train, held_out, metric_of, split_seed)
            drawn = None
            if plan.subsample < 1:
                risk: Any = rounds.risk
                drawn = DrawnScores(risk, rounds.u, is_first=not model.members)
            n_more, unit = plan.n_rounds - len(model.members), 1.0  # a metric has units of its own
            if plan.patience is not None and scorer is None:
                judged = (train, rounds.risk) if held_out is None else (validation, held_out.risk)
                unit = deviance_of_constant(problem, *judged)
            watch = Watch(
                reports_of(n_more),
                held_out,
                judge,
                plan.patience,
                partial(self._is_no_better, unit=unit),
                None if monitor is None else monitored,
                plan.keeps_best and given.X is not None,
            )
            add_rounds(model, rounds, n_more, watch, drawn)
        if fold is not None:
            # The generator is left as it is without.
            seed = int(deepcopy(rng).randint(SEEDS))
            plan = replace(plan, n_rounds=found.get("n_estimators_", len(model.members)))
            known = folds if isinstance(held_out_folds, str) else None
            found["_resampling"] = Resampling.of(plan, problem, seed, fold, known)

        # Everything has been fitted: from here on nothing fails.
        self._rng, self._split_seed = rng, split_seed
        self._set_fitted(attributes(model) | found)
        return self

    def _fit_chunks(self, rows: ChunkedRows, validation: ChunkedRows | None = None) -> None:
        plan = self._plan()
        self._check_chunks(plan)
        self._check_plan(plan, GivenRows(validation, validation, None, None), None, None)
        of_classes = isinstance(self, ClassifierMixin)
        if not of_classes:
            self._loss_of_sums(0, plan)
        continued = self.warm_start and self.__sklearn_is_fitted__()
        encoder = continued_encoder(self, plan.learner) if continued else None
        problem = read_blocks(plan, rows, of_classes, encoder)
        self._check_same_classes(problem.classes, continued)
        problem = replace(problem, loss=self._loss_of_sums(problem.n_classes, plan))
        learner = self._learner_for(problem.learner, problem.columns.n_features)
        problem = replace(problem, learner=learner)
        n_rows = problem.summary.targets.n_rows
        plan = replace(plan, learner=problem.learner, patience=self._patience(plan, n_rows))
        n_features = problem.columns.n_features
        n_scores = problem.loss.n_scores(problem.n_classes)
        self._check_constraints(plan, n_features, n_scores, problem.n_classes)
        rng = deepcopy(self._rng) if continued else check_random_state(plan.random_state)
        held_out, split_seed = None, self._split_seed if continued else None
        share = self.validation_fraction
        if validation is None and share is not None and plan.patience is not None:
            split_seed = self._seed_of_split(rng) if split_seed is None else split_seed
            held_out = Draw(split_seed, share if share < 1 else share / n_rows)
        reports_of = partial(RoundReports, self)
        earlier = None
        if continued:
            model = self._to_continue(plan, problem.loss, n_scores)
            earlier = EarlierRounds.of(model, problem.columns, vars(self).get("_last_round"))
        given = plan, problem, rng, reports_of, held_out, self._is_no_better, earlier, validation
        model, found = boost_blocks(*given)
        if problem.encoder is not None:
            give_encoder(self, problem.encoder)
        followed = held_out is not None or validation is not None
        found = self._fitted_attributes(model, plan, problem.classes, followed) | found
        self._rng, self._split_seed = rng, split_seed
        self._set_fitted(found)

    def _loss_of_sums(self, n_classes: int, plan: Plan) -> Loss:
        loss = self._make_loss(n_classes)
        if plan.newton == "yes":
            n_scores = loss.n_scores(n_classes)
            SecondOrderRisk.check(loss, np.ones(1, int if n_scores > 1 else float), n_scores)
        if needs_rows(loss, plan, isinstance(self, ClassifierMixin)):
            raise ValueError(
                f"loss={self.loss!r} needs all rows in memory: its initial score or the values of "
                "its leaves are no functions of sums over rows; with Dask collections use another "
                "loss."
            )
        return loss

    def _check_chunks(self, plan: Plan) -> None:
        """Raise a ValueError for what needs all rows in memory."""
        if self.scoring != "loss" and self._may_stop:
            raise ValueError(
                f"scoring={self.scoring!r} needs all rows in memory; with Dask collections stop by "
                'the loss, scoring="loss".'
            )
        check_learner(plan)

    def _set_fitted(self, attributes: dict) -> None:
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)

    def _earlier(self) -> AdditiveModel:
        """The model of the previous fit with its history."""
        return self._model().with_history(vars(self))

    def _to_continue(self, plan: Plan, loss: Loss, n_scores: int) -> AdditiveModel:
        """The model of the previous fit, to add rounds to."""
        model = self._earlier()
        if plan.n_rounds < len(model.members):
            raise ValueError(
                f"n_estimators={plan.n_rounds} is less than the {len(model.members)} "
                "rounds of the previous fit, which warm_start=True continues."
            )
        # The parameter `loss` may have changed since the rounds so far.
        model.loss = loss
        if n_scores != model.n_scores:
            raise ValueError(
                f"With warm_start=True, y must have {model.n_scores} columns, as in the "
                "previous fit."
            )
        if model.has_vectors != (plan.one_tree and model.n_scores > 1):
            raise ValueError(
                "With warm_start=True, multi_output must be the same as in the previous fit."
            )
        return model

    # --- checks before any work -------------------------------------------------------------------

    def _check_plan(self, plan: Plan, given: GivenRows, offset: Any, monitor: Any) -> None:
        """Raise a ValueError for parameters and arguments that cannot be used together."""
        if is_classifier(plan.learner):
            name = type(plan.learner).__name__
            raise ValueError(
                f"estimator must be a regressor, as it is fitted to gradients; got {name}."
            )
        init = type(plan.init).__name__ if hasattr(plan.init, "fit") else None
        if offset is not None and init is not None:
            raise ValueError(
                f"offset cannot be used with init={init}(), which is not "
                "fitted with it; add the scores that this estimator predicts to the offset."
            )
        if plan.subsample < 1 and not plan.step.fits_some_rows:
            raise ValueError(
                f"step={name_of(plan.step)!r} requires subsample=1.0, got {plan.subsample!r}."
            )
        if plan.choice is None:
            return
        refused = {"warm_start": self.warm_start, "n_iter_no_change": plan.patience is not None}
        for name, is_given in refused.items():
            if is_given:
                raise ValueError(
                    f'{name}={getattr(self, name)!r} cannot be used with n_estimators="cv".'
                )
        if given.X is not None:
            raise ValueError(
                'X_val and y_val cannot be used with n_estimators="cv", which uses the rows of its '
                "folds; to stop by X_val, give a number of rounds and n_iter_no_change."
            )
        if self.scoring != "loss":
            raise ValueError(
                f'scoring={self.scoring!r} cannot be used with n_estimators="cv"; use '
                "n_estimators=CVRounds(scoring=...)."
            )
        # The mean of the folds' models is no model of rounds.
        if plan.choice.prediction == "mean":
            if monitor is not None:
                raise ValueError('monitor cannot be used with CVRounds(prediction="mean").')
            if init is not None:
                raise ValueError(
                    f'init must be None or "zero" with CVRounds(prediction="mean"); got {init}.'
                )

    def _check_constraints(
        self, plan: Plan, n_features: int, n_scores: int, n_classes: int
    ) -> None:
        """Raise a ValueError where the constraints of the default trees do not fit the data."""
        if not plan.default_trees:
            return
        features = Features.known_to(self, n_features)
        features.interactions(getattr(plan.learner, "interaction_cst", None))
        signs = features.signs(plan.learner.monotonic_cst, n_classes if n_scores > 1 else 0)
        if signs is not None and isinstance(plan.learner, BinnedTreeRegressor):
            flags = category_flags(plan.learner, n_features)
            if flags is not None:
                check_no_constraint(features, signs, flags)

    # --- rows -------------------------------------------------------------------------------------

    def _check_same_classes(self, classes: np.ndarray | None, continued: bool) -> None:
        known = vars(self).get("classes_") if continued else None
        if known is not None and classes is not None and not np.array_equal(known, classes):
            raise ValueError(
                "With warm_start=True, y must not have other classes than in the previous fit."
            )

    def _read(self, X: Any, y: Any, sample_weight: Any, plan: Plan, continued: bool) -> Problem:
        """The rows of positive weight, the classes of a classifier, and the loss."""
        of_classes, learner = isinstance(self, ClassifierMixin), plan.learner
        if continued:
            check_same_columns(self, X, learner)
        several = self._takes_targets and has_columns(y) and np.shape(y)[1] > 1
        options = {"multi_output": True} if several else {}
        X, y = self._validate(
            X, y, learner=learner, reset=not continued, y_numeric=not of_classes, **options
        )
        classes = classes_of(y) if of_classes else None
        y = encoded(y, classes)
        self._check_same_classes(classes, continued)
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
        if plan.newton == "yes":
            check_takes_weights(learner, "estimator", "step='newton'")
            SecondOrderRisk.check(loss, rows.y, loss.n_scores(n_classes))
        return Problem(rows, loss, classes)

    def _read_validation(self, given: GivenRows, problem: Problem, learner: Any) -> Rows:
        try:
            X, y = self._validate(given.X, learner=learner, reset=False), given.y
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"X_val: {error}") from error
        try:
            check_consistent_length(X, y)
        except (TypeError, ValueError) as error:
            raise type(error)(f"y_val must have a target for each row of X_val: {error}") from error
        if has_columns(y) and np.shape(y)[1] == 1:
            y = one_column(y)  # as y itself
        y, known_y = encoded(np.asarray(y), problem.classes), problem.rows.y
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise ValueError("y_val must contain finite numbers only.")
        if y.shape[1:] != known_y.shape[1:]:
            raise ValueError(
                f"y_val must have the columns of y; got the shapes {y.shape} and {known_y.shape}."
            )
        weight = None
        if given.sample_weight is not None:
            try:
                weight = checked_weights(given.sample_weight, X)
            except ValueError as error:
                raise ValueError(f"sample_weight_val: {error}") from error
        # With those of the training rows: counts of which all are 0 have a risk.
        check_part(problem.loss, np.concatenate([known_y, y]), "y_val")
        known = checked_offset(given.offset, given.X, "offset_val")
        return Rows(X, y, weight, range(len(y)), offset=known)

    def _validate(self, X: Any, *y: Any, learner: Any = None, **options: Any) -> Any:
        """X, and y where it is given, validated; in single precision where trees will hold it."""
        if learner is None:  # of rows to predict
            learner = self._base_learner(X)
            if is_tree(learner) and isinstance(getattr(self, "estimator_", None), BinnedTree):
                learner = self.estimator_
        is_binned = type(learner) is BinnedTreeRegressor
        takes_sparse = is_binned or accepts_sparse(learner)
        # Other formats are converted to the first.
        options["accept_sparse"] = ("csr", "csc") if takes_sparse else False
        # A base learner of the user gets frames as they are, and checks them.
        as_frame = not reads_numbers(learner, "prepare_rounds") and is_frame(X)
        if not as_frame:
            options["dtype"] = [np.float64, np.float32]
        if is_binned and sp.issparse(X):
            options["ensure_all_finite"] = "allow-nan"
        found = validate_data(self, X, *y, as_frame=as_frame, learner=learner, **options)
        read, *y = found if y else (found,)
        if not as_frame:
            if is_binned and sp.issparse(read):
                if is_small(read) and not in_thin_columns(read, learner):
                    read = read.toarray()
            elif is_tree(learner) and (not y or told_apart(learner, read, y[0]) is learner):
                read = single_precision(read if y else within_single_precision(read))
        return (read, *y) if y else read

    def _split(
        self, rows: Rows, seed: int, loss: Loss, classes: np.ndarray | None
    ) -> tuple[Rows, Rows]:
        """The rows to fit, and those that decide when to stop."""
        stratify = None if classes is None else rows.y
        given = len(rows), self.validation_fraction, seed, stratify, rows.groups
        try:
            part, others = split_off(*given)
        except ValueError as error:
            codes, counts = np.unique(rows.y, return_counts=True)
            if classes is None or counts.min() > 1:
                raise
            label = decoded(codes[counts == 1], classes)[0]
            raise ValueError(
                f"{error}. The class {label!s} has one row: leave it out, merge it with others, "
                "or give X_val and y_val."
            ) from None
        warn_of_copies(rows.X, rows.y, [(part, others)])
        train = rows.take(part)
        if stratify is not None and len(np.unique(train.y)) < len(np.unique(rows.y)):
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed, a smaller validation_fraction, or X_val and y_val."
            )
        check_part(loss, train.y, "The training data after the early stopping split")
        return train, rows.take(others)


@dataclass
class ScoredModel:
    """A scorer of scikit-learn's at scores of its rows that are known already.

    The scorer is given a copy of the estimator `door`, whose predictions for these rows are made
    from the scores. For other rows it predicts as if the fit had ended: `attributes` are the fitted
    ones of a model. X, y and the weights are as the user gave them.
    """

    scorer: Callable[..., float]
    door: BaseGradientBoosting
    attributes: Callable[[AdditiveModel], dict]
    X: Any
    y: np.ndarray
    weights: dict

    def __call__(self, model: AdditiveModel, scores: np.ndarray) -> float:
        so_far = copy(self.door)
        known = {"_known_scores": (self.X, scores), "_has_offset": False}  # is in the scores
        so_far.__dict__.update(self.attributes(model) | known)
        try:
            return float(self.scorer(so_far, self.X, self.y, **self.weights))
        except Exception as error:
            is_of_weights = isinstance(error, TypeError) and "sample_weight" in str(error)
            if not self.weights or not is_of_weights:
                error.add_note(f"Raised by the metric of scoring={self.door.scoring!r}.")
                raise
            raise TypeError(
                f"scoring={self.scorer!r} takes no sample_weight, and the rows or the "
                "classes have weights: use a metric, or a function, that takes it."
            ) from error
