"""A context window, a comparison and the gauge, drawn."""
