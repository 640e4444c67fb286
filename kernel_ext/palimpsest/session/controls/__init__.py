"""What the user controls in one session: mode, spending limit, context edits, answers to the model."""
