"""Names that users give, from the check to the rows: drover refuses a name in words, or reads no meaning out of it."""
