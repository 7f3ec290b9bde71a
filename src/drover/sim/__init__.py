"""The simulator: a network on virtual nodes, in virtual time, with the policies of `placement`."""
