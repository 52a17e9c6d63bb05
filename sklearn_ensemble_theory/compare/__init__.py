"""The parts of `compare.py`: data, peers and grids, nested cross-validation, output."""


class UsageError(Exception):
    """An error in the command or in the data file; its message is one line."""
