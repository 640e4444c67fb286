"""A person's hook functions and MCP servers, asked when a turn begins."""
