"""Joins as pair processing."""
