"""Keep OpenAI's client from comparing every message of a request with its types.

litellm hands it plain JSON, in which there is nothing to convert; looking for it took 90 ms of the
processor in a request of 270 kB, at every step. What a caller gives as ``extra_body`` is sent
as it is, so messages and tools go there, and the same bytes leave. litellm asks OpenAI's client in
two places only, each a public method of an object of its own, which is given another one here.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

LARGE = ("messages", "tools")
"""What grows in a request; the rest is a few words."""
PLACES = (
    ("openai_chat_completions", "make_openai_chat_completion_request"),
    ("azure_chat_completions", "make_azure_openai_chat_completion_request"),
)
"""In ``litellm.main``, who asks OpenAI's client, and by which method."""


def leave_bodies_unchecked(main: Any) -> None:
    """Let litellm's own requests through OpenAI's client go as they are.

    Another version of litellm may have the places elsewhere; then a request is checked, and slower.
    """
    for name, method in PLACES:
        with suppress(AttributeError):
            owner = getattr(main, name)
            setattr(owner, method, _asking(getattr(owner, method)))


def _asking(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def asked(*arguments: Any, data: dict[str, Any], **rest: Any) -> Any:
        return await ask(*arguments, data=unchecked(data), **rest)

    return asked


def unchecked(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request with what is large in ``extra_body``.

    The client puts that over the body, so an empty list holds the place of each.

    >>> unchecked({"messages": [{"role": "user"}], "model": "m"})
    {'messages': [], 'model': 'm', 'extra_body': {'messages': [{'role': 'user'}]}}
    """
    large = {name: data[name] for name in LARGE if data.get(name)}
    given = data.get("extra_body") or {}
    return {**data, **{name: [] for name in large}, "extra_body": {**large, **given}}
