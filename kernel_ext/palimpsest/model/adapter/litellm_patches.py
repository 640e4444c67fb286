"""Patch litellm's clients: bodies are sent unchecked, and no request is sent again on its own.

litellm passes OpenAI's client plain JSON, which needs no conversion; the client's check of every message against its
types took 90 ms of CPU time in a request of 270 kB, at every step. ``extra_body`` is sent unchecked, so messages and
tools are moved there, and the same bytes are sent. litellm calls OpenAI's client only in two public methods, which are
replaced here.

Where a server closes the connection without an answer, litellm's HTTP client sends the same request again, regardless
of the retry settings. The server may have processed and billed the first one; the agent loop decides about retries,
since it waits, reports the retry, and counts attempts.
"""

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NoReturn

LARGE_FIELDS = ("messages", "tools")
"""The fields of a request that grow; the others are short."""
PATCHED_METHODS = (
    ("openai_chat_completions", "make_openai_chat_completion_request"),
    ("azure_chat_completions", "make_azure_openai_chat_completion_request"),
)
"""The objects in ``litellm.main`` that call OpenAI's client, and the method that does it."""


def leave_bodies_unchecked(main: Any) -> None:
    """Patch litellm so that its requests pass OpenAI's client unchecked.

    In another version of litellm these methods may be missing; then requests are checked, and slower.
    """
    for object_name, method_name in PATCHED_METHODS:
        with suppress(AttributeError):
            owner = getattr(main, object_name)
            setattr(owner, method_name, _with_unchecked_body(getattr(owner, method_name)))


def _with_unchecked_body(send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def send_unchecked(*arguments: Any, data: dict[str, Any], **rest: Any) -> Any:
        return await send(*arguments, data=unchecked_arguments(data), **rest)

    return send_unchecked


def unchecked_arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request with its large fields moved to ``extra_body``.

    The client merges that over the body, so an empty list stands in for each.

    >>> unchecked_arguments({"messages": [{"role": "user"}], "model": "m"})
    {'messages': [], 'model': 'm', 'extra_body': {'messages': [{'role': 'user'}]}}
    """
    large_fields = {name: data[name] for name in LARGE_FIELDS if data.get(name)}
    extra_body = {**large_fields, **(data.get("extra_body") or {})}
    return {**data, **{name: [] for name in large_fields}, "extra_body": extra_body}


def disable_resending(http_handler: Any) -> None:
    """Patch litellm's module of HTTP clients so that a closed connection is an error.

    In another version of litellm the method may be missing; then the client still sends twice.
    """
    with suppress(AttributeError):
        handler = http_handler.AsyncHTTPHandler
        if callable(handler.single_connection_post_request):
            handler.single_connection_post_request = _raise_closed_connection


async def _raise_closed_connection(*_: Any, **__: Any) -> NoReturn:
    """Raise the error after which litellm would send the request again."""
    raise sys.exception() or ConnectionError("The connection was closed.")
