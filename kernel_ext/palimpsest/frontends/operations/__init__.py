"""The operations that a user can request beside prompts, for cells, pages and Python."""
