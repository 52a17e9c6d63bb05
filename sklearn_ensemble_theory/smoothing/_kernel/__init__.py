"""Nadaraya-Watson kernel regression."""
