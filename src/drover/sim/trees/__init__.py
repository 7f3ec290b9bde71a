"""Hierarchies in virtual time: the machines of every node, joined by a network that is late, loses and splits."""
