"""Intervals, sets and importances from the rows that the members are and are not fitted to."""
