"""Moving few queries so that servers receive fewer sources."""
