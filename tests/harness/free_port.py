"""Ports for servers of tests that are started at an address that is known before."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Return a port that is free, below those that the system gives to whoever asks for any.

    A kernel of another test may be given one of those before the server that it was meant for listens.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
