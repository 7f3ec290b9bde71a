"""The simulator: a network on virtual nodes, in virtual time, under the policies of `placement`."""
