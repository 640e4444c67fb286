"""Parts of the transcript as neutral messages or as text, fitted to a model."""
