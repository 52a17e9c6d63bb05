"""Fitted models for other tools: scikit-learn's objects, shap's trees, tables, networks.

Additive models also have a form in SQL, ONNX, JSON and text.
"""

from sklearn_ensemble_theory._addresses import publish

from ._frame import frame
from ._json import from_json, json
from ._network import network
from ._onnx import onnx
from ._scorecard import text
from ._shap import shap
from ._sklearn import sklearn
from ._sql import sql

__all__ = ["frame", "from_json", "json", "network", "onnx", "shap", "sklearn", "sql", "text"]

publish(__name__, globals(), __all__)
