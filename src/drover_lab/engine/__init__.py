"""Experiments on the real engine: a network on Spark, measured by the clock."""
