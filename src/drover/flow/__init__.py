"""The data plane without Spark: what happens inside a batch."""
