"""The data plane without Spark: frames, operators on Polars, hops, nodes and versioned state."""
