"""Build requests to the fault server, and send them through the adapter."""

from collections.abc import Sequence
from typing import Any

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.interface import Model, ModelRequest, StreamEvent
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import ErrorValue, ModelFailed
from palimpsest.transcript.values import ModelInfo, ModelRef, Price, ToolSpec

PYTHON = ToolSpec(
    name="python",
    description="Run code.",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}},
)
SYSTEM = {"role": "system", "content": "Be brief."}
HELLO = {"role": "user", "content": "Hello"}
NAMES = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
WAYS = ("direct", "litellm")
chosen_way = "litellm"
"""How the requests of a test are sent; the fixture ``both_ways`` sets it."""


def asking_model(read_timeout_seconds: float | None = None) -> Model:
    """Return the model that sends a request the test's way: ours, or through litellm."""
    litellm = LitellmModel(read_timeout_seconds=read_timeout_seconds)
    if chosen_way == "litellm":
        return litellm
    return DirectModel(litellm, read_timeout_seconds=read_timeout_seconds)


def info(provider: str, server: FaultServer | None = None, **fields: Any) -> ModelInfo:
    """Return the info of a model on the fault server."""
    base = None
    if server is not None:
        base = server.anthropic_base if provider == "anthropic" else server.openai_base
    name = fields.pop("name", NAMES.get(provider, "some-model"))
    defaults: dict[str, Any] = {
        "window": 8_000,
        "output_limit": 1_000,
        "price": Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
        "api_base": base,
    }
    return ModelInfo(ref=ModelRef(provider=provider, name=name), **(defaults | fields))


def request(
    model: ModelInfo,
    *messages: dict[str, Any],
    tools: Sequence[ToolSpec] = (PYTHON,),
    **parameters: Any,
) -> ModelRequest:
    """Return a request; without messages, with a greeting."""
    return ModelRequest(
        model=model, messages=messages or (SYSTEM, HELLO), tools=tuple(tools), parameters=parameters
    )


async def run(
    asked: ModelRequest, model: Model | None = None
) -> tuple[list[StreamEvent], ErrorValue | None]:
    """Send a request; return its events, and the error if the stream failed."""
    events: list[StreamEvent] = []
    try:
        async for event in (model or asking_model(read_timeout_seconds=20.0)).stream(asked):
            events.append(event)  # noqa: PERF401 - what came before a failure counts
    except ModelFailed as failed:
        return events, failed.error
    return events, None
