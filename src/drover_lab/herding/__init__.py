"""The policies of [Zong15] that see all queries at once, and their workloads, oracles and twins."""
