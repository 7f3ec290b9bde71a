"""Experiments of the text on hierarchies [Kots14]."""
