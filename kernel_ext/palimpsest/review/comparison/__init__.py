"""Compare policies over a session in numbers: cost, cache, what was forgotten, and the agent's own rule."""
