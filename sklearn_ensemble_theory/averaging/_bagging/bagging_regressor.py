"""Bagging of any regressor, by any of the sampling schemes [Bach, §10.1]."""

from collections.abc import Callable
from typing import Literal

from sklearn import ensemble
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.mean_predictions import (
    RegressorPredictionMixin,
)


class BaggingRegressor(RegressorPredictionMixin, BaseBagging):
    """Bagging of a regressor: the mean of members fitted to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The regressor to bag; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`. Any
        regressor with scikit-learn's interface can be used, including a pipeline. A learner other
        than a tree gets data frames as they are, with the names of the columns that were drawn for
        it (but arrays with `bootstrap_features=True`, which may draw a column twice).

    n_estimators : int or "pac", default=10
        Number of members B. `"pac"` uses ceil(18 ln(2 n / `delta`)) members, with which bagging
        of empirical risk minimisers has optimal sample complexity [Ghoshdastidar, theorem En.3;
        Larsen, 2023].

    max_samples : int or float, default=None
        Number s of rows drawn for each member: an int is the number itself, a float a fraction of
        the total weight, and `None` the number of rows of X. Where groups are drawn it is the
        number of groups, and with blocks a float is a fraction of the rows. With
        `bootstrap="bernoulli"` it determines the probability q of each row (an int is divided by n;
        `None` is 1/2).

    max_features : int or float, default=1.0
        Number of features drawn for each member: an int is the number itself, a float a fraction
        of all features (at least one is drawn).

    bootstrap : bool or str, default=True
        How the rows of a member are drawn, or their groups where `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n;
        - `"moving_block"`: blocks of `block_length` consecutive rows with replacement, until there
          are s rows, for time series [Künsch, 1989]; without `groups`.

        A base learner whose `fit` accepts `sample_weight` is fitted to each distinct row once,
        with the weight drawn; in other base learners a row is repeated as often as it was drawn.
        Rows of weight 0 are left out.

    block_length : int, default=None
        Number of rows of a block with `bootstrap="moving_block"`; `None` is ceil(n^(1/3)). It
        should be longer than the time over which rows are correlated.

    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.

    oob_score : bool or callable, default=False
        Whether to use out-of-bag rows to estimate the score; a callable is the metric,
        `metric(y_true, y_pred)`, instead of R².

    warm_start : bool, default=False
        Whether `fit` keeps the members of the previous fit and adds members up to `n_estimators`.
        With `oob_score` the out-of-bag estimates are continued as well.

    n_jobs : int, default=None
        Number of members fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features and of the members' own randomness.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every member.

    max_bins : int, "auto" or None, default="auto"
        Where the base learner is a decision tree of scikit-learn's: the number of bins, 2 to
        65,535, into which the columns of X are cut, once for all members, so that members
        are :class:`BinnedTreeRegressor`. `None` is exact trees. `"auto"` is exact trees up to
        10,000 rows, and 2047 bins above where X is dense, y has one output and a binned tree has
        the base learner's parameters.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : estimator
        The base learner that the members are clones of.

    estimators_ : list of estimators
        The fitted members.

    estimators_features_ : list of ndarray
        Indices of the columns of X to which each member was fitted.

    estimators_samples_ : list of ndarray
        Indices of the rows drawn for each member, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances of the members, where the base learner has importances.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    oob_score_ : float
        Out-of-bag score, on the rows that were not drawn for at least one member.

    oob_scores_ : ndarray of shape (n_estimators,)
        Out-of-bag score of the first 1, 2, ... members; NaN if it is not defined.

    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction of the members for which the row was not drawn; NaN if there is no such
        member.

    See Also
    --------
    BaggingClassifier : The same for classification.
    RandomForestRegressor : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsRegressor : Infinitely many members in closed form.

    Notes
    -----
    The cost is B fits to at most s distinct rows each, O(s log s) for each draw, and with bins O(n
    p log n) once; `predict` calls every member, trees together. With the same `random_state`,
    `bootstrap=True` and `False` draw the rows and features that scikit-learn's class draws. Bagging
    was proposed by [Breiman, 1996]. It is useful for learners of high variance [Shah, §4.5] and
    changes little where the base learner is linear in y and stable [Bach, §10.1.2].
    `standard_error` is the infinitesimal jackknife of [Wager, Hastie and Efron, 2014].

    With squared error, y whose mean is more than 10^4 standard deviations away from 0 is centred
    before trees are grown: they would lose the digits of their squared errors.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    L. Breiman (1996). "Bagging predictors". *Machine Learning* 24.

    H. R. Künsch (1989). "The jackknife and the bootstrap for general stationary observations".
    *Annals of Statistics* 17.

    K. G. Larsen (2023). "Bagging is an optimal PAC learner". *Conference on Learning Theory*.

    S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
    jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(n_estimators=200, max_samples=0.5, oob_score=True, random_state=0)
    >>> bag = bag.fit(X, y)
    >>> print(f"{bag.oob_score_:.2f}, with 20 members {bag.oob_scores_[19]:.2f}")
    0.46, with 20 members 0.42
    >>> bag.standard_error(X[:2]).round(), bag.ensemble_std(X[:2]).round()
    (array([22., 11.]), array([72., 28.]))
    """

    _sklearn_class = ensemble.BaggingRegressor
    _parameter_constraints: dict = {**BaseBagging._parameter_constraints}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int | Literal["pac"] = 10,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        bootstrap: bool | str = True,
        block_length: int | None = None,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        max_bins: int | Literal["auto"] | None = "auto",
        delta: float = 0.05,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_bins = max_bins
        self.delta = delta

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator
