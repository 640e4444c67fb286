"""Read what agents print in their headless modes, line by line, instead of the recordings that they keep."""
