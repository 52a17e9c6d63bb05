"""Linear classifiers with a convex loss over a ball [Shah, §3]."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    check_usual_units,
    rows_of_positive_weight,
    validate_data,
)
from sklearn_ensemble_theory._typing import MatrixLike, RandomStateLike, available_if
from sklearn_ensemble_theory.erm._ball.averaged_descent import StochasticState
from sklearn_ensemble_theory.erm._ball.balls import BALLS
from sklearn_ensemble_theory.erm._ball.base import (
    SOLVERS,
    BallOptions,
    as_csr_or_array,
    check_labels,
    first_states,
    fit_chunks_in_ball,
    fit_in_ball,
    further_steps,
)
from sklearn_ensemble_theory.erm._ball.linear_scores import LinearScoresMixin


def _goes_row_by_row(model):
    if model.solver != "sgd":
        raise AttributeError(f"partial_fit needs solver='sgd', got solver={model.solver!r}.")
    return True


class BallConstrainedClassifier(ClassifierMixin, LinearScoresMixin, BaseEstimator):
    """Linear classifier that minimises a convex loss over a ball of coefficients.

    It minimises the weighted mean of phi(y_i (x_i'beta + b)) over all coefficients beta with
    ``norm(beta) <= radius`` and all intercepts b, for targets y of -1 and +1
    [Shah, §3.3, §3.5 and §3.6]. The difference to the minimum is bounded by a computed number, and
    so is the excess risk on new rows. More than two classes are fitted as one problem for each
    class against the others.

    Parameters
    ----------
    radius : float, default=1.0
        lambda, the bound on the norm of the coefficients, in units of 1/X.
    loss : {"logistic", "hinge", "exponential"}, default="logistic"
        phi(m) = log(1 + exp(-m)) with the natural logarithm, max(1 - m, 0) or exp(-m).
    norm : {"l2", "l1"}, default="l2"
        The norm of the coefficients. With "l1" many of them are 0.
    solver : {"auto", "gd", "sgd"}, default="auto"
        - "auto": to the duality gap `tol`. Newton's method over the ball, for the l1 norm over a
          working set of features; accelerated projected gradients for more than 1,500 features
          at a time; for the hinge loss smoothed hinges, or with the l1 norm a linear program.
        - "gd": the mean of `max_iter` projected subgradient steps with the step size of
          [Shah, theorem 26].
        - "sgd": the mean of `max_iter` stochastic subgradient steps with the step size of
          [Shah, theorem 27], each for one row drawn with a probability proportional to its weight.
          It has `partial_fit`.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It does not count in the norm and is not restricted.
    max_iter : int, default=None
        Number k of steps of "gd" and "sgd"; None is 1,000 and the number of rows. For "auto" the
        largest number of steps; None is 10,000.
    tol : float, default=1e-6
        With "auto", the fit ends at a duality gap of this share of the risk of the best constant,
        or of the gap of the best constant if that is smaller.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows that "sgd" draws.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_gap_ : float
        The risk on the training rows is at most this above the minimum over the ball: the
        difference between it and the value of the dual problem at a feasible point. With several
        classes the largest one. Not after `partial_fit`.
    suboptimality_bound_ : float
        A bound on the same difference that is known before the fit: 2 L R / sqrt(k) with "gd", and
        for the expectation with "sgd"; `dual_gap_` with "auto". After `partial_fit` it bounds, in
        expectation, the excess of the risk on new rows, if all rows are independent.
    feature_bound_ : float
        C, the largest Euclidean norm of a training row ("l2") or the largest absolute value of a
        feature ("l1"). The scores without intercept are at most lambda C in absolute value.
    intercept_bound_ : ndarray of shape (1,) or (n_classes,)
        B, a number that the absolute value of the best intercept does not exceed; 0 without one.
    n_iter_ : int
        Number of steps: k; Newton and gradient steps, or simplex iterations of the linear program.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only for X with feature names that are all strings.

    See Also
    --------
    FrankWolfeClassifier : Norm balls of other dictionaries, such as decision stumps.
    sklearn.linear_model.LogisticRegression : The penalised form, by a multiplier of the norm.
    sklearn.svm.LinearSVC : The penalised form of the hinge loss.

    Notes
    -----
    *The intercept.* The theorems need a bounded set. For every beta in the ball some best b is in
    [-B, B], where B is lambda C plus 1 (hinge), plus the absolute log-odds of the classes
    (logistic) or plus half of them (exponential). The set is the product of the ball and this
    interval: R² = lambda² + B², rows get a last entry of 1, and the Rademacher complexity gets
    B / sqrt(n) more.

    *The bound of [Shah, theorem 26].* L is the Lipschitz constant of phi on [-r, r], r = lambda C +
    B, times the weighted mean of the norms of the rows; in [Shah, theorem 27] times their root mean
    square. For the exponential loss it grows like exp(r). `dual_gap_` is computed from the mean of
    the dual variables of all steps with "gd", and from those of the mean coefficients with "sgd".

    *Weights.* Integer weights are equivalent to repeating rows (in distribution with "sgd"), except
    in `excess_risk_bound`, which counts the rows.

    *Cost.* A step of "gd" costs O(n p), or the number of non-zero entries, plus O(p log p) for the
    projection onto the l1 ball; a step of "sgd" costs O(p), or O(p log p). A Newton step costs
    O(n k² + k³) for k features at a time: the active ones and those that enter, or all of them for
    the l2 norm. Predicting costs O(p) for each row and each problem.

    *Dask collections* are possible with "auto", the logistic or the exponential loss, and at most
    1500 features. Newton's method then reads the rows once at the start, and once for each point
    that it tries, for all problems at a time: `n_iter_` + 2 times, and more where it shortens
    steps. A chunk computes all p² second derivatives, in O(n p²), and sends them for each problem.
    The minimum is the one in memory; the steps differ.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import BallConstrainedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = BallConstrainedClassifier(radius=3.0, norm="l1").fit(X, y)
    >>> int((model.coef_ != 0).sum()), round(float(abs(model.coef_).sum()), 6)
    (4, 3.0)
    >>> bool(model.dual_gap_ < 1e-6)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "radius": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions(set(MARGIN_FUNCTIONS))],
        "norm": [StrOptions(set(BALLS))],
        "solver": [StrOptions(set(SOLVERS))],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        loss: Literal["logistic", "hinge", "exponential"] = "logistic",
        norm: Literal["l2", "l1"] = "l2",
        solver: Literal["auto", "gd", "sgd"] = "auto",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        random_state: RandomStateLike = None,
    ) -> None:
        self.radius = radius
        self.loss = loss
        self.norm = norm
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _options(self):
        return BallOptions(
            self.loss,
            self.norm,
            float(self.radius),
            self.solver,
            self.fit_intercept,
            self.max_iter,
            self.tol,
        )

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Minimise the loss over the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame without sparse chunks.
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If the rows of positive weight have one class only, or if the exponential loss
            overflows in the ball with "gd" or "sgd".

        Warns
        -----
        ConvergenceWarning
            With "auto", if the duality gap is not small enough after `max_iter` steps.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        kept = rows_of_positive_weight(sample_weight, X)
        X, y = kept.take(as_csr_or_array(X), y)
        classes, codes = np.unique(y, return_inverse=True)
        check_labels(classes, type(self).__name__)
        weight = kept.normalised
        rng = check_random_state(self.random_state)
        fits = fit_in_ball(X, codes, len(classes), weight, self._options(), rng)
        self._learn(classes, fits, float(1 / np.sum(weight**2)))
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks: once over them, and once for each point of Newton's method."""
        name = type(self).__name__
        self._learn(*fit_chunks_in_ball(rows, self._options(), name))

    def _learn(self, classes, fits, n_effective):
        self._store(classes, [f.coef for f in fits], [f.intercept for f in fits])
        self.n_iter_ = max(f.n_iter for f in fits)
        self.dual_gap_ = max(f.gap for f in fits)
        self.suboptimality_bound_ = max(f.bound for f in fits)
        self.feature_bound_ = fits[0].feature_bound
        self.intercept_bound_ = np.array([f.intercept_bound for f in fits])
        self._n_effective = n_effective
        self._states: list[StochasticState | None] = [f.state for f in fits]

    def _store(self, classes, coefs, intercepts):
        self.classes_ = classes
        self.coef_ = np.array(coefs)
        self.intercept_ = np.array(intercepts, dtype=np.float64)

    @available_if(_goes_row_by_row)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one stochastic subgradient step for each row, in the order of the rows.

        Only with ``solver="sgd"``. The steps go on from those of previous calls or of `fit`. Step s
        has the size sqrt(2) R / sqrt(sum |g|²), with the sum of squares of the gradients of all
        steps so far: the number of steps need not be known. The first call sets the interval of
        the intercept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Further rows.
        y : array-like of shape (n_samples,)
            Their class labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative factors of the losses.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If `classes` is missing in the first call or differs from that of previous ones, if y
            contains a label that is not in it, or if features are above 1e50.
        """
        first = getattr(self, "_states", None) is None
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=first
        )
        check_classification_targets(y)
        kept = rows_of_positive_weight(sample_weight, X, as_given=True)
        check_usual_units(kept.weight)
        X, y = kept.take(as_csr_or_array(X), y)
        labels = self._labels_of(classes, first)
        codes = np.searchsorted(labels, y)
        if np.any(labels[np.minimum(codes, len(labels) - 1)] != y):
            raise ValueError("y contains a label that is not in classes.")
        options = self._options()
        known = [] if first else [state for state in self._states if state is not None]
        states = known or first_states(X, codes, len(labels), kept.weight, options)
        states = further_steps(X, codes, kept.weight, options, states)
        self._store(labels, *zip(*(state.mean for state in states)))
        self._states = list(states)
        self.n_iter_ = states[0].n_steps
        self.intercept_bound_ = np.array([state.reach for state in states])
        self.suboptimality_bound_ = max(s.bound(np.hypot(self.radius, s.reach)) for s in states)
        size = BALLS[self.norm](self.radius).row_size(X)
        self.feature_bound_ = max(size, 0.0 if first else self.feature_bound_)
        vars(self).pop("dual_gap_", None)
        return self

    def _labels_of(self, classes, first):
        if classes is None:
            if first:
                raise ValueError("classes must be given in the first call of partial_fit.")
            return self.classes_
        labels = np.unique(np.asarray(classes))
        if len(labels) < 2:
            raise ValueError(f"classes must contain at least two labels, got {classes!r}.")
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"classes={classes!r} differs from that of previous calls.")
        return labels

    def excess_risk_bound(
        self,
        delta: float = 0.05,
        *,
        feature_bound: float | None = None,
        intercept_bound: float | None = None,
    ) -> float:
        """Bound on the excess of the expected loss on new rows over the best of the ball.

        With probability at least 1 - delta over independent training rows the expected loss of the
        fitted coefficients is at most this above the smallest one over the ball
        [Shah, corollary 20]:

            2 L (lambda C / sqrt(n) + B / sqrt(n)) + M sqrt(2 log(2/delta) / n) + dual_gap_

        for the l2 norm; with the l1 norm lambda C sqrt(2 log(2p) / n) is the first term in the
        brackets. L and M are the Lipschitz constant and the largest value of phi on scores of at
        most lambda C + B. With more than two classes the bound holds for the losses of all problems
        at once, with delta divided by their number.

        Parameters
        ----------
        delta : float in (0, 1), default=0.05
            The probability that the bound fails.
        feature_bound : float, default=None
            C, a bound on the norm of all possible rows (l2) or on the absolute values of all
            possible features (l1). If None, the largest of the training rows; the bound then holds
            for rows that are not larger.
        intercept_bound : float, default=None
            B, a bound on the intercepts that are compared, no smaller than the fitted one. If None,
            it is computed from C and the training rows like `intercept_bound_`.

        Returns
        -------
        bound : float
            The bound, in units of the loss; inf where it is no float. The cost is O(1).

        Raises
        ------
        ValueError
            If delta is not between 0 and 1, or if a bound is exceeded by the training rows or by
            the intercept.

        Notes
        -----
        The corollary is about the exact minimiser; that of the fit is within `dual_gap_` of it on
        the training rows, which adds as much. With weights w of sum 1 that do not depend on the
        rows, n is 1 / sum(w²). With an intercept, C and B should be known before the data: the
        minimiser over all intercepts is also that over [-B, B] if it is in it.
        """
        check_is_fitted(self, "dual_gap_")
        if not (isinstance(delta, Real) and 0 < delta < 1):
            raise ValueError(f"delta must be a number between 0 and 1, got {delta!r}.")
        C = self.feature_bound_ if feature_bound is None else float(feature_bound)
        if not self.feature_bound_ <= C:
            raise ValueError(
                f"feature_bound={feature_bound!r} is exceeded by a training row, of "
                f"{self.feature_bound_:.6g}."
            )
        ball, phi = BALLS[self.norm](self.radius), MARGIN_FUNCTIONS[self.loss]
        n, p = self._n_effective, self.n_features_in_
        complexity = ball.complexity(C, p, n)
        B = self.intercept_bound_ + self.radius * (C - self.feature_bound_) * self.fit_intercept
        if intercept_bound is not None:
            B = np.full(len(B), float(intercept_bound))
            if not np.all(np.abs(self.intercept_) <= B):
                raise ValueError(
                    f"intercept_bound={intercept_bound!r} is exceeded by the intercept, "
                    f"{np.abs(self.intercept_).max():.6g}."
                )
        tail = np.sqrt(2 * np.log(2 * len(B) / delta) / n)
        return (
            max(
                2 * phi.lipschitz(r) * (complexity + b / np.sqrt(n)) + phi.largest(r) * float(tail)
                for b, r in zip(B.tolist(), (B + self.radius * C).tolist())
            )
            + self.dual_gap_
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
