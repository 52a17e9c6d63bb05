"""The loops over all rows, compiled when the package is installed."""
