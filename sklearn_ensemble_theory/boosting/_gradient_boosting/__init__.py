"""Gradient boosting of any regressor."""
