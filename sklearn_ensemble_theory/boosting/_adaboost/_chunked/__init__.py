"""AdaBoost of rows in chunks."""
