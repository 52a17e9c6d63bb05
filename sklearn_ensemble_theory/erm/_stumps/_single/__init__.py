"""A single stump, in little memory."""
