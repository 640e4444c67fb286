"""The tools that run Python and bash, and the one that lists variables."""
