"""Assigning queries as they come and go."""
