"""Experiments of the text on herding small queries [Zong15]."""
