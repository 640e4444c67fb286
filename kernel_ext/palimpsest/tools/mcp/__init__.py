"""MCP servers: connections, their lifecycle in a kernel, and their tools and resources as agent tools."""
