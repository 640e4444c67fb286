"""The adapter to litellm: send requests, validate and join streamed answers, and count usage."""
