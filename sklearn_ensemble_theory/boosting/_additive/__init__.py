"""L2-boosting of stumps on binned columns."""
