"""What went wrong in a model call: read, classified, explained, and when to try again."""
