"""Open any recording, or a project's sessions, for review: no kernel, no model, nothing but notes written beside it."""
