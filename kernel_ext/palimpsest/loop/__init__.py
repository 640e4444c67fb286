"""Run a turn: steps until done, with retry, limits and recovery."""
