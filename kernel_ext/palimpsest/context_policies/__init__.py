"""Context policies: the field's, the engine's and one's own, and replays of recorded sessions under them."""
