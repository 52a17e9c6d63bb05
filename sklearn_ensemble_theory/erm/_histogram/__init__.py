"""Partitions of a box into cells of equal size."""
