"""Read recordings of other agents, one file a format."""
