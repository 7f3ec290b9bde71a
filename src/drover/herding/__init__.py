"""Herding: which server hosts which of very many small queries, so that sources go to few servers."""
