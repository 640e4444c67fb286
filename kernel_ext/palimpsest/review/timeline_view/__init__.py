"""What an inspector shows of a session, as plain values: timeline, tracks, cache breaks and wastes."""
