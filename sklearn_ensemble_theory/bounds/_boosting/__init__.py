"""Bounds on greedy methods and boosting."""
