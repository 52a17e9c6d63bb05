"""Offsets of rows to predict and to score, of a model whose fit had an offset."""

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ._blocks import checked_offset
from ._running import warn_user
from ._typing import Predictor

Model = TypeVar("Model")


def known_offset(model: Predictor, X: Any, offset: Any) -> Any:
    """The offset, of the rows of a fit at which a callback looks that of the fit."""
    rows, known = vars(model).get("_rows_of_callbacks", (None, None))
    return known if offset is None and X is rows else offset


def offset_to_predict(model: Predictor, offset: Any, X: Any, in_fit: bool) -> np.ndarray | None:
    """The checked offset; a warning if the fit had one and these rows have none."""
    if in_fit and offset is None:
        warn_user(
            f"This {type(model).__name__} was fitted with an offset, and X is predicted without "
            "one: predictions are for offset 0, such as rates for one unit of exposure. Pass the "
            "offset of the rows, or offset=0 if you want these rates. The scorers of scikit-learn "
            "pass none; score(X, y, offset=...) does.",
        )
    return checked_offset(offset, X)


def offset_to_score(model: Predictor, offset: Any, X: Any, in_fit: bool) -> Any:
    """The offset; a ValueError if the fit had one and the rows to score have none."""
    offset = known_offset(model, X, offset)
    if in_fit and offset is None:
        raise ValueError(
            f"This {type(model).__name__} was fitted with an offset, so score needs the offset of "
            "the rows: score(X, y, offset=...). In a search or a cross-validation, call "
            "sklearn.set_config(enable_metadata_routing=True) and set_score_request(offset=True)."
        )
    return offset


def at_offset_zero(model: Model) -> Model:
    """The model, or a copy, which predicts for offset 0 without a warning, for displays."""
    record: Any = vars(model).get("model_")
    own: dict[str, Any] = {}
    if getattr(record, "has_offset", False):  # an additive model
        own["model_"] = replace(record, has_offset=False)
    if vars(model).get("_has_offset", False):
        own["_has_offset"] = False
    if not own:
        return model
    found = copy(model)
    vars(found).update(own)
    return found
