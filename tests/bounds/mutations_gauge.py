"""Equalities of the gauge and its polar; `gauge` itself returns more than a number."""

from .test_gauge import test_polar_gauge_is_the_largest_product

EQUALITIES = [("polar_gauge", test_polar_gauge_is_the_largest_product)]
