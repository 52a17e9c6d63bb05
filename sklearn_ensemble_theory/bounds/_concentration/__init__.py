"""Tails of random variables, sums, maxima and functions of independent variables."""
