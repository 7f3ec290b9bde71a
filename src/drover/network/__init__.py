"""The query network: its model, its builder, its expressions and its files."""
