"""Context policies of the field, as pure functions with their published numbers."""
