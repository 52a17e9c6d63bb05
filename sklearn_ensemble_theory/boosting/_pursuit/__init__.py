"""Matching pursuit over the columns of X."""
