"""Let a person's own policy act in a live session: the items it sees, and the decisions that are journaled."""
