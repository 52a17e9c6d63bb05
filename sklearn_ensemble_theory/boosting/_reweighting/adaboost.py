"""AdaBoost for classes [Bach, §10.3.4]: the estimator of the rounds of `adaboost_rounds`."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, log_expit
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import fit_context
from sklearn_ensemble_theory._learners import (
    ClassTask,
    has_fast_path,
    is_tree,
    prepare_rounds,
    prepare_sums,
    takes_weights,
    without_weights,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    are_wrong,
    codes_of_labels,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._typing import ArrayLike, available_if
from sklearn_ensemble_theory.bounds import (
    finite_behaviours_rademacher_bound,
    rademacher_margin_bound,
    stump_generalization_bound,
    vc_rademacher_bound,
    weighted_voting_generalization_bound,
)
from sklearn_ensemble_theory.bounds._arguments import check_option
from sklearn_ensemble_theory.erm._stumps.estimators import DecisionStumpClassifier
from sklearn_ensemble_theory.trees._binned_tree import told_apart
from sklearn_ensemble_theory.trees._packed import PackedCache

from .._base_learners import clone_learner
from .._loop import BoostingRounds, RoundReports, rows_for_callbacks
from .adaboost_blocks import SummedRounds, rounds_of_blocks, summary_of_blocks
from .adaboost_rounds import (
    OUTPUTS_OF,
    VOTING,
    AdaBoostPlan,
    KeptRound,
    VotingRounds,
    kept_rounds,
    margin_risk,
    variant_of,
)
from .votes import CONSTRAINTS, MOST_DENSE_VALUES, TEXTS, Votes, WeightedVotes

# Coefficients times a smaller learning rate vanish.
SMALLEST_RATE = 1e-290


def _members_vote(model: "AdaBoostClassifier") -> bool:
    if model.variant in ("real", "gentle"):
        raise AttributeError("error_bound: the theorems are about votes; set variant='discrete'.")
    return True


@documented(TEXTS)
class AdaBoostClassifier(FitsBatches, WeightedVotes):
    """AdaBoost of decision stumps or any other classifier: discrete, real, gentle and AdaBoost.MH.

    Each round fits a weak learner to the training rows, with weights proportional to exp(-margin),
    and adds it with the coefficient that minimises the exponential risk. This is a drop-in
    replacement for :class:`sklearn.ensemble.AdaBoostClassifier`: parameters and attributes keep
    their meaning. Two defaults differ. The weak learner is the stump with the least weighted error
    instead of the tree of depth one with the least Gini index. With stumps and more than two
    classes the variant is AdaBoost.MH; ``variant="discrete"`` gives SAMME.

    Parameters
    ----------
    estimator : object, default=None
        The weak learner; for one whose `fit` does not support `sample_weight`, see `resample`. If
        None, it is ``DecisionStumpClassifier()``, which sorts the features once for all rounds;
        ``DecisionStumpClassifier(max_bins=255)`` bins them once. It must be a classifier for
        ``variant="discrete"``, a classifier with `predict_proba` for ``"real"``, and a regressor
        (of -1 and +1) for ``"gentle"``. Decision stumps can be used with all variants. For more
        than two classes ``"mh"``, ``"real"`` and ``"gentle"`` need them: they have a weight for
        each row and class.
    n_estimators : int, default=50
        The maximum number of rounds.
    learning_rate : float, default=1.0
        Factor of each coefficient.
    variant : {"auto", "discrete", "mh", "real", "gentle"}, default="auto"
        - ``"discrete"``: a weighted vote; the exact line search gives the coefficient
          alpha = log((1 - eps) / eps) [Ghoshdastidar, theorem En.4; Shah, §4.2; Bach, §10.3.4].
          For K > 2 classes this is SAMME, with coefficient alpha + log(K - 1).
        - ``"mh"``: AdaBoost.MH, which separates each class from the rest, with a weight for each
          row and class (Schapire and Singer 1999). A stump has one threshold and votes for or
          against each class on its left, and the opposite on its right (Kégl and Busa-Fekete 2009).
          For two classes this is ``"discrete"``.
        - ``"real"``: a sum of confidences. Stumps minimise Z = 2 sum sqrt(W+ W-) and return half
          the log-odds of each side (Schapire and Singer 1999).
        - ``"gentle"``: a sum of least-squares fits to -1 and +1, which are Newton steps of the
          exponential loss (Friedman, Hastie and Tibshirani 2000). The outputs of stumps are in
          [-1, 1], while half log-odds can be large.
        - ``"auto"``: ``"mh"`` for more than two classes if the weak learner is a decision stump,
          and ``"discrete"`` in all other cases.

        For more than two classes ``"real"`` and ``"gentle"`` have the weights of ``"mh"``, and
        stumps return a value for each side and class.
    resample : bool or "auto", default="auto"
        If True, each weak learner is fitted to n rows drawn with replacement, with the weights of
        the round as probabilities (Freund and Schapire 1996). If False, it is fitted to all rows
        with these weights. Its error and coefficient are those on all rows. ``"auto"`` does so only
        if the `fit` of the weak learner does not support `sample_weight`; with False this is an
        error.
    %(seed)s
    %(progress)s

    Attributes
    ----------
    %(fitted)s
    variant_ : {"discrete", "mh", "real", "gentle"}
        The variant that was used.
    estimator_ : estimator
        The weak learner that was cloned in each round.
    estimators_ : list of estimators
        The fitted weak learner of each round. Stumps are `DecisionStumpClassifier` objects for
        ``"discrete"`` and `DecisionStumpRegressor` objects for the others; for more than two
        classes their `predict` returns an array of shape (n_samples, n_classes).
    estimator_weights_ : ndarray of shape (n_rounds,)
        The coefficients alpha_t in scikit-learn's scale (for two classes twice the b_t of the
        literature); the learning rate for ``"real"`` and ``"gentle"``. Each enters the sum as it
        is.
    estimator_errors_ : ndarray of shape (n_rounds,)
        eps_t, the error of each weak learner under the weights of its round: those of rows, or of
        rows and classes.
    edges_ : ndarray of shape (n_rounds,)
        gamma_t = 1/2 - eps_t.
    training_error_bounds_ : ndarray of shape (n_rounds,)
        The exponential risk F(u_t) after each round, an upper bound on the (weighted) training
        error for two classes. For ``"discrete"`` with ``learning_rate=1`` it is the running
        product of 2 sqrt(eps_t (1 - eps_t)) [Ghoshdastidar, theorem En.4]. For K > 2 classes and
        ``"mh"``, ``"real"`` or ``"gentle"`` it bounds the Hamming loss, the weight of the rows and
        classes with the wrong sign (Schapire and Singer 1999). This bound times sqrt(K - 1) bounds
        the training error. For ``"mh"`` it is the same product.
    stop_reason_ : {"n_estimators", "perfect", "no edge", "callback"}
        Why there were no more rounds. ``"perfect"``: a weak learner made no error, and only that
        learner is kept. ``"no edge"``: the weak learner was no better than guessing; the earlier
        ones are kept.

    See Also
    --------
    DecisionStumpClassifier : The default weak learner.
    GradientBoostingClassifier : Boosting for other losses, with any regressor.

    Notes
    -----
    Decision stumps need O(n p log n) operations once and at most O(n p) in each round, and O(n p K)
    with a weight for each row and class. `BinnedTreeClassifier` as weak learner of "discrete" and
    "real" is binned once and needs O(n p) for each level of a tree. A prediction costs O(n_rounds)
    for each row. Rows of weight 0 are ignored.

    The decision function of ``"discrete"`` is the weighted mean of the votes, and twice that for
    two classes, as in scikit-learn; `margins` uses the scale of the literature. For ``"mh"`` it is
    the weighted mean of the votes for (+1) and against (-1) each class. For ``"real"`` and
    ``"gentle"`` it is the sum of the confidences, which estimates half the log-odds. With more than
    two classes, these are the log-odds of each class against the others, weighted to give both
    sides the same prior weight.

    The user guide describes Dask collections (:ref:`passes-over-chunks`), and more than two classes
    and learners without weights (:ref:`adaboost-in-the-guide`).

    %(references_Bach)s

    %(Ghoshdastidar)s

    %(Shah)s

    Y. Freund and R. E. Schapire (1996). "Experiments with a new boosting algorithm". *Proceedings
    of the 13th International Conference on Machine Learning*, 148-156.

    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". *The Annals of Statistics* 28, 337-407.

    R. E. Schapire and Y. Singer (1999). "Improved boosting algorithms using confidence-rated
    predictions". *Machine Learning* 37, 297-336.

    B. Kégl and R. Busa-Fekete (2009). "Boosting products of base classifiers". *Proceedings of the
    26th International Conference on Machine Learning*, 497-504.

    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). "Multi-class AdaBoost". *Statistics and Its
    Interface* 2, 349-360.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> X = np.arange(9.0)[:, None]  # an interval: three stumps are needed
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.edges_.round(3)
    array([0.167, 0.25 , 0.333])

    More than two classes:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.variant_, model.decision_function(X).shape
    ('mh', (150, 3))
    """

    variant_: str
    edges_: np.ndarray
    training_error_bounds_: np.ndarray
    _reaches: np.ndarray
    _packed: PackedCache

    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions({"auto", "discrete", "mh", "real", "gentle"})],
        "resample": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: Any | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        variant: Literal["auto", "discrete", "mh", "real", "gentle"] = "auto",
        resample: bool | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.variant = variant
        self.resample = resample
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Boost the weak learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training rows. For decision stumps and binned trees, sparse matrices become dense
            arrays of at most 2**28 values. Or a Dask array or data frame, for decision stumps only.
            A dense X may have missing values (NaN) where the weak learner takes them.
        y : array-like of shape (n_samples,)
            Class labels; or a Dask collection.
        sample_weight : array-like of shape (n_samples,), default=None
            Initial weights; only their ratios matter. Or a Dask collection.
        %(learner_params)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If the weak learner cannot be used with the variant, or does not support the missing
            values of X. If a given weak learner is no better than guessing in the first round. With
            Dask collections also for other learners than decision stumps, for ``resample=True`` and
            for callbacks.
        """
        routed = self._routed(fit_params)
        self._check_learning_rate()
        learner = self._boosted_learner()
        given = X
        X, y = validate_data(self, X, y, **self._data_checks())
        learner = numbered_learner(learner, fitted_encoder(self))
        X = self._as_learner_takes_it(X)
        if is_tree(learner) and not routed:
            learner = told_apart(learner, X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rows = kept_rows(X, codes, sample_weight)
        routed = rows.params_of(X, routed)
        X, codes, weight = rows.X, rows.y, rows.shares()

        # Rows are drawn by the weights where the learner does not take these.
        resample = bool(self.resample)
        if self.resample == "auto":
            resample = not takes_weights(learner)
        plan = self._plan(len(classes))
        task = plan.task(codes, classes, self.random_state)
        weak = None if resample else prepare_rounds(learner, X, weight, task)
        if weak is None and task.kind.startswith("hamming"):
            # A weight for each row and class is for fast paths only: "auto" takes SAMME instead.
            if self.variant != "auto":
                name = type(learner).__name__
                has = "rows are drawn" if resample else f"{name} has one weight for each row"
                raise ValueError(
                    f"estimator: variant={plan.variant!r} with more than two classes (y has "
                    f"{len(classes)}) requires a weak learner with a weight for each "
                    f"row and class, such as DecisionStumpClassifier, and no resampling; {has}. "
                    "Use variant='discrete' (SAMME), or OneVsRestClassifier around "
                    "this estimator."
                )
            plan = replace(plan, variant="discrete")
            task = plan.task(codes, classes, self.random_state)
            weak = None if resample else prepare_rounds(learner, X, weight, task)
        if weak is None:
            self._check_clones(learner, resample)
            weak = clone_learner(learner, X, None, task, routed, resample)

        found, weight = weak, task.initial_weights(weight)
        risk = margin_risk(weight, weak)
        self._set_rounds(
            plan,
            VotingRounds(risk, weak, plan.step(task), np.zeros(weight.shape), 0),
            learner,
            classes,
            lambda: found.best(None, weight) if found.is_exact else None,
            lambda: rows_for_callbacks(given, y, rows, sample_weight is not None),
        )
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks, which are read twice; a round passes over their codes."""
        learner = self._boosted_learner()
        # What needs all rows in memory is refused before any pass over them.
        self._check_learning_rate()
        if prepare_sums(learner, ClassTask(np.arange(2), np.arange(2))) is None:
            raise ValueError(
                f"estimator: {type(learner).__name__} cannot be fitted to rows in chunks; use "
                "DecisionStumpClassifier, or rows in memory."
            )
        if self.resample is True:
            raise ValueError("resample=True draws rows, which must be in memory for it.")
        if getattr(self, "_skl_callbacks", None):
            raise ValueError(
                "Callbacks (set_callbacks) are given all rows, which must be in memory."
            )
        summary, rows = summary_of_blocks(rows)
        plan = self._plan(len(summary.classes))
        task = plan.task(np.arange(len(summary.classes)), summary.classes)
        stumps = prepare_sums(learner, task)
        rounds = rounds_of_blocks(rows, summary, stumps, plan.step(task))
        self._set_rounds(plan, rounds, learner, summary.classes, lambda: (rounds.member, None))

    def _plan(self, n_classes: int) -> AdaBoostPlan:
        variant = variant_of(self.variant, n_classes)
        return AdaBoostPlan(variant, self.n_estimators, self.learning_rate)

    def _set_rounds(
        self,
        plan: AdaBoostPlan,
        rounds: BoostingRounds | SummedRounds,
        learner: Any,
        classes: np.ndarray,
        first: Callable[[], tuple[Any, Any] | None],
        data: Callable[[], dict] | None = None,
    ) -> None:
        """Take the rounds and set what is learned; `data()` are the rows for callbacks."""
        found: list[KeptRound] = []
        self.variant_ = plan.variant

        def attributes() -> dict:
            errors = np.array([one.error for one in found])
            return {
                "classes_": classes,
                "n_classes_": len(classes),
                "estimator_": learner,
                "estimator_weights_": np.array([one.alpha for one in found]),
                "estimator_errors_": errors,
                "edges_": 0.5 - errors,
                "training_error_bounds_": np.array([one.risk for one in found]),
                "estimators_": [one.member for one in found],
                "_reaches": np.array([one.reach for one in found]),
                "_packed": PackedCache(),
            }

        reports = RoundReports(self, self.n_estimators, data=data, attributes=attributes)
        if reports.is_silent and isinstance(rounds, BoostingRounds):
            rounds.unseen = self.n_estimators
        stop_reason = kept_rounds(plan, rounds, first, found, reports.end_round)
        if stop_reason is None:
            stopped = rounds.stop_details
            error = "" if stopped is None else f" (weighted error {stopped.error:.3g})"
            raise ValueError(
                f"estimator: in the first round {type(self.estimator).__name__} is as bad as "
                f"or worse than random guessing{error}, so there is nothing to boost."
            )
        self.__dict__.update(attributes(), stop_reason_=stop_reason)
        reports.finish(stop_reason)

    def _check_learning_rate(self) -> None:
        if self.learning_rate < SMALLEST_RATE:
            raise ValueError(
                f"learning_rate must be at least {SMALLEST_RATE}, below which the coefficients "
                f"vanish; got {self.learning_rate!r}."
            )

    def _check_clones(self, learner: Any, resample: bool) -> None:
        """Raise a ValueError where clones of the learner cannot be used with the variant."""
        name = type(learner).__name__
        if not resample and not takes_weights(learner):
            raise ValueError(
                f"estimator: resample=False requires weights. {without_weights(learner)}"
            )
        if self.variant == "gentle":
            needed, fits = "regressor", is_regressor(learner)
        else:
            needed, fits = "classifier", is_classifier(learner) or not is_regressor(learner)
        if not fits:
            raise ValueError(
                f"estimator: variant={self.variant!r} requires a {needed}; {name} is not a "
                f"{needed}."
            )
        if self.variant == "real" and not hasattr(learner, "predict_proba"):
            raise ValueError(
                f"estimator: variant='real' requires predict_proba, which {name} does not have."
            )

    def _takes_sparse(self) -> bool:
        return self._becomes_dense() or super()._takes_sparse()

    def _becomes_dense(self) -> bool:
        """Whether a sparse X becomes dense: for fast paths, which store all values anyway."""
        learner = self._boosted_learner()
        return has_fast_path(learner) and not get_tags(learner).input_tags.sparse

    def _as_learner_takes_it(self, X: Any) -> Any:
        if not issparse(X) or not self._becomes_dense():
            return X
        n, p = X.shape
        if n * p > MOST_DENSE_VALUES:
            raise ValueError(
                f"X is sparse of shape {(n, p)}, too large for the dense array that "
                f"{type(self._boosted_learner()).__name__} needs. Use a learner that takes sparse "
                "X, such as estimator=DecisionTreeClassifier(max_depth=1), or fewer rows at once."
            )
        return X.toarray()

    def _check_X(self, X: Any) -> Any:
        return self._as_learner_takes_it(super()._check_X(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = (
            self.variant in ("auto", "discrete")
            or self.estimator is None
            or has_fast_path(self.estimator)
        )
        return tags

    # --- predictions ------------------------------------------------------------------------

    @property
    def votes_(self) -> Sequence[Votes]:
        """The weighted votes of the members."""
        check_is_fitted(self)
        K, alphas = self.n_classes_, self.estimator_weights_
        divisors = np.ones(len(alphas))
        if self.variant_ in VOTING:
            # As in scikit-learn, the scores of two classes are added up and lie in [-2, 2].
            divisors = np.cumsum(alphas) / (2.0 if K == 2 else 1.0)
            largest = 2.0 if self.variant_ == "mh" else K / max(K - 1, 1)
            gaps = np.full(len(alphas), largest)
        else:
            reach = np.maximum(np.cumsum(alphas * self._reaches), np.finfo(float).tiny)
            gaps = reach * (1.0 if K == 2 else 2.0)
        outputs = OUTPUTS_OF[self.variant_]
        return [
            Votes(
                self.classes_,
                self.estimators_,
                alphas,
                outputs=outputs,
                divisors=divisors,
                gaps=gaps,
                packed=vars(self).get("_packed"),
            )
        ]

    def _to_proba(self, score: np.ndarray, norm: float) -> np.ndarray:
        K = self.n_classes_
        if K == 1:
            return np.ones((len(score), 1))
        if self.variant_ == "discrete":
            if K == 2:
                return softmax(np.column_stack([-score, score]) / 2, copy=False)
            return softmax(score / (K - 1), copy=False)
        if K == 2:
            return np.column_stack([expit(-2 * score), expit(2 * score)])
        # The exponential risk over rows and classes is least at F_k = log((K-1) P_k/(1-P_k))/2.
        twice = score * norm if self.variant_ == "mh" else 2 * score
        return softmax(log_expit(twice - np.log(K - 1)), copy=False)

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of each row.

        For ``"real"`` and ``"gentle"`` these are 1 / (1 + exp(-2 F)), the inverse link of the
        exponential loss. For ``"discrete"`` they are scikit-learn's softmax of the normalised
        votes, which orders the rows as the decision function does and is not calibrated. For more
        than two classes and any variant but ``"discrete"`` they are 1 / (1 + (K-1) exp(-2 F_k)),
        the inverse link for each class, divided by their sum.

        %(sparse_rows_to_predict)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return self._to_proba(self.decision_function(X), self.votes_[0].divisors()[-1])

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class probabilities after each round.

        %(sparse_rows_to_predict)s

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities after the round, in the order of `classes_`.
        """
        divisors = self.votes_[0].divisors()
        for score, norm in zip(self.staged_decision_function(X), divisors):
            yield self._to_proba(score, norm)

    @by_chunks
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities.

        %(sparse_rows_to_predict)s

        %(returns_log_probabilities)s
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def margins(self, X: Any, y: ArrayLike) -> np.ndarray:
        """The normalised margin of each row, in [-1, 1]; positive where it is classified correctly.

        For two classes it is y f(x), divided by the sum of the coefficients (for confidences, times
        the largest outputs of the learners). For more classes it is the score of y minus the
        largest score of another class, divided by the largest possible difference. With
        ``"discrete"`` this is the share of votes for y minus the largest share of another class.

        Parameters
        ----------
        %(known_rows)s

        Returns
        -------
        margins : ndarray of shape (n_samples,)
            Margins.
        """
        score = self.decision_function(X)
        codes, known = codes_of_labels(y, self.classes_, len(score))
        if not known.all():
            raise ValueError("y must contain one of `classes_` for each row of X.")
        K = self.n_classes_
        if K == 1:
            return np.ones(len(score))
        if K == 2:
            gap = (2.0 * codes - 1.0) * score
        else:
            own = score[np.arange(len(score)), codes]
            gap = own - np.where(codes[:, None] == np.arange(K), -np.inf, score).max(axis=1)
        return np.clip(gap / self.votes_[0].gaps()[-1], -1.0, 1.0)

    @available_if(_members_vote)
    def error_bound(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        method: Literal["margin", "vc"] = "margin",
        delta: float = 0.05,
        vc_dimension: int | None = None,
    ) -> float:
        """Bound on the error on new rows, by the margins or the errors of the training rows.

        It holds with probability at least 1 - delta over the rows, if these are independent and
        have the distribution of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels, among `classes_`.
        method : {"margin", "vc"}, default="margin"
            - "margin": :func:`~sklearn_ensemble_theory.bounds.rademacher_margin_bound`, at most 1,
              for votes of any number of members at once, which may have been chosen by the same
              rows (Koltchinskii and Panchenko 2002). Below the other one from some 10 to 50 rounds
              on, for 20,000 rows of two features.
            - "vc": the share of errors plus
              :func:`~sklearn_ensemble_theory.bounds.stump_generalization_bound` or
              :func:`~sklearn_ensemble_theory.bounds.weighted_voting_generalization_bound`
              [Ghoshdastidar, theorem En.5], for all votes of `n_estimators` members with any
              weights at once. `n_estimators` must not be chosen by the same rows; a fit with fewer
              rounds counts as one with the others of weight 0. It grows with their number.
        delta : float, default=0.05
            Probability of failure, above 0 and at most 1.
        vc_dimension : int, default=None
            VC dimension of the class of the weak learners. None for decision stumps, whose number
            on the rows is known.

        Returns
        -------
        bound : float
            The bound, at most 1, where it says nothing. Cost: a prediction.

        Raises
        ------
        ValueError
            If the theorem does not apply: there are not two classes, or `vc_dimension` is missing
            for weak learners other than decision stumps. Variants whose members do not vote for a
            class do not have this method.

        %(references_Ghoshdastidar)s

        V. Koltchinskii and D. Panchenko (2002). "Empirical margin distributions and bounding the
        generalization error of combined classifiers". *Annals of Statistics* 30.
        """
        check_is_fitted(self)
        check_option("method", method, ("margin", "vc"))
        n_classes = len(self.classes_)
        if self.variant_ != "discrete" or n_classes > 2 or (n_classes < 2 and method == "margin"):
            raise ValueError("error_bound needs variant='discrete' and two classes.")
        stumps = isinstance(self.estimator_, DecisionStumpClassifier)
        if vc_dimension is None and not stumps:
            raise ValueError(
                f"vc_dimension must be given for {type(self.estimator_).__name__}; that of "
                "decision stumps is not needed."
            )
        if method == "margin":
            margins = self.margins(X, y)
            n = len(margins)
            if vc_dimension is not None:
                complexity = vc_rademacher_bound(n, vc_dimension)
            else:
                # p (n - 1) + 1 stumps that differ on n rows, and as many of the other sign.
                log_stumps = math.log(2 * (self.n_features_in_ * (n - 1) + 1))
                complexity = finite_behaviours_rademacher_bound(n, log_stumps)
            return rademacher_margin_bound(margins, float(complexity), delta)
        wrong = are_wrong(y, self.predict(X), self.classes_)
        n, T = len(wrong), max(self.n_estimators, len(self.estimators_))
        if vc_dimension is not None:
            bound = weighted_voting_generalization_bound(n, T, vc_dimension, delta)
        else:
            bound = stump_generalization_bound(n, self.n_features_in_, T, delta)
        return min(1.0, float(wrong.mean()) + bound)
