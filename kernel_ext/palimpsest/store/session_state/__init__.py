"""The state of a session, built by applying the records of its log in order."""
