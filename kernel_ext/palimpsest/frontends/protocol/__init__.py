"""The messages between pages and kernel: commands, replies, notices and rows."""
