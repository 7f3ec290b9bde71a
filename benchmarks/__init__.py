"""How fast drover is, against plain Spark on the same rows: `python -m benchmarks NAME`."""
