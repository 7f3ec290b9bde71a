"""Families: queries of one shape, evaluated together.

The members of a family are a table (`members.py`). A batch learns of all families by a `FamilyAssignment`
(`assignment.py`), an optional part of its assignment. Most windows are computed for all members at once
(`shared_aggregates.py`), and families that read the same rows sort and add them up once (`cells.py`). Otherwise rows
fan out (`fan_out.py`): each row is repeated for every member that needs it. Then the shape's operators run on them
(`run.py`), and a column says to which member a row or a result belongs. A family has state of its own on each node;
members that move take their rows along (`moves.py`).
"""
