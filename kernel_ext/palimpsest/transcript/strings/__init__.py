"""Words of numbers, paths and lists, and halves of characters joined."""
