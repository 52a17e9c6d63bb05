"""Additive models for any loss by boosting stumps on binned columns; L2-boosting by stumps.

With the squared error the rounds need sums over rows only: rows in blocks are read twice, and
`partial_fit` keeps the sums alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._scores import RegressorMixin, r2_of

from ..._blocks import by_chunks
from ..._categories import CategoricalColumns
from ..._compat import CallbackSupportMixin, HasMethods, StrOptions
from ..._cv_choice import CVRounds
from ..._documentation import documented
from ..._door import fit_context
from ..._learners import GROUPS_ON_REQUEST
from ..._offsets import offset_to_score
from ..._rows import ChunkedRows, finite_predictions
from ..._running import warn_user
from ..._scaling import TargetScale, power_of_two
from ..._typing import ArrayLike, CVLike, LossLike, available_if
from ...ensembles._intervals import checked_coverage, interval_by_folds, one_of
from .._loop import begin_fit
from ..losses import HuberLoss, Loss
from ..losses._losses import BinomialLoss, LogLinkLoss, loss_names, make_loss
from .additive_fit import (
    KnownSums,
    check_memory,
    fit_additive,
    losses_of_blocks,
    losses_of_rows,
    squares_of_blocks,
    squares_of_rows,
    sums_of_rows,
)
from .additive_plan import Plan
from .base import TEXTS, BaseAdditive, keeps_folds
from .bins import TargetRange, TrainingRows, choose_bins
from .edits import refuse_edited
from .fitted_terms import AdditiveModel, FoldModels
from .risk import PointwiseOf

# The mean distance by which scores move between two computations of the gradients, as a share of
# their unit.
REFRESH = 0.2


def loss_of(loss: str | LossLike) -> Loss:
    return make_loss(loss, alpha=0.9, power=1.5)


def _is_squared(model: "AdditiveBoostingRegressor") -> bool:
    if isinstance(model.loss, str):
        return model.loss == "squared_error"
    if getattr(model.loss, "is_quadratic", False):
        return True
    raise AttributeError("partial_fit requires loss='squared_error'.")


@documented(TEXTS)
class AdditiveBoostingRegressor(RegressorMixin, CallbackSupportMixin, BaseAdditive):
    """Glass-box additive model for any loss: one curve per feature, fitted by boosting stumps.

    The score is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function per feature, and functions of those pairs of features that help (`interactions`). For
    losses of the residual the prediction is the score. For the losses of counts and amounts it is
    the exponential of the score, so the terms multiply. An `offset`, such as the logarithm of an
    exposure, is added to the score. Missing values, categories and monotonic constraints are
    supported.

    Each round fits a stump, ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least
    squares, over all features j and the edges c of their bins. It then adds `learning_rate` times
    the stump. The sums over rows are counted once for each pair of features. A round then works on
    vectors with one element for each cut, so its cost does not depend on the number of rows. Losses
    other than the squared error use the weighted working residuals of a Newton step. Their
    gradients and weights are computed again when a function has moved by 0.2. The unit of this 0.2
    is the logarithm or the log-odds; for losses of the residual it is the mean absolute deviation
    of y.

    %(n_estimators)s
    loss : str or object, default="squared_error"
        For "squared_error", "absolute_error", "huber" and "quantile" the score is the prediction.
        For "poisson", "gamma" and "tweedie" the prediction is the exponential of the score. For
        "binomial", the loss for shares of successes, the score is the log-odds. A name stands for a
        class in `boosting.losses` with its defaults; for other values pass an instance, such as
        ``QuantileLoss(0.9)``, ``TweedieLoss(1.3)`` or ``HuberLoss(quantile=0.9)``. Any object with
        methods ``value(y, u)`` and ``gradient(y, u)`` of targets and scores is accepted too. With a
        method ``hessian(y, u)``, the steps are Newton steps. Without it, a parabola replaces the
        loss, with the curvature `smoothness` of the object or the slope of the gradient.
    %(rates)s
    %(bins_and_terms)s
    %(cv)s
    %(held_out)s

    Attributes
    ----------
    loss_ : Loss
        The loss.
    %(real_model)s
    feature_importances_ : ndarray of shape (p,)
        The importances of the terms of single features, divided by their sum; for the squared error
        the shares of the features in the decrease of the training error.
    %(names_in_fit)s

    See Also
    --------
    L2BoostingRegressor : The same class with the squared error only.
    LogitBoostClassifier : The same model for the log-odds of classes.
    GradientBoostingRegressor : Any loss and any base learner; the cost of a round grows with n.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees on binned columns.

    Notes
    -----
    The steps are Newton steps. For counts and amounts they use expected second derivatives, as in
    Fisher's scoring [McCullagh and Nelder 1989]. For the absolute, quantile and Huber loss they use
    the second derivative of a parabola above the loss [Hunter and Lange 2000]. See
    :ref:`second-derivatives-of-losses` in the user guide.

    The number of events in a row of exposure e has the mean ``e * exp(u)``. With
    ``loss="poisson"``, ``fit(X, events, offset=np.log(e))`` has the likelihood of ``fit(X, events /
    e, sample_weight=e)``, and the same rounds in the same bins. With the offset, bins and folds
    have about equal numbers of rows; with the weights, they have about equal exposure. Only a model
    with the offset includes the exposure of a row in its prediction.

    %(models_of_folds)s

    For n rows, p features of B bins and k folds, the bins cost O(n p log n), and gradients O(n p k)
    each time they are computed. A round costs O(p B k), independent of n. The user guide lists all
    costs, also with Dask collections: :ref:`additive-costs`.

    Missing values, categories and pairs are treated as in :class:`L2BoostingRegressor`. If a whole
    interval of constants has the least loss, as for the median of an even number of rows, models of
    chunks may start elsewhere in it. ``loss="huber"`` needs all rows in memory for its quantile; an
    instance of `HuberLoss` does not. Offsets need rows in memory.

    %(references_Friedman)s

    P. McCullagh and J. A. Nelder (1989). *Generalized Linear Models*, 2nd edition. Chapman & Hall.

    D. R. Hunter and K. Lange (2000). "Quantile regression via an MM algorithm". Journal of
    Computational and Graphical Statistics 9.

    %(DSGA)s

    Examples
    --------
    Numbers of claims, in years of different length. The terms are logarithms of factors:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdditiveBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> exposure = rng.uniform(0.1, 1, size=2000)
    >>> claims = rng.poisson(exposure * np.exp(X[:, 0]))
    >>> model = AdditiveBoostingRegressor(loss="poisson")
    >>> model = model.fit(X, claims, offset=np.log(exposure))
    >>> year, quarter = (model.predict([[0.9, 0.5]], offset=np.log([e])) for e in (1, 0.25))
    >>> bool(np.isclose(year, 4 * quarter))
    True
    """

    _parameter_constraints: ClassVar = {
        "loss": [StrOptions(loss_names("real")), HasMethods(["value", "gradient"])],
        **BaseAdditive._parameter_constraints,
    }
    loss_: Loss

    def __init__(
        self,
        n_estimators: int | Literal["cv"] | CVRounds = "cv",
        *,
        loss: str | LossLike = "squared_error",
        learning_rate: float = 0.01,
        smoothing_rounds: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] | ArrayLike = "auto",
        interactions: int | float | Literal["auto", "cv"] | ArrayLike = "cv",
        exclude: ArrayLike | None = None,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        cv: CVLike | None = None,
        held_out: Literal["cv"] | CVLike | None = None,
        verbose: bool | int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.learning_rate = learning_rate
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.interactions = interactions
        self.exclude = exclude
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.cv = cv
        self.held_out = held_out
        self.verbose = verbose

    @property
    def link_(self) -> str:
        loss = self.loss_
        if isinstance(loss, LogLinkLoss):
            return "log"
        if isinstance(loss, BinomialLoss):
            return "logit"
        return "identity" if PointwiseOf(loss).is_on_scale_of_y else "other"

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        %(to_fit)s

        %(returns_self)s

        Raises
        ------
        ValueError
            If y is not in the domain of the loss, such as negative counts. If pairs or `held_out`
            need folds and `cv` has none. If the sums over one cut with all others exceed the
            `working_memory` of scikit-learn's configuration; with Dask collections, the sums over
            all pairs of cuts.
        """
        rows = self._checked_rows(X, y, sample_weight, groups=groups, offset=offset)
        plan = self._plan_for(rows)
        loss_of(self.loss).check_target(rows.y)
        end_fit = begin_fit(self, X, y, sample_weight, offset)
        self.model_ = replace(self._solved(plan, rows), has_offset=offset is not None)
        self.__dict__.pop("sums_", None)  # what `partial_fit` left behind
        end_fit()
        return self

    def _solved(self, plan: Plan, rows: TrainingRows) -> AdditiveModel:
        self.loss_ = loss_of(self.loss)
        if self.loss_.is_quadratic:
            problem = squares_of_rows(plan, rows, self._report)
        else:
            problem, self.loss_ = losses_of_rows(plan, self.loss_, REFRESH, rows, self._report)
        return fit_additive(plan, problem, self._report)

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks."""
        loss = loss_of(self.loss)
        if isinstance(loss, HuberLoss) and loss.quantile is not None:
            raise ValueError(
                "loss='huber' requires all rows in memory, for a quantile of the absolute "
                "deviations; use loss=HuberLoss(delta)."
            )
        plan, found = self._blocks(rows, TargetRange.of)
        if loss.is_quadratic:
            problem = squares_of_blocks(plan, found, self._report)
        else:
            problem = losses_of_blocks(plan, loss, REFRESH, found, self._report)
        self.model_, self.loss_ = fit_additive(plan, problem, self._report), loss
        self.__dict__.pop("sums_", None)

    @available_if(_is_squared)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        refit: bool = True,
    ) -> Self:
        """Add a chunk of rows to the earlier chunks and fit the model to all of them.

        For the squared error. Only sums are kept, never rows. The bins are given by `max_bins`, or
        quantiles of the first chunk. The categories are taken from the first chunk; other
        categories are treated as missing. Each chunk is split into folds by itself, and all sums
        are kept for each fold. With given thresholds and without folds (see `n_estimators`) the
        model is the one of `fit` on all chunks together.

        %(of_chunk)s
        y : array-like of shape (n_samples,)
            Targets.
        %(sample_weight)s
        refit : bool, default=True
            Whether to update the model. With False the chunk is only added to the sums.

        %(returns_self)s

        Raises
        ------
        ValueError
            If the sums over all pairs of cuts exceed the `working_memory` of scikit-learn's
            configuration: the rows of earlier chunks cannot be counted again. If the model was
            edited, which a fit would undo.

        Warns
        -----
        UserWarning
            If called after `fit`, which does not store the sums: the model is then fitted to this
            chunk alone.
        """
        if not isinstance(refit, (bool, np.bool_)):
            raise TypeError(f"refit must be a bool, got {type(refit).__name__}.")
        if self.held_out is not None:
            raise ValueError(
                "held_out requires rows in memory in one call of fit; use held_out=None with "
                "partial_fit."
            )
        if self.__sklearn_is_fitted__():
            refuse_edited(self.model_, "partial_fit goes on from")
        known: KnownSums | None = getattr(self, "sums_", None)
        if known is None and self.__sklearn_is_fitted__():
            warn_user(
                "The rows of an earlier call of fit are not used: fit does not store the sums, so "
                "partial_fit starts again with this chunk.",
                UserWarning,
            )
        rows = self._checked_rows(X, y, sample_weight, known is None)
        plan = self._plan(rows.X.shape[1], rows.columns)
        if plan.keeps_bins_for_pairs:
            raise ValueError(
                "partial_fit keeps sums over rows, from which pairs of features cannot be fitted; "
                "use interactions=0."
            )
        # The units of weights and of the target are those of the first chunk.
        weight, unit = rows.weight, 1.0
        if known is not None:
            unit = known.weight_unit
        elif weight is not None:
            unit = power_of_two(weight.max())
        if weight is not None:
            with np.errstate(over="ignore"):
                weight = weight / unit
        n_chunks = 0 if known is None else known.n_chunks
        rows = self._folds_of_chunk(replace(rows, weight=weight), n_chunks)
        n_splits, n_groups = rows.n_splits, rows.n_splits + 1
        if known is None:
            target = TargetScale.in_powers_of_two(rows.y, weight)
            bins, _ = choose_bins(plan, rows, rows.y, keep_missing=True)
        else:
            bins, target = known.bins, known.target
            bins.check_allowed(plan.allowed.features)
            if n_groups != known.n_groups:
                raise ValueError(
                    "n_estimators must give the same number of folds in every call of partial_fit."
                )
        # Rows of earlier chunks cannot be counted again: all products of cuts have to fit at once.
        check_memory(plan.memory, bins.layout().n_cuts, n_groups, n_splits)
        sums = sums_of_rows(bins, rows.X, target(rows.y), rows.weight, rows.folds, n_groups)
        # Sums of chunks are added, which is all that is needed of their rows.
        if known is not None:
            sums = known.sums + sums
        if not sums.moderate():
            raise ValueError("y or sample_weight is too large compared with the first chunk.")
        known = KnownSums(sums, bins, rows.columns, target, unit, n_chunks + 1)
        if refit:
            self.model_ = fit_additive(plan, known.problem(), self._report)
            self.loss_ = loss_of(self.loss)
        self.sums_ = known
        return self

    def fit_to_sums(self, sums: KnownSums) -> Self:
        """Fit the model to sums that other models have kept."""
        plan, self.loss_ = self._plan(self.n_features_in_, sums.columns), loss_of(self.loss)
        self.model_ = fit_additive(plan, sums.problem(), self._report)
        self.sums_ = sums
        return self

    def _known_columns(self) -> CategoricalColumns | None:
        return self.sums_.columns

    @finite_predictions
    def predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the targets by table look-up and the inverse link of the loss.

        %(to_predict)s

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions, in the units of y, at a cost of O(p) each.
        """
        check_is_fitted(self)
        return self._inverse_link(self._scores(X, offset))

    def _of_scores(self, scores: np.ndarray, folds: FoldModels) -> np.ndarray:
        return folds.scale * self._inverse_link(scores) + folds.mean

    def _inverse_link(self, u: np.ndarray) -> np.ndarray:
        return u if self.loss_.is_quadratic else self.loss_.inverse_link(u)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination R² of the predictions, whatever the loss.

        Parameters
        ----------
        %(to_score)s

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean of y.

        %(raises_without_offset)s
        """
        check_is_fitted(self)
        offset = offset_to_score(self, offset, X, self.model_.has_offset)
        return r2_of(self, X, y, sample_weight, offset)

    @available_if(keeps_folds)
    @by_chunks
    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.9,
        method: Literal["cv+"] = "cv+",
        side: Literal["both", "lower", "upper"] = "both",
        offset: ArrayLike | None = None,
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        By the models of the folds of `held_out`. Row i is predicted by the model f_k(i) that its
        fold is left out of. The intervals are by the CV+ [Barber, Candès, Ramdas and Tibshirani,
        2021]. Let alpha = 1 - `coverage`, n the number of rows, d(f) the standard deviation of the
        loss at the prediction f, and R_i = abs(y_i - f_k(i)(x_i)) / d(f_k(i)(x_i)) the residuals.
        The lower end is the floor(alpha (n + 1))-th smallest f_k(i)(x) - d(f_k(i)(x)) R_i. The
        upper end is the ceil((1 - alpha) (n + 1))-th smallest f_k(i)(x) + d(f_k(i)(x)) R_i.

        d is 1 for most losses, and for counts and amounts a power of f that the residuals choose:
        see :ref:`intervals-of-additive-models` in the user guide. Ends are values that a target can
        have: no count is below 0.

        %(of_rows)s
        %(coverage)s
        method : {"cv+"}, default="cv+"
            How the interval is computed.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end has residuals with their
            sign.
        %(offset_to_predict)s

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite, with a warning, if (n + 1) `coverage`
            > n.

        %(raises_parameters)s

        Notes
        -----
        For exchangeable rows, whatever their distribution, the CV+ covers with a probability of at
        least 1 - 2 alpha - sqrt(2/n), and usually about 1 - alpha. This holds if nothing was chosen
        on the rows that a fold leaves out. The number of rounds, the bins, the pairs of features
        and the power of d are chosen by all rows; simulations (see the user guide) show no
        difference.

        Coverage is an average over rows; with groups it is for a row of a new group. Rows that no
        split of `cv` tests on have no residual, and do not count in n; with a single split this is
        the split conformal interval.

        Cost: O(p K) for each row with K folds, and O(K log n) for its ends. A fit with
        `held_out` keeps the tables of the K models, and nine bytes for each row.

        References
        ----------
        R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani (2021). "Predictive inference
        with the jackknife+". *The Annals of Statistics* 49(1), 486-507.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn_ensemble_theory import L2BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = L2BoostingRegressor(held_out="cv").fit(X[:400], y[:400])
        >>> model.predict_interval(X[400:402]).round()
        array([[ 57., 241.],
               [ -1., 184.]])
        """
        one_of("method", method, ("cv+",))
        one_of("side", side, ("both", "lower", "upper"))
        coverage = checked_coverage(coverage)
        u, folds, rows = self._fold_scores(X, offset, "Prediction intervals")
        at, off = self._inverse_link(u), rows.scores
        scale = None if self.loss_.is_quadratic else self.loss_.deviation(at) ** rows.power
        low, high = (np.array(self.loss_.support) - folds.mean) / folds.scale
        given = rows.fold, rows.groups, (at, at), scale, coverage, side, (low, high)
        ends = interval_by_folds((-off, off), *given)
        with np.errstate(over="ignore"):  # an end beyond the largest float is infinite
            return folds.scale * ends + folds.mean

    def predict_path(
        self, X: ArrayLike, n_estimators: ArrayLike, offset: ArrayLike | None = None
    ) -> np.ndarray:
        """Predict with the models after given numbers of rounds.

        %(of_rows)s
        n_estimators : array-like of int, of shape (m,)
            Numbers of rounds, in increasing order, from 0 to `n_estimators_`.
        %(offset_to_predict)s

        Returns
        -------
        y : ndarray of shape (m, n_samples)
            Predictions, one row for each number of rounds. The cost is O(n p) for each.
        """
        check_is_fitted(self)
        refuse_edited(self.model_, "Predictions after some rounds are those of")
        rounds = np.asarray(n_estimators)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or len(rounds) == 0:
            raise ValueError("n_estimators must be a non-empty one-dimensional sequence of ints.")
        if rounds[0] < 0 or rounds[-1] > self.n_estimators_ or (np.diff(rounds) < 0).any():
            raise ValueError(
                f"n_estimators must be increasing numbers from 0 to {self.n_estimators_}."
            )
        found = self._scores_after(X, rounds.tolist(), offset)
        return np.array([self._inverse_link(u) for u in found])

    def staged_predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, one after the other.

        %(to_predict)s

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round. `predict_path` is faster if not every round is needed.
        """
        check_is_fitted(self)
        for u in self._scores_after(X, None, offset):
            yield self._inverse_link(u)


@documented(TEXTS)
class L2BoostingRegressor(AdditiveBoostingRegressor):
    """Glass-box additive model for the squared error: one curve per feature, by boosting stumps.

    This is :class:`AdditiveBoostingRegressor` with the squared error. Each round fits a stump,
    ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least squares, over all
    features j and the edges c of their bins. It then adds `learning_rate` times that stump. The
    result is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step function
    per feature, and functions of those pairs of features that help.

    Small learning rates with many rounds are feasible: the cost of a round does not depend on the
    number of rows, and cross-validation needs no further pass over the rows.

    %(n_estimators)s
    loss : {"squared_error"}, default="squared_error"
        The squared error. :class:`AdditiveBoostingRegressor` has other losses.
    %(rates)s
    %(bins_and_terms)s
    %(cv)s
    %(held_out)s

    Attributes
    ----------
    loss_ : Loss
        The squared error.
    %(real_model)s
    feature_importances_ : ndarray of shape (p,)
        The shares of the features in the decrease of the training error.
    %(names_in_fit)s

    See Also
    --------
    AdditiveBoostingRegressor : Other losses.
    LogitBoostClassifier : The same model for the log-odds of classes.

    Notes
    -----
    The bins cost O(n p log n) for n rows of p features, and each selected feature needs sums over
    the rows once. A round then costs O(p B) for B bins, independent of n. The sums take up to ``8
    (3 k + 1) (p B)^2`` bytes with k folds, at most scikit-learn's `working_memory`. The user guide
    lists all costs, also with Dask collections: :ref:`additive-costs`.

    The user guide describes missing values and categories (:ref:`missing-values-of-stumps`) and
    pairs (:ref:`pairs-of-stumps`). The folds use the bins of all rows. With given thresholds,
    `cv_results_` is exactly what refits on each training fold would give.

    Rows of weight 0 are left out: the splits of `cv` refer to all rows, while an integer `cv`
    splits the rows of positive weight. Integer weights are equivalent to repeating rows, except for
    the folds of "cv", refined bins and pairs.

    With steps of `learning_rate` over normalised stumps, this is matching pursuit [Bach, §10.3.3].
    It is also forward stagewise additive modelling with the squared loss and regression stumps
    [DS-GA 1003, lecture 8], and L2-boosting [Bühlmann and Yu 2003]. A smoothing round is the kernel
    of the statistic of Anderson and Darling (1952) in the ranks of a feature. The best set of
    categories is among those with the lowest means [Fisher 1958], and pairs are found as in [Lou et
    al. 2013].

    %(references_Bach)s

    %(DSGA)s

    P. Bühlmann and B. Yu (2003). "Boosting with the L2 loss: regression and classification".
    Journal of the American Statistical Association 98.

    T. W. Anderson and D. A. Darling (1952). "Asymptotic theory of certain 'goodness of fit'
    criteria based on stochastic processes". The Annals of Mathematical Statistics 23.

    W. D. Fisher (1958). "On grouping for maximum homogeneity". Journal of the American Statistical
    Association 53.

    %(Lou)s

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(interactions=0).fit(X, y)
    >>> model.n_smoothing_rounds_, model.n_estimators_
    (27, 0)
    >>> model.score(X, y)
    0.5...
    >>> edges, values = model.shape_functions_[X.columns.get_loc("bmi")]
    >>> bool(values[0] < 0 < values[-1])
    True

    Smooth functions suffice for these data. A function that may only increase has no smoothing
    rounds, and stumps are needed:

    >>> model = L2BoostingRegressor(n_estimators="cv", monotonic_cst={"bmi": 1}).fit(X, y)
    >>> model.n_estimators_ > 0
    True
    >>> values = model.shape_functions_[X.columns.get_loc("bmi")][1]
    >>> bool((values[1:] >= values[:-1]).all())
    True
    """

    _parameter_constraints: ClassVar = {
        **AdditiveBoostingRegressor._parameter_constraints,
        "loss": [StrOptions({"squared_error"})],
    }
