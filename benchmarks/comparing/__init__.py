"""The parts of `compare.py`: data, peers and grids, nested cross-validation, what is shown."""


class UsageError(Exception):
    """Something that whoever typed the command can put right; its message is one line."""
