"""An additive model as an ONNX graph: trees find the bins, one table has the values of all terms.

The tables of all terms are laid out one after the other. The place of a term's value in them is a
sum over the features of the term, which one `TreeEnsembleRegressor` computes for all terms: each
feature of a term has a tree that cuts at the edges of its bins, and whose leaves add the number of
the bin times a stride. These are integers below 2^24, which single precision has. A row is then
one look-up of T values, and their sum, in double precision.

The edges are rounded down to the type of the inputs: x <= e holds for a number x of single
precision if and only if x is at most the largest such number that is not above e. NaN is not at
most anything: it comes out at the right end of a tree, where a last cut at infinity parts it from
the numbers of the last bin. A category that is a number has a bin of no width, (c - 1 ulp, c].
"""

import json
from typing import Any, Literal

import numpy as np

from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._version import __version__

from ._plain import Additive, PlainModel, PlainTerm, rounded_down

# Single precision has all integers up to this one.
_MOST_VALUES = 2**24
# All operators are those of this set, and have the same meaning in the later ones.
_FIRST_OPSET, _OPSET, _ML_OPSET = 13, 17, 3


def onnx(
    model: Additive,
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
        A fitted `AdditiveBoostingRegressor`, `L2BoostingRegressor` or `LogitBoostClassifier`.
    dtype : {"float32", "float64"}, default="float32"
        The type of numbers in the inputs and outputs. A number of single precision falls in the
        same bin as by `predict`; sums are made in double precision for both types.
    inputs : {"auto", "matrix", "columns"}, default="auto"
        "matrix" is a single input `X` of shape (n, p). "columns" has an input of shape (n, 1)
        for each feature, with its name, or x0, x1, ...: categories that are text are strings,
        all others numbers. "auto" means columns where a feature has categories that are text.
    with_terms : bool, default=False
        Whether to add the output `terms`: (n, n_terms), for three or more classes
        (n, n_terms, n_classes), as by `predict_terms`.
    target_opset : int, default=None
        The version of the operators, at least 13; None means 17. Those for machine learning
        have the version 3.

    Returns
    -------
    model : onnx.ModelProto
        With the output `variable` of shape (n, 1), the predictions, for a regressor; for a
        classifier `label` (n,), `probabilities` (n, n_classes) in the order of `classes_`, and
        `scores` (n, 1), or (n, n_classes) for three or more classes, as by `decision_function`.
        ``model.SerializeToString()`` are the bytes of the file.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If categories or classes are neither text nor numbers nor bools.
    ValueError
        If an option is none of these, a category is no number of `dtype`, the terms have more
        than 2^24 values, or a feature has the name of an output in "columns".

    Warns
    -----
    UserWarning
        If two thresholds of a feature are the same number of `dtype`: near 1e9, numbers of single
        precision are 64 apart. The message names the features.

    Notes
    -----
    NaN is missing; so is any text that is no category, such as "". Rows cost O(log B) for each
    term of B bins. The file has some 30 bytes for each edge of a term and 8 for each value.

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
    opset = _OPSET if target_opset is None else target_opset
    if isinstance(opset, bool) or not isinstance(opset, int) or opset < _FIRST_OPSET:
        raise ValueError(f"target_opset must be at least {_FIRST_OPSET}; got {opset!r}.")
    plain = PlainModel.of(model)
    plain.check_link()
    is_text = [known is not None and _is_text(known) for known in plain.categories]
    by_column = inputs == "columns" or (inputs == "auto" and any(is_text))
    if any(is_text) and not by_column:
        raise ValueError(
            f"inputs='matrix' has numbers only, and feature {plain.names[is_text.index(True)]!r} "
            "has categories that are text; use inputs='columns'."
        )
    outputs = ["variable"] if plain.classes is None else ["label", "probabilities", "scores"]
    outputs += ["terms"] if with_terms else []
    names = plain.names if by_column else ["X"]
    if wrong := [name for i, name in enumerate(names) if name in [*outputs, "", *names[:i]]]:
        raise ValueError(
            f"The input {wrong[0]!r} has no name of its own: it is that of an output or of another "
            "feature, or empty; rename the feature before fit."
        )
    real = np.dtype(dtype)
    terms = plain.terms if with_terms else (plain.terms_that_matter() or plain.terms[:1])
    cuts = [[cuts_of(term, a, plain, real) for a in range(len(term.features))] for term in terms]
    merged = {
        j
        for term, each in zip(terms, cuts)
        for j, edges, (thresholds, _) in zip(term.features, term.places, each)
        if plain.categories[j] is None and len(thresholds) <= len(edges)
    }
    if merged:
        warn_user(
            "Single precision does not tell apart some thresholds of "
            f"{', '.join(repr(plain.names[j]) for j in sorted(merged))}: predictions for rows "
            "between them differ from those of `predict`. Use dtype='float64'.",
            UserWarning,
        )
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("export.onnx requires onnx: pip install onnx.") from error
    of_type = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    nodes, n_names = [], 0

    def node(operator: str, *given: str, out: str = "", **attributes: Any) -> str:
        """Add an operator, and return the name of its result."""
        nonlocal n_names
        while not out or out in names:
            n_names += 1
            out = f"r{n_names}"
        domain = "ai.onnx.ml" if operator in ("LabelEncoder", "TreeEnsembleRegressor") else ""
        nodes.append(helper.make_node(operator, given, [out], domain=domain, **attributes))
        return out

    def constant(values: Any) -> str:
        return node("Constant", value=numpy_helper.from_array(np.asarray(values)))

    # The columns that are used, as numbers; the number of a category that is text is its place.
    used = sorted({j for term in terms for j in term.features})
    if by_column:
        columns = []
        for j in used:
            column, known = names[j], plain.categories[j]
            if is_text[j] and known is not None:
                keys = known or [""]
                column = node(
                    "LabelEncoder",
                    column,
                    keys_strings=keys,
                    values_floats=np.arange(float(len(keys))) if known else [1.0],
                    default_float=float(len(keys)),
                )
                column = node("Cast", column, to=of_type) if dtype == "float64" else column
            columns.append(column)
        x = node("Concat", *columns, axis=1)
        place = {j: i for i, j in enumerate(used)}
    else:
        x, place = "X", {j: j for j in used}

    # Trees find the places of the values, tables have them.
    trees, offset = _Trees(), 0
    for t, (term, each) in enumerate(zip(terms, cuts)):
        shape, start = term.values.shape[:-1], offset
        for axis, (j, (thresholds, bins)) in enumerate(zip(term.features, each)):
            stride = int(np.prod(shape[axis + 1 :]))
            trees.add(place[j], thresholds, stride * bins + start, t)
            start = 0
        offset += int(np.prod(shape))
    if offset > _MOST_VALUES:
        raise ValueError(f"The terms have {offset} values; ONNX takes at most {_MOST_VALUES}.")
    attributes = trees.attributes()
    if dtype == "float64":
        for name in ("nodes_values", "target_weights"):
            values = np.array(attributes.pop(name), dtype=float)
            attributes[f"{name}_as_tensor"] = numpy_helper.from_array(values)
    places = node("TreeEnsembleRegressor", x, n_targets=len(terms), **attributes)
    table = np.concatenate([term.values.reshape(-1, term.values.shape[-1]) for term in terms])
    single = table.shape[1] == 1
    each = node(
        "Gather",
        constant(table[:, 0] if single else table),
        node("Cast", places, to=TensorProto.INT64),
    )
    total = node("ReduceSum", each, constant(np.array([1])), keepdims=int(single))
    scores = node("Add", total, constant(plain.intercept))

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
            number = node("Cast", is_second, to=TensorProto.INT64)
            number = node("Squeeze", number, constant(np.array([1])))
        else:
            results["probabilities"] = node("Softmax", scores, axis=1)
            number = node("ArgMax", scores, axis=1, keepdims=0)
        results["scores"] = scores
        labels = np.array(plain.classes)
        if labels.dtype.kind == "f":
            labels = labels.astype(real)
        elif labels.dtype.kind == "U":
            labels = labels.astype(object)
        node("Gather", constant(labels), number, out="label")
        kinds["label"] = helper.np_dtype_to_tensor_dtype(labels.dtype)
    if with_terms:
        results["terms"] = each
    for name, value in results.items():
        node("Cast", value, out=name, to=of_type)
    n_classes, n_scores = len(plain.classes or ()), len(plain.intercept)
    sizes = {"variable": [1], "label": [], "probabilities": [n_classes], "scores": [n_scores]}
    sizes["terms"] = [len(terms)] if single else [len(terms), n_scores]

    def info(name: str, kind: int, *size: int) -> Any:
        return helper.make_tensor_value_info(name, kind, [None, *size])

    entries = [info("X", of_type, len(plain.names))]
    if by_column:
        kinds |= {name: TensorProto.STRING for name, text in zip(names, is_text) if text}
        entries = [info(name, kinds.get(name, of_type), 1) for name in names]
    graph = helper.make_graph(
        nodes,
        type(model).__name__,
        entries,
        [info(name, kinds.get(name, of_type), *sizes[name]) for name in outputs],
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    made = helper.make_model(
        graph,
        opset_imports=sets,
        ir_version=helper.find_min_ir_version_for(sets),
        producer_name="sklearn_ensemble_theory",
        producer_version=__version__,
    )
    helper.set_model_props(
        made,
        {
            "feature_names": json.dumps(plain.names),
            "term_names": json.dumps([term.name for term in terms]),
        },
    )
    checker.check_model(made)
    return made


def _is_text(known: list) -> bool:
    """Whether the categories are text; of a feature that had none too."""
    return all(isinstance(value, str) for value in known)


def cuts_of(
    term: PlainTerm, axis: int, plain: PlainModel, real: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Increasing thresholds of a feature of a term; the bins between them and beyond the last."""
    j = term.features[axis]
    known, size = plain.categories[j], term.values.shape[axis]
    if known is None:
        cuts = rounded_down(term.places[axis], real)
        cuts, bins = np.append(cuts, real.type(np.inf)), np.arange(size)
        # Edges that are the same after rounding have no number between them.
        kept = np.concatenate([[True], cuts[1:] > cuts[:-1]])
        return cuts[kept], np.append(bins[:-1][kept], size - 1)
    if _is_text(known):
        return np.arange(size - 1, dtype=real) + real.type(0.5), np.arange(size)
    with np.errstate(over="ignore"):
        values = np.array([float(value) for value in known]).astype(real)
    if any(a != b for a, b in zip(known, values.tolist())):
        hint = "; use dtype='float64'" if real.type is np.float32 else ""
        raise ValueError(
            f"Feature {plain.names[j]!r} has categories that are no {real} numbers{hint}."
        )
    order = np.argsort(values)
    values = values[order]
    below = np.nextafter(values, real.type(-np.inf))
    cuts = np.stack([below, values], axis=1).ravel()
    bins = np.stack([np.full(len(order), size - 1), order], axis=1).ravel()
    # Neighbouring numbers have none between them, and nothing is below -infinity.
    kept = np.stack(
        [np.append(True, below[1:] > values[:-1]) & (below < values), np.full(len(order), True)],
        axis=1,
    ).ravel()
    return cuts[kept], np.append(bins[kept], size - 1)


class _Trees:
    """Balanced trees that find the place of a value among thresholds."""

    def __init__(self) -> None:
        self.n = 0
        self.nodes: list[tuple[int, int, int, str, float, int, int]] = []
        self.leaves: list[tuple[int, int, int, float]] = []

    def add(self, feature: int, cuts: np.ndarray, weights: np.ndarray, target: int) -> None:
        """A tree that adds ``weights[#{cuts < x}]`` to a target; len(weights) = len(cuts) + 1."""
        tree, self.n = self.n, self.n + 1
        # Ranges of leaves that are still to be divided, with the numbers of their nodes.
        ranges, n_nodes = [(0, len(cuts), 0)], 1
        while ranges:
            low, high, number = ranges.pop()
            if low == high:
                self.nodes.append((tree, number, 0, "LEAF", 0.0, 0, 0))
                self.leaves.append((tree, number, target, float(weights[low])))
                continue
            middle = (low + high) // 2
            left, right, n_nodes = n_nodes, n_nodes + 1, n_nodes + 2
            cut = float(cuts[middle])
            self.nodes.append((tree, number, feature, "BRANCH_LEQ", cut, left, right))
            ranges += [(middle + 1, high, right), (low, middle, left)]

    def attributes(self) -> dict[str, Any]:
        """Those of the operator."""
        trees, numbers, features, modes, cuts, left, right = map(list, zip(*self.nodes))
        leaf_trees, leaf_numbers, targets, weights = map(list, zip(*self.leaves))
        return {
            "nodes_treeids": trees,
            "nodes_nodeids": numbers,
            "nodes_featureids": features,
            "nodes_modes": modes,
            "nodes_values": cuts,
            "nodes_truenodeids": left,
            "nodes_falsenodeids": right,
            "target_treeids": leaf_trees,
            "target_nodeids": leaf_numbers,
            "target_ids": targets,
            "target_weights": weights,
        }
