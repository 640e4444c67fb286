"""Permission rules and modes, and the analysis of shell commands that the rules are applied to."""
