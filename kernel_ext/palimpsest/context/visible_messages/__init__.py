"""Which messages of the transcript stand for it in a request."""
