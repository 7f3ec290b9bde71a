"""The third runtime: nodes of a hierarchy as processes of their own, with a real clock, sockets and a disk.

It stands beside `sim` and `spark`, not in `cli`, since it is one more runtime around the same machine; and above the
fence of `tests/test_layers.py` that keeps clocks out of `hierarchy`.
"""
