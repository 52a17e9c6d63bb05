"""Bagging of any base learner, with any of five resampling schemes [000, section 10.1]."""

from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import StrOptions, raise_for_params
from sklearn_ensemble_theory.averaging._bagging.base import BaseBagging
from sklearn_ensemble_theory.averaging._bagging.predictions import (
    ClassifierAnswers,
    RegressorAnswers,
)

__all__ = ["BaggingClassifier", "BaggingRegressor"]


def _base_has(name):
    """Whether the base learner has this method."""

    def check(self):
        getattr(self._get_estimator(), name)
        return True

    return check


class BaggingRegressor(RegressorAnswers, BaseBagging):
    """Bagging of a regressor: the mean of members fitted to resampled rows and features.

    Parameters
    ----------
    estimator : object, default=None
        The regressor to bag; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`. Any
        regressor of scikit-learn's works, a pipeline too.

    n_estimators : int or "pac", default=10
        Number of members B. `"pac"` takes ceil(18 ln(2 n / `delta`)), with which bagging of
        empirical risk minimisers has optimal sample complexity [3]_.

    max_samples : int or float, default=None
        Rows s that a member draws: an int is a number of rows, a float a fraction of their total
        weight, `None` as many as there are rows. With `bootstrap="bernoulli"` the probability q of
        each row (an int is divided by n; `None` is 1/2).

    max_features : int or float, default=1.0
        Features that a member draws: a number, or a fraction of them (at least one).

    bootstrap : bool or {"bernoulli", "bayesian", "poisson"}, default=True
        How a member draws its rows:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n.

        The drawn weights go to the base learner where its `fit` takes `sample_weight`, which
        then sees each row once; otherwise it sees a row as often as it was drawn. Rows of
        weight 0 it never sees.

    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.

    oob_score : bool or callable, default=False
        Whether to score the ensemble on the rows that each member has not seen; a callable is the
        metric, `metric(y_true, y_pred)`, in place of R².

    warm_start : bool, default=False
        Whether `fit` keeps the members that it has and adds the missing ones. Together with
        `oob_score` the out-of-bag estimates go on as well.

    n_jobs : int, default=None
        Members fitted at once. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seeds the draws of rows and features and the members' own randomness.

    verbose : int, default=0
        1 reports progress every few seconds on standard error, 2 after every member.

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : estimator
        The base learner that the members are clones of.

    estimators_ : list of estimators
        The fitted members.

    estimators_features_ : list of ndarray
        The columns of X that each member was shown.

    estimators_samples_ : list of ndarray
        The rows drawn for each member, repeated as often as drawn.

    n_outputs_ : int
        Number of targets.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances of the members, where the base learner has importances.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are all strings.

    oob_score_ : float
        Out-of-bag score, of the rows that some member has not seen.

    oob_scores_ : ndarray of shape (n_estimators,)
        The same after 1, 2, ... members; NaN before any row has been left out.

    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean answer of the members that have not seen the row; NaN if all have.

    See Also
    --------
    BaggingClassifier : The same for classification.
    RandomForestRegressor : Trees that also draw features at every split.
    BaggedNearestNeighborsRegressor : Infinitely many members in closed form.

    Notes
    -----
    Cost: B fits on at most s distinct rows, O(s log s) a draw; `predict` asks every member.
    With the same `random_state`, `bootstrap=True` and `False` draw the rows and features that
    scikit-learn's class draws. Bagging changes little where the base learner is linear in y and
    stable [1]_; it is for learners of high variance.

    References
    ----------
    .. [1] [000] section 10.1.2, and [003] section 4.5 for the variance of the mean.
    .. [2] L. Breiman, "Bagging predictors", Machine Learning 24, 1996.
    .. [3] [001] theorem En.3; K. G. Larsen, "Bagging is an optimal PAC learner", COLT 2023.
    .. [4] S. Wager, T. Hastie and B. Efron, "Confidence intervals for random forests: the
       jackknife and the infinitesimal jackknife", JMLR 15, 2014.

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

    _parameter_constraints: dict = {**BaseBagging._parameter_constraints}

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        delta=0.05,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.delta = delta

    def _get_estimator(self):
        return DecisionTreeRegressor() if self.estimator is None else self.estimator


class BaggingClassifier(ClassifierAnswers, BaseBagging):
    """Bagging of a classifier: members fitted to resampled rows and features vote.

    Parameters
    ----------
    estimator : object, default=None
        The classifier to bag; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`. Any
        classifier of scikit-learn's works, a pipeline too.

    n_estimators : int or "pac", default=10
        Number of members B. `"pac"` takes ceil(18 ln(2 n / `delta`)), with which bagging of
        empirical risk minimisers has optimal sample complexity [3]_.

    max_samples : int or float, default=None
        Rows s that a member draws: an int is a number of rows, a float a fraction of their total
        weight, `None` as many as there are rows. With `bootstrap="bernoulli"` the probability q of
        each row (an int is divided by n; `None` is 1/2).

    max_features : int or float, default=1.0
        Features that a member draws: a number, or a fraction of them (at least one).

    bootstrap : bool or {"bernoulli", "bayesian", "poisson"}, default=True
        How a member draws its rows:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        - `"bernoulli"`: each row with probability q, independently;
        - `"bayesian"`: real weights, s times a Dirichlet(1, ..., 1) vector;
        - `"poisson"`: independent Poisson counts of mean s/n.

        The drawn weights go to the base learner where its `fit` takes `sample_weight`, which
        then sees each row once; otherwise it sees a row as often as it was drawn. Rows of
        weight 0 it never sees.

    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.

    oob_score : bool or callable, default=False
        Whether to score the ensemble on the rows that each member has not seen; a callable is the
        metric, `metric(y_true, y_pred)`, in place of accuracy.

    warm_start : bool, default=False
        Whether `fit` keeps the members that it has and adds the missing ones. Together with
        `oob_score` the out-of-bag estimates go on as well.

    n_jobs : int, default=None
        Members fitted at once. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seeds the draws of rows and features and the members' own randomness.

    verbose : int, default=0
        1 reports progress every few seconds on standard error, 2 after every member.

    voting : {"soft", "hard"}, default="soft"
        `"soft"` averages the members' probabilities (a member without them votes); `"hard"` is the
        majority vote, which is consistent whenever a single member is [001, theorem En.1].

    delta : float, default=0.05
        Probability of failure in `n_estimators="pac"`.

    Attributes
    ----------
    estimator_ : estimator
        The base learner that the members are clones of.

    estimators_ : list of estimators
        The fitted members.

    estimators_features_ : list of ndarray
        The columns of X that each member was shown.

    estimators_samples_ : list of ndarray
        The rows drawn for each member, repeated as often as drawn.

    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    n_classes_ : int
        Their number.

    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean importances of the members, where the base learner has importances.

    n_features_in_ : int
        Number of features seen at `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names that are all strings.

    oob_score_ : float
        Out-of-bag score, of the rows that some member has not seen.

    oob_scores_ : ndarray of shape (n_estimators,)
        The same after 1, 2, ... members; NaN before any row has been left out.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean answer of the members that have not seen the row; NaN if all have.

    See Also
    --------
    BaggingRegressor : The same for regression.
    RandomForestClassifier : Trees that also draw features at every split.
    BaggedNearestNeighborsClassifier : Infinitely many members in closed form.

    Notes
    -----
    Cost: B fits on at most s distinct rows, O(s log s) a draw; `predict` asks every member.
    With the same `random_state`, `bootstrap=True` and `False` draw the rows and features that
    scikit-learn's class draws. Bagging changes little where the base learner is linear in y and
    stable [1]_; it is for learners of high variance.

    References
    ----------
    .. [1] [000] section 10.1.2, and [003] section 4.5 for the variance of the mean.
    .. [2] L. Breiman, "Bagging predictors", Machine Learning 24, 1996.
    .. [3] [001] theorem En.3; K. G. Larsen, "Bagging is an optimal PAC learner", COLT 2023.
    .. [4] S. Wager, T. Hastie and B. Efron, "Confidence intervals for random forests: the
       jackknife and the infinitesimal jackknife", JMLR 15, 2014.

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

    _parameter_constraints: dict = {
        **BaseBagging._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        voting="soft",
        delta=0.05,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.voting = voting
        self.delta = delta

    def _get_estimator(self):
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @available_if(_base_has("decision_function"))
    def decision_function(self, X, **params):
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
            One column for two classes, as the base learner gives it.

        Raises
        ------
        ValueError
            If a member's rows lacked a class, so that its scores have another meaning.

        Notes
        -----
        Cost: one call of each member.
        """
        raise_for_params(params, self, "decision_function")
        check_is_fitted(self)
        short = [k for k, member in enumerate(self.estimators_) if self._lacks_classes(member)]
        if short:
            raise ValueError(
                f"The rows of member {short[0]} lacked some of the {self.n_classes_} classes, so "
                "that its decision_function cannot be averaged with the others; predict_proba can."
            )
        params = self._route(params, "decision_function")
        return self._mean_answer(self._validate_X(X), "decision_function", params)

    def _lacks_classes(self, member):
        return len(getattr(member, "classes_", self.classes_)) < self.n_classes_
