"""Types that public signatures share."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

__all__ = [
    "ArrayLike",
    "CVLike",
    "LossLike",
    "MatrixLike",
    "RandomStateLike",
    "available_if",
]

if TYPE_CHECKING:
    MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
    Function = TypeVar("Function", bound=Callable[..., Any])

    def available_if(check: Callable[[Any], bool]) -> Callable[[Function], Function]: ...
else:
    from sklearn.utils.metaestimators import available_if

    # SciPy below 1.11 has one class for both kinds of sparse.
    MatrixLike = ArrayLike | getattr(sp, "sparray", sp.spmatrix) | sp.spmatrix

RandomStateLike: TypeAlias = int | np.random.RandomState | None


class Splitter(Protocol):
    """A cross-validation splitter of scikit-learn's or one like it."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]: ...

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int: ...


CVLike: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]


class LossLike(Protocol):
    """The two methods that a loss of one's own needs."""

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray: ...

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray: ...
