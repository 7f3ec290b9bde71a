"""Sets and counts that the compiled parts of herding share."""
