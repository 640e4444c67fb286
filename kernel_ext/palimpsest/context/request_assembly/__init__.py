"""Project a session to a request, and make the request fit its window."""
