"""drover: a network of continuous queries in one Spark application, placed by measured load."""
