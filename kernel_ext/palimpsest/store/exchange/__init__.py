"""Exchange formats of a session: OpenCode's JSON and keyed storage, exports, imports."""
