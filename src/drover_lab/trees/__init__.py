"""Hierarchies in virtual time: the state machines of all nodes, and a network that delays, loses and cuts."""
