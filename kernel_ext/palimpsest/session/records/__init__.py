"""What is found in sessions' records and said of them: search, titles, parts by name, retention."""
