"""Which files may be reached, found and opened, and how they are read and replaced."""
