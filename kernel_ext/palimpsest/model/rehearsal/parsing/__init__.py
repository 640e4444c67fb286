"""The prompt, the conversation and tool outputs read into values."""
