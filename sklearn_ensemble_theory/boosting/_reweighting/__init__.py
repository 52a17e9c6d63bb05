"""Boosting by re-weighting: AdaBoost, SmoothBoost, agnostic and Massart boosting."""
