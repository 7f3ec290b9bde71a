"""Rates instead of tuples."""
