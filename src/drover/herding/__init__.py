"""Herding: which server hosts which of very many small queries, so that few sources go to many servers."""
