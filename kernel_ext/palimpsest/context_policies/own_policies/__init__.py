"""A user's own policy as a function, checked while it is replayed."""
