"""Rows in chunks, such as those of Dask collections: checks, sums over all rows, predictions."""
