"""The projection from a session to a request, and the request made to fit its window."""
