"""The protocol between pages and kernel: the messages of a connection, replies, notices and rows."""
