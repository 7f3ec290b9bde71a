"""Hierarchies: operators move between neighbours of a tree by a protocol. No node knows the whole tree's load.

[Kots14] is T. Kotsantis: Know your neighbor, master's thesis, Chalmers University of Technology, 2014.
"""
