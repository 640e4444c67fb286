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


async def test_a_paused_answer_is_sent_back_and_goes_on(
    tmp_path: Path, server: FaultServer
) -> None:
    paused = says("I search.").runs("web_search", [PENGUINS], query="a").finishes("pause_turn")
    server.script(paused, paused, paused, says("Three kinds."))
    http = HttpSessionHarness("anthropic", tmp_path, server)

    answer = await http.ask("How many kinds?")

    assert (answer.error, answer.text, len(server.requests)) == (None, "Three kinds.", 4)
    last = server.bodies[1]["messages"][-1]
    assert last["role"] == "assistant"
    assert [one["type"] for one in last["content"]] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
    ]
    await http.check_requests()


async def test_an_answer_that_is_paused_for_ever_ends_the_turn(
    tmp_path: Path, server: FaultServer
) -> None:
    paused = says("I search.").finishes("pause_turn")
    server.script(*[paused] * 40)
    http = HttpSessionHarness("anthropic", tmp_path, server)

    answer = await http.ask("How many kinds?")

    assert (answer.stopped_by, len(server.requests)) == ("steps", 10)


async def test_a_search_that_waits_for_our_tool_gets_its_result_in_the_next_answer(
    tmp_path: Path, server: FaultServer
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    both = says("I do both.").runs("web_search", query="x").calls("read", path="a.txt")
    server.script(
        both,
        says("").runs("web_search", [PENGUINS], kind="", call_id="srvtoolu_1").says("Both done."),
        says("Fine."),
    )
    http = HttpSessionHarness("anthropic", tmp_path, server)

    first = await http.ask("Do both.")
    await http.ask("Fine?")

    assert (first.error, first.text) == (None, "Both done.")
    waiting = server.bodies[1]["messages"]
    assert [one["type"] for one in waiting[-2]["content"]] == [
        "text",
        "server_tool_use",
        "tool_use",
    ]
    assert [one["type"] for one in waiting[-1]["content"]] == ["tool_result"]
    answered = server.bodies[2]["messages"]
    assert answered[-2]["content"][0] == {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [PENGUINS],
    }


@pytest.mark.parametrize(
    ("tool", "kind", "result"),
    [
        (
            "web_search",
            "server_tool_use",
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        ),
        ("web_search", "server_tool_use", []),
        (
            "web_fetch",
            "server_tool_use",
            {
                "type": "web_fetch_result",
                "url": "https://e.org",
                "content": {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Words."},
                },
            },
        ),
        (
            "code_execution",
            "server_tool_use",
            {
                "type": "code_execution_result",
                "stdout": "4\n",
                "stderr": "",
                "return_code": 0,
                "content": [],
            },
        ),
        (
            "bash_code_execution",
            "server_tool_use",
            {
                "type": "bash_code_execution_result",
                "stdout": "",
                "stderr": "no",
                "return_code": 1,
                "content": [],
            },
        ),
        (
            "tool_search",
            "server_tool_use",
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "weather"}],
            },
        ),
        ("echo", "mcp_tool_use", [{"type": "text", "text": "Hello."}]),
        ("novel_thing", "novel_tool_use", {"anything": 1, "encrypted_state": "x"}),
    ],
)
async def test_every_kind_of_anthropics_own_tools_goes_back_as_it_came(
    tmp_path: Path, server: FaultServer, tool: str, kind: str, result: Any
) -> None:
    server.script(says("So.").runs(tool, result, kind=kind, a=1).says("Done."), says("Yes."))
    http = HttpSessionHarness("anthropic", tmp_path, server)

    await http.ask("Do it.")
    await http.ask("Sure?")

    assert len(server.requests) == 2
    answer = server.bodies[1]["messages"][1]["content"]
    used, returned = answer[1:3]
    assert (used["type"], used["input"], returned["content"]) == (kind, {"a": 1}, result)
    assert returned["tool_use_id"] == used["id"]
    assert [one["type"] for one in answer] == ["text", used["type"], returned["type"], "text"]


async def test_a_call_that_openais_format_has_run_is_shown_and_left_out(
    tmp_path: Path, server: FaultServer
) -> None:
    sources = {"url": "https://example.org/penguins", "title": "Penguins"}
    server.script(
        says("I search.").runs("live_search", query="penguins").cites("Three.", sources),
        says("Yes."),
    )
    http = HttpSessionHarness("openai", tmp_path, server)

    first = await http.ask("How many kinds?")
    await http.ask("Sure?")

    assert (first.error, first.steps, len(server.requests)) == (None, 1, 2)
    (part,) = provider_calls(await http.session())
    assert isinstance(part.state, ToolCompleted)
    assert (part.tool, part.state.input) == ("live_search", {"query": "penguins"})
    assert "https://example.org/penguins" in part.state.output
    (answer,) = [one for one in server.bodies[1]["messages"] if one["role"] == "assistant"]
    assert answer == {"role": "assistant", "content": "I search.\n\nThree."}
    await http.check_requests()
