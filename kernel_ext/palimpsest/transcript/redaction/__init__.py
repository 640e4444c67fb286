"""Secrets and home folders taken out of texts, streams and values."""
