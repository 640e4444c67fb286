"""Trust in a project's files: what they may set without it, and what the user's trust is bound to."""
