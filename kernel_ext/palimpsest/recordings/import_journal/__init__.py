"""Recognise a recording's format, and write what an importer yields as the log of a session."""
