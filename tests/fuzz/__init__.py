"""Fuzzing: whatever a user, a client or a neighbour sends is accepted or refused in words, soon and in little memory.

`python -m tests.fuzz --cases 20000` feeds every input of drover; `make fuzz` does it a million times. A case follows
from the seed, the target and its number, so every finding can be repeated with the command that is printed beside it.
"""
