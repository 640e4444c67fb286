"""Extensions of a session: the user's hook functions and MCP servers, which contribute when a turn begins."""
