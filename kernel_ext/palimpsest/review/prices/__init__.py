"""Prices, cache lifetimes and windows of models: given, from a file, or from a list."""
