"""Search sessions, find parts by name, recall hidden outputs, make titles, and choose sessions to prune."""
