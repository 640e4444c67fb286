"""Provider profiles: what the API of a model's provider accepts, by model reference."""
