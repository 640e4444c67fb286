"""The agent's tools, the registry that offers them to the model, and permission rules."""
