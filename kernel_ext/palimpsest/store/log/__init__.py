"""The append-only session log: segments of JSON lines, their writers and readers, journal and stores."""
