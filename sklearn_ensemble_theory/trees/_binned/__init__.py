"""Columns in bins, and the growth of trees over them."""
