"""Convert neutral messages, ids, media and tool schemas to the format that a provider accepts."""
