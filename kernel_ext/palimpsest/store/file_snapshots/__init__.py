"""The project's files as they were: trees, differences, putting back."""
