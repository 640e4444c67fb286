"""What a page may command, what it is answered, and what it is told."""
