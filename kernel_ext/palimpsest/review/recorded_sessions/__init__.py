"""Open any recording, or a project's sessions, for review: no kernel, no model, nothing written beside it."""
