"""The ``%agent`` magics: input transformers, completion, and parsing a line as a prompt or an operation."""
