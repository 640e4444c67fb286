"""The ``%agent`` subcommands: their dispatch, actions and output."""
