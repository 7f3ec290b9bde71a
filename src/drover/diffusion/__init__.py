"""Diffused joins [Gu05]: the pairs of one join spread over a grid of instances, none missing and none twice."""
