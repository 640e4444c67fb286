"""What a person controls in one session: mode, spending limit, context edits, answers."""
