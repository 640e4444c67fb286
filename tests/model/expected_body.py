"""The HTTP body that the adapter sends for a request.

The request takes the adapter's whole way, litellm's translation included; only the server is
another one. Tests compare it with what a server received, "after the adapter".
"""

import asyncio
import threading
from typing import Any

from palimpsest.model.fault_server import FaultServer
from palimpsest.model.litellm_model import LitellmModel
from palimpsest.model.model import ModelRequest
from palimpsest.model.providers import family
from palimpsest.model.script import says


def expected_body(request: ModelRequest) -> dict[str, Any]:
    """Return the body, computed on a thread of its own, so that it works inside a running loop."""
    with FaultServer(says("Recorded.")) as server:
        base = server.anthropic_base if family(request.model.ref) == "anthropic" else None
        model = request.model.model_copy(update={"api_base": base or server.openai_base})
        redirected = ModelRequest(
            model=model,
            messages=request.messages,
            tools=request.tools,
            parameters=request.parameters,
            session_id=request.session_id,
            purpose=request.purpose,
        )
        sender = threading.Thread(target=lambda: asyncio.run(_send(redirected)))
        sender.start()
        sender.join()
        return server.bodies[0]


async def _send(request: ModelRequest) -> None:
    async for _ in LitellmModel().stream(request):
        pass
