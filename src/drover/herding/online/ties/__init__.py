"""Which of several servers that cost as little is taken, in compiled code."""
