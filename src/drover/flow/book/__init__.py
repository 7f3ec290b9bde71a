"""The book of submitted queries: who is there, on which node, since which batch; and its files in the checkpoint."""
