"""Experiments: what the texts measured, measured again. `table.py` says what one is, `catalogue.py` which there are."""
