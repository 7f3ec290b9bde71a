"""Lists of the servers that hold a source."""
