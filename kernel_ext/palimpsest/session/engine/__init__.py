"""The thread that sessions run on, and what is read across threads."""
