"""The ``%agent`` magics: IPython transformers, completion, and parsing of each subcommand's arguments."""
