"""The search for hinges refuses arrays that do not fit; tests/erm has what it finds."""

import numpy as np
import pytest

from sklearn_ensemble_theory.erm._hinges import HingeIndex

from .loops import best_hinge, bin_moments


def arguments(is_square, n=2000, p=3):
    """Those of `best_hinge`, for a hinge in the second column with a knot inside a bin."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    target, weight = np.cos(2 * X[:, 1]), np.ones(n)
    target -= target.mean()
    index = HingeIndex(X)
    names = "order", "codes", "below", "starts", "edges", "inside"
    squares = index.squares(weight) if is_square else (None, None, None)
    return {
        **{name: getattr(index, name) for name in names},
        "span": None if is_square else index.spans(),
        **dict(zip(("above", "lever", "square"), squares)),
        "moment": weight * target / 10,
        "weight": weight,
        "floor": 1e-26,
        "constant": 0.0,
        "tolerance": 1e-12,
    }


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize("order", [np.int32, np.int64])
@pytest.mark.parametrize("is_square", [True, False])
def test_columns_that_do_not_fit(is_square, order):
    fitting = arguments(is_square)
    fitting["order"] = fitting["order"].astype(order)
    row, z, *_, gain = best_hinge(**fitting)
    assert row % 3 == 1
    assert 0 < z < 1
    assert best_hinge(**{**fitting, "constant": 2 * gain}) is None
    n_edges = fitting["edges"].shape[1]
    wrongs = [
        {"codes": changed(fitting["codes"], (2, 7), n_edges - 1)},
        {"codes": fitting["codes"][:, :1999].copy()},
        {"order": fitting["order"][:2]},
        {"order": np.full_like(fitting["order"], 2000)},
        {"order": np.full_like(fitting["order"], -1)},
        {"below": fitting["below"][:2]},
        {"starts": fitting["starts"][:, :-1].copy()},
        {"starts": changed(fitting["starts"], (0, -1), 2001)},
        {"starts": changed(fitting["starts"], (0, 0), -1)},
        {"starts": fitting["starts"][:, ::-1].copy()},
        {"edges": fitting["edges"][:, :-1].copy()},
        {"edges": fitting["edges"][:, :1].copy()},
        {"inside": fitting["inside"][:3]},
        {"moment": fitting["moment"][:-1]},
        {"weight": fitting["weight"][:-1]},
    ]
    if is_square:
        wrongs += [{name: None} for name in ("above", "lever", "square")]
        wrongs += [{name: fitting[name][:5]} for name in ("above", "lever", "square")]
    else:
        wrongs += [{"span": fitting["span"][:2]}, {"span": None}]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            best_hinge(**{**fitting, **wrong})


def test_moments_by_bin():
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=(3, 40)).astype(np.uint16)
    below, values = rng.random((3, 40)), rng.standard_normal(40)
    out = np.zeros((3, 5, 3))
    bin_moments(codes, below, values, out)
    for j in range(3):
        first = values * below[j]
        for k, each in enumerate((values, first, first * below[j])):
            np.testing.assert_array_equal(out[j, :, k], np.bincount(codes[j], each, 5))
    bin_moments(codes[:0], below[:0], values, out[:0])
    for wrong in (
        (codes + np.uint16(1), below, values, out),
        (codes[:2], below, values, out),
        (codes, below[:2], values, out),
        (codes, below, values[1:], out),
        (codes, below, values, out[:2]),
        (codes, below, values, np.zeros((3, 5, 2))),
    ):
        with pytest.raises(ValueError):
            bin_moments(*wrong)
