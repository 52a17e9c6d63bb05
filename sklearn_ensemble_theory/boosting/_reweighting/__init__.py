"""Boosting by re-weighting: AdaBoost, and boosters of two classes under bounded weights."""
