"""How one record is a line of the log: read without parsing, numbered, shortened, redacted."""
