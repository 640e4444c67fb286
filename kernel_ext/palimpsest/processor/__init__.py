"""Process one model call: turn stream events into changes of parts, and run tool calls."""
