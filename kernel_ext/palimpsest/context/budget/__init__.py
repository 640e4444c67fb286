"""What a model's window holds, and what a request takes of it."""
