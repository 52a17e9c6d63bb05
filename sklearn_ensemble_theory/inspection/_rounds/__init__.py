"""Figures of the rounds of a boosted vote: margins and edges."""
