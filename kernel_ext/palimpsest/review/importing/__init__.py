"""Turn a recording of any agent into a session of ours: recognise its format, read it, journal it."""
