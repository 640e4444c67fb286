"""The format of a log line: fast reading, numbering, shortened requests, redaction of secrets."""
