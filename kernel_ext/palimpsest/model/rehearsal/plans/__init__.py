"""Choose the plan for a prompt, and generate the tool calls and answer of each plan."""
