"""Benchmarks of drover against plain Spark on the same rows: `python -m benchmarks NAME`."""
