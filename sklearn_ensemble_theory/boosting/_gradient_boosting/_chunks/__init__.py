"""Gradient boosting of rows in chunks."""
