"""Decision trees that are grown on binned columns."""
