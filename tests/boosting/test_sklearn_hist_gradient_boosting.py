"""scikit-learn's test files of HistGradientBoosting with our classes in place of its own."""

from types import SimpleNamespace

import numpy as np

import sklearn_ensemble_theory as package

from ..sklearn_suite import load
from ..trees.engine import nodes_of


class PrivateNames:
    """What these tests read under names that are private in scikit-learn."""

    _random_seed = property(lambda self: self._split_seed)

    def _raw_predict(self, X):
        return self._scores(X)

    @property
    def _predictors(self):
        return [[Predictor(tree) for tree in row] for row in self.estimators_]

    @property
    def _preprocessor(self):
        found = [one for one in self.categories_ if one is not None]
        encoder = SimpleNamespace(categories_=found)
        return SimpleNamespace(named_transformers_={"encoder": encoder})


class Predictor:
    def __init__(self, tree):
        self.get_max_depth, self.get_n_leaf_nodes = tree.get_depth, tree.get_n_leaves
        arrays = nodes_of(tree)
        columns = arrays.left, arrays.feature, arrays.threshold, arrays.value[:, 0]
        self.nodes = np.rec.fromarrays(columns, names="left,feature,threshold,value")


class HistGradientBoostingClassifier(PrivateNames, package.HistGradientBoostingClassifier):
    pass


class HistGradientBoostingRegressor(PrivateNames, package.HistGradientBoostingRegressor):
    pass


CLASSES = {
    "HistGradientBoostingClassifier": HistGradientBoostingClassifier,
    "HistGradientBoostingRegressor": HistGradientBoostingRegressor,
}
FOLDER = "sklearn.ensemble._hist_gradient_boosting.tests"

load(
    f"{FOLDER}.test_gradient_boosting",
    CLASSES,
    globals(),
    left_out=[
        "test_binning_train_validation_are_separated",
        "test_categorical_bad_encoding_errors",
        "test_categorical_encoding_strategies",
        "test_categorical_spec_errors",
        "test_categorical_spec_errors_with_feature_names",
        "test_check_interaction_cst",
        "test_custom_loss",
        "test_dataframe_categorical_errors",
        "test_early_stopping_with_sample_weights",
        "test_init_parameters_validation",
        "test_raw_predict_is_called_with_custom_scorer",
        "test_sample_weight_effect",
        "test_single_node_trees",
        "test_small_trainset",
        "test_sum_hessians_are_sample_weight",
        "test_unknown_categories_nan",
        "test_zero_division_hessians",
    ],
)
load(
    f"{FOLDER}.test_monotonic_constraints",
    CLASSES,
    globals(),
    left_out=[
        "test_bounded_value_min_gain_to_split",
        "test_input_error",
        "test_input_error_related_to_feature_names",
        "test_nodes_values",
    ],
)
load(f"{FOLDER}.test_warm_start", CLASSES, globals())
