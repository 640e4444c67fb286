"""Which tools a session has: built-in ones, a user's functions, reserved names."""
