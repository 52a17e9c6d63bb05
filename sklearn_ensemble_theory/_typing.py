"""Types that public signatures share.

At run time they are names: the union of which NumPy makes `ArrayLike` would be 300 characters of
a line of `help()`, for every parameter that has it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union, runtime_checkable

import numpy as np

__all__ = [
    "AdditiveEstimator",
    "ArrayLike",
    "BatchesLike",
    "CVLike",
    "CategoriesLike",
    "Estimator",
    "FitsChunks",
    "Fitted",
    "FittedClassifier",
    "FittedPredictor",
    "HasClassWeight",
    "InteractionGroups",
    "LossLike",
    "MatrixLike",
    "Predictor",
    "RandomStateLike",
    "StagedClassifier",
    "TreeLearner",
    "available_if",
]

RandomStateLike: TypeAlias = int | np.random.RandomState | None


class Estimator(Protocol):
    """What has parameters and can be fitted: an estimator of scikit-learn's or one like it."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Any: ...

    @property
    def fit(self) -> Callable[..., Any]: ...


class Predictor(Estimator, Protocol):
    """An estimator that predicts: a base learner, a member, a model."""

    @property
    def predict(self) -> Callable[..., Any]: ...


class Fitted(Estimator, Protocol):
    @property
    def n_features_in_(self) -> int: ...


class FittedPredictor(Fitted, Predictor, Protocol):
    """A model: what predicts, after `fit`."""


class FittedClassifier(FittedPredictor, Protocol):
    @property
    def classes_(self) -> Any: ...

    @property
    def n_classes_(self) -> Any: ...

    @property
    def predict_proba(self) -> Callable[..., Any]: ...


class StagedClassifier(FittedClassifier, Protocol):
    """A boosted classifier, which predicts after each round too."""

    @property
    def staged_predict(self) -> Callable[..., Any]: ...


class AdditiveEstimator(FittedClassifier, Protocol):
    """A sum of functions of one or two features; a regressor has nothing of the classes."""

    @property
    def intercept_(self) -> Any: ...

    @property
    def shape_functions_(self) -> Any: ...

    @property
    def term_features_(self) -> Any: ...

    @property
    def term_importances_(self) -> Any: ...

    @property
    def bin_weights_(self) -> Any: ...

    @property
    def model_(self) -> Any: ...

    @property
    def n_estimators_(self) -> int: ...

    @property
    def n_smoothing_rounds_(self) -> int: ...

    @property
    def predict_terms(self) -> Callable[..., np.ndarray]: ...


class TreeLearner(Predictor, Protocol):
    """A decision tree: scikit-learn's, or one in bins."""

    criterion: str
    ccp_alpha: float
    n_outputs_: int  # after `fit`


class HasClassWeight(Estimator, Protocol):
    """A classifier with scikit-learn's parameter of this name."""

    @property
    def class_weight(self) -> Any: ...


@runtime_checkable
class FitsChunks(Estimator, Protocol):
    """An estimator that is fitted to rows of Dask collections too, `_rows.ChunkedRows`.

    After them it is given validation rows, if the user has any and its class has the attribute
    `_takes_validation_chunks`.
    """

    def _fit_chunks(self, rows: Any, *validation: Any) -> None: ...


if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import TypeVar

    import scipy.sparse as sp
    from numpy.typing import ArrayLike

    class Splitter(Protocol):
        """A cross-validation splitter of scikit-learn's or one like it."""

        def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]: ...

        def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int: ...

    class LossLike(Protocol):
        """The two methods that a loss of one's own needs."""

        def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray: ...

        def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray: ...

    class OptionsOfCategories(Protocol):
        """What an object has that names categorical features, `trees.Categories`."""

        columns: Any
        unseen: Any

    BatchesLike: TypeAlias = Iterable[Any] | Callable[[], Iterable[Any]]
    CategoriesLike: TypeAlias = ArrayLike | OptionsOfCategories
    CVLike: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
    MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
    InteractionGroups: TypeAlias = Sequence[Collection[int] | Collection[str]]
    Function = TypeVar("Function", bound=Callable[..., Any])

    def available_if(check: Callable[[Any], bool]) -> Callable[[Function], Function]: ...
else:
    from sklearn.utils.metaestimators import available_if

    class Name:
        """What signatures show by its name, also in unions."""

        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return self.name

        def __or__(self, other):
            return Union[self, other]  # noqa: UP007

        def __ror__(self, other):
            return Union[other, self]  # noqa: UP007

    ArrayLike, MatrixLike = Name("ArrayLike"), Name("MatrixLike")
    CVLike, LossLike = Name("CVLike"), Name("LossLike")
    BatchesLike, CategoriesLike = Name("BatchesLike"), Name("CategoriesLike")
    InteractionGroups = Name("InteractionGroups")
