"""What one run is given, and what that holds: the newest request, the project's files, hooks."""
