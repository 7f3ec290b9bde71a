"""Settings of the network tests."""

from __future__ import annotations

from hypothesis import settings

# A shared machine may stop for a second at any time; how long an example takes is no property of the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
