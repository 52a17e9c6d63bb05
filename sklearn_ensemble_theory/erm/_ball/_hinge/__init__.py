"""The hinge loss over a ball, by an interior-point method."""
