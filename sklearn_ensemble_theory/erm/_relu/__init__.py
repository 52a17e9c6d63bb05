"""Rectified linear units."""
