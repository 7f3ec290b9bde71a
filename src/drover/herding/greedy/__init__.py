"""Assigning types of queries, all that are known, by the pair of type and server that costs least."""
