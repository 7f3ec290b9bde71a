"""Better plans than greedy ones: local search over moves and swaps."""
