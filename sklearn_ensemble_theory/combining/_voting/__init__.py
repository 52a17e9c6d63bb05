"""Votes and means of given learners."""
