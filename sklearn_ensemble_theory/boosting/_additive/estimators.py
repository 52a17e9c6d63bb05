"""L2-boosting by regression stumps on binned columns: a generalised additive model."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._rows import finite_predictions
from sklearn_ensemble_theory._typing import CVLike
from sklearn_ensemble_theory.boosting._additive.l2_fit import BaseL2Boosting


class L2BoostingRegressor(BaseL2Boosting):
    """L2-boosting by regression stumps, at a cost per round independent of the number of rows.

    Each round fits a stump, ``a`` where ``x_j <= c`` and ``b`` elsewhere, to the residuals by least
    squares, over all features j and the edges c of their bins, and adds `learning_rate` times that
    stump. The result is an additive model, ``intercept + f_1(x_1) + ... + f_p(x_p)``, with one step
    function per feature, and functions of pairs of features if `interactions` asks for them.
    Missing values, categories and monotonic constraints are supported.

    The columns are binned, and the sums over rows that the stumps need are counted once for each
    pair of features. After that, a round consists of operations on vectors with one element for
    each cut. Small learning rates with many rounds are therefore feasible, and k-fold
    cross-validation of the whole path needs no further pass over the rows.

    Parameters
    ----------
    n_estimators : int or "cv", default=1000
        Number of rounds. "cv" selects the number from 0 to `max_estimators` with the smallest mean
        squared error over the held-out folds, after smoothing rounds that are selected in the same
        way. It ends early if ``10 / learning_rate`` rounds after these give no new minimum.

    learning_rate : float, default=0.01
        Share of each stump that is added, from 1e-300 to 1. The model depends mainly on
        ``n_estimators * learning_rate``; smaller rates give smoother functions. Smoothing rounds do
        not depend on it.

    smoothing_rounds : int or "auto", default="auto"
        Number of rounds before the first stump that add the mean of all stumps of a feature instead
        of the best one; they fit smooth functions with less variance. "auto" means none where
        `n_estimators` is a number. With "cv" it is the number from 0 to 2000 with the smallest
        mean squared error over the held-out folds; the search ends after 40 rounds without a new
        minimum. It is left out if `max_memory` is too small for the sums of all cuts of two
        features.

    max_bins : int or "auto", default="auto"
        Maximum number of bins per feature, of about the same weight each. A feature with at most
        this number of distinct values has a bin for each value. "auto" means 64, and refined bins
        with ``n_estimators="cv"`` and at least 10,000 rows: a first fit with 32 bins
        shows which features matter; these get more bins, at most 240, and thresholds at the jumps
        that the data show. Ignored if `bin_edges` is given.

    bin_edges : sequence of p sequences of float, default=None
        The thresholds that stumps may use, increasing, for each feature; an ordered feature with an
        empty sequence has no thresholds. Those of categorical features are ignored.

    interactions : int, float, "auto" or array-like of pairs, default=0
        Pairs of features whose functions are added to those of single features: so many, or this
        multiple of p, of those that are found to interact most [Lou et al. 2013]; "auto" for those
        whose interaction is significant at the level 0.05, all pairs taken together, and at most
        0.9 p; or given pairs of numbers or names of features.

    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        The features whose values are categories, by a mask, their numbers or their names.
        "from_dtype" takes the columns of a data frame with a categorical dtype. Stumps separate any
        set of categories from the others.

    monotonic_cst : array-like of int of shape (p,) or dict, default=None
        1 for features whose function may only increase, -1 for decreasing ones, and 0 without a
        constraint, for each feature, or by the names of the constrained ones. These features have
        no smoothing rounds. Functions of pairs are not constrained, nor is what they add to the
        functions of their features.

    cv : int, cross-validation generator or iterable, default=5
        The splits of ``n_estimators="cv"``. An integer specifies the number of folds of consecutive
        rows, as in :class:`~sklearn.model_selection.KFold`; pass ``KFold(shuffle=True,
        random_state=...)`` to shuffle. Each split has to train on all rows that it does not test
        on, and no row may be in more than one test set: `KFold`, `GroupKFold` or `PredefinedSplit`,
        for example, or a list of their splits.

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
    intercept_ : float
        The weighted mean of y.

    term_features_ : list of n_terms tuples
        The features of each term: ``(0,)``, ..., ``(p - 1,)``, then the pairs ``(a, b)``.

    term_names_ : list of n_terms str
        The name of each term; "a & b" for a pair.

    term_importances_ : ndarray of shape (n_terms,)
        Mean absolute value of each term over the training rows, in units of y.

    shape_functions_ : list of n_terms tuples (edges, values)
        The function of each feature: ``values[b]`` for x in bin b, that is between ``edges[b - 1]``
        (excluded) and ``edges[b]`` (included), in units of y. A feature with missing values in the
        training rows has one more value, the last, for those. For a categorical feature `edges` are
        the categories, and the last value is that of missing and unknown ones. For a pair, `edges`
        are those of both features, and `values` a table; its weighted means over both features are
        0. The weighted mean of every function over the training rows is 0.

    shape_standard_errors_ : list of n_terms ndarrays
        Standard errors of the `values` of `shape_functions_`, by the jackknife over the folds; only
        with ``n_estimators="cv"`` and at least two folds.

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
        Number of rounds after those. It is less than `n_estimators` if the residuals became
        orthogonal to every stump, so that further rounds would not change the model.

    category_sets_ : list of p lists
        For each categorical feature the sets of categories that stumps separate from the others,
        as masks of its categories.

    stump_features_, stump_cuts_ : ndarray of shape (n_estimators_,)
        Each round's feature j and the number of its threshold in ``bin_edges_[j]``. The number
        ``len(bin_edges_[j])`` is the cut that separates missing values from the others. For a
        categorical feature it is the number of the set in ``category_sets_[j]``.

    stump_left_, stump_right_ : ndarray of shape (n_estimators_,)
        What each round added at or below the threshold and above it, in units of y; for a
        set of categories, to those in the set and to all others. Where the feature has a bin for
        missing values, thresholds add nothing to these.

    train_path_ : ndarray of shape (n_estimators_ + 1,)
        Mean squared error on the training rows after the smoothing rounds and 0, 1, ... others.

    cv_path_ : ndarray of shape (max_estimators + 1, n_folds)
        Mean squared error on each held-out fold after the smoothing rounds and 0, 1, ... others;
        only with ``n_estimators="cv"``. Where the search ended earlier the last row is repeated.

    smoothing_path_ : ndarray of shape (n_rounds + 1, n_folds)
        Mean squared error on each held-out fold after 0, 1, ... smoothing rounds, with those
        that were compared after the best number; only where both were made.

    n_passes_ : int
        How often the rows or their bins were read; only after a fit of Dask collections.

    feature_importances_ : ndarray of shape (p,)
        Share of each feature in the decrease of the training error by the functions of single
        features.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (p,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    LogitBoostClassifier : The same model for the log-odds of classes.
    GradientBoostingRegressor : Any loss and any base learner; the cost of a round grows with n.
    sklearn.ensemble.HistGradientBoostingRegressor : Deeper trees on binned columns.

    Notes
    -----
    With p features of B bins, P = p B cuts, n rows and k folds, the cost is O(n p log n) for the
    bins, O(n p) for the sums of each selected feature, O(P) for each round, O(P B) for each
    smoothing round, all of these k + 1 times with "cv", and O(p) for the prediction of a row,
    independent of the number of rounds. A categorical feature with K categories adds O(K log K) to
    a round. The memory in addition to X is one byte per value for the bins (two for more than 255
    bins), ``16 P^2`` bytes for the sums if every feature is selected, ``8 (3 k + 1) P^2`` for "cv",
    at most `max_memory`, and 24 bytes per round and model. Pairs cost O(n p^2) for the tables in
    which they are found, and passes over the rows for the chosen ones.

    *Missing values.* A threshold separates the values that are present, and adds nothing to missing
    ones. A cut of its own separates these from the others.

    *Pairs* are found and boosted on the residuals of the single features, with at most 64 bins of
    each and a number of steps for which held-out rows decide; then the functions of single features
    are fitted again to what the pairs leave. The paths and the stumps are those of that second fit.

    The bins are those of all rows, also for the folds. With `bin_edges` given, `cv_path_` is what
    refits on each training fold would give.

    With Dask collections, `fit` reads the rows twice: for the bins, which are quantiles up to the
    error of a sketch, and for all sums, of which a chunk returns ``8 k P^2`` bytes (k = 1 without
    "cv"). If there are categorical features, these are read once more before. Folds are drawn by a
    hash of the row's number, and bins are not refined. With pairs the bin of every value, one byte,
    stays on the workers, and so do ``8 k`` bytes of residuals for each row while pairs are boosted
    (k = 5 without "cv"). The bins are read once for the sums; to find pairs, once for about 1000
    pairs of features, whose tables have 24 bytes for each of at most 32 x 32 cells; three times for
    the chosen pairs; and about once for each visit of a pair that makes steps, in which
    a chunk returns ``16 k`` bytes for each cell of a table: 30 times in all for four pairs of ten
    features. The model is that of the same rows in memory with the same bins and folds, whatever
    the chunks.

    Rows of weight 0 are left out: the splits of `cv` refer to all rows, while an integer `cv`
    splits the rows of positive weight. Integer weights are equivalent to repeating rows, except for
    the folds of "cv", and except for bins that are refined and pairs.

    With steps of `learning_rate` over normalised stumps, this is matching pursuit [Bach, §10.3.3];
    it is also forward stagewise additive modelling with the squared loss and regression
    stumps [DS-GA 1003, lecture 8], and L2-boosting [Bühlmann and Yu 2003]. A smoothing round is the
    kernel of the statistic of Anderson and Darling (1952) in the ranks of a feature. The best set
    of categories is among those with the lowest means [Fisher 1958].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    P. Bühlmann and B. Yu (2003). "Boosting with the L2 loss: regression and classification".
    Journal of the American Statistical Association 98.

    T. W. Anderson and D. A. Darling (1952). "Asymptotic theory of certain 'goodness of fit'
    criteria based on stochastic processes". The Annals of Mathematical Statistics 23.

    W. D. Fisher (1958). "On grouping for maximum homogeneity". Journal of the American Statistical
    Association 53.

    Y. Lou, R. Caruana, J. Gehrke and G. Hooker (2013). "Accurate intelligible models with pairwise
    interactions". KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = L2BoostingRegressor(n_estimators="cv").fit(X, y)
    >>> model.n_smoothing_rounds_, model.n_estimators_
    (30, 0)
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

    def __init__(
        self,
        n_estimators: int | Literal["cv"] = 1000,
        *,
        learning_rate: float = 0.01,
        smoothing_rounds: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] = "auto",
        bin_edges: ArrayLike | None = None,
        interactions: int | float | Literal["auto"] | ArrayLike = 0,
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        cv: CVLike | None = 5,
        max_estimators: int = 10_000,
        max_memory: float = 1024,
        verbose: bool | int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.smoothing_rounds = smoothing_rounds
        self.max_bins = max_bins
        self.bin_edges = bin_edges
        self.interactions = interactions
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.cv = cv
        self.max_estimators = max_estimators
        self.max_memory = max_memory
        self.verbose = verbose

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets by table look-up, at a cost of O(p) per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._scores(X)

    def predict_path(self, X: ArrayLike, n_estimators: ArrayLike) -> np.ndarray:
        """Predict with the models after given numbers of rounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        n_estimators : array-like of int, of shape (m,)
            Numbers of rounds, in increasing order, from 0 to `n_estimators_`.

        Returns
        -------
        y : ndarray of shape (m, n_samples)
            Predictions, one row for each number of rounds. The cost is O(n p) for each.
        """
        check_is_fitted(self)
        return np.array(list(self._scores_after(X, self._checked_rounds(n_estimators))))

    def staged_predict(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Predict with the models after 1, 2, ... rounds, one after the other.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions after the round. `predict_path` is faster if not every round is needed.
        """
        check_is_fitted(self)
        yield from self._scores_after(X, range(1, self.n_estimators_ + 1))
