"""What every tool call needs: its input's schema, a thread, progress, contained errors."""
