"""Share pages, exports and imports of sessions."""
