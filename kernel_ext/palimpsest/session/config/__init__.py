"""What settings there are, in which files they stand, and how their layers are merged."""
