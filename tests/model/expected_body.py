"""Compute the HTTP body that the adapter sends for a request.

The request takes the adapter's whole way, including litellm's translation, to a server that only records
it. Tests compare the body with what their own server received.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import says
from palimpsest.testing import FaultServer
from palimpsest.transcript.provider_profile.profile import profile


def expected_body(request: ModelRequest) -> dict[str, Any]:
    """Return the body of one request."""
    return expected_bodies([request])[0]


def expected_bodies(requests: Sequence[ModelRequest]) -> list[dict[str, Any]]:
    """Return the bodies, computed in another thread, so that it works inside a running loop."""
    with FaultServer(*[says("Recorded.")] * len(requests)) as server:
        redirected = [_redirected(request, server) for request in requests]
        sender = threading.Thread(target=lambda: asyncio.run(_send(redirected)))
        sender.start()
        sender.join()
        return list(server.bodies)


def _redirected(request: ModelRequest, server: FaultServer) -> ModelRequest:
    match profile(request.model.ref).wire:
        case "anthropic" | "gemini" | "mistral" as dialect:
            base = server.base(dialect)
        case _:
            base = server.openai_base
    return ModelRequest(
        model=request.model.model_copy(update={"api_base": base}),
        messages=request.messages,
        tools=request.tools,
        parameters=request.parameters,
        session_id=request.session_id,
        purpose=request.purpose,
    )


async def _send(requests: Sequence[ModelRequest]) -> None:
    model = LitellmModel()
    for request in requests:
        async for _ in model.stream(request):
            pass
