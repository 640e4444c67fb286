"""Keep litellm's HTTP client from sending a request a second time by itself.

Where a server closes the connection without an answer, it sends the same request again on a new one,
whatever the retry settings are. The server may have processed the first one, and billed it; whether to
retry is decided by the agent loop, which waits, reports the retry, and counts attempts.
"""

import sys
from contextlib import suppress
from typing import Any, NoReturn


def send_once(http_handler: Any) -> None:
    """Patch litellm's module of HTTP clients so that a closed connection is an error.

    Another version of litellm may have the method elsewhere; then it still sends twice.
    """
    with suppress(AttributeError):
        handler = http_handler.AsyncHTTPHandler
        if callable(handler.single_connection_post_request):
            handler.single_connection_post_request = _give_up


async def _give_up(*_: Any, **__: Any) -> NoReturn:
    """Raise the error after which litellm would send the request again."""
    raise sys.exception() or ConnectionError("The connection was closed.")
