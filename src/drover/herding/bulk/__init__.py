"""Assigning queries of equal weight to equal servers, millions per second."""
