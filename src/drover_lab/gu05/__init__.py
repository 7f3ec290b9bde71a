"""Experiments of the text on diffusing stream joins [Gu05]."""
