"""Permission rules and modes, and what a shell text would run, for the rules to judge."""
