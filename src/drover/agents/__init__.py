"""The third runtime: each node of a hierarchy is a process of its own, with a real clock, sockets and a disk.

The package stands beside `sim` and `spark` because it is one more runtime around the same state machine. It stands
above `hierarchy`, in which `tests/test_layers.py` forbids clocks and sockets.
"""
