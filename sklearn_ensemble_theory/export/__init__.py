"""Fitted models for other tools: scikit-learn's objects, shap's trees, tables, networks."""

from sklearn_ensemble_theory._addresses import publish

from ._frame import frame
from ._network import network
from ._shap import shap
from ._sklearn import sklearn

__all__ = ["frame", "network", "shap", "sklearn"]

publish(__name__, globals(), __all__)
