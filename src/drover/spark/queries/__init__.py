"""Submitted queries of a running network: admission, the durable catalog, placement, measurement and results."""
