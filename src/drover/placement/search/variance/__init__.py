"""The search for nodes whose loads vary little."""
