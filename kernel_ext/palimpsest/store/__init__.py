"""Remember, then tell: an append-only event log per session is the only truth."""
