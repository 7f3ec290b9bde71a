"""Placement problems of the texts, and the oracle that finds the best plan of a small one."""
