"""What the model sees, and why: deciders and the projection. Pure."""
