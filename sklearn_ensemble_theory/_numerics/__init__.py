"""Numerical functions on arrays, independent of any estimator."""
