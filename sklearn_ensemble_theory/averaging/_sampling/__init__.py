"""Sampling schemes: the laws of the weights that bagging draws for the rows."""
