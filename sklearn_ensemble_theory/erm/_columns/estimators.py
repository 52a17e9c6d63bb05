"""The single column of X that fits best, as a regressor and as a weak learner."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._learners import Task
from sklearn_ensemble_theory._rows import finite_predictions, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory.erm._columns.column_rounds import Column, ColumnRounds


class BestColumnRegressor(RegressorMixin, BaseEstimator):
    """Linear function of a single column of X with the smallest squared error.

    The fit is the exact weighted least-squares fit over all functions a + b x_j. As the base
    learner of gradient boosting it gives a linear model, one coefficient in each round, for any
    loss: boosting over the finite dictionary of the columns [Bach, §10.3.1]. With the squared loss
    this is matching pursuit.

    Parameters
    ----------
    criterion : {"squared_error", "inner_product"}, default="squared_error"
        "inner_product" is the weak learner of the theory [Bach, §10.3.1]: the column ±x_j, with
        coefficient -1 or +1, that has the largest inner product with the targets. It depends on the
        units of the features, which should be scaled first.
    fit_intercept : bool, default=True
        Whether columns are centred at their weighted means and "squared_error" fits the constant a.
        False: functions b x_j through the origin.

    Attributes
    ----------
    feature_ : int
        The column j.
    coef_ : float
        The coefficient b, in units of y over units of the feature; 0 if no column is correlated
        with y.
    intercept_ : float
        The constant a, in units of y.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    GradientBoostingRegressor : With this as `estimator`, and ``step="smooth"``, the greedy
        algorithm of [Bach, eq. (10.9)].
    MatchingPursuitRegressor : The same for the squared loss, with rounds of cost O(p).
    FrankWolfeRegressor : A bound on the l1 norm instead of a number of rounds.

    Notes
    -----
    A fit costs O(n p), and makes no copy of a large X. A round of boosting costs the same, and a
    copy of X is kept for the rounds. Ties go to the first column.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory import BestColumnRegressor
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]], [1.0, 4.0, 7.0]
    >>> column = BestColumnRegressor().fit(X, y)
    >>> column.feature_, column.coef_, column.intercept_
    (1, 3.0, 1.0)

    Logistic regression by the greedy algorithm of [Bach, eq. (10.9)]:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = GradientBoostingClassifier(
    ...     BestColumnRegressor("inner_product"), step="smooth", learning_rate=1.0, n_estimators=50
    ... ).fit(X, y)
    >>> coef = np.zeros(30)
    >>> for step, member in zip(model.steps_, model.estimators_[:, 0]):
    ...     coef[member.feature_] += step * member.coef_
    >>> bool(np.allclose(model.decision_function(X) - X @ coef, model.decision_function(0 * X)))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "criterion": [StrOptions({"squared_error", "inner_product"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, criterion: str = "squared_error", *, fit_intercept: bool = True) -> None:
        self.criterion = criterion
        self.fit_intercept = fit_intercept

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @classmethod
    def _of_column(cls, n_features: int, column: Column) -> Self:
        """A fitted member from a search that is already done."""
        member = cls()
        member.n_features_in_ = n_features
        member.feature_, member.coef_, member.intercept_ = column
        return member

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kept = rows_of_positive_weight(sample_weight, X)
        X, y = kept.take(X, y)
        self.feature_, self.coef_, self.intercept_ = self._rounds(
            X, kept.weight, for_many=False
        ).search(y)
        return self

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the linear function of the column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return self._predict_validated(validate_data(self, X, dtype=np.float64, reset=False))

    def _predict_validated(self, X: np.ndarray) -> np.ndarray:
        return self.intercept_ + self.coef_ * np.asarray(X[:, self.feature_], dtype=np.float64)

    @property
    def _has_scale(self) -> bool:
        return self.criterion == "inner_product"

    def _prepare_rounds(
        self, X: np.ndarray, weight: np.ndarray | None, task: Task
    ) -> ColumnRounds | None:
        """Columns for real targets."""
        if task.kind != "least_squares" or sp.issparse(X):
            return None
        return self._rounds(X, weight)

    def _rounds(
        self, X: np.ndarray, weight: np.ndarray | None, *, for_many: bool = True
    ) -> ColumnRounds:
        member_of = BestColumnRegressor._of_column
        return ColumnRounds(X, weight, self.fit_intercept, self.criterion, member_of, for_many)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One column does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags
