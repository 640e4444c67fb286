"""Errors of model calls: read, classify and explain them, and decide when to retry."""
