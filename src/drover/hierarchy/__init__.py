"""Hierarchies: operators that move between neighbours of a tree, by a protocol in which no node knows the whole.

[Kots14] is T. Kotsantis: Know your neighbor, master's thesis, Chalmers University of Technology, 2014.
"""
