"""Find the recorded answer of a cell's prompt, and decide whether it is shown instead of asking again."""
