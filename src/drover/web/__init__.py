"""Pages for people: the report on a run, and the charts and templates that every page shares."""
