"""Trees over binned columns."""
