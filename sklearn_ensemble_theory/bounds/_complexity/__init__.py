"""Complexity of classes of predictors, and what it bounds."""
