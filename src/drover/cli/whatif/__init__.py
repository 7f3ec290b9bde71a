"""What `drover simulate` finds out and says; apart from the command, because it takes a second to import."""
