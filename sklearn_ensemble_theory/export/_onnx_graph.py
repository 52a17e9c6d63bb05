"""An ONNX graph that grows by one operator after another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_ensemble_theory._version import __version__

# All operators are those of this set, and have the same meaning in the later ones.
FIRST_OPSET, OPSET, ML_OPSET = 13, 17, 3
OF_MACHINE_LEARNING = {"LabelEncoder", "TreeEnsembleRegressor"}


class Graph:
    """Operators, with names for their results.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of the numbers among the inputs and outputs.
    names : list of str
        Of the inputs, which no result may have.

    Raises
    ------
    ImportError
        If onnx is not installed.
    """

    def __init__(self, dtype: str, names: Sequence[str]) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("export.onnx requires onnx: pip install onnx.") from error
        self.onnx, self.names, self.real = onnx, names, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.n_results = 0
        kinds = onnx.TensorProto
        self.of_type = kinds.FLOAT if dtype == "float32" else kinds.DOUBLE

    def node(self, operator: str, *given: str, out: str = "", **attributes: Any) -> str:
        """Add an operator, and return the name of its result."""
        while not out or out in self.names:
            self.n_results += 1
            out = f"r{self.n_results}"
        domain = "ai.onnx.ml" if operator in OF_MACHINE_LEARNING else ""
        make = self.onnx.helper.make_node
        self.nodes.append(make(operator, given, [out], domain=domain, **attributes))
        return out

    def constant(self, values: Any) -> str:
        return self.node("Constant", value=self.tensor(values))

    def tensor(self, values: Any) -> Any:
        return self.onnx.numpy_helper.from_array(np.asarray(values))

    def cast(self, value: str, kind: str) -> str:
        """The value in a type of ONNX, such as "DOUBLE"."""
        return self.node("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def trees(self, x: str, attributes: dict[str, Any], in_double: bool, n_targets: int) -> str:
        """The sums of trees, whose thresholds have the type of x."""
        attributes = dict(attributes)
        if in_double:
            for name in ("nodes_values", "target_weights"):
                values = np.array(attributes.pop(name), dtype=float)
                attributes[f"{name}_as_tensor"] = self.tensor(values)
        return self.node("TreeEnsembleRegressor", x, n_targets=n_targets, **attributes)

    def smallest(self, x: str, k: int) -> str:
        """The places of the k smallest values of each row, the smallest first."""
        given = x, self.constant(np.array([k], dtype=np.int64))
        self.n_results += 1
        outputs = [f"values{self.n_results}", f"places{self.n_results}"]
        make = self.onnx.helper.make_node
        self.nodes.append(make("TopK", given, outputs, axis=1, largest=0, sorted=1))
        return outputs[1]

    def label(self, classes: list, number: str) -> Any:
        """Add the output `label`, the class of this number, and return its type."""
        labels = np.array(classes)
        if labels.dtype.kind == "f":
            labels = labels.astype(self.real)
        elif labels.dtype.kind == "U":
            labels = labels.astype(object)
        self.node("Gather", self.constant(labels), number, out="label")
        return self.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)

    def info(self, name: str, kind: Any, *size: int) -> Any:
        """The description of an input or output of n rows."""
        return self.onnx.helper.make_tensor_value_info(name, kind, [None, *size])

    def model(
        self, name: str, inputs: list, outputs: list, opset: int, properties: dict[str, str]
    ) -> Any:
        """The whole, checked."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, inputs, outputs)
        sets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(
            graph,
            opset_imports=sets,
            ir_version=helper.find_min_ir_version_for(sets),
            producer_name="sklearn_ensemble_theory",
            producer_version=__version__,
        )
        helper.set_model_props(made, properties)
        self.onnx.checker.check_model(made)
        return made
