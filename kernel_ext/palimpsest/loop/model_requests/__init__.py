"""Build, record and send one model request: hooks, streaming, retries, usage and cost."""
