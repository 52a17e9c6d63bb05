"""Predictions of trees over binned columns: a part of the rows at a time, without `tree_`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._chunks.chunked_predictions import by_chunks
from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.trees._packed.compiled_route import uses_compiled_loops
from sklearn_ensemble_theory.trees._packed.loose_values import values_of_rows

__all__ = ["ClassTreePredictions", "TreePredictions"]

# Numbers of X that are held in single precision at once: 8 MB.
_VALUES_AT_ONCE = 2**21


class TreePredictions:
    """`predict`, and the values of the leaves that all predictions are read from."""

    # Of scikit-learn's trees, and of the fitted tree.
    _validate_X_predict: Any
    tree_: Any
    _nodes: Any

    @by_chunks
    def predict(self, X: MatrixLike, check_input: bool = True) -> np.ndarray:
        """Predict the means of the leaves, or their most frequent classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Whether to check X.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        values = self._values_at(X, check_input)
        if not is_classifier(self):
            return values[:, 0]
        classes: np.ndarray = self.classes_  # type: ignore[attr-defined]
        return classes.take(values.argmax(axis=1))

    def _values_at(self, X: Any, check_input: bool) -> np.ndarray:
        """The values (n, K) of the leaves of rows, without `tree_` where there are loops for it."""
        check_is_fitted(self)
        is_large = isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _VALUES_AT_ONCE
        if not (is_large and check_input):
            X, check_input = self._validate_X_predict(X, check_input), False
        if sp.issparse(X):
            return self.tree_.predict(X)
        nodes = self._nodes()
        predict: Any = partial(values_of_rows, nodes)
        if nodes.is_built or not uses_compiled_loops(X.shape[0]):
            predict = self.tree_.predict
        parts = [predict(rows) for rows in self._in_single_precision(X, check_input)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _in_single_precision(self, X: np.ndarray, check_input: bool) -> Iterator[np.ndarray]:
        """The rows of X in parts, each checked where that is asked for."""
        step = max(_VALUES_AT_ONCE // max(X.shape[1], 1), 1)
        for start in range(0, max(len(X), 1), step):
            rows = X[start : start + step]
            if check_input:
                with np.errstate(over="ignore"):  # an error, and no warning before it
                    rows = self._checked(rows, start == 0)
            yield rows

    def _checked(self, rows: np.ndarray, is_first: bool) -> np.ndarray:
        if is_first:
            return self._validate_X_predict(rows, True)
        # The number of features and their names have been checked.
        return check_array(rows, dtype=np.float32, ensure_all_finite="allow-nan", input_name="X")


class ClassTreePredictions:
    """The probabilities of classes."""

    _values_at: Any

    @by_chunks
    def predict_proba(self, X: MatrixLike, check_input: bool = True) -> np.ndarray:
        """Predict the shares of the classes in the leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Whether to check X.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return self._values_at(X, check_input)

    @by_chunks
    def predict_log_proba(self, X: MatrixLike, check_input: bool = True) -> Any:
        """Predict the logarithms of the class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Whether to check X.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, -inf for 0, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, check_input))
