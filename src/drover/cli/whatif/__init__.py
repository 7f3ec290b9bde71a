"""The work and the output of `drover simulate`; apart from the command, because its imports take a second."""
