"""A super learner in ONNX: each member with a weight is a part of one graph, in double precision.

Trees are `TreeEnsembleRegressor`s, whose sums are in single precision; bagged neighbours are a
table of the training rows, of which each row takes the nearest ones.
"""

import json
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import feature_names
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
)
from sklearn_ensemble_theory.boosting import AdditiveBoostingRegressor, LogitBoostClassifier
from sklearn_ensemble_theory.combining import SuperLearnerClassifier, SuperLearnerRegressor
from sklearn_ensemble_theory.combining._library import NeighborsOnNumbers, OnNumbers
from sklearn_ensemble_theory.combining._super_learning import Tempering

from ._onnx_additive import add_scores, cuts_of_terms
from ._onnx_graph import Graph
from ._plain import PlainModel, rounded_down
from ._shap import Averaged, Boosted, shap

SuperLearner = SuperLearnerRegressor | SuperLearnerClassifier
LINEAR = (LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV)
# The losses whose scores are the predictions, or their logarithms.
OF_SCORES = {"squared_error", "absolute_error", "huber", "quantile"}
OF_LOGARITHMS = {"poisson", "gamma", "tweedie"}


@dataclass(frozen=True)
class Rows:
    """The rows that a member reads, (n, p), and the names of their features."""

    graph: Graph
    given: str
    names: list[str]
    in_double: bool

    @property
    def double(self) -> str:
        return self.given if self.in_double else self.graph.cast(self.given, "DOUBLE")

    @property
    def single(self) -> str:
        return self.graph.cast(self.given, "FLOAT") if self.in_double else self.given


def graph_of_mixture(model: SuperLearner, dtype: str, by_column: bool, opset: int) -> Any:
    """The graph of a fitted super learner, of one matrix or of a column for each feature.

    Raises
    ------
    ValueError
        If a feature has categories, or a member with a weight has no form in ONNX.
    """
    check_is_fitted(model)
    mixture, names = model.mixture_, feature_names(model)
    classes = getattr(model, "classes_", None)
    if mixture.columns is not None and mixture.columns.any:
        j = int(np.argmax(mixture.columns.flags))
        raise ValueError(
            f"Feature {mixture.columns.features.label(j)} is categorical: export.onnx takes super "
            "learners of numbers; make numbers of the categories before fit, such as indicators."
        )
    outputs = ["variable"] if classes is None else ["label", "probabilities"]
    inputs = names if by_column else ["X"]
    if wrong := [name for i, name in enumerate(inputs) if name in [*outputs, "", *inputs[:i]]]:
        raise ValueError(
            f"The input {wrong[0]!r} needs a name of its own: its name is empty, or that of an "
            "output or of another feature; rename the feature before fit."
        )
    graph = Graph(dtype, inputs)
    x = graph.node("Concat", *inputs, axis=1) if by_column else "X"
    rows = Rows(graph, x, names, graph.real == np.float64)
    total = ""
    for (name, member), weight in zip(mixture.members.items(), mixture.weights.tolist()):
        if weight == 0:
            continue
        try:
            own = predictions_of(member, rows)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"The member {name!r}, of weight {weight:.2g}, cannot be converted to ONNX: "
                f"{error} Fit again with members=... without {name!r}."
            ) from error
        part = graph.node("Mul", own, graph.constant(np.array(weight)))
        total = graph.node("Add", total, part) if total else part
    kinds: dict[str, Any] = {}
    if classes is not None:
        assert mixture.tempering is not None
        total = _tempered(graph, total, mixture.tempering)
        number = graph.node("ArgMax", total, axis=1, keepdims=0)
        kinds["label"] = graph.label(classes.tolist(), number)
    graph.node("Cast", total, out=outputs[-1], to=graph.of_type)
    n_classes = 0 if classes is None else len(classes)
    sizes = {"variable": [1], "label": [], "probabilities": [n_classes]}
    entries = [graph.info("X", graph.of_type, len(names))]
    if by_column:
        entries = [graph.info(name, graph.of_type, 1) for name in names]
    return graph.model(
        type(model).__name__,
        entries,
        [graph.info(name, kinds.get(name, graph.of_type), *sizes[name]) for name in outputs],
        opset,
        {"feature_names": json.dumps(names), "weights": json.dumps(model.member_weights_)},
    )


def _tempered(graph: Graph, P: str, tempering: Tempering) -> str:
    """Probabilities at the temperature, and a little of the shares of the classes."""
    smallest = graph.constant(np.array(np.finfo(np.float64).tiny))
    logs = graph.node("Log", graph.node("Max", P, smallest))
    logs = graph.node("Div", logs, graph.constant(np.array(tempering.temperature)))
    share, added = tempering.added_shares
    P = graph.node("Mul", graph.node("Softmax", logs, axis=1), graph.constant(np.array(share)))
    return graph.node("Add", P, graph.constant(added))


# --- members --------------------------------------------------------------------------------------


@singledispatch
def predictions_of(member: Any, rows: Rows) -> str:
    """What a fitted member predicts, in double precision: (n, 1), or probabilities (n, K)."""
    raise ValueError(
        "export.onnx supports forests, boosting, additive models, bagged neighbours and linear "
        f"models, but not {type(member).__name__}."
    )


@predictions_of.register
def _of_numbers(member: OnNumbers, rows: Rows) -> str:
    """The columns of mean 0 and variance 1."""
    graph, x = rows.graph, rows.double
    node, constant = graph.node, graph.constant
    if member.is_sparse_:
        z = node("Div", x, constant(np.asarray(member.scaler_.scale_, dtype=float)))
    else:
        if member.indicators_:
            raise ValueError("it has categories.")
        numbers = node("Gather", x, constant(member.numbers_), axis=1)
        parts = [node("Where", node("IsNaN", numbers), constant(member.fill_), numbers)]
        if len(member.missing_):
            missing = node("Gather", x, constant(member.missing_), axis=1)
            parts.append(graph.cast(node("IsNaN", missing), "DOUBLE"))
        z = node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        if not len(member.numbers_):  # without any value in X there is a column of zeros
            first = node("Gather", x, constant(np.array([0])), axis=1)
            is_known = node("Not", node("IsNaN", first))
            z = node("Mul", graph.cast(is_known, "DOUBLE"), constant(np.array(0.0)))
        z = node("Div", node("Sub", z, constant(member.means_)), constant(member.scales_))
    names = [f"x{j}" for j in range(len(rows.names))]
    found = predictions_of(member.estimator_, Rows(graph, z, names, True))
    if isinstance(member, NeighborsOnNumbers):
        share, added = member.added_shares_
        found = node("Add", node("Mul", found, constant(np.array(share))), constant(added))
    return found


def _of_linear(member: Any, rows: Rows) -> str:
    coef = np.asarray(member.coef_, dtype=float).reshape(-1, 1)
    scores = _linear(rows, coef, np.reshape(member.intercept_, -1))
    is_log = isinstance(member, PoissonRegressor | GammaRegressor)
    return rows.graph.node("Exp", scores) if is_log else scores


for kind in (*LINEAR, PoissonRegressor, GammaRegressor):
    predictions_of.register(kind, _of_linear)


@predictions_of.register
def _of_logistic(member: LogisticRegression, rows: Rows) -> str:
    if len(member.classes_) > 2 and getattr(member, "multi_class", "auto") == "ovr":
        raise ValueError("multi_class='ovr' is several models.")
    scores = _linear(rows, np.asarray(member.coef_, dtype=float).T, member.intercept_)
    return _probabilities(rows.graph, scores, len(member.classes_))


def _linear(rows: Rows, coef: np.ndarray, intercept: Any) -> str:
    graph = rows.graph
    product = graph.node("MatMul", rows.double, graph.constant(coef))
    return graph.node("Add", product, graph.constant(np.asarray(intercept, dtype=float)))


def _probabilities(graph: Graph, scores: str, n_classes: int) -> str:
    """Those of the scores of several classes, or of the second of two."""
    if n_classes > 2:
        return graph.node("Softmax", scores, axis=1)
    sides = graph.node("Sigmoid", graph.node("Neg", scores)), graph.node("Sigmoid", scores)
    return graph.node("Concat", *sides, axis=1)


@predictions_of.register
def _of_additive(member: AdditiveBoostingRegressor | LogitBoostClassifier, rows: Rows) -> str:
    plain = replace(PlainModel.of(member), names=rows.names)
    plain.check_link()
    graph = rows.graph
    terms = plain.terms_that_matter() or plain.terms[:1]
    cuts = cuts_of_terms(plain, terms, np.dtype(np.float64 if rows.in_double else np.float32))
    place = {j: j for j in range(len(plain.names))}
    scores, _ = add_scores(graph, plain, terms, cuts, rows.given, place, rows.in_double)
    if plain.classes is not None:
        return _probabilities(graph, scores, len(plain.classes))
    inverse = {"log": "Exp", "logit": "Sigmoid"}.get(plain.link)
    return graph.node(inverse, scores) if inverse else scores


@predictions_of.register
def _of_forest(member: Averaged, rows: Rows) -> str:
    return _sum_of_trees(member, rows)


@predictions_of.register
def _of_boosting(member: Boosted, rows: Rows) -> str:
    scores, loss = _sum_of_trees(member, rows), member.loss
    if hasattr(member, "classes_"):
        if loss != "log_loss":
            raise ValueError(f"loss={loss!r} has no probabilities there.")
        return _probabilities(rows.graph, scores, len(member.classes_))
    if isinstance(loss, str) and loss in OF_LOGARITHMS:
        return rows.graph.node("Exp", scores)
    if not (isinstance(loss, str) and loss in OF_SCORES):
        raise ValueError(f"the inverse link of loss={loss!r} has no form there.")
    return scores


def _sum_of_trees(member: Averaged | Boosted, rows: Rows) -> str:
    """The sums of the values of the leaves, (n, width)."""
    found, graph = shap(member), rows.graph
    # Trees read values in single precision, but for columns that only double precision tells apart.
    in_double = found["input_dtype"] is np.float64 and rows.in_double
    x = rows.given if in_double else rows.single
    start = np.atleast_1d(np.asarray(found["base_offset"], dtype=float))
    real = np.dtype(np.float64 if in_double else np.float32)
    sums = graph.trees(x, trees_as_lists(found["trees"], real), in_double, len(start))
    return graph.node("Add", graph.cast(sums, "DOUBLE"), graph.constant(start))


def trees_as_lists(trees: list[dict[str, np.ndarray]], real: np.dtype) -> dict[str, Any]:
    """The attributes of the operator, for thresholds that are numbers of this type."""
    parts: dict[str, list[np.ndarray]] = {}
    for t, nodes in enumerate(trees):
        left, is_leaf = nodes["children_left"], nodes["children_left"] < 0
        number, value = np.arange(len(left)), nodes["value"]
        # Of a leaf the values that are not 0, or the first.
        counts = value[is_leaf] != 0
        counts[:, 0] |= ~counts.any(axis=1)
        leaf, target = np.nonzero(counts)
        leaf = number[is_leaf][leaf]
        columns = {
            "nodes_treeids": np.full(len(left), t),
            "nodes_nodeids": number,
            "nodes_featureids": np.where(is_leaf, 0, nodes["feature"]),
            "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ"),
            "nodes_values": np.where(is_leaf, 0.0, rounded_down(nodes["threshold"], real)),
            "nodes_truenodeids": np.where(is_leaf, 0, left),
            "nodes_falsenodeids": np.where(is_leaf, 0, nodes["children_right"]),
            "nodes_missing_value_tracks_true": (
                ~is_leaf & (nodes["children_default"] == left)
            ).astype(int),
            "target_treeids": np.full(len(leaf), t),
            "target_nodeids": leaf,
            "target_ids": target,
            "target_weights": value[leaf, target],
        }
        for name, column in columns.items():
            parts.setdefault(name, []).append(column)
    return {name: np.concatenate(columns).tolist() for name, columns in parts.items()}


@predictions_of.register
def _of_neighbors(
    member: BaggedNearestNeighborsRegressor | BaggedNearestNeighborsClassifier, rows: Rows
) -> str:
    ranked, graph = member.__ranked_rows__(), rows.graph
    if ranked is None:
        raise ValueError(
            "bagged neighbours are a table where distances are Euclidean and rows count 1 each."
        )
    points, node, constant = ranked.points, graph.node, graph.constant
    # Of the squared distance what depends on the training row.
    product = node("MatMul", rows.double, constant(-2.0 * points.T))
    distance = node("Add", product, constant((points**2).sum(axis=1)))
    near = graph.smallest(distance, len(ranked.weights))
    targets = node("Gather", constant(ranked.targets), near)
    weighted = node("Mul", targets, constant(ranked.weights[:, None]))
    total = node("ReduceSum", weighted, constant(np.array([1])), keepdims=0)
    total = node("Add", total, constant(ranked.rest))
    if not hasattr(member, "classes_"):
        return total
    total = node("Max", total, constant(np.array(0.0)))
    return node("Div", total, node("ReduceSum", total, constant(np.array([1])), keepdims=1))
