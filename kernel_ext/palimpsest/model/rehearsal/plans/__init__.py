"""Which plan a prompt asks for, and the tool calls of each plan."""
