"""Placement: which node runs which unit."""
