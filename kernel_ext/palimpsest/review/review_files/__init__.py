"""Keep what was derived of a session's log in a file: its timeline, the items' weights and the names in it."""
