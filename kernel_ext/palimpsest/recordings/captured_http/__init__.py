"""Read captured exchanges of HTTP with model providers: bodies, streamed answers, conversations, sessions."""
