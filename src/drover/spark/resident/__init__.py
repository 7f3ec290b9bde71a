"""Resident nodes: each node of a run is a Spark task that stays, and frames go from node to node by Arrow Flight."""
