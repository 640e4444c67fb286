"""Record the cells that the user runs, and hide some from the agent."""
