"""Weights of members from their predictions for rows that they have not seen [Shah, §4.1].

Three rules, each an estimator of its own: the weights of smallest risk in a set, the best member,
and a greedy selection. A stack has one of them as its `final_estimator`.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS, MarginFunction
from sklearn_ensemble_theory._rows import effective_size, normalised_weights, number_of_rows
from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike, available_if

from ._aggregation import (
    RISKS,
    HeldOutRisk,
    Score,
    greedy_weights,
    probabilities_of,
    weighted_sums,
)

SETS = ("nnls", "simplex", "l1", "l2")  # weights of smallest risk in a set
FREE_LENGTH = ("nnls", "l1", "l2")  # sets in which the sum of the weights says how sure they are
SCORINGS = [StrOptions({"loss", *RISKS, *get_scorer_names()}), callable]
LOSSES_WITH_PRIOR = ("log_loss", "squared_error")
LOSSES_OF_MEANS = ("poisson", "gamma")
CURE_OF_SUMS = (
    '"nnls", "simplex", "l1", "l2", "uniform" or "best", or a WeightedMean of the squared error or '
    "the log-loss"
)
LOSSES_OF_NUMBERS = ("squared_error", "absolute_error", *LOSSES_OF_MEANS)

TEXTS = {
    "scoring": """
        Parameters
        ----------
        scoring : str or callable, default="loss"
            What is compared. "loss" is the squared error of numbers and the log-loss of
            probabilities; other losses by their names: "squared_error", "absolute_error",
            "poisson", "gamma", "log_loss", "logistic", "exponential" and "hinge", as in
            :class:`WeightedMean`. A metric of scikit-learn, by its name or as a scorer, is
            maximised.
        """,
    "fitted": """
        Attributes
        ----------
        estimator_weights_ : ndarray of shape (n_members,) or (n_outputs, n_members)
            The weights.
        cv_results_ : dict of arrays
            The results of each member: "weight", "mean_score" (the mean loss of the rows, or the
            mean of the metric over the splits), its "standard_error", and "split0_score", .... With
            several outputs also "output".
        classes_ : ndarray of shape (n_classes,), or list of them for several outputs
            The labels, after a fit to probabilities.
        """,
    "loss_": """
        loss_ : str
            The loss.
        """,
    "P": """
        P : array-like of shape (n_samples, n_members) or (n_samples, n_members, n_classes)
            Numbers or probabilities that each member predicts for rows that it has not seen; a list
            of such arrays for several outputs.
        """,
    "of_P": """
        Parameters
        ----------
        %(P)s
        """,
}


@documented(TEXTS)
class MemberWeights(BaseEstimator):
    """The fit and the predictions of the three rules; not for direct use."""

    estimator_weights_: np.ndarray
    cv_results_: dict[str, Any]

    def checked(self, of_classes: bool) -> Self:
        """A clone, after the checks of the parameters for numbers or for probabilities.

        Parameters
        ----------
        of_classes : bool
            Whether members predict probabilities.

        Returns
        -------
        rule : object
            The clone.

        Raises
        ------
        ValueError
            If a parameter is not valid, or cannot be used for such predictions.
        """
        self._validate_params()
        self._check_loss(self._loss_name(of_classes), of_classes)
        return clone(self)

    def _check_loss(self, loss: str, of_classes: bool) -> None:
        of_numbers = loss in LOSSES_OF_NUMBERS
        if (of_numbers and loss != "squared_error") if of_classes else not of_numbers:
            what = "probabilities" if of_classes else "numbers"
            raise ValueError(f"loss={loss!r} is not a loss of {what}.")

    def fit(
        self,
        P: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        folds: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        classes: Any = None,
    ) -> Self:
        """Find the weights.

        %(of_P)s
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets or labels.
        %(sample_weight)s
        folds : int array-like of shape (n_samples,), default=None
            The number of the split that holds each row out; None is one split.
        rows : array-like of shape (n_samples,), default=None
            The number of each row, where some have several predictions: such a row counts once in
            standard errors.
        classes : ndarray of shape (n_classes,), or list of them, default=None
            The labels of the probabilities; None takes the labels of y, sorted.

        Returns
        -------
        self : object
            The fitted rule.

        Raises
        ------
        ValueError
            If a parameter cannot be used for such predictions, or shapes do not agree.
        """
        several = isinstance(P, list) and all(getattr(each, "ndim", 0) > 1 for each in P)
        tables: list[Any] = [
            np.asarray(each) for each in (P if isinstance(P, list) and several else [P])
        ]
        of_classes = tables[0].ndim == 3
        self.checked(of_classes)
        y = np.asarray(y)
        targets = [y] if y.ndim == 1 else list(y.T)
        if len(targets) != len(tables) or any(each.ndim not in (2, 3) for each in tables):
            raise ValueError(
                "P must be of shape (n_samples, n_members), or (n_samples, n_members, n_classes), "
                f"for each output of y; got {[each.shape for each in tables]} for y of shape "
                f"{y.shape}."
            )
        for table in tables:
            check_consistent_length(table, y)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        share = normalised_weights(weight, len(y))
        folds = np.zeros(len(y), dtype=np.intp) if folds is None else np.asarray(folds)
        fold_rows = [np.flatnonzero(folds == fold) for fold in range(folds.max() + 1)]
        rows = np.arange(len(y)) if rows is None else np.asarray(rows)
        labels: list[Any] = [None] * len(tables)
        if of_classes:
            labels = [np.unique(own) for own in targets] if classes is None else [classes]
            labels = classes if isinstance(classes, list) else labels
        loss, metric = self._loss_name(of_classes), self.metric
        draws = check_random_state(getattr(self, "random_state", None))
        weights, gaps, largest, records = [], [], [], []
        # Every output has weights of its own.
        for table, target, own in zip(tables, targets, labels):
            if of_classes and table.shape[2] != len(own):
                raise ValueError(f"P has {table.shape[2]} probabilities for {len(own)} classes.")
            codes = np.searchsorted(own, target) if of_classes else target
            risk = RISKS[loss](table, codes, share)
            losses = risk.candidate_losses()
            # A scorer gets the user's labels, since it may name a positive class.
            score = None if metric is None else score_of_rows(metric, target, weight, own)
            if score is None:
                record = _risks(risk, losses, rows, fold_rows)
            else:
                record = _scores(score, table, fold_rows)
            v, gap = self._weigh(risk, record["mean_score"], score, draws)
            weights.append(v)
            gaps.append(gap)
            largest.append(float(risk.in_units(losses.max())))
            records.append({"weight": v, **record})
        self.estimator_weights_ = weights[0] if y.ndim == 1 else np.array(weights)
        # The tables of several outputs are below each other.
        n = tables[0].shape[1]
        self.cv_results_ = {} if y.ndim == 1 else {"output": np.repeat(np.arange(len(tables)), n)}
        for key in records[0]:
            self.cv_results_[key] = np.concatenate([record[key] for record in records])
        self.loss_ = loss
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if of_classes:
            self.classes_ = labels if y.ndim > 1 else labels[0]
        sizes = [effective_size(share[fold]) for fold in fold_rows]
        self._set_certificate(max(gaps), max(largest), sizes)
        return self

    def fit_sums(self, sums: Any, classes: np.ndarray | None) -> Self:
        """Find the weights from sums over blocks of held-out rows.

        Parameters
        ----------
        sums : HeldOutSums
            Sums of the loss, for one output.
        classes : ndarray of shape (n_classes,) or None
            The labels of the probabilities; None for numbers.

        Returns
        -------
        self : object
            The fitted rule.
        """
        draws = check_random_state(None)
        v, gap = self._weigh(sums.risk, sums.record["mean_score"], None, draws)
        self.estimator_weights_, self.cv_results_ = v, {"weight": v, **sums.record}
        self.loss_ = self._loss_name(classes is not None)
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if classes is not None:
            self.classes_ = classes
        self._set_certificate(gap, sums.largest_loss, sums.fold_sizes)
        return self

    def loss_of_sums(self, of_classes: bool) -> str:
        """The loss, if sums over held-out rows are all that the rule needs; a ValueError if not.

        Parameters
        ----------
        of_classes : bool
            Whether members predict probabilities.

        Returns
        -------
        loss : str
            Its name.
        """
        raise ValueError(
            f"final_estimator={self!r} needs the held-out predictions of all rows in memory; with "
            f"Dask collections use {CURE_OF_SUMS}."
        )

    def _loss_name(self, of_classes: bool) -> str:
        raise NotImplementedError

    @property
    def metric(self) -> Any:
        """The metric, as scikit-learn makes a scorer of it; None for a loss."""
        return None

    def _weigh(
        self,
        risk: HeldOutRisk,
        means: np.ndarray,
        score: Score | None,
        draws: np.random.RandomState,
    ) -> tuple[np.ndarray, float]:
        """The weights of one output, and a bound on the distance of their risk to the minimum.

        `means` are the risks of the members, or their means of the metric.
        """
        raise NotImplementedError

    def _set_certificate(self, gap: float, largest_loss: float, fold_sizes: list[float]) -> None:
        """Keep what certifies the weights: the largest gap and loss, the sizes of the splits."""

    @property
    def link(self) -> MarginFunction | None:
        """The loss whose probabilities weighted scores have; None for sums of probabilities."""
        return None

    def predict(self, P: ArrayLike) -> np.ndarray:
        """The weighted sums of numbers, or the labels of the largest weighted sums.

        %(of_P)s

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions; of equal sums the label that is the first in `classes_`.
        """
        check_is_fitted(self)
        sums = weighted_sums(self.estimator_weights_, P if isinstance(P, list) else [P])
        found = sums
        if hasattr(self, "classes_"):
            classes = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
            found = [own[np.argmax(each, axis=1)] for own, each in zip(classes, sums)]
        return found[0] if self.estimator_weights_.ndim == 1 else np.column_stack(found)

    @available_if(lambda self: hasattr(self, "classes_"))
    def predict_proba(self, P: ArrayLike) -> Any:
        """The probabilities that weighted sums stand for, after a fit to probabilities.

        %(of_P)s

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of them
            Probabilities.
        """
        check_is_fitted(self)
        sums = weighted_sums(self.estimator_weights_, P if isinstance(P, list) else [P])
        found = probabilities_of(sums, self.estimator_weights_, self.link)
        return found[0] if self.estimator_weights_.ndim == 1 else found


@documented(TEXTS)
class WeightedMean(MemberWeights):
    """Final estimator of a stack: the weights of least risk in a set, such as the simplex.

    Parameters
    ----------
    weights : {"nnls", "simplex", "l1", "l2", "uniform"}, default="simplex"
        The set of weights: "nnls" are all that are not negative, "simplex" those of sum 1, "l1" and
        "l2" those of an l1 or l2 norm of at most `radius`. "uniform" gives equal weights.
    loss : {"auto", "squared_error", "absolute_error", "poisson", "gamma", "log_loss", \
            "logistic", "exponential", "hinge"}, default="auto"
        The loss whose mean over the rows is the risk. Of numbers:

        - "squared_error", which is "auto";
        - "absolute_error": not for "l2".
        - "poisson" and "gamma": half the deviance of counts, and of amounts above 0; for "simplex"
          and "uniform" only. Predictions below a millionth of the mean of y count as that.

        Of probabilities:

        - "log_loss": minus the logarithm of the probability of the class. "auto" for "simplex" and
          "uniform". It does not depend on the sum of the weights. "nnls", "l1" and "l2" need
          `positive=True` and have the optimum of "simplex", divided by a number if the ball is
          small;
        - "squared_error": the squared differences between weighted sums of probabilities and
          indicators of the classes. "auto" for "nnls", "l1" and "l2";
        - "logistic", "exponential", "hinge": log(1 + exp(-m)), exp(-m) and max(0, 1 - m) of the
          margin m = y s [Shah, §3.3]. The score s is the weighted sum of 2 p - 1, with p the
          probability of the second class (-1 and 1 for votes), and y is -1 or 1. With more than two
          classes the losses of each class against the others are added.
    radius : float, default=1.0
        Radius of the balls of "l1" and "l2".
    positive : bool, default=True
        Whether the weights of "l1" and "l2" are not negative.
    prior_rows : float, default=0.0
        Of "simplex" with "log_loss" or "squared_error": draws the weights to equal ones, as much as
        so many further rows would in which all members are equally good. With the log-loss it is
        the mode under the prior of Dirichlet whose parameters are 1 + `prior_rows` / k. No member
        then has all of the weight, which matters where few rows decide.

    %(fitted)s
    kkt_violation_ : float
        Bound on the risk of the weights above the minimum, by the gradient: a share of the risk of
        the prediction 0 or, for the log-loss, nats. Not with "uniform". With "nnls" it compares
        with weights of at most twice the sum: the logistic and the exponential loss of members that
        separate the classes have no minimum.
    %(loss_)s

    See Also
    --------
    BestMember : The choice of cross-validation.
    GreedySelection : Forward selection, for any metric.

    Notes
    -----
    The weights are those of [Shah, §4.1.1]; the risk of "simplex" and "nnls" on these rows is at
    most that of the best member. Which probabilities weighted sums stand for, and what each loss
    costs, is said in :ref:`weights-of-members` in the user guide.

    %(references_Shah)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.combining import WeightedMean
    >>> P = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 5.0]])
    >>> WeightedMean("simplex").fit(P, [1.5, 2.0, 3.5]).estimator_weights_
    array([0.75, 0.25])
    """

    _parameter_constraints: ClassVar[dict] = {
        "weights": [StrOptions({*SETS, "uniform"})],
        "loss": [StrOptions({"auto", *RISKS})],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "positive": ["boolean"],
        "prior_rows": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        weights: Literal["nnls", "simplex", "l1", "l2", "uniform"] = "simplex",
        *,
        loss: str = "auto",
        radius: float = 1.0,
        positive: bool = True,
        prior_rows: float = 0.0,
    ) -> None:
        self.weights = weights
        self.loss = loss
        self.radius = radius
        self.positive = positive
        self.prior_rows = prior_rows

    def _check_loss(self, loss: str, of_classes: bool) -> None:
        super()._check_loss(loss, of_classes)
        if self.weights in SETS and self.weights not in RISKS[loss].rules:
            raise ValueError(f"weights={self.weights!r} cannot be learned with loss={loss!r}.")
        if self.prior_rows and (self.weights != "simplex" or loss not in LOSSES_WITH_PRIOR):
            raise ValueError(
                f"prior_rows={self.prior_rows} needs weights='simplex' and loss='log_loss' or "
                f"'squared_error', got weights={self.weights!r} and loss={loss!r}."
            )
        if loss == "log_loss" and self.weights in ("l1", "l2") and not self.positive:
            raise ValueError(
                "loss='log_loss' needs positive=True, as sums with negative weights are no "
                "probabilities; loss='logistic' has weights of both signs."
            )

    def _loss_name(self, of_classes: bool) -> str:
        if self.loss != "auto":
            return self.loss
        return "log_loss" if of_classes and self.weights not in FREE_LENGTH else "squared_error"

    def loss_of_sums(self, of_classes: bool) -> str:
        loss = self._loss_name(of_classes)
        has_sums = loss in LOSSES_WITH_PRIOR or (
            self.weights == "uniform" and loss not in LOSSES_OF_MEANS
        )
        if self.prior_rows or not has_sums:
            super().loss_of_sums(of_classes)
        return loss

    def _weigh(
        self,
        risk: HeldOutRisk,
        means: np.ndarray,
        score: Score | None,
        draws: np.random.RandomState,
    ) -> tuple[np.ndarray, float]:
        if self.weights == "uniform":
            return np.full(len(means), 1.0 / len(means)), np.nan
        if self.prior_rows:
            n = number_of_rows(risk.weight[risk.weight > 0])
            return risk.solve_with_prior(self.prior_rows / (n + self.prior_rows))
        return risk.solve(self.weights, self.radius, self.positive)

    def _set_certificate(self, gap: float, largest_loss: float, fold_sizes: list[float]) -> None:
        self.__dict__.pop("kkt_violation_", None)  # of an earlier fit
        if self.weights != "uniform":
            self.kkt_violation_ = gap

    @property
    def link(self) -> MarginFunction | None:
        phi = MARGIN_FUNCTIONS.get(self.loss_) if self.weights in FREE_LENGTH else None
        return phi if phi is not None and phi.has_link else None


class ScoredMembers(MemberWeights):
    """What rules by a loss or any metric have in common; not for direct use."""

    scoring: str | Callable[..., float]
    _parameter_constraints: ClassVar[dict] = {"scoring": SCORINGS}

    def _loss_name(self, of_classes: bool) -> str:
        if isinstance(self.scoring, str) and self.scoring in RISKS:
            return self.scoring
        return "log_loss" if of_classes else "squared_error"

    @property
    def metric(self) -> Any:
        is_loss = isinstance(self.scoring, str) and self.scoring in ("loss", *RISKS)
        return None if is_loss else self.scoring


@documented(TEXTS)
class BestMember(ScoredMembers):
    """Final estimator of a stack that chooses the best member by cross-validation.

    %(scoring)s

    %(fitted)s
    %(loss_)s
    largest_loss_ : float
        The largest loss of a member on a row, for `error_bound` of stacks.
    fold_sizes_ : list of float
        The effective number of rows of each split, (sum w)^2 / sum w^2 for weights w.

    See Also
    --------
    WeightedMean : The weights of smallest risk in a set.
    GreedySelection : Forward selection, for any metric.

    Notes
    -----
    The member of the smallest mean loss of all rows, or of the largest mean of the metric over the
    splits, as :class:`~sklearn.model_selection.GridSearchCV` chooses. It is the discrete super
    learner of van der Laan, Polley and Hubbard (2007).

    %(references_Shah)s

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.combining import BestMember
    >>> P = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 5.0]])
    >>> BestMember().fit(P, [1.5, 2.0, 3.5]).estimator_weights_
    array([1., 0.])
    """

    def __init__(self, scoring: str | Callable[..., float] = "loss") -> None:
        self.scoring = scoring

    def loss_of_sums(self, of_classes: bool) -> str:
        loss = self._loss_name(of_classes)
        if self.metric is not None or loss in LOSSES_OF_MEANS:
            super().loss_of_sums(of_classes)
        return loss

    def _weigh(
        self,
        risk: HeldOutRisk,
        means: np.ndarray,
        score: Score | None,
        draws: np.random.RandomState,
    ) -> tuple[np.ndarray, float]:
        # In the units of the risk, where huge and tiny losses are told apart.
        best = np.argmin(risk.weight @ risk.candidate_losses()) if score is None else means.argmax()
        return np.eye(len(means))[best], np.nan

    def _set_certificate(self, gap: float, largest_loss: float, fold_sizes: list[float]) -> None:
        self.largest_loss_ = largest_loss
        self.fold_sizes_ = fold_sizes


@documented(TEXTS)
class GreedySelection(ScoredMembers):
    """Final estimator of a stack: forward selection with replacement (Caruana et al. 2004).

    Each step adds the member with which the mean of the selected predictions is best, and the best
    mean on the way is kept. The weights are the frequencies of the members in it.

    %(scoring)s
    n_selections : int, default=50
        Number of steps.
    n_bags : int, default=1
        Number of selections that are averaged, each from half of the members, drawn at random; 1 is
        a single selection from all members.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws for `n_bags`.

    %(fitted)s
    %(loss_)s

    See Also
    --------
    WeightedMean : The weights of smallest risk in a set.
    BestMember : The choice of cross-validation.

    Notes
    -----
    O(n k) for each step with n rows and k members. The risk, or the metric, on these rows is at
    least as good as that of the best member.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). "Ensemble selection from libraries
    of models". *International Conference on Machine Learning*.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.combining import GreedySelection
    >>> P = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 5.0]])
    >>> GreedySelection(n_selections=8).fit(P, [1.5, 2.0, 3.5]).estimator_weights_
    array([0.75, 0.25])
    """

    _parameter_constraints: ClassVar[dict] = {
        "scoring": SCORINGS,
        "n_selections": [Interval(Integral, 1, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        scoring: str | Callable[..., float] = "loss",
        *,
        n_selections: int = 50,
        n_bags: int = 1,
        random_state: RandomStateLike = None,
    ) -> None:
        self.scoring = scoring
        self.n_selections = n_selections
        self.n_bags = n_bags
        self.random_state = random_state

    def _weigh(
        self,
        risk: HeldOutRisk,
        means: np.ndarray,
        score: Score | None,
        draws: np.random.RandomState,
    ) -> tuple[np.ndarray, float]:
        v = greedy_weights(
            risk, score, n_selections=self.n_selections, n_bags=self.n_bags, rng=draws
        )
        return v, np.nan


SHORTHANDS: dict[str, Callable[[], MemberWeights]] = {
    "nnls": partial(WeightedMean, "nnls"),
    "simplex": partial(WeightedMean, "simplex"),
    "l1": partial(WeightedMean, "l1"),
    "l2": partial(WeightedMean, "l2"),
    "uniform": partial(WeightedMean, "uniform"),
    "best": BestMember,
    "greedy": GreedySelection,
}


def rule_of(final_estimator: Any) -> MemberWeights | None:
    """The rule that a `final_estimator` is or names; None for an estimator of another kind."""
    if isinstance(final_estimator, str):
        return SHORTHANDS[final_estimator]()
    return final_estimator if isinstance(final_estimator, MemberWeights) else None


# --- records ------------------------------------------------------------------------------------


def _risks(
    risk: HeldOutRisk, losses: np.ndarray, held: np.ndarray, fold_rows: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The risks of the members, in all and by split, with standard errors over rows."""
    share = risk.weight
    mean = share @ losses
    # A row that several splits hold out counts once for the standard error.
    _, first, row = np.unique(held, return_index=True, return_inverse=True)
    n = len(first)
    deviations = np.zeros((n, losses.shape[1]))
    np.add.at(deviations, row.ravel(), share[:, None] * (losses - mean))
    error = np.sqrt((deviations**2).sum(axis=0) * (n / max(n - 1, 1)))
    table = {"mean_score": risk.in_units(mean), "standard_error": risk.in_units(error)}
    for number, rows in enumerate(fold_rows):
        mean_of_fold = share[rows] @ losses[rows] / share[rows].sum()
        table[f"split{number}_score"] = risk.in_units(mean_of_fold)
    return table


def _scores(score: Score, P: np.ndarray, fold_rows: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The metric of each member by split, its mean over the splits, and the error of that."""
    # A mean over splits, as `cross_val_score` has it: a score of all rows is another number.
    scores = np.array([[score(P[:, j], rows) for rows in fold_rows] for j in range(P.shape[1])])
    n = len(fold_rows)
    error = scores.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(scores), np.nan)
    table = {"mean_score": scores.mean(axis=1), "standard_error": error}
    return table | {f"split{number}_score": own for number, own in enumerate(scores.T)}


# --- metrics of scikit-learn ---------------------------------------------------------------------


class GivenValues(RegressorMixin, BaseEstimator):
    """A fitted regressor, for scorers: its predictions are the rows of X."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier, for scorers: its probabilities are the rows of X."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = self.classes_ = classes

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes)[np.argmax(X, axis=1)]


def score_of_rows(
    scoring: Any, y: np.ndarray, weight: np.ndarray | None, classes: Any = None
) -> Score:
    """The metric `scoring` of scikit-learn as a function of predictions for some of the rows.

    Without `classes` the predictions are numbers, otherwise probabilities of them.
    """
    scorer = get_scorer(scoring)
    estimator = GivenValues() if classes is None else GivenProbabilities(classes)

    def score(predictions: np.ndarray, rows: np.ndarray) -> float:
        params = {} if weight is None else {"sample_weight": weight[rows]}
        return float(scorer(estimator, predictions[rows], y[rows], **params))

    return score
