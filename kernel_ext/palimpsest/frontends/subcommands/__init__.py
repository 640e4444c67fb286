"""What each `%agent` subcommand says and does."""
