"""Bounds on averaged predictors."""
