"""Bagging of any classifier, by any of the sampling schemes [Bach, §10.1]."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn import ensemble
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import StrOptions, raise_for_params
from sklearn_ensemble_theory._typing import MatrixLike, RandomStateLike, available_if
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.mean_predictions import (
    ClassifierPredictionMixin,
)


def _estimator_has(name: str) -> Callable[[Any], bool]:
    """Whether the base learner has this method."""

    def check(self: Any) -> bool:
        getattr(self._get_estimator(), name)
        return True

    return check


class BaggingClassifier(ClassifierPredictionMixin, BaseBagging):
    """Bagging of a classifier: the mean or vote of members fitted to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The classifier to bag; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`. Any
        classifier with scikit-learn's interface can be used, including a pipeline. A learner other
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
        - `"stratified"`: draws with replacement within each class, s shared out in proportion to
          the sizes of the classes;
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
        `metric(y_true, y_pred)`, instead of accuracy.

    warm_start : bool, default=False
        Whether `fit` keeps the members of the previous fit and adds members up to `n_estimators`.
        With `oob_score` the out-of-bag estimates are continued as well.

    n_jobs : int, default=None
        Number of members fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws of rows and features and of the members' own randomness.

    verbose : int, default=0
        1 prints progress every few seconds, 2 after every member.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the members' probabilities (a member without `predict_proba` votes);
        `"hard"` is the majority vote, which is consistent whenever a single member is
        [Ghoshdastidar, theorem En.1].

    max_bins : int, "auto" or None, default="auto"
        Where the base learner is a decision tree of scikit-learn's: the number of bins, 2 to
        65,535, into which the columns of X are cut, once for all members, so that members
        are :class:`BinnedTreeClassifier`. `None` is exact trees. `"auto"` is exact trees up to
        10,000 rows, and 2047 bins above where X is dense and a binned tree has the base learner's
        parameters.

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

    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    n_classes_ : int
        Number of classes.

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

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean prediction of the members for which the row was not drawn; NaN if there is no such
        member.

    See Also
    --------
    BaggingRegressor : The same for regression.
    RandomForestClassifier : Bagging of trees that draw features at every split.
    BaggedNearestNeighborsClassifier : Infinitely many members in closed form.

    Notes
    -----
    The cost is B fits to at most s distinct rows each, O(s log s) for each draw, and with bins O(n
    p log n) once; `predict` calls every member, trees together. With the same `random_state`,
    `bootstrap=True` and `False` draw the rows and features that scikit-learn's class draws. Bagging
    was proposed by [Breiman, 1996]. It is useful for learners of high variance [Shah, §4.5] and
    changes little where the base learner is linear in y and stable [Bach, §10.1.2].
    `standard_error` is the infinitesimal jackknife of [Wager, Hastie and Efron, 2014].

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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn_ensemble_theory import BaggingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bag = BaggingClassifier(
    ...     KNeighborsClassifier(1), n_estimators="pac", max_samples=0.1, random_state=0
    ... ).fit(X, y)
    >>> len(bag), round(bag.score(X, y), 2)
    (181, 0.94)
    """

    _sklearn_class = ensemble.BaggingClassifier
    _parameter_constraints: dict = {
        **BaseBagging._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
    }

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
        voting: Literal["soft", "hard"] = "soft",
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
        self.voting = voting
        self.max_bins = max_bins
        self.delta = delta

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @available_if(_estimator_has("decision_function"))
    @by_chunks
    def decision_function(self, X: MatrixLike, **params: Any) -> np.ndarray:
        """Mean of the members' decision functions, where the base learner has one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' `decision_function` where metadata routing is enabled.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, k)
            Mean scores, with the columns that the base learner returns.

        Raises
        ------
        ValueError
            If the training rows of a member do not contain all classes, so that its scores cannot
            be averaged with the others.

        Notes
        -----
        Cost: one call of each member.
        """
        raise_for_params(params, self, "decision_function")
        check_is_fitted(self)
        counts = [len(getattr(m, "classes_", self.classes_)) for m in self.estimators_]
        lacking = np.flatnonzero(np.array(counts) < self.n_classes_)
        if len(lacking):
            raise ValueError(
                f"The rows of member {lacking[0]} do not contain all {self.n_classes_} classes, "
                "so its decision_function cannot be averaged with the others; use predict_proba."
            )
        params = self._route(params, "decision_function")
        return self._mean_prediction(self._validate_X(X), "decision_function", params)
