"""Fitted additive models and super learners as ONNX graphs."""

import json
from typing import Any, Literal

import numpy as np

from sklearn_ensemble_theory._typing import FittedPredictor
from sklearn_ensemble_theory.combining import SuperLearnerClassifier, SuperLearnerRegressor

from ._onnx_additive import add_scores, cuts_of_terms, is_text
from ._onnx_graph import FIRST_OPSET, OPSET, Graph
from ._onnx_mixture import graph_of_mixture
from ._plain import PlainModel


def onnx(
    model: FittedPredictor,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    inputs: Literal["auto", "matrix", "columns"] = "auto",
    with_terms: bool = False,
    target_opset: int | None = None,
) -> Any:
    """Convert the model to ONNX, whose runtimes need no Python.

    Parameters
    ----------
    model : estimator
        A fitted `AdditiveBoostingRegressor`, `L2BoostingRegressor` or `LogitBoostClassifier`, or a
        fitted `SuperLearnerRegressor` or `SuperLearnerClassifier` without categories.
    dtype : {"float32", "float64"}, default="float32"
        The type of numbers in the inputs and outputs. A number of single precision falls in the
        same bin as in `predict`; sums are made in double precision for both types.
    inputs : {"auto", "matrix", "columns"}, default="auto"
        "matrix" is a single input `X` of shape (n, p). "columns" has an input of shape (n, 1)
        for each feature, with its name, or x0, x1, ...: categories that are text are strings,
        all others numbers. "auto" means columns where a feature has categories that are text.
    with_terms : bool, default=False
        Whether to add the output `terms`: (n, n_terms), for three or more classes (n, n_terms,
        n_classes), as in `predict_terms`.
    target_opset : int, default=None
        The version of the operators, at least 13; None means 17. Those for machine learning
        have the version 3.

    Returns
    -------
    model : onnx.ModelProto
        A regressor has the output `variable` of shape (n, 1), the predictions. A classifier has
        `label` (n,), `probabilities` (n, n_classes) in the order of `classes_`, and `scores` as
        `decision_function`: (n, 1), or (n, n_classes) for three or more classes. A super learner
        has no `scores`. ``model.SerializeToString()`` are the bytes of the file.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If categories or classes are neither text nor numbers nor bools.
    ValueError
        If an option is unknown, a category is not a number of `dtype`, the terms have more than
        2^24 values, or a feature is named like an output in "columns". If a member of a super
        learner with a weight has no form in ONNX, or a feature has categories there.

    Warns
    -----
    UserWarning
        If two thresholds of a feature are the same number of `dtype`: near 1e9, numbers of single
        precision are 64 apart. The message names the features.

    Notes
    -----
    NaN is missing; so is any text that is no category, such as "". Rows cost O(log B) for each
    term of B bins. The file has some 30 bytes for each edge of a term and 8 for each value.

    Members of super learners are forests, boosting, additive models, bagged neighbours and linear
    models. Sums of trees are in single precision. Bagged neighbours need the training rows, which
    the file then has; of rows that are equally near, the first ones are nearest. Offsets are 0.

    Examples
    --------
    With the ONNX runtime, for a classifier of numbers::

        session = onnxruntime.InferenceSession(export.onnx(model).SerializeToString())
        label, probabilities, scores = session.run(None, {"X": X.astype("float32")})
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    if inputs not in ("auto", "matrix", "columns"):
        raise ValueError(f"inputs must be 'auto', 'matrix' or 'columns'; got {inputs!r}.")
    opset = OPSET if target_opset is None else target_opset
    if isinstance(opset, bool) or not isinstance(opset, int) or opset < FIRST_OPSET:
        raise ValueError(f"target_opset must be at least {FIRST_OPSET}; got {opset!r}.")
    if isinstance(model, SuperLearnerRegressor | SuperLearnerClassifier):
        if with_terms:
            raise ValueError("with_terms=True needs an additive model; a super learner has none.")
        return graph_of_mixture(model, dtype, inputs == "columns", opset)
    plain = PlainModel.of(model)
    plain.check_link()
    of_text = [known is not None and is_text(known) for known in plain.categories]
    by_column = inputs == "columns" or (inputs == "auto" and any(of_text))
    if any(of_text) and not by_column:
        raise ValueError(
            f"inputs='matrix' has numbers only, and feature {plain.names[of_text.index(True)]!r} "
            "has categories that are text; use inputs='columns'."
        )
    outputs = ["variable"] if plain.classes is None else ["label", "probabilities", "scores"]
    outputs += ["terms"] if with_terms else []
    names = plain.names if by_column else ["X"]
    if wrong := [name for i, name in enumerate(names) if name in [*outputs, "", *names[:i]]]:
        raise ValueError(
            f"The input {wrong[0]!r} needs a name of its own: its name is empty, or that of an "
            "output or of another feature; rename the feature before fit."
        )
    terms = plain.terms if with_terms else (plain.terms_that_matter() or plain.terms[:1])
    cuts = cuts_of_terms(plain, terms, np.dtype(dtype))
    graph = Graph(dtype, names)
    of_type, node, constant = graph.of_type, graph.node, graph.constant

    # The columns that are used, as numbers; the number of a category that is text is its place.
    used = sorted({j for term in terms for j in term.features})
    if by_column:
        columns = []
        for j in used:
            column, known = names[j], plain.categories[j]
            if of_text[j] and known is not None:
                keys = known or [""]
                column = node(
                    "LabelEncoder",
                    column,
                    keys_strings=keys,
                    values_floats=np.arange(float(len(keys))) if known else [1.0],
                    default_float=float(len(keys)),
                )
                column = graph.cast(column, "DOUBLE") if dtype == "float64" else column
            columns.append(column)
        x = node("Concat", *columns, axis=1)
        place = {j: i for i, j in enumerate(used)}
    else:
        x, place = "X", {j: j for j in used}

    scores, each = add_scores(graph, plain, terms, cuts, x, place, dtype == "float64")
    single = len(plain.intercept) == 1

    # What the scores mean, in the type of the inputs.
    results, kinds = {}, {}
    if plain.classes is None:
        inverse = {"log": "Exp", "logit": "Sigmoid"}.get(plain.link)
        results["variable"] = node(inverse, scores) if inverse else scores
    else:
        if single:
            sides = node("Sigmoid", node("Neg", scores)), node("Sigmoid", scores)
            results["probabilities"] = node("Concat", *sides, axis=1)
            is_second = node("Greater", scores, constant(np.zeros(1)))
            number = graph.cast(is_second, "INT64")
            number = node("Squeeze", number, constant(np.array([1])))
        else:
            results["probabilities"] = node("Softmax", scores, axis=1)
            number = node("ArgMax", scores, axis=1, keepdims=0)
        results["scores"] = scores
        kinds["label"] = graph.label(plain.classes, number)
    if with_terms:
        results["terms"] = each
    for name, value in results.items():
        node("Cast", value, out=name, to=of_type)
    n_classes, n_scores = len(plain.classes or ()), len(plain.intercept)
    sizes = {"variable": [1], "label": [], "probabilities": [n_classes], "scores": [n_scores]}
    sizes["terms"] = [len(terms)] if single else [len(terms), n_scores]

    info, text = graph.info, graph.onnx.TensorProto.STRING
    entries = [info("X", of_type, len(plain.names))]
    if by_column:
        kinds |= {name: text for name, has_text in zip(names, of_text) if has_text}
        entries = [info(name, kinds.get(name, of_type), 1) for name in names]
    return graph.model(
        type(model).__name__,
        entries,
        [info(name, kinds.get(name, of_type), *sizes[name]) for name in outputs],
        opset,
        {
            "feature_names": json.dumps(plain.names),
            "term_names": json.dumps([term.name for term in terms]),
        },
    )
