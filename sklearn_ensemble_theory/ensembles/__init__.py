"""Functions of a fitted ensemble: standard errors, intervals, quantiles, sets and importances.

They know the members, and the rows and weights that each was fitted to; not which estimator fitted
them.
"""
