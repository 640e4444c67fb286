"""Other forms of a session: OpenCode's JSON and keys, exports, imports."""
