"""Search sessions, find parts by name, recall hidden outputs, and choose sessions to prune."""
