"""The python, bash and variables tools, and the processes that run shell commands."""
