"""Combinations of learners whose weights are learned from held-out predictions."""
