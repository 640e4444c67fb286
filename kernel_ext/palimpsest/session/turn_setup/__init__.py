"""What a prompt resolves to: agent, model, tools, system prompt, environment."""
