"""An additive model with given tables: what an estimator with every kind of term looks like."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


def bins_of(column, edges, categorical, missing):
    """The bin of each value along one axis of a table."""
    if categorical:
        places = {c: i for i, c in enumerate(edges)}
        return np.array([places.get(v, len(edges)) for v in column])
    x = np.asarray(column, dtype=float)
    codes = np.searchsorted(edges, x)
    return np.where(np.isnan(x), len(edges) + 1, codes) if missing else codes


class TableModel(BaseEstimator):
    """`terms` are (features, edges, values); the rest is computed from the rows X."""

    def __init__(self, terms, categories=None, intercept=0.0):
        self.terms = terms
        self.categories = categories
        self.intercept = intercept

    def fit(self, X, y=None, sample_weight=None, errors=None):
        X = X if hasattr(X, "iloc") else np.asarray(X)
        n, p = X.shape
        w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.n_features_in_ = p
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(p)]))
        self.categories_ = self.categories or [None] * p
        columns = [self._column(X, j) for j in range(p)]
        self.missing_bins_ = np.array(
            [
                c is not None or bool(np.isnan(np.asarray(x, dtype=float)).any())
                for x, c in zip(columns, self.categories_)
            ]
        )
        self.term_features_ = [features for features, _, _ in self.terms]
        self.term_names_ = [" & ".join(names[j] for j in f) for f in self.term_features_]
        self.shape_functions_ = [(edges, values) for _, edges, values in self.terms]
        self.intercept_ = self.intercept
        if errors is not None:
            self.shape_standard_errors_ = [errors(values) for _, _, values in self.terms]
        self.bin_weights_ = []
        for t, (_, _, values) in enumerate(self.terms):
            weights = np.zeros(values.shape[: len(self.term_features_[t])])
            np.add.at(weights, self._codes(X, t), w)
            self.bin_weights_.append(weights)
        size = np.abs(self.predict_terms(X))
        size = size if size.ndim == 2 else size.mean(axis=2)
        self.term_importances_ = w @ size / w.sum()
        return self

    @staticmethod
    def _column(X, j):
        return X.iloc[:, j].to_numpy() if hasattr(X, "iloc") else X[:, j]

    def _codes(self, X, t):
        features, edges = self.term_features_[t], self.shape_functions_[t][0]
        each = (edges,) if len(features) == 1 else edges
        return tuple(
            bins_of(self._column(X, j), e, self.categories_[j] is not None, self.missing_bins_[j])
            for j, e in zip(features, each)
        )

    def predict_terms(self, X):
        X = X if hasattr(X, "iloc") else np.asarray(X)
        terms = range(len(self.term_features_))
        return np.stack([self.shape_functions_[t][1][self._codes(X, t)] for t in terms], axis=1)

    def decision_function(self, X):
        return self.intercept_ + self.predict_terms(X).sum(axis=1)


class TableRegressor(RegressorMixin, TableModel):
    def predict(self, X):
        return self.decision_function(X)


class TableClassifier(ClassifierMixin, TableModel):
    def fit(self, X, y=None, sample_weight=None, errors=None):
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight, errors)

    def predict_proba(self, X):
        scores = self.decision_function(X)
        scores = np.column_stack([np.zeros(len(X)), scores]) if scores.ndim == 1 else scores
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
