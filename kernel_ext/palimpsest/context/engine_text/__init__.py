"""What the engine tells the model by itself: system prompt, modes, changes, reminders."""
