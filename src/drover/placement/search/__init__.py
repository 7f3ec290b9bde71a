"""Local search over moves and swaps, for better plans than greedy ones."""
