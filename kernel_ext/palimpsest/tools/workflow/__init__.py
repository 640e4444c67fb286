"""Questions to the person, todo list, skills, subagents, recall, the structured answer."""
