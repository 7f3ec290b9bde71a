"""Which node runs which unit."""
