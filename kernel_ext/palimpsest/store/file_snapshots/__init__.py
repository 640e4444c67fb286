"""Snapshots of the project's files: taking and storing them, comparing two, and restoring files."""
