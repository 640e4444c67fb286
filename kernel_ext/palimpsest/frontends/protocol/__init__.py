"""The protocol between pages and kernel: commands, replies and notices."""
