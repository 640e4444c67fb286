"""Sessions: turns and their runner, prompts, settings, permissions, trust, revert, sharing, definitions."""
