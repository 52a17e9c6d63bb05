"""Tables of pairs of binned columns: sums over rows, and steps on the tables."""
