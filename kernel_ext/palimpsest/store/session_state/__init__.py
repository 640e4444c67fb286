"""A log folded into the state of its session."""
