"""Assigns queries to servers as they come and go."""
