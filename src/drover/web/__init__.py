"""Pages for people: made from what a run has written down, and opened with any browser."""
