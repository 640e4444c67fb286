"""The `%agent` line: magics, IPython transformers, completion, and each subcommand's arguments."""
