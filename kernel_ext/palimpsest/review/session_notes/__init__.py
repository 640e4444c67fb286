"""The notes of people on a session: where they are, how they are listed, and how they are written."""
