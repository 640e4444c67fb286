"""Remove secrets and home folders from texts, streams and values."""
