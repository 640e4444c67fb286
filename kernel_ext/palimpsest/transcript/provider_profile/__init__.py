"""What each provider of models accepts, as one profile for a model reference."""
