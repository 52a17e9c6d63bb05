"""Additive models for any loss by boosting stumps on binned columns."""

from collections.abc import Iterator
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ..._blocks import by_chunks
from ..._compat import CallbackSupportMixin, HasMethods, Interval, StrOptions
from ..._door import fit_context
from ..._rows import ChunkedRows, finite_predictions
from ..._typing import ArrayLike, CVLike, LossLike
from .._loop import begin_fit
from ..losses import HuberLoss, Loss
from ..losses._losses import BinomialLoss, LogLinkLoss, loss_names, make_loss
from .additive_fit import (
    fit_additive,
    losses_of_blocks,
    losses_of_rows,
    squares_of_blocks,
    squares_of_rows,
)
from .additive_plan import Plan
from .base import BaseAdditive
from .bins import TargetRange, TrainingRows
from .fitted_terms import AdditiveModel
from .risk import PointwiseOf


class AdditiveBoostingRegressor(RegressorMixin, CallbackSupportMixin, BaseAdditive):
    """An additive model for any loss, by boosting stumps at a cost per round independent of n.

    The score is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function per feature, and functions of those pairs of features that help (`interactions`). The
    prediction is the score for losses of the residual, and its exponential for the losses of counts
    and amounts, so that there the terms multiply. An `offset` is added to the score, such as the
    logarithm of an exposure. Missing values, categories and monotonic constraints are supported.

    Each round is a Newton step on the loss: a stump is fitted by weighted least squares to the
    working residuals, and `learning_rate` times it is added. Gradients and weights are computed
    again when the scores have moved by `refresh_tol`, and not in every round. The rounds between
    are those of :class:`L2BoostingRegressor` for weighted rows, on sums over the bins.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error" (the model of :class:`L2BoostingRegressor`), "absolute_error", "huber" or
        "quantile", whose score is the prediction; "poisson", "gamma" or "tweedie", whose prediction
        is the exponential of the score; "binomial", for shares of successes, whose score is the
        log-odds; an instance of a class in `boosting.losses`, or any object with methods ``value(y,
        u)`` and ``gradient(y, u)`` of targets and scores. A method ``hessian(y, u)`` makes the
        steps those of Newton; without it they are those of a parabola with the curvature
        `smoothness` of the object, or with the slope of the gradient.

    n_estimators : int or "cv", default="cv"
        Number of rounds. "cv" selects the number from 0 to `max_estimators` with the smallest mean
        loss over the held-out folds, after smoothing rounds that are selected in the same way. It
        ends early if ``10 / learning_rate`` rounds after these give no new minimum. The models of
        the folds stay, for `predict_interval`.

    alpha : float, default=0.9
        For ``loss="quantile"`` the quantile, and for ``loss="huber"`` the quantile of the absolute
        deviations from the median of y above which the loss is linear; between 0 and 1.

    power : float, default=1.5
        For ``loss="tweedie"``: the power of the mean to which the variance is proportional,
        between 1 and 2.

    learning_rate : float, default=0.01
        Share of each stump that is added, from 1e-300 to 1. The model depends mainly on
        ``n_estimators * learning_rate``. Smoothing rounds do not depend on it.

    smoothing_rounds : int or "auto", default="auto"
        Number of rounds before the first stump that add the mean of all stumps of a feature instead
        of the best one; they fit smooth functions with less variance. "auto" means none where
        `n_estimators` is a number. With "cv" it is the number from 0 to 2000 with the smallest
        mean loss over the held-out folds; the search ends after 40 rounds without a new minimum. It
        is left out if `max_memory` is too small for the sums of all cuts of two features.

    max_bins : int or "auto", default="auto"
        Maximum number of bins per feature, of about the same weight each. A feature with at most
        this number of distinct values has a bin for each value. "auto" means 64, of which the
        first and the last are divided into up to seven of falling weight, and refined bins
        with ``n_estimators="cv"`` and at least 10,000 rows: a first fit with 32 bins
        shows which features matter; these get more bins, at most 240, and thresholds at the jumps
        that the data show. Ignored if `bin_edges` is given.

    bin_edges : sequence of p sequences of float, default=None
        The thresholds that stumps may use, increasing, for each feature; an ordered feature with an
        empty sequence has no thresholds. Those of categorical features are ignored.

    interactions : int, float, "auto", "cv" or array-like of pairs, default="cv"
        Pairs of features whose functions are added to those of single features: so many, or this
        multiple of p, of those that are found to interact most [Lou et al. 2013]; "auto" for those
        whose interaction is significant at the level 0.05, all pairs taken together, and at most
        0.9 p; "cv" for these if ``n_estimators="cv"`` and the held-out folds are predicted better
        with them, and otherwise for none; or given pairs of numbers or names of features; 0 for
        none. "auto" and "cv" look among about 1,000 pairs and scores: of many features, those with
        the largest functions. Of Dask
        collections "cv" looks for none.

    exclude : array-like, default=None
        Terms that are left out: features by name or number, and pairs of them as tuples. An
        excluded feature has no function and is in no pair; an excluded pair is not looked for.

    include : array-like, default=None
        The only terms that are fitted, if given. A feature stands for its function and for pairs
        with other features of `include`, a pair for itself and the functions of both features.
        Pairs are fitted where `interactions` asks for them. `exclude` goes before `include`.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        The features whose values are categories, by a mask, their numbers or their names.
        "from_dtype" takes the columns of a data frame with a categorical dtype. Stumps separate any
        set of categories from the others.

    monotonic_cst : array-like of int of shape (p,) or dict, default=None
        1 for features whose function may only increase, -1 for decreasing ones, and 0 without a
        constraint, for each feature, or by the names of the constrained ones. With `interactions`
        it is the sum of all terms that is monotonic in the feature, for any values of the others.
        These features have no smoothing rounds.

    refresh_tol : float, default=0.2
        Gradients are computed again when a function has moved by this since they were: on the
        scale of the logarithm or of log-odds, and for losses of the residual in mean absolute
        deviations of y (1.5 times as far in smoothing rounds). The second derivatives are then kept
        if they have changed by no more than half this share on average. Small values follow the
        path of exact Newton steps more closely and take longer.

    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer specifies the number of folds, which are
        drawn from a fixed seed in the order of y: they are always the same for a table, and but for
        rows of equal y they do not depend on the order of its rows. Pass ``KFold(5)`` for
        consecutive rows. Each split has to train on all rows that it does not test on, and no row
        may be in more than one test set: `KFold`, `GroupKFold` or `PredefinedSplit`, for example,
        or a list of their splits.

    max_estimators : int, default=10000
        Largest number of rounds that ``n_estimators="cv"`` compares.

    max_memory : float, default=1024
        Bound on the memory for the sums over pairs of cuts, in MiB. If the sums of all selected
        cuts exceed it, some of them are computed more than once, which is slower and gives the same
        model.

    verbose : int, default=0
        1 prints progress every few seconds, 2 more often. Callbacks of `sklearn.callback`
        (scikit-learn 1.9), set by `set_callbacks`, see the model at the end of the fit only: the
        rounds change sums over rows. `staged_predict` computes the predictions after each of them.


    Attributes
    ----------
    loss_ : Loss
        The loss.

    intercept_ : float
        The mean of the scores over the training rows, without their offset.

    model_ : AdditiveModel
        What the fit has found, as one record: terms, rounds, and the models of the folds.

    term_features_ : list of n_terms tuples
        The features of each term: ``(0,)``, ..., ``(p - 1,)``, then the pairs ``(a, b)``.

    term_names_ : list of n_terms str
        The name of each term; "a & b" for a pair.

    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute value of each term over the training rows, in units of the score.

    shape_functions_ : list of n_terms tuples (edges, values)
        The function of each feature: ``values[b]`` for x in bin b, that is between ``edges[b - 1]``
        (excluded) and ``edges[b]`` (included), in units of the score. A feature with missing values
        in the training rows has one more value, the last, for those. For a categorical feature
        `edges` are the categories, and the last value is that of missing and unknown ones. For a
        pair, `edges` are those of both features, and `values` a table; its weighted means over both
        features are 0. The weighted mean of every function over the training rows is 0.

    shape_standard_errors_ : list of n_terms ndarrays
        Standard errors of the `values` of `shape_functions_`: how much these vary over new training
        rows, by a jackknife over the folds; only with ``n_estimators="cv"`` and at least two folds.

    edits_ : list of records
        What was changed after the fit, by `set_term` and the like: `method`, `term`, the values
        `before` and `after`, the `shift` of the intercept, and further `arguments`. Empty after a
        fit.

    bin_edges_ : list of p ndarrays
        The thresholds of each feature; none of categorical ones.

    bin_weights_ : list of n_terms ndarrays
        The weight of the training rows in each bin, or in each cell of a pair, up to a common
        factor.

    categories_ : list of p ndarrays or None
        The categories of each categorical feature.

    missing_bins_ : ndarray of bool of shape (p,)
        Whether the feature has a bin for missing values. Where it has none, the term of a missing
        value is 0.

    n_smoothing_rounds_ : int
        Number of smoothing rounds.

    n_estimators_ : int
        Number of rounds after those. It is less than `n_estimators` if no stump lowered the
        loss any further.

    category_sets_ : list of p lists
        For each categorical feature the sets of categories that stumps separate from the others,
        as masks of its categories.

    stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,)
        Each round's feature j and the number of its threshold in ``bin_edges_[j]``. The number
        ``len(bin_edges_[j])`` is the cut that separates missing values from the others. For a
        categorical feature it is the number of the set in ``category_sets_[j]``.

    stump_left_, stump_right_ : ndarray of shape (n_estimators_,)
        What each round added at or below the threshold and above it, to the score; for a
        set of categories, to those in the set and to all others. Where the feature has a bin for
        missing values, thresholds add nothing to these.

    train_path_ : ndarray of shape (n_estimators_ + 1,)
        Mean loss on the training rows after the smoothing rounds and 0, 1, ... others. Between two
        computations of the gradients it is that of the quadratic approximation.

    cv_path_ : ndarray of shape (max_estimators + 1, n_folds)
        The same on each held-out fold; only with ``n_estimators="cv"``. Where the search ended
        earlier the last row is repeated.

    smoothing_path_ : ndarray of shape (n_rounds + 1, n_folds)
        Mean loss on each held-out fold after 0, 1, ... smoothing rounds, with those
        that were compared after the best number; only where both were made.

    n_passes_ : int
        How often the rows or their bins were read; only after a fit of Dask collections.

    n_refreshes_ : int
        How often gradients were computed, before the pairs; not for the squared error.

    feature_importances_ : ndarray of shape (p,)
        The importances of the terms of single features, divided by their sum; for the squared error
        the shares of the features in the decrease of the training error.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (p,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    L2BoostingRegressor : The same model for the squared error, also of sums over chunks.
    LogitBoostClassifier : The same model for the log-odds of classes.
    GradientBoostingRegressor : Any loss and any base learner.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees, for some of these losses.

    Notes
    -----
    With the mean m = exp(u) and a variance proportional to m^p (p = 1 for Poisson, 2 for gamma, the
    power for Tweedie), the working residuals are ``(y - m) / m`` and the weights m^(2 - p), the
    expected second derivatives, as in Fisher's scoring [McCullagh and Nelder 1989].
    The absolute and the quantile loss and Huber's have no useful second derivative; there the
    weights are the curvatures of the parabola that touches the loss at the score and lies above it,
    such as ``1 / abs(y - u)`` [Hunter and Lange 2000]. Rows at the kink have the curvature of those
    a tenth of a mean loss away. A share of the step that does not raise the loss is taken where a
    step went far.

    The number of events in a row of exposure e has the mean ``e * exp(u)``: with ``loss="poisson"``
    ``fit(X, events, offset=np.log(e))`` has the likelihood of ``fit(X, events / e,
    sample_weight=e)``, and the same rounds in the same bins. Bins and folds of the former have
    about the same numbers of rows, those of the latter of exposure, and only predictions of the
    former include the exposure of the row.

    The models of the folds have gradients of their own and the second derivatives of the model of
    all rows, so that products of cuts are counted once for all of them.

    With p features of B bins, P = p B cuts, n rows and k folds the cost is O(n p log n) for the
    bins, O(n p k) each time that gradients are computed, O(n p) for the sums of each selected
    feature where second derivatives are too, and O(P k) for each round. Memory, Dask collections,
    missing values, categories and pairs are those of :class:`LogitBoostClassifier` with two
    classes; where a whole interval of constants has the
    least loss, as for the median of an even number of rows, models of chunks may start elsewhere in
    it. ``loss="huber"`` needs all rows in memory for its quantile, an instance of `HuberLoss` does
    not. Offsets are of rows in memory.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a statistical
    view of boosting". The Annals of Statistics 28.

    P. McCullagh and J. A. Nelder (1989). *Generalized Linear Models*, 2nd edition. Chapman & Hall.

    D. R. Hunter and K. Lange (2000). "Quantile regression via an MM algorithm". Journal of
    Computational and Graphical Statistics 9.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

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
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "power": [Interval(Real, 1, 2, closed="neither")],
        "refresh_tol": [Interval(Real, 0, None, closed="neither")],
    }
    loss_: Loss

    def __init__(
        self,
        loss: str | LossLike = "squared_error",
        *,
        n_estimators: int | Literal["cv"] = "cv",
        alpha: float = 0.9,
        power: float = 1.5,
        learning_rate: float = 0.01,
        smoothing_rounds: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] = "auto",
        bin_edges: ArrayLike | None = None,
        interactions: int | float | Literal["auto", "cv"] | ArrayLike = "cv",
        exclude: ArrayLike | None = None,
        include: ArrayLike | None = None,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        refresh_tol: float = 0.2,
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        max_memory: float = 1024,
        verbose: bool | int = 0,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.alpha = alpha
        self.power = power
        self.learning_rate = learning_rate
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.bin_edges = bin_edges
        self.interactions = interactions
        self.exclude = exclude
        self.include = include
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.refresh_tol = refresh_tol
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.verbose = verbose

    @property
    def link_(self) -> str:
        loss = self.loss_
        if isinstance(loss, LogLinkLoss):
            return "log"
        if isinstance(loss, BinomialLoss):
            return "logit"
        return "identity" if PointwiseOf(loss).is_on_scale_of_y else "other"

    def _complete(self) -> None:
        """What a model that is read from JSON needs beside its terms."""
        self.loss_ = make_loss(self.loss, alpha=self.alpha, power=self.power)

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

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            Numbers, NaN where they are missing, or a data frame with categorical columns.
        y : array-like or Dask collection of shape (n_samples,)
            Targets.
        sample_weight : array-like or Dask collection of shape (n_samples,), default=None
            Non-negative weights of the rows; equal weights by default. Rows of weight 0 are left
            out.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient: no split of
            `n_estimators="cv"` divides them. A `cv` that splits by groups, such as
            `GroupKFold`, gets them; an integer is then a number of folds of whole groups.
        offset : array-like of shape (n_samples,), default=None
            What is known of the scores, such as logarithms of exposures: the scores are the offset
            and what is fitted, and `predict` requires an offset too. Of rows in memory.

        Returns
        -------
        self : AdditiveBoostingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If y is not in the domain of the loss, such as negative counts; if `offset` is not one
            finite number a row; if `cv` tests on a row more than once, or if the sums over a single
            cut with all others exceed `max_memory`. With Dask collections, if the sums over all
            pairs of cuts exceed it, or `cv` is no integer.
        """
        rows = self._checked_rows(X, y, sample_weight, groups=groups, offset=offset)
        plan = self._plan(rows.X.shape[1], rows.columns)
        self._made_loss().check_target(rows.y)
        end_fit = begin_fit(self, X, y, sample_weight)
        self.model_ = self._solved(plan, rows)
        end_fit()
        return self

    def _made_loss(self) -> Loss:
        return make_loss(self.loss, alpha=self.alpha, power=self.power)

    def _solved(self, plan: Plan, rows: TrainingRows) -> AdditiveModel:
        self.loss_ = self._made_loss()
        if self.loss_.is_quadratic:
            problem = squares_of_rows(plan, rows, self._report)
        else:
            given = plan, self.loss_, self.refresh_tol, rows, self._report
            problem, self.loss_ = losses_of_rows(*given)
        return fit_additive(plan, problem, self._report)

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in blocks."""
        loss = self._made_loss()
        if isinstance(loss, HuberLoss) and loss.quantile is not None:
            raise ValueError(
                "loss='huber' requires all rows in memory, for the quantile alpha of the absolute "
                "deviations; use loss=HuberLoss(delta)."
            )
        plan, found = self._blocks(rows, TargetRange.of)
        if loss.is_quadratic:
            problem = squares_of_blocks(plan, found, self._report)
        else:
            problem = losses_of_blocks(plan, loss, self.refresh_tol, found, self._report)
        self.model_, self.loss_ = fit_additive(plan, problem, self._report), loss

    @finite_predictions
    def predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> np.ndarray:
        """Predict the targets by table look-up and the inverse link of the loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, at a cost of O(p) each.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions, in the units of y.
        """
        check_is_fitted(self)
        return self.loss_.inverse_link(self._scores(X, offset))

    def staged_predict(self, X: ArrayLike, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round.
        """
        check_is_fitted(self)
        for scores in self._scores_after(X, None, offset):
            yield self.loss_.inverse_link(scores)

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

        Of a model with ``n_estimators="cv"``: the CV+ of
        :meth:`L2BoostingRegressor.predict_interval`, with residuals in units of y. They have about
        the same width everywhere, which suits losses of the residual and not those of counts and
        amounts, whose spread grows with the mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability aimed at, on average over the rows.
        method : {"cv+"}, default="cv+"
            How the interval is computed.
        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If `n_estimators` was a number, if the rows have different weights or were not in memory
            in one call of `fit`, or if (n + 1) `coverage` > n.

        Notes
        -----
        Cost: O(p K) for each row with K folds, and O(K log n) for its ends.
        """
        check_is_fitted(self)
        loss = self.loss_
        return self._interval(X, coverage, method, side, offset, loss.inverse_link)

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
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            As in `fit`; 0 by default.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for the mean of y.
        """
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))
