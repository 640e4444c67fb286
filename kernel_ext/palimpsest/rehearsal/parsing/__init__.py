"""Parse the prompt, the conversation and tool outputs into values."""
