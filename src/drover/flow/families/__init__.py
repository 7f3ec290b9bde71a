"""Families: queries of one shape, evaluated together.

Who belongs to a family is a table (`members.py`). What a batch has to know about all families is a `Herded`
(`herded.py`), an optional part of its assignment. A family's rows are widened (`widen.py`): each row once for every
member it is of use to; then the shape's operators run on them (`run.py`), and every row and every result tells its
member. What a family remembers on a node is state of its own; members that move take their rows along (`moves.py`).
"""
