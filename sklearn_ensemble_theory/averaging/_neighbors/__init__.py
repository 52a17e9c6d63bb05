"""Bagged nearest neighbors in closed form."""
