"""Formulas of linear L2-boosting, from the matrix of the learner."""
