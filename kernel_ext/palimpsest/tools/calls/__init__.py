"""Helpers for tool calls: input schemas, running in threads, progress, error containment, images."""
