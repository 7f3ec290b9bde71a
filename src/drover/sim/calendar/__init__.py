"""The next event: a tournament over everything that has one."""
