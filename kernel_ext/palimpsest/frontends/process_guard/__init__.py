"""What keeps the user's process as it was while the agent's Python runs in it, and says what that changed."""
