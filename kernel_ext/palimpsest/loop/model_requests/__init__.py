"""One request to a model: built, recorded, offered to hooks, sent, streamed, retried, paid for."""
