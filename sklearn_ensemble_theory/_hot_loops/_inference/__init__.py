"""Loops over the training rows in the leaves of a query, and over those outside of its members."""
