"""Text that the engine itself writes for the model: system prompt, mode notes, changes, reminders."""
