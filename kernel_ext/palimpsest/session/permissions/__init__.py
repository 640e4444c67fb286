"""Permissions of a session: grants of the user, effective rules, and the questions asked before a tool call."""
