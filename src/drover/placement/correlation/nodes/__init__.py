"""Loops over all nodes."""
