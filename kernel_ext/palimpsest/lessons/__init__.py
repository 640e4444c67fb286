"""Lessons on how an agent's context is managed: their questions, checks and data, and the learners' results."""
