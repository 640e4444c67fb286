"""Values in a session's log other than messages: session info, budgets, reverts, hook values, events."""
