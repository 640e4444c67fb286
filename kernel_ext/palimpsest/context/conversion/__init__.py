"""Convert transcript messages to provider-neutral messages or to text, and adapt them to a model."""
