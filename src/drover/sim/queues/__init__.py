"""Tuples in a pool, chained into queues."""
