"""Keep litellm's HTTP client from resending a request on its own.

Where a server closes the connection without an answer, the client sends the same request again, regardless
of the retry settings. The server may have processed and billed the first one; the agent loop decides about
retries, since it waits, reports the retry, and counts attempts.
"""

import sys
from contextlib import suppress
from typing import Any, NoReturn


def disable_resending(http_handler: Any) -> None:
    """Patch litellm's module of HTTP clients so that a closed connection is an error.

    In another version of litellm the method may be missing; then the client still sends twice.
    """
    with suppress(AttributeError):
        handler = http_handler.AsyncHTTPHandler
        if callable(handler.single_connection_post_request):
            handler.single_connection_post_request = _give_up


async def _give_up(*_: Any, **__: Any) -> NoReturn:
    """Raise the error after which litellm would send the request again."""
    raise sys.exception() or ConnectionError("The connection was closed.")
