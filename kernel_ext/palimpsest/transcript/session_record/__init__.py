"""What a session's log holds beside its messages: its own record, budgets, reverts, events."""
