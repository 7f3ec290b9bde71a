"""Resident nodes: each node of a run is a long-running Spark task, and frames go from node to node by Arrow Flight."""
