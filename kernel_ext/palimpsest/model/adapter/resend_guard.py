"""Keep litellm's HTTP client from sending a request a second time by itself.

Where a server closes the connection without an answer, it sends the same request again on a new one,
whatever was said about retries. Such a request may have been worked on, and paid; whether it is sent
again is the loop's to decide, which waits, tells, and counts.
"""

import sys
from contextlib import suppress
from typing import Any, NoReturn


def send_once(http_handler: Any) -> None:
    """Let a connection that was closed be an error; takes litellm's module of HTTP clients.

    Another version of litellm may have the place elsewhere; then it goes on sending twice.
    """
    with suppress(AttributeError):
        handler = http_handler.AsyncHTTPHandler
        if callable(handler.single_connection_post_request):
            handler.single_connection_post_request = _give_up


async def _give_up(*_: Any, **__: Any) -> NoReturn:
    """Raise the error for which the request would be sent again."""
    raise sys.exception() or ConnectionError("The connection was closed.")
