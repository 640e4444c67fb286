"""What a provider runs itself is shown, kept and sent back as it came, and never run or answered by us.

The blocks are written by Anthropic's, Google's and OpenAI's documentation of their server tools.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.http_session import HttpSessionHarness

from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import FaultServer, calls, says, thinks
from palimpsest.transcript.parts import ToolCompleted, ToolPart

PENGUINS = {
    "type": "web_search_result",
    "url": "https://example.org/penguins",
    "title": "Penguins",
    "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgxNC1kNjNjNTk1ZWI3Y/+==",
    "page_age": "April 30, 2026",
}
CITED = {
    "type": "web_search_result_location",
    "url": "https://example.org/penguins",
    "title": "Penguins",
    "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm+/==",
    "cited_text": "There are three kinds.",
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def provider_calls(session: LiveSession) -> list[ToolPart]:
    return [
        part
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, ToolPart)
    ]


def searched() -> Any:
    return (
        thinks("I look it up.", signature="sig-a")
        .says("I search.")
        .runs("web_search", [PENGUINS], query="penguins")
        .cites("There are three kinds.", CITED)
        .says(" That is all.")
    )


async def test_a_search_of_anthropics_is_one_request_and_goes_back_as_it_came(
    tmp_path: Path, server: FaultServer
) -> None:
    server.script(searched(), says("Yes."))
    http = HttpSessionHarness("anthropic", tmp_path, server)

    first = await http.ask("How many kinds?")
    second = await http.ask("Sure?")

    assert (first.error, first.steps, second.error) == (None, 1, None)
    assert len(server.requests) == 2
    (part,) = provider_calls(await http.session())
    assert isinstance(part.state, ToolCompleted)
    assert part.state.input == {"query": "penguins"}
    assert "https://example.org/penguins" in part.state.output
    (answer,) = [one for one in server.bodies[1]["messages"] if one["role"] == "assistant"]
    print(json.dumps(answer, indent=1))
    assert answer["content"] == [
        {"type": "thinking", "thinking": "I look it up.", "signature": "sig-a"},
        {"type": "text", "text": "I search."},
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "penguins"},
        },
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [PENGUINS],
        },
        {"type": "text", "text": "There are three kinds.", "citations": [CITED]},
        {"type": "text", "text": " That is all."},
    ]
    await http.check_requests()
