"""Submitted queries of a running network: checked, written down, placed, run with the next batch, and told about."""
