"""Recordings of sessions, ours and other agents': read, journaled, and laid out as a timeline."""
