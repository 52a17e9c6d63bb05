"""Trees over binned columns of rows in chunks: counted where the rows are, cut elsewhere."""
