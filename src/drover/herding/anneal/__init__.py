"""Better assignments of queries that are all known, by simulated annealing."""
