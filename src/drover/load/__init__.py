"""What units cost: samples, windows over them, linear and series load models, the feasible set, headroom."""
