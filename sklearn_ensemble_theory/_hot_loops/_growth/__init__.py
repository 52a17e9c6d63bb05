"""The growth of trees over binned columns."""
