"""Set up a turn: resolve the prompt's agent, model, tools and system prompt, and describe the environment."""
