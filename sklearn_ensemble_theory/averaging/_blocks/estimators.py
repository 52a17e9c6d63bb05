"""Divide and conquer for any regressor or classifier [Bach, §10.1.1]."""

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.averaging._averages import AveragedClassifier, AveragedRegressor
from sklearn_ensemble_theory.averaging._blocks.base import BaseDivideAndConquer


class DivideAndConquerRegressor(AveragedRegressor, BaseDivideAndConquer):
    """The mean of a regressor's fits to disjoint blocks of the rows.

    For learners whose cost grows faster than the number of rows, such as kernel methods: m fits to
    n/m rows of cost n^b take m^(b-1) times less work than one fit, can run in parallel, and their
    mean has about the same error if each of them is fitted with less regularisation.

    Parameters
    ----------
    estimator : object, default=None
        The regressor; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`. Choose its
        parameters for the variance to be divided by m, with a smaller penalty or fewer neighbours
        than for a single fit.

    n_blocks : int or "rate", default="rate"
        Number m of blocks; at most the number of rows. `"rate"` is
        :func:`~sklearn_ensemble_theory.bounds.divide_and_conquer_n_blocks`, n^(2/(d+2)): the
        largest number for which nearest neighbours keep the optimal rate, which then is the best
        number for any cost n^b with b > 1.

    weighting : {"size", "uniform", "risk"}, default="size"
        Weights of the members: in proportion to the (weighted) number of rows of their block, equal
        ones, or in proportion to 1/(mean squared error on the rows of all other blocks).

    shuffle : bool, default=True
        Whether rows are assigned to blocks at random; otherwise blocks are consecutive rows. The
        chunks of Dask collections are blocks as they are, and their rows should be a random sample.

    stratify : bool, default=False
        Whether the values of y are spread evenly over the blocks.

    n_jobs : int, default=None
        Number of blocks fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the blocks and of the members' own randomness.

    Attributes
    ----------
    estimator_ : estimator
        The regressor that the members are clones of.

    estimators_ : list of estimators
        The fitted members, one for each block.

    n_blocks_ : int
        Number of blocks.

    blocks_ : ndarray of shape (n_samples,)
        Block of every training row; -1 for rows of weight 0. Not set by a fit of Dask collections.

    block_weights_ : ndarray of shape (n_blocks_,)
        Weights of the members, of sum 1.

    block_risks_ : ndarray of shape (n_blocks_,)
        With `weighting="risk"` and several blocks: mean squared error of each member on the rows of
        the other blocks, in units of the largest squared target.

    n_outputs_ : int
        Number of targets.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    See Also
    --------
    DivideAndConquerClassifier : The same for classification.
    BaggingRegressor : Members fitted to random rows, to reduce variance and not cost.
    SketchedLinearRegression : For linear models, random combinations of all rows instead of blocks.

    Notes
    -----
    *Cost.* m (n/m)^b for an estimator of cost O(n^b) [Bach, exercise 10.2]. The cost decreases with
    m, so the best m is the largest one that keeps the error. `predict` calls every member once and
    adds their results up, in memory for one of them (`n_jobs` of them) at a time.

    *Error.* If blocks were independent data sets, the mean would have the bias of one member and
    1/m of its variance [Bach, §10.1.1]. Optimised for this trade-off, kernel ridge regression and
    nearest neighbours keep their rate, up to a largest m: each block must still be large enough
    for the bias that n rows allow.

    One block is the estimator itself, fitted to all rows. Averaging of blocks was studied for
    kernel ridge regression by [Zhang, Duchi and Wainwright, 2015].

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Y. Zhang, J. Duchi and M. Wainwright (2015). "Divide and conquer kernel ridge regression: a
    distributed algorithm with minimax optimal rates". *Journal of Machine Learning Research* 16.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn_ensemble_theory import DivideAndConquerRegressor
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> X, y = make_sine_regression(1000, random_state=0)
    >>> kernel = KernelRidge(kernel="rbf", gamma=20, alpha=0.1)
    >>> model = DivideAndConquerRegressor(kernel, n_blocks=5, random_state=0).fit(X, y)
    >>> np.bincount(model.blocks_)
    array([200, 200, 200, 200, 200])
    >>> round(model.score(X, y), 2)
    0.84
    """

    _parameter_constraints: dict = {**BaseDivideAndConquer._parameter_constraints}

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_blocks: int | Literal["rate"] = "rate",
        *,
        weighting: Literal["risk", "size", "uniform"] = "size",
        shuffle: bool = True,
        stratify: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_blocks = n_blocks
        self.weighting = weighting
        self.shuffle = shuffle
        self.stratify = stratify
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _squared_errors(self, y: np.ndarray, predictions: np.ndarray, size: float) -> np.ndarray:
        with np.errstate(over="ignore"):
            squares = (y / size - predictions / size) ** 2
        return np.minimum(squares.reshape(len(y), -1).mean(axis=1), np.finfo(float).max ** 0.5)


class DivideAndConquerClassifier(AveragedClassifier, BaseDivideAndConquer):
    """The vote of a classifier's fits to disjoint blocks of the rows.

    Parameters
    ----------
    estimator : object, default=None
        The classifier; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`. Choose its
        parameters for the variance to be divided by m; of nearest neighbours, a single one.

    n_blocks : int or "rate", default="rate"
        Number m of blocks; at most the number of rows. `"rate"` is
        :func:`~sklearn_ensemble_theory.bounds.divide_and_conquer_n_blocks`, n^(2/(d+2)).

    voting : {"soft", "hard"}, default="soft"
        Whether the members' probabilities are averaged, where they have them, or their votes.

    weighting : {"size", "uniform", "risk"}, default="size"
        Weights of the members: in proportion to the (weighted) number of rows of their block, equal
        ones, or in proportion to 1/(Brier score on the rows of all other blocks), for votes
        1/(error rate).

    shuffle : bool, default=True
        Whether rows are assigned to blocks at random; otherwise blocks are consecutive rows. The
        chunks of Dask collections are blocks as they are, and their rows should be a random sample.

    stratify : bool, default=True
        Whether the rows of each class are spread evenly over the blocks.

    n_jobs : int, default=None
        Number of blocks fitted in parallel. The model does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the blocks and of the members' own randomness.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes_,)
        The class labels, sorted.

    n_classes_ : int
        Number of classes.

    estimator_ : estimator
        The classifier that the members are clones of.

    estimators_ : list of estimators
        The fitted members, one for each block, fitted to the indices of the classes.

    n_blocks_ : int
        Number of blocks.

    blocks_ : ndarray of shape (n_samples,)
        Block of every training row; -1 for rows of weight 0. Not set by a fit of Dask collections.

    block_weights_ : ndarray of shape (n_blocks_,)
        Weights of the members, of sum 1.

    block_risks_ : ndarray of shape (n_blocks_,)
        With `weighting="risk"` and several blocks: half of the Brier score of each member on the
        rows of the other blocks; for votes, their error rate.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has feature names that are all strings.

    See Also
    --------
    DivideAndConquerRegressor : The same for regression; cost and error are described there.
    sklearn_ensemble_theory.bounds.neighbors_vote_n_blocks : The best m for nearest neighbours.

    Notes
    -----
    Cost: m (n/m)^b for a classifier of cost O(n^b). For nearest neighbours, m blocks with one
    neighbour each are as good as m neighbours in all rows; a vote of votes of several neighbours is
    worse [Bach, exercise 10.1]. A block of one class only predicts that class.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> from sklearn_ensemble_theory import DivideAndConquerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DivideAndConquerClassifier(SVC(), n_blocks=4, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.9
    """

    _parameter_constraints: dict = {
        **BaseDivideAndConquer._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_blocks: int | Literal["rate"] = "rate",
        *,
        voting: Literal["soft", "hard"] = "soft",
        weighting: Literal["risk", "size", "uniform"] = "size",
        shuffle: bool = True,
        stratify: bool = True,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_blocks = n_blocks
        self.voting = voting
        self.weighting = weighting
        self.shuffle = shuffle
        self.stratify = stratify
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _squared_errors(self, y: np.ndarray, predictions: np.ndarray, size: float) -> np.ndarray:
        targets = y[:, None] == np.arange(predictions.shape[1])
        return ((predictions - targets) ** 2).sum(axis=1) / 2
