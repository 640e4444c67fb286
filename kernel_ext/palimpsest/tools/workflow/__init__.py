"""Tools for the workflow: questions to the user, todo list, skills, subagents, recall, structured output."""
