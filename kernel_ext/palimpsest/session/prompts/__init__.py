"""A prompt checked, its files and commands filled in, and its answer collected."""
