"""Linear classifiers and kernel machines with a convex loss over a ball [Shah, §3]."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._batches import FitsBatches
from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._cv_choice import CVChoice, results_of_choice
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import CLASS_WEIGHT, ReadsOnce, fit_context
from sklearn_ensemble_theory._folds import splits_of_rows
from sklearn_ensemble_theory._learners import GROUPS_ON_REQUEST
from sklearn_ensemble_theory._margin_losses import MARGIN_FUNCTIONS
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    Rows,
    check_usual_units,
    checked_classes,
    checked_groups,
    finite_predictions,
    kept_rows,
    validate_data,
)
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._scaling import largest_entry
from sklearn_ensemble_theory._scores import ClassifierMixin
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike, available_if
from sklearn_ensemble_theory.bounds._arguments import check_number, check_option

from .balls import BALLS, Matrix
from .descent import Descent
from .fits import (
    LARGEST_SCALE,
    BallFit,
    BallPlan,
    ClassRows,
    check_blocks,
    fit_blocks,
    fit_in_ball,
    held_out_risks,
    positive_classes,
    usual_radii,
)
from .kernels import MAX_KERNEL_ROWS, KernelFeatures, kernel_scores, kernel_values
from .solvers import BallRows, stochastic_bound, stochastic_steps


def _goes_row_by_row(model: "BallConstrainedClassifier") -> bool:
    if model.solver != "sgd":
        raise AttributeError(f"partial_fit needs solver='sgd', got solver={model.solver!r}.")
    if model.kernel != "linear":
        raise AttributeError(f"partial_fit needs kernel='linear', got kernel={model.kernel!r}.")
    if CVChoice.of(model.radius) is not None:
        raise AttributeError("partial_fit: the radius must be a number; set radius to `radius_`.")
    return True


def _ball_is_given(model: "BallConstrainedClassifier") -> bool:
    """Whether the theorem of `error_bound` is about these parameters."""
    if CVChoice.of(model.radius) is not None:
        raise AttributeError(
            "error_bound: the bound is for a ball that does not depend on the rows; set radius to "
            "a number."
        )
    return True


def _has_link(model: "BallConstrainedClassifier") -> bool:
    if not MARGIN_FUNCTIONS[model.loss].has_link:
        raise AttributeError(f"predict_proba: loss={model.loss!r} gives no probabilities.")
    return True


def as_csr_or_array(X: Matrix) -> Matrix:
    """CSR matrices, whose products with vectors are vectors, and arrays."""
    return sp.csr_matrix(X) if sp.issparse(X) else X


@documented()
class BallConstrainedClassifier(ClassifierMixin, FitsBatches, ReadsOnce, BaseEstimator):
    """Linear or kernel classifier that minimises a convex loss under a bound on its norm.

    It minimises the weighted mean of phi(y_i (x_i'beta + b)) over all coefficients beta with
    ``norm(beta) <= radius`` and all intercepts b, for targets y of -1 and +1
    [Shah, §3.3, §3.5 and §3.6]. With a kernel, a function h of its reproducing kernel Hilbert space
    replaces x'beta, and the norm of h replaces the norm of the coefficients. The fit computes a
    bound on its distance to the minimum, and `error_bound` one on the excess risk on new rows. More
    than two classes are fitted as one problem for each class against the others.

    Parameters
    ----------
    radius : float, array-like, "cv" or CVChoice, default=1.0
        lambda, the bound on the norm of the coefficients, in units of 1/X; with a kernel the bound
        on the norm of h. A list, "cv" or :class:`~sklearn_ensemble_theory.boosting.CVChoice`
        selects the candidate with the smallest held-out risk, which is the mean over the problems
        of several classes. "cv" compares 16 values by 5 stratified folds. The values are 1/8 to 64
        times the norm of the least-squares fit along the direction of steepest descent from 0.
    loss : {"logistic", "hinge", "exponential"}, default="logistic"
        phi(m) = log(1 + exp(-m)) with the natural logarithm, max(1 - m, 0) or exp(-m).
    norm : {"l2", "l1"}, default="l2"
        The norm of the coefficients. With "l1" many of them are 0.
    solver : {"auto", "gd", "sgd"}, default="auto"
        - "auto": to the duality gap `tol`. Newton's method over the ball; for the l1 norm, over a
          working set of features. For more than 1,500 features at a time it is accelerated
          projected gradients. For the hinge loss it is smoothed hinges, or with the l1 norm a
          linear program.
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
        With "auto", the fit ends at a duality gap of this share of the risk of the best constant
        (or of its gap, if that is smaller).
    random_state : int, RandomState instance or None, default=None
        Seed of the rows that "sgd" draws.
    %(class_weight)s
    kernel : str or callable, default="linear"
        A positive semi-definite kernel k(x, x'). A name is one of
        ``sklearn.metrics.pairwise.pairwise_kernels``: "linear", "poly" or "polynomial", "rbf",
        "laplacian", "sigmoid", "cosine", "chi2" or "additive_chi2". Use "precomputed" if X has the
        values for all pairs of rows, or pass a function of two rows that returns a number. With
        other kernels than "linear" the norm has to be "l2", and there are at most 5,000 rows.
    gamma : float, default=None
        Parameter of the kernels "rbf", "laplacian", "polynomial", "chi2" and "sigmoid"; None is the
        default of the kernel, mostly 1 / n_features.
    degree : float, default=3
        Degree of the polynomial kernel, at least 1.
    coef0 : float, default=1
        Constant of the polynomial and of the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; one row for two classes. Only with ``kernel="linear"``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        With other kernels the coefficients alpha of h = sum_i alpha_i k(x_i, .), for the rows of
        positive weight; with ``kernel="precomputed"`` for all rows.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        These rows; only for kernels other than "linear" and "precomputed".
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    radius_ : float
        The radius used.
    cv_results_ : dict of ndarrays of shape (n_radii,)
        Only if the radius was chosen: the candidates "radius", their held-out risks
        "split0_score", ..., the "mean_score" and its "standard_error".
    dual_gap_ : float
        The risk on the training rows is at most this above the minimum over the ball. It is the
        difference between the risk and the value of the dual problem at a feasible point. With
        several classes the largest one. Not after `partial_fit`.
    suboptimality_bound_ : float
        A bound on the same difference that is known before the fit: 2 L R / sqrt(k) with "gd", and
        for the expectation with "sgd"; `dual_gap_` with "auto". After `partial_fit` it bounds, in
        expectation, the excess of the risk on new rows, if all rows are independent.
    feature_bound_ : float
        C, the largest Euclidean norm of a training row ("l2"; with a kernel the largest
        sqrt(k(x, x))) or the largest absolute value of a feature ("l1"). The scores without
        intercept are at most lambda C in absolute value.
    intercept_bound_ : ndarray of shape (1,) or (n_classes,)
        B, a number that the absolute value of the best intercept does not exceed; 0 without one.
    n_iter_ : int
        Number of steps: k; Newton and gradient steps, or simplex iterations of the linear program.
    %(classes_)s
    %(names_in_fit)s

    See Also
    --------
    FrankWolfeClassifier : Norm balls of other dictionaries, such as decision stumps.
    sklearn.linear_model.LogisticRegression : The penalised form, by a multiplier of the norm.
    sklearn.svm.LinearSVC : The penalised form of the hinge loss.
    sklearn.svm.SVC : The same with a kernel.

    Notes
    -----
    *The intercept.* The theorems need a bounded set. For every beta in the ball some best b is in
    [-B, B]. B is lambda C plus 1 (hinge), plus the absolute log-odds of the classes (logistic), or
    plus half of them (exponential): see :ref:`intercept-of-the-ball`.

    *Weights.* Integer weights are equivalent to repeating rows (in distribution with "sgd"), except
    in `error_bound`, which counts the rows.

    *Cost.* A step of "gd" costs O(n p), a step of "sgd" O(p), and a Newton step O(n k² + k³) for k
    features at a time. A prediction costs O(p) for each problem. A kernel costs O(n r²) for a
    matrix of rank r, and about 3 n² numbers of memory.

    *Dask collections* are possible with "auto", the logistic or the exponential loss, and at most
    1500 features. The minimum is the one in memory; the steps differ.

    The user guide gives the constants of the theorems, the kernels and all costs:
    :ref:`guarantees-of-the-ball`, :ref:`kernels-in-the-ball`, :ref:`costs-of-the-ball`.

    %(references_Shah)s

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
        "radius": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"cv"}),
            CVChoice,
            "array-like",
        ],
        "loss": [StrOptions(set(MARGIN_FUNCTIONS))],
        "norm": [StrOptions(set(BALLS))],
        "solver": [StrOptions({"auto", "gd", "sgd"})],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "class_weight": CLASS_WEIGHT,
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
    }

    radius: Any
    n_features_in_: int
    classes_: np.ndarray
    coef_: np.ndarray
    dual_coef_: np.ndarray
    X_fit_: Matrix
    intercept_: np.ndarray
    feature_bound_: float
    radius_: float
    _states: list[Descent | None]

    def __init__(
        self,
        radius: float | ArrayLike | Literal["cv"] | CVChoice = 1.0,
        *,
        loss: Literal["logistic", "hinge", "exponential"] = "logistic",
        norm: Literal["l2", "l1"] = "l2",
        solver: Literal["auto", "gd", "sgd"] = "auto",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        random_state: RandomStateLike = None,
        class_weight: dict | Literal["balanced"] | None = None,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.radius = radius
        self.loss = loss
        self.norm = norm
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.class_weight = class_weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Minimise the loss over the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask array or data frame without sparse chunks. With
            ``kernel="precomputed"`` the values of the kernel, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes; a Dask collection where X is one.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are left out: the splits of `cv` refer to all
            rows, while an integer `cv` splits the rows of positive weight.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split that
            compares radii divides them. A `cv` that splits by groups, such as `GroupKFold`, gets
            them; an integer is then a number of folds of whole groups.

        %(returns_self)s

        Raises
        ------
        ValueError
            If the rows of positive weight have one class only, or if the exponential loss
            overflows in the ball with "gd" or "sgd". With a kernel: if the norm is not "l2", or
            there are more than 5,000 rows of positive weight. If the matrix of the kernel is not
            finite, not symmetric or not positive semi-definite. If radii are compared, if the
            training rows of a split lack a class.

        Warns
        -----
        ConvergenceWarning
            With "auto", if the duality gap is not small enough after `max_iter` steps.
        """
        if self.kernel != "linear" and self.norm != "l2":
            raise ValueError(f"kernel={self.kernel!r} needs norm='l2', got norm={self.norm!r}.")
        choice, plan, radius = CVChoice.of(self.radius), self._plan(), self.radius
        radii = None if choice is None else choice.candidates("radius")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        n_given = X.shape[0]
        rows = kept_rows(as_csr_or_array(X), y, sample_weight)
        groups, splits = checked_groups(groups, X), None
        if choice is not None:
            splits = splits_of_rows(
                choice.cv, X, y, rows.numbers, True, parameter="radius__cv", groups=groups
            )
        classes, codes = np.unique(rows.y, return_inverse=True)
        self._check_labels(classes)
        weight, rng, X = rows.shares(), check_random_state(self.random_state), rows.X
        if self.kernel != "linear":
            kernel = KernelFeatures.of(self._kernel_matrix(rows, n_given))
            X = kernel.Z
        features = ClassRows.of(X, codes, weight, len(classes))
        self.__dict__.pop("cv_results_", None)
        if splits is not None:
            radii = usual_radii(plan, features) if radii is None else radii
            risks = held_out_risks(plan, features, radii, splits, rng, rows.y)
            radius = radii[risks.mean(axis=1).argmin()]
            self.cv_results_ = results_of_choice("radius", radii, risks)
        fit = fit_in_ball(plan, features, float(radius), rng)
        coef = self._set_solution(fit, classes, features.scale)
        self.feature_bound_ = fit.problems[0].C * features.scale
        for name in ("coef_", "dual_coef_", "X_fit_"):  # of a fit with another kernel
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            self.coef_ = coef
        else:  # beta = Z'alpha
            self.dual_coef_ = kernel.dual(coef)
            if self.kernel == "precomputed":
                of_kept = self.dual_coef_
                self.dual_coef_ = np.zeros((len(of_kept), n_given))
                self.dual_coef_[:, rows.numbers] = of_kept
            else:
                self.X_fit_ = rows.X
        # Further rows come in their own units.
        goes_on = features.scale == 1 and self.kernel == "linear"
        self._states = list(fit.states) if goes_on else [None] * len(fit.states)
        self.radius_, self._n_effective = float(radius), float(1 / np.sum(weight**2))
        return self

    def _plan(self) -> BallPlan:
        return BallPlan(
            MARGIN_FUNCTIONS[self.loss],
            BALLS[self.norm],
            self.solver,
            self.fit_intercept,
            self.tol,
            self.max_iter,
        )

    def _kernel_matrix(self, rows: Rows, n_given: int) -> np.ndarray:
        """K of the rows of positive weight, among so many that were given."""
        n = len(rows)
        if n > MAX_KERNEL_ROWS:
            raise ValueError(
                f"kernel={self.kernel!r} needs its values for all pairs of rows, several times "
                f"{8 * n**2 / 2**30:.1f} GiB for {n} rows; at most {MAX_KERNEL_ROWS} rows are "
                "possible. Fit to a part of the rows, or use kernel='linear' with features of "
                "sklearn.kernel_approximation."
            )
        if self.kernel == "precomputed":
            if rows.X.shape[1] != n_given:
                raise ValueError(
                    f"kernel='precomputed' needs a square X, got {n_given} rows and "
                    f"{rows.X.shape[1]} columns."
                )
            K = rows.X[:, rows.numbers] if n < n_given else rows.X
            return K.toarray() if sp.issparse(K) else K
        return kernel_values(rows.X, rows.X, self.kernel, self._kernel_arguments())

    def _kernel_arguments(self) -> dict[str, Any]:
        if callable(self.kernel):
            return self.kernel_params or {}
        given = {} if self.gamma is None else {"gamma": self.gamma}
        return {**given, "degree": self.degree, "coef0": self.coef0}

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks: once over them, and once for each point of Newton's method."""
        if self.kernel != "linear":
            raise ValueError(f"kernel={self.kernel!r} needs all rows in memory.")
        if CVChoice.of(self.radius) is not None:
            raise ValueError("The choice of radius needs all rows in memory; set it to a number.")
        plan = self._plan()
        check_blocks(plan, rows.checks.n_features)
        # The first pass tells the classes and the size of the rows, which set the problems.
        seen = rows.sum(BallRows.of, plan.ball(1.0))
        self._check_labels(seen.classes)
        fit, scale = fit_blocks(plan, rows, seen, float(self.radius))
        self.coef_ = self._set_solution(fit, seen.classes, scale)
        self.__dict__.pop("cv_results_", None)
        self.feature_bound_, self.radius_ = seen.size, float(self.radius)
        self._states = list(fit.states)
        self._n_effective = float(seen.weights.sum()) ** 2 / seen.squares

    def _check_labels(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y has one class only, "
                f"{classes.tolist()[0]!r}."
            )

    def _set_solution(self, fit: BallFit, classes: np.ndarray, scale: float) -> np.ndarray:
        """Set what all solvers know, and warn of gaps above tol; return the coefficients."""
        points = fit.points
        self.dual_gap_ = max(point.gap for point in points)
        if not all(point.converged for point in points):
            warn_user(
                f"The fit ended at a duality gap of {self.dual_gap_:.3g}, above tol. Scale the "
                "features, or increase max_iter or tol.",
                ConvergenceWarning,
            )
        self.classes_ = classes
        self.intercept_ = np.array([point.intercept for point in points], dtype=np.float64)
        self.n_iter_ = max(point.n_iter for point in points)
        self.intercept_bound_ = np.array([problem.reach for problem in fit.problems])
        self.suboptimality_bound_ = max(fit.bounds)
        return np.array([point.beta / scale for point in points])

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

        Only with ``solver="sgd"``. The steps continue from previous calls or from `fit`. Step s has
        the size sqrt(2) R / sqrt(sum |g|²), with the sum of squares of the gradients of all steps
        so far: the number of steps need not be known. The first call sets the interval of the
        intercept.

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

        %(returns_self)s

        Raises
        ------
        ValueError
            If `classes` is missing in the first call or differs from previous calls, if y contains
            a label that is not in it, or if features are above 1e50.
        """
        first = getattr(self, "_states", None) is None
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=first
        )
        check_classification_targets(y)
        rows = kept_rows(as_csr_or_array(X), y, sample_weight, as_given=True)
        check_usual_units(rows.weights())
        X, y = rows.X, rows.y
        labels = self._labels_of(classes, first)
        codes = np.searchsorted(labels, y)
        if np.any(labels[np.minimum(codes, len(labels) - 1)] != y):
            raise ValueError("y contains a label that is not in classes.")
        if largest_entry(X) > LARGEST_SCALE:
            raise ValueError(f"partial_fit needs features of at most {LARGEST_SCALE:g}; scale X.")
        ball, phi = BALLS[self.norm](float(self.radius)), MARGIN_FUNCTIONS[self.loss]
        size, weight = ball.row_size(X), rows.weights()
        states = [] if first else [state for state in self._states if state is not None]
        moved: list[Descent] = []
        reaches: list[float] = []
        for number, k in enumerate(positive_classes(len(labels))):
            if states:
                state, reach = states[number], float(self.intercept_bound_[number])
            else:  # these rows set B; a class that they do not have counts as half a row
                reach = 0.0
                if self.fit_intercept:
                    half = 0.5 * weight.mean()
                    up, down = weight[codes == k].sum(), weight[codes != k].sum()
                    log_odds = float(np.log(max(up, half)) - np.log(max(down, half)))
                    reach = phi.intercept_offset(log_odds) + ball.radius * size
                state = Descent.first(np.zeros(X.shape[1] + 1))
            reaches.append(reach)
            moved.append(
                stochastic_steps(
                    X,
                    np.where(codes == k, 1.0, -1.0),
                    phi,
                    ball,
                    reach,
                    state,
                    rows=np.arange(X.shape[0]),
                    weight=weight,
                    fit_intercept=self.fit_intercept,
                )
            )
        self.classes_, self._states = labels, list(moved)
        self.radius_ = ball.radius
        self.coef_ = np.array([state.mean[:-1] for state in moved])
        self.intercept_ = np.array([state.mean[-1] for state in moved])
        self.n_iter_ = moved[0].n_steps
        self.intercept_bound_ = np.array(reaches)
        self.suboptimality_bound_ = max(
            stochastic_bound(state, float(np.hypot(self.radius, reach)))
            for state, reach in zip(moved, reaches)
        )
        self.feature_bound_ = max(size, 0.0 if first else self.feature_bound_)
        for name in ("dual_gap_", "cv_results_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self

    def _labels_of(self, classes: ArrayLike | None, first: bool) -> np.ndarray:
        """The classes of `partial_fit`, which have to stay the same."""
        if classes is None:
            if first:
                raise ValueError("classes must be given in the first call of partial_fit.")
            return self.classes_
        labels = checked_classes(classes)
        if len(labels) < 2:
            raise ValueError(f"classes must contain at least two labels, got {labels.tolist()}.")
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(
                f"classes={labels.tolist()} differs from that of previous calls, "
                f"{self.classes_.tolist()}."
            )
        return labels

    @finite_predictions
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Scores x'beta + b, or sum_i alpha_i k(x, x_i) + b.

        %(sparse_rows_to_predict)s

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive for the second class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if self.kernel in ("linear", "precomputed"):
            coef = self.coef_ if self.kernel == "linear" else self.dual_coef_
            scores = np.asarray(X @ coef.T) + self.intercept_
        else:
            X, arguments = as_csr_or_array(X), self._kernel_arguments()
            found = kernel_scores(X, self.X_fit_, self.dual_coef_, self.kernel, arguments)
            scores = found + self.intercept_
        return scores[:, 0] if len(self.intercept_) == 1 else scores

    @by_chunks
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row: the largest score, the first class for ties.

        %(sparse_rows_to_predict)s

        %(returns_labels)s
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_has_link)
    @by_chunks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Class probabilities, by the link of the logistic or exponential loss.

        With more than two classes, the probabilities of the problems are divided by their sum.

        %(sparse_rows_to_predict)s

        %(returns_probabilities)s
        """
        scores = self.decision_function(X)
        proba = MARGIN_FUNCTIONS[self.loss].probability(scores)
        if proba.ndim == 1:
            return np.column_stack([1 - proba, proba])
        proba = np.maximum(proba, np.finfo(np.float64).tiny)
        return proba / proba.sum(axis=1, keepdims=True)

    @available_if(_has_link)
    @by_chunks
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of the class probabilities.

        %(sparse_rows_to_predict)s

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Logarithms, in the order of `classes_`.
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    @available_if(_ball_is_given)
    def error_bound(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        method: Literal["excess_risk"] = "excess_risk",
        delta: float = 0.05,
        feature_bound: float | None = None,
        intercept_bound: float | None = None,
    ) -> float:
        """Bound the expected loss on new rows, in excess of the best function of the ball.

        With probability at least 1 - delta over independent training rows the expected loss of the
        fitted coefficients is at most this above the smallest one over the ball
        [Shah, corollary 20]:

            2 L (lambda C / sqrt(n) + B / sqrt(n)) + M sqrt(2 log(2/delta) / n) + dual_gap_

        for the l2 norm; with the l1 norm lambda C sqrt(2 log(2p) / n) is the first term in the
        brackets. L and M are the Lipschitz constant and the largest value of phi on scores of at
        most lambda C + B. With more than two classes the bound holds for the losses of all problems
        at once, with delta divided by their number.

        %(of_excess_risk)s
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
        The corollary is about the exact minimiser. The fitted function is within `dual_gap_` of it
        on the training rows, so this gap is added. With weights w of sum 1 that do not depend on
        the rows, n is 1 / sum(w²). With an intercept, C and B should be known before the data: the
        minimiser over all intercepts is also that over [-B, B] if it is in it.
        """
        check_is_fitted(self, "dual_gap_")
        check_option("method", method, ("excess_risk",))
        if not (isinstance(delta, Real) and 0 < delta < 1):
            raise ValueError(f"delta must be a number between 0 and 1, got {delta!r}.")
        for name, value in (("feature_bound", feature_bound), ("intercept_bound", intercept_bound)):
            if value is not None:
                check_number(name, value, 0)
        C = self.feature_bound_ if feature_bound is None else float(feature_bound)
        if not self.feature_bound_ <= C:
            raise ValueError(
                f"feature_bound={feature_bound!r} is exceeded by a training row, of "
                f"{self.feature_bound_:.6g}."
            )
        ball, phi = BALLS[self.norm](self.radius_), MARGIN_FUNCTIONS[self.loss]
        n, p = self._n_effective, self.n_features_in_
        complexity = ball.complexity(C, p, n)
        B = self.intercept_bound_ + self.radius_ * (C - self.feature_bound_) * self.fit_intercept
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
                for b, r in zip(B.tolist(), (B + self.radius_ * C).tolist())
            )
            + self.dual_gap_
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
