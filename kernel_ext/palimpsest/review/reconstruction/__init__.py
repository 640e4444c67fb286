"""Recorded requests rebuilt, and recorded decisions decided again."""
