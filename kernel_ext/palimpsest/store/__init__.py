"""Storage of sessions: an append-only event log per session, from which everything else is derived."""
