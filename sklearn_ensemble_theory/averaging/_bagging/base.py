"""What bagged ensembles share: one fit for every resampling scheme and every base learner.

A concrete class says which learner it bags (`_get_estimator`), how y is encoded and how the mean
of the members' answers becomes a prediction; a forest also overrides the few lines below that
are marked so.
"""

from abc import ABCMeta, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    check_sample_weight,
    fit_context,
    raise_for_params,
    routing_enabled,
)
from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory._progress import Progress
from sklearn_ensemble_theory._trees import is_tree, single_precision_if_finite
from sklearn_ensemble_theory.averaging._bagging.members import (
    MAX_SEED,
    Plan,
    fit_member,
    member_blocks,
    random_state_names,
    sum_answers,
    takes_sample_weight,
)
from sklearn_ensemble_theory.averaging._bagging.out_of_bag import OutOfBag
from sklearn_ensemble_theory.averaging._bagging.sampling import Resampling
from sklearn_ensemble_theory.averaging._bagging.uncertainty import UncertaintyMixin
from sklearn_ensemble_theory.bounds import bagging_pac_n_estimators


class BaseBagging(
    UncertaintyMixin, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of the bagged ensembles; not for direct use."""

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
        "bootstrap": ["boolean", StrOptions({"bernoulli", "bayesian", "poisson"})],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # ------------------------------------------------------------- what a class has to say

    @abstractmethod
    def _get_estimator(self):
        """The learner to bag; the default where the user gave none."""

    @abstractmethod
    def _encode_y(self, y):
        """(y as the members see it, a dict of the fitted attributes that describe it)."""

    @abstractmethod
    def _answer_method(self, estimator):
        """The method of a member whose answers are averaged; "vote" for its class."""

    @abstractmethod
    def _oob_scorer(self, y, classes):
        """`score(rows, answers)` of out-of-bag answers on the training rows `rows`."""

    @abstractmethod
    def _oob_attributes(self, mean, score):
        """The fitted attributes that hold the out-of-bag estimates."""

    # ---------------------------------------------------------------- what a forest overrides

    def _validate_X_y(self, X, y):
        return validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
            multi_output=True,
        )

    def _validate_X(self, X):
        return validate_data(
            self,
            X,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
            reset=False,
        )

    def _resampling(self, y, sample_weight, classes):
        if sample_weight is not None and self.bootstrap is False:
            warn(
                f"When fitting {type(self).__name__} with sample_weight "
                f"it is recommended to use bootstrap=True, got {self.bootstrap}.",
                stacklevel=4,
            )
        return Resampling.build(self.bootstrap, len(y), self.max_samples, sample_weight)

    def _plan(self, **shared):
        max_features = self.max_features
        n_features = shared["n_features"]
        if not isinstance(max_features, Integral):
            max_features = max(1, int(max_features * n_features))
        if max_features > n_features:
            raise ValueError(f"max_features={max_features} must be <= n_features={n_features}.")
        return Plan(
            max_features=int(max_features), bootstrap_features=self.bootstrap_features, **shared
        )

    # ----------------------------------------------------------------------------------- fit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the members, each on rows and features drawn at random.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. Sparse, missing and infinite values are taken where the base learner
            takes them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows before any draw. The probability of a row is
            proportional to its weight (`bootstrap=True` or `False`), or its rate is
            (`"poisson"`), or its concentration (`"bayesian"`); with `"bernoulli"` the weight is
            that of the row where it is drawn. Drawn with replacement and with a `max_samples` that
            is a number, a weight of 2 has the law of a row written twice.

        **fit_params : dict
            Routed to the members' `fit` where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If a parameter does not fit the data or the base learner; the message names it.

        Notes
        -----
        Cost: `n_estimators` fits of the base learner on at most s distinct rows each, O(s log s)
        a member for the draw, and O(n p) once. Members are fitted in threads when the base
        learner is a tree of scikit-learn's, which releases the interpreter lock, and otherwise
        in processes.
        """
        raise_for_params(fit_params, self, "fit")
        estimator = self._get_estimator()
        X, y = self._validate_X_y(X, y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        y, description = self._encode_y(y)
        classes = description.get("classes_")
        X_checked = single_precision_if_finite(X) if is_tree(estimator) else None
        plan = self._plan(
            estimator=estimator,
            random_states=random_state_names(estimator),
            n_features=X.shape[1],
            resampling=self._resampling(y, sample_weight, classes),
            weighted=takes_sample_weight(estimator),
            checked=X_checked is not None,
            out_of_bag=self._answer_method(estimator) if self.oob_score else None,
            n_classes=None if classes is None else len(classes),
            fit_params=self._route(fit_params, "fit"),
        )
        self._check_parts(plan)

        continued = self.warm_start and hasattr(self, "estimators_")
        n_known = len(self.estimators_) if continued else 0
        n_more = self._n_members(len(y)) - n_known
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_known} when warm_start==True"
            )
        if n_more == 0:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=3,
            )
            return self
        rng = check_random_state(self.random_state)
        if n_known:
            rng.randint(MAX_SEED, size=n_known)  # what the known members' seeds took from it
        seeds = rng.randint(MAX_SEED, size=n_more)

        oob = None
        if self.oob_score:
            score = self._oob_scorer(y, classes)
            oob = getattr(self, "_oob", None) if continued else None
            if n_known and oob is None:
                raise ValueError(
                    "oob_score needs every member's out-of-bag answers: the members fitted so far "
                    "were fitted without oob_score, so a warm start cannot add it."
                )
            width = y.shape[1:] if classes is None else (len(classes),)
            oob = OutOfBag((len(y), *width), score) if oob is None else oob.continued(score)
        members, features = self._grow(
            plan, X if X_checked is None else X_checked, y, seeds, oob, description
        )

        # Everything has been fitted: from here on nothing fails.
        for name, value in description.items():
            setattr(self, name, value)
        self.estimator_ = estimator
        self.estimators_ = (self.estimators_ if continued else []) + members
        self.estimators_features_ = (self.estimators_features_ if continued else []) + features
        self._seeds = np.concatenate([self._seeds[:n_known] if continued else [], seeds])
        self._seeds = self._seeds[: len(self.estimators_)].astype(int)
        self._drawing = replace(plan, estimator=None, fit_params={})
        self._max_samples, self._max_features = plan.resampling.size, plan.max_features
        self._set_out_of_bag(oob)
        return self

    def _route(self, params, method):
        """Metadata for the members' method that `method` calls."""
        if not routing_enabled():
            return {}
        # Several of the members' methods may serve one of ours; all but one are empty.
        routed = process_routing(self, method, **params)["estimator"]
        return {name: value for kwargs in routed.values() for name, value in kwargs.items()}

    def _check_parts(self, plan):
        """Combinations of scheme, learner and estimate that cannot work, by name."""
        resampling, learner = plan.resampling, type(plan.estimator).__name__
        if not resampling.draws_counts and not plan.weighted:
            raise ValueError(
                f"bootstrap={resampling.scheme!r} draws weights that are not counts, and "
                f"{learner}.fit takes no sample_weight; use bootstrap=True, False or 'poisson'."
            )
        if self.oob_score and not resampling.leaves_rows_out:
            raise ValueError(
                "Out of bag estimation only available if rows stay out of the bags, as with "
                f"bootstrap=True; bootstrap={resampling.scheme!r} and max_samples="
                f"{self.max_samples} show every row to every member."
            )

    def _n_members(self, n_samples):
        if self.n_estimators == "pac":
            return bagging_pac_n_estimators(n_samples, self.delta)
        return self.n_estimators

    def _grow(self, plan, X, y, seeds, oob, description):
        """Fit the members of these seeds; callbacks may end it early."""
        context = self._init_callback_context(max_subtasks=len(seeds))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        progress = Progress(type(self).__name__, len(seeds), self.verbose)
        results = in_order(
            (delayed(fit_member)(plan, X, y, seed) for seed in seeds),
            n_jobs=self.n_jobs,
            prefer="threads" if is_tree(plan.estimator) else None,
        )
        members, features = [], []

        def so_far():
            return {
                **description,
                "estimator_": plan.estimator,
                "estimators_": list(members),
                "estimators_features_": list(features),
                "_drawing": plan,
            }

        for member, columns, outside in results:
            task = context.subcontext(task_name="member")
            task.call_on_fit_task_begin(estimator=self)
            members.append(member)
            features.append(columns)
            if oob is not None:
                oob.add(*outside)
            progress.advance(f"out-of-bag score {oob.scores[-1]:.4g}" if oob else "")
            if task.call_on_fit_task_end(
                estimator=self, X=X, y=y, reconstruction_attributes=so_far
            ):
                break
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=so_far)
        return members, features

    def _set_out_of_bag(self, oob):
        for name in ("oob_score_", "oob_scores_", "oob_prediction_", "oob_decision_function_"):
            self.__dict__.pop(name, None)
        self._oob = None
        if oob is None:
            return
        if self.warm_start:
            self._oob = oob.continued(score=None)
        if not oob.votes.all():
            warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                "used to compute any reliable oob estimates.",
                stacklevel=4,
            )
        self.oob_scores_ = np.array(oob.scores)
        for name, value in self._oob_attributes(oob.mean(), oob.scores[-1]).items():
            setattr(self, name, value)

    # ------------------------------------------------------------------------------- predict

    def _mean_answer(self, X, method, params=None):
        """Mean of the members' answers (logarithm of the mean for log-probabilities)."""
        X_checked = single_precision_if_finite(X) if is_tree(self.estimator_) else None
        checked = X_checked is not None
        X = X_checked if checked else X
        columns = self._columns()
        sums = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(sum_answers)(
                self.estimators_[block],
                columns[block],
                method,
                X,
                n_classes=self._drawing.n_classes,
                checked=checked,
                params=params,
            )
            for block in member_blocks(len(self.estimators_))
        )
        logs = method == "predict_log_proba"
        total = sums[0]
        for part in sums[1:]:
            total = np.logaddexp(total, part) if logs else total + part
        n_members = len(self.estimators_)
        return total - np.log(n_members) if logs else total / n_members

    def _columns(self):
        """The columns of X that each member looks at; None for all."""
        if self._drawing.all_features:
            return [None] * len(self.estimators_)
        return self.estimators_features_

    # ------------------------------------------------------------------------ what is inside

    @property
    def estimators_samples_(self):
        """The rows drawn for each member, in the order drawn, a row as often as it was drawn.

        They are drawn again from the members' seeds at each access, O(s) a member, instead of
        being kept.
        """
        check_is_fitted(self)
        return [self._drawing.indices(seed)[1] for seed in self._seeds]

    @property
    def feature_importances_(self):
        """Mean importance of each feature over the members, of sum 1 (0 where no member splits).

        Only where the base learner has `feature_importances_`. A member that was not shown a
        feature gives it 0.
        """
        check_is_fitted(self)
        importances = []
        for member, columns in zip(self.estimators_, self.estimators_features_):
            own = member.feature_importances_
            if own.any():
                full = np.zeros(self.n_features_in_)
                np.add.at(full, columns, own)
                importances.append(full)
        if not importances:
            return np.zeros(self.n_features_in_)
        mean = np.mean(importances, axis=0, dtype=np.float64)
        return mean / mean.sum()

    def __len__(self):
        """Number of fitted members."""
        return len(self.estimators_)

    def __getitem__(self, index):
        """The fitted member of this index."""
        return self.estimators_[index]

    def __iter__(self):
        """Iterate over the fitted members."""
        return iter(self.estimators_)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def get_metadata_routing(self):
        """Where metadata goes: to the base learner's method that serves each of ours.

        Returns
        -------
        routing : MetadataRouter
            Routing information of the ensemble.
        """
        estimator = self._get_estimator()
        proba = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
        log_proba = "predict_log_proba" if hasattr(estimator, "predict_log_proba") else proba
        mapping = MethodMapping()
        for caller, callee in [
            ("fit", "fit"),
            ("decision_function", "decision_function"),
            ("predict", proba),
            ("predict_proba", proba),
            ("predict_log_proba", log_proba),
        ]:
            mapping.add(caller=caller, callee=callee)
        return MetadataRouter(owner=self).add(estimator=estimator, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            base = get_tags(self._get_estimator()).input_tags
        except (AttributeError, TypeError):
            return tags  # not an estimator, which `fit` says in better words
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags
