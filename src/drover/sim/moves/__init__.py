"""Suspended and resumed operators, lost nodes."""
