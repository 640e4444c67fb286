"""Requests through OpenAI's client keep their bytes, and the client does not validate every message."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.model.adapter_requests import PYTHON, SYSTEM, info, request, run

from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.adapter.litellm_patches import (
    PATCHED_METHODS,
    leave_bodies_unchecked,
    unchecked_arguments,
)
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import fails, says
from palimpsest.testing import FaultServer
from palimpsest.transcript.values import ToolSpec

pytestmark = [pytest.mark.usefixtures("litellm"), pytest.mark.slow]

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
NESTED = ToolSpec(
    name="look",
    description="Look “there”.",
    parameters={
        "type": "object",
        "properties": {"where": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
        "required": [],
    },
)


def story(steps: int) -> tuple[dict[str, Any], ...]:
    """Return a conversation with an image and so many tool calls."""
    picture = [
        {"type": "text", "text": "What is this? 🐧 \u2028"},
        {"type": "image_url", "image_url": {"url": DOT}},
    ]
    told: list[dict[str, Any]] = [SYSTEM, {"role": "user", "content": picture}]
    for step in range(steps):
        function = {"name": "python", "arguments": '{"code": "print(\\"ä\\")"}'}
        call = {"id": f"call_{step}", "type": "function", "function": function}
        told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        told.append({"role": "tool", "tool_call_id": f"call_{step}", "content": "ä\n" * 40})
    return (*told, {"role": "user", "content": "And now?"})


def asked(provider: str, server: FaultServer, steps: int, **parameters: Any) -> ModelRequest:
    base = server.url if provider == "azure" else server.openai_base
    model = info(provider, api_base=base)
    return request(model, *story(steps), tools=(PYTHON, NESTED), **parameters)


@pytest.fixture(autouse=True)
def unchecked_bodies() -> None:
    """Patch litellm as the product does, also where another test of this process imported it first.

    The product leaves a litellm alone that somebody else imported (``LOADER.is_imported_by_us``).
    """
    main = LOADER.wait_for_litellm().main
    if not LOADER.is_imported_by_us and not all(
        method in vars(getattr(main, name)) for name, method in PATCHED_METHODS
    ):
        leave_bodies_unchecked(main)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setenv("AZURE_API_KEY", "azure-test")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    with FaultServer() as running:
        yield running


@pytest.fixture
def as_it_comes(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A patch context in which a test restores litellm's own methods."""
    with monkeypatch.context() as context:
        yield context


def restores_blocks(context: pytest.MonkeyPatch) -> None:
    main = LOADER.wait_for_litellm().main
    for name, method in PATCHED_METHODS:
        context.delattr(getattr(main, name), method)


def test_both_places_are_there() -> None:
    main = LOADER.wait_for_litellm().main

    assert [
        method for name, method in PATCHED_METHODS if method not in vars(getattr(main, name))
    ] == []


@pytest.mark.parametrize("provider", ["openai", "azure", "litellm_proxy", "hosted_vllm", "mine"])
@pytest.mark.parametrize(
    "extra", [{}, {"extra_body": {"top_k": 5, "chat_template_kwargs": {"x": 1}}}]
)
async def test_the_bytes_are_those_of_a_checked_request(
    server: FaultServer, as_it_comes: pytest.MonkeyPatch, provider: str, extra: dict[str, Any]
) -> None:
    server.script(says("Hi."), says("Hi."))

    await run(asked(provider, server, 3, temperature=0.5, **extra))
    restores_blocks(as_it_comes)
    await run(asked(provider, server, 3, temperature=0.5, **extra))

    ours, theirs = server.requests
    assert len(ours.body["messages"]) == 9
    assert ours.raw == theirs.raw
    assert ours.path == theirs.path


@pytest.mark.soak  # with each commit the bytes are those of a checked request, beside it; this adds how long it takes
async def test_a_message_more_costs_next_to_nothing(
    server: FaultServer, as_it_comes: pytest.MonkeyPatch
) -> None:
    server.script(*[says("Hi.")] * 8)
    large = asked("openai", server, 400)

    async def cost() -> float:
        """Return the lowest CPU seconds of three requests, after one that imports and connects."""
        await run(large)
        taken = []
        for _ in range(3):
            begun = time.thread_time()
            _, error = await run(large)
            taken.append(time.thread_time() - begun)
            assert error is None
        return min(taken)

    ours = await cost()
    restores_blocks(as_it_comes)

    assert ours < await cost() / 3


async def test_a_refused_field_is_left_out_and_the_messages_go_again(server: FaultServer) -> None:
    server.script(fails(422, "Extra inputs are not permitted", code=None), says("Hi."))

    _, error = await run(asked("openai", server, 1))

    assert error is not None
    assert [len(body["messages"]) for body in server.bodies] == [5] * len(server.bodies)


def test_what_a_person_puts_into_the_body_wins() -> None:
    given = {"messages": [{"role": "user"}], "tools": [], "extra_body": {"messages": ["theirs"]}}

    assert unchecked_arguments(given)["extra_body"] == {"messages": ["theirs"]}
    assert given["messages"] == [{"role": "user"}]
