"""Diffused joins [Gu05]: a grid of instances shares the pairs of one join, so that each pair is made exactly once."""
