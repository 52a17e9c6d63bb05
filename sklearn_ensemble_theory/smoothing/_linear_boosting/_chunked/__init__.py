"""Boosting of linear smoothers of rows in chunks."""
