"""The durable log of submitted queries: which queries exist, on which node and since which batch."""
