"""Read messages in forms that several agents record: chat completions, content blocks, repeated inputs."""
