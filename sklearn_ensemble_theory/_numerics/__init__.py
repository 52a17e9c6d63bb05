"""Numerical functions on arrays that know nothing of estimators."""
