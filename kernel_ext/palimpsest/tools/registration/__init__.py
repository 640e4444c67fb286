"""The tools of a session: built-in tools, functions of the user, the registry, reserved names."""
