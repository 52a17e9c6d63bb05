"""L2-boosting of linear smoothers in closed form."""
