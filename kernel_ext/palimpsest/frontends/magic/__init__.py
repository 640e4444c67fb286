"""The ``%agent`` magics: IPython transformers, completion, and reading a line as a prompt or an operation."""
