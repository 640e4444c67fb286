"""What the agent can do: tools, the registry that offers them, and permission rules."""
