"""Networks to read, run and change; each is written twice, as Python and as YAML."""
