"""`StackingClassifier` and `StackingRegressor`."""

from collections.abc import Callable
from typing import Literal

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._typing import CVLike, RandomStateLike
from sklearn_ensemble_theory.combining._stacking.base import METHODS, BaseStacking
from sklearn_ensemble_theory.combining._stacking.stacked_predictions import (
    StackedClasses,
    StackedValues,
)


class StackingClassifier(ClassifierMixin, StackedClasses):
    """Combination of classifiers that is learned from their held-out predictions.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted to all rows, and to the training
        rows of each split of `cv`. A member can be left out by `set_params(name="drop")`. Members
        that are the same learner are fitted once: one object, or equal parameters without
        `random_state=None`; also where such a learner is a member of a vote or stack in this list.

    final_estimator : estimator, default=None
        The classifier that combines the members, fitted to their held-out predictions.
        `None` is
        :class:`~sklearn.linear_model.LogisticRegression`; it must be `None` if `weights` is given.

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive stratified folds, `None` is 5. A splitter
        may leave rows out, as :class:`~sklearn.model_selection.TimeSeriesSplit` does, or hold them
        out several times: the combination is learned from the predictions that there are.
        `"prefit"` takes the members as they are; the rows of `fit` should then be new to them.

    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        The method of the members whose results are combined: `"auto"` is the first of the three
        that a member has. With `weights`, `"auto"` is probabilities, and votes of a member without
        them; `"predict"` is votes, and `"decision_function"` is not possible.

    n_jobs : int, default=None
        Number of fits in parallel.

    passthrough : bool, default=False
        Whether the final estimator is also fitted to the columns of X.

    verbose : int, default=0
        Verbosity of the parallel fits.

    weights : str, default=None
        How the weights of the members are learned, instead of a final estimator:

        - `"nnls"`: the non-negative weights of smallest risk;
        - `"simplex"`: the same with sum 1;
        - `"l1"`, `"l2"`: the same with an l1 or l2 norm of at most `radius`;
        - `"best"`: the member of smallest risk, the choice of cross-validation;
        - `"greedy"`: the frequencies in a forward selection with replacement;
        - `"uniform"`: equal weights.

    loss : {"auto", "log_loss", "squared_error"}, default="auto"
        The loss whose mean over the held-out rows is the risk: minus the logarithm of the
        probability of the class, or the squared differences between probabilities and indicators of
        the classes. `"nnls"`, `"l1"` and `"l2"` need `"squared_error"`; `"auto"` is it for these,
        and otherwise `"log_loss"`.

    radius : float, default=1.0
        Radius of the balls of `"l1"` and `"l2"`.

    positive : bool, default=True
        Whether the weights of `"l1"` and `"l2"` are non-negative.

    scoring : str or callable, default=None
        A metric of scikit-learn for `"best"`, which takes the largest mean over the splits, and
        for `"greedy"`. `None` is the loss.

    n_selections : int, default=50
        Number of selections of `"greedy"`.

    n_bags : int, default=1
        Number of greedy selections that are averaged, each from half of the members, drawn at
        random; 1 is a single selection from all members.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws for `n_bags`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them for several outputs
        The labels, sorted.

    estimators_ : list of estimators
        The members fitted to all rows.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    stack_method_ : list of str
        The method of each member whose results are combined.

    final_estimator_ : estimator
        The fitted final estimator; without `weights`.

    estimator_weights_ : ndarray of shape (n_classifiers,) or (n_outputs, n_classifiers)
        The learned weights.

    cv_risks_ : dict of lists and arrays
        A table of the members that can be read by pandas: `name`, `weight`, `risk` (the mean loss
        on the held-out rows), `standard_error` (over rows), and `split0_risk`, ...; with several
        outputs also `output`. With `weights`.

    kkt_violation_ : float
        Bound on the distance of the risk of the weights to the minimum, by the gradient, as a
        share of the risk of the prediction 0 or, for the log-loss, in nats. With `"nnls"`,
        `"simplex"`, `"l1"` and `"l2"`.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    StackingRegressor : The same for regression.
    VotingClassifier : Given weights.

    Notes
    -----
    The cost is v + 1 fits of each of k members for v splits, and for the weights of n held-out rows
    O(n k^2) for each Newton step of the log-loss, O(n K k^2) with the squared error of K classes,
    and O(n k) for each greedy selection.

    The weights are those of [Shah, §4.1]; the risk of `"simplex"`, `"nnls"` and `"greedy"` on the
    held-out rows is at most that of the best member. `"best"` is the discrete super learner of van
    der Laan, Polley and Hubbard (2007), and `oracle_bound` is for it. Rows of weight 0 are left
    out. Several outputs (indicators of labels) have weights of their own.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). "Ensemble selection from libraries
    of models". *International Conference on Machine Learning*.

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    D. H. Wolpert (1992). "Stacked generalization". *Neural Networks* 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier, StackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [
    ...     ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ...     ("boosting", GradientBoostingClassifier(n_estimators=30, random_state=0)),
    ... ]
    >>> stack = StackingClassifier(members, weights="simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2), stack.kkt_violation_ < 1e-6
    (array([0.92, 0.08]), True)
    >>> stack.cv_risks_["risk"].round(2), stack.cv_risks_["standard_error"].round(2)
    (array([0.08, 0.13]), array([0.02, 0.02]))
    """

    _parameter_constraints: dict = {
        **BaseStacking._parameter_constraints,
        "loss": [StrOptions({"auto", "log_loss", "squared_error"})],
        "stack_method": [StrOptions({"auto", *METHODS})],
    }

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        weights: str | None = None,
        loss: Literal["auto", "log_loss", "squared_error"] = "auto",
        radius: float = 1.0,
        positive: bool = True,
        scoring: str | Callable[..., float] | None = None,
        n_selections: int = 50,
        n_bags: int = 1,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.weights = weights
        self.loss = loss
        self.radius = radius
        self.positive = positive
        self.scoring = scoring
        self.n_selections = n_selections
        self.n_bags = n_bags
        self.random_state = random_state


class StackingRegressor(RegressorMixin, StackedValues):
    """Combination of regressors that is learned from their held-out predictions.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The members, with a name each. Clones of them are fitted to all rows, and to the training
        rows of each split of `cv`. A member can be left out by `set_params(name="drop")`. Members
        that are the same learner are fitted once: one object, or equal parameters without
        `random_state=None`; also where such a learner is a member of a vote or stack in this list.

    final_estimator : estimator, default=None
        The regressor that combines the members, fitted to their held-out predictions.
        `None` is :class:`~sklearn.linear_model.RidgeCV`; it must be `None` if `weights` is given.

    cv : int, cross-validation splitter, iterable or "prefit", default=None
        The splits; an int is the number of consecutive folds, `None` is 5. A splitter may
        leave rows out, as :class:`~sklearn.model_selection.TimeSeriesSplit` does, or hold them out
        several times: the combination is learned from the predictions that there are. `"prefit"`
        takes the members as they are; the rows of `fit` should then be new to them.

    n_jobs : int, default=None
        Number of fits in parallel.

    passthrough : bool, default=False
        Whether the final estimator is also fitted to the columns of X.

    verbose : int, default=0
        Verbosity of the parallel fits.

    weights : str, default=None
        How the weights of the members are learned, instead of a final estimator:

        - `"nnls"`: the non-negative weights of smallest risk;
        - `"simplex"`: the same with sum 1;
        - `"l1"`, `"l2"`: the same with an l1 or l2 norm of at most `radius`;
        - `"best"`: the member of smallest risk, the choice of cross-validation;
        - `"greedy"`: the frequencies in a forward selection with replacement;
        - `"uniform"`: equal weights.

    loss : {"squared_error", "absolute_error"}, default="squared_error"
        The loss whose mean over the held-out rows is the risk. `"absolute_error"` has no `"l2"`.

    radius : float, default=1.0
        Radius of the balls of `"l1"` and `"l2"`.

    positive : bool, default=True
        Whether the weights of `"l1"` and `"l2"` are non-negative.

    scoring : str or callable, default=None
        A metric of scikit-learn for `"best"`, which takes the largest mean over the splits, and
        for `"greedy"`. `None` is the loss.

    n_selections : int, default=50
        Number of selections of `"greedy"`.

    n_bags : int, default=1
        Number of greedy selections that are averaged, each from half of the members, drawn at
        random; 1 is a single selection from all members.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws for `n_bags`.

    Attributes
    ----------
    estimators_ : list of estimators
        The members fitted to all rows.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted members by name.

    stack_method_ : list of str
        The method of each member whose results are combined.

    final_estimator_ : estimator
        The fitted final estimator; without `weights`.

    estimator_weights_ : ndarray of shape (n_regressors,) or (n_outputs, n_regressors)
        The learned weights; all can be 0 with `"nnls"`, `"l1"` and `"l2"`.

    cv_risks_ : dict of lists and arrays
        A table of the members that can be read by pandas: `name`, `weight`, `risk` (the mean loss
        on the held-out rows), `standard_error` (over rows), and `split0_risk`, ...; with several
        outputs also `output`. With `weights`.

    kkt_violation_ : float
        Bound on the distance of the risk of the weights to the minimum, by the gradient, as a
        share of the risk of the prediction 0. With `"nnls"`, `"simplex"`, `"l1"` and `"l2"`.

    n_features_in_ : int
        Number of features seen at `fit`, where the first member has this attribute.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where a member has this attribute.

    See Also
    --------
    StackingClassifier : The same for classification.
    VotingRegressor : Given weights.

    Notes
    -----
    The cost is v + 1 fits of each of k members for v splits, and for the weights of n held-out rows
    O(n k^2) with the squared error (one triangular factor of the predictions, then exact active-set
    methods on k columns), a linear program with the absolute error, and O(n k) for each greedy
    selection.

    The weights are those of [Shah, §4.1]; the risk of `"simplex"`, `"nnls"` and `"greedy"` on the
    held-out rows is at most that of the best member. `"best"` is the discrete super learner of van
    der Laan, Polley and Hubbard (2007), and `oracle_bound` is for it. Rows of weight 0 are left
    out. Several outputs have weights of their own.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). "Ensemble selection from libraries
    of models". *International Conference on Machine Learning*.

    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007). "Super learner". *Statistical
    Applications in Genetics and Molecular Biology* 6.

    D. H. Wolpert (1992). "Stacked generalization". *Neural Networks* 5.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("stumps", L2BoostingRegressor(300, learning_rate=0.05))]
    >>> stack = StackingRegressor(members, weights="simplex").fit(X, y)
    >>> stack.estimator_weights_.round(2)
    array([0.72, 0.28])
    >>> stack.cv_risks_["risk"].round(), stack.cv_risks_["standard_error"].round()
    (array([3007., 3151.]), array([182., 199.]))
    """

    _parameter_constraints: dict = {
        **BaseStacking._parameter_constraints,
        "loss": [StrOptions({"squared_error", "absolute_error"})],
    }

    def __init__(
        self,
        estimators: list,
        final_estimator: BaseEstimator | None = None,
        *,
        cv: CVLike | Literal["prefit"] | None = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        weights: str | None = None,
        loss: Literal["squared_error", "absolute_error"] = "squared_error",
        radius: float = 1.0,
        positive: bool = True,
        scoring: str | Callable[..., float] | None = None,
        n_selections: int = 50,
        n_bags: int = 1,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.weights = weights
        self.loss = loss
        self.radius = radius
        self.positive = positive
        self.scoring = scoring
        self.n_selections = n_selections
        self.n_bags = n_bags
        self.random_state = random_state
