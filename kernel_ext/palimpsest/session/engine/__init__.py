"""The engine's thread, thread-safe reads of a session's state, one run's state, and the kernel's secrets."""
