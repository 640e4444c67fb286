"""What a provider runs itself is shown, kept and sent back as it came, and never run or answered by us.

The blocks are written by Anthropic's, Google's and OpenAI's documentation of their server tools.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.http_session import AnyProviderHarness, HttpSessionHarness
from tests.harness.session import ask
from tests.waiting import until

from palimpsest.context.reduction.message_outputs import MessageOutputs
from palimpsest.model.tokenizer import counter
from palimpsest.review.context_report.context_report import ContextReport
from palimpsest.review.context_report.report_builder import build_context_report
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import FaultServer, says, thinks
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import DecisionMade

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


def report_of(session: LiveSession) -> ContextReport:
    return build_context_report(session.basis(), lambda only: session.records_after(0, only))


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
    (answer,) = [
        message for message in server.bodies[1]["messages"] if message["role"] == "assistant"
    ]
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
    assert [block["type"] for block in last["content"]] == [
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
    assert [block["type"] for block in waiting[-2]["content"]] == [
        "text",
        "server_tool_use",
        "tool_use",
    ]
    assert [block["type"] for block in waiting[-1]["content"]] == ["tool_result"]
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
    assert [block["type"] for block in answer] == ["text", used["type"], returned["type"], "text"]


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
    (answer,) = [
        message for message in server.bodies[1]["messages"] if message["role"] == "assistant"
    ]
    assert answer == {"role": "assistant", "content": "I search.\n\nThree."}
    await http.check_requests()


GEMINI, CLAUDE, GPT = "gemini/gemini-2.5-pro", "anthropic/claude-sonnet-4-5", "openai/gpt-5.1"


async def test_code_that_gemini_ran_goes_back_as_its_parts(
    tmp_path: Path, server: FaultServer
) -> None:
    server.script(
        says("I compute.").runs("code_execution", "4\n", code="2+2").says("Four."), says("Yes.")
    )
    harness = AnyProviderHarness(tmp_path, server)
    session = await harness.session()

    first = await ask(session, "2+2?", model=GEMINI)
    await ask(session, "Sure?", model=GEMINI)

    assert (first.error, first.steps, len(server.requests)) == (None, 1, 2)
    (part,) = provider_calls(session)
    assert isinstance(part.state, ToolCompleted)
    assert (part.tool, part.state.input, part.state.output) == (
        "code_execution",
        {"code": "2+2"},
        "4\n",
    )
    (answer,) = [content for content in server.bodies[1]["contents"] if content["role"] == "model"]
    assert answer["parts"] == [
        {"text": "I compute."},
        {"executableCode": {"language": "PYTHON", "code": "2+2"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4\n"}},
        {"text": "Four."},
    ]


async def test_what_gemini_found_is_told_with_its_sources_and_has_no_form_to_go_back_in(
    tmp_path: Path, server: FaultServer
) -> None:
    found = {"url": "https://example.org/penguins", "title": "Penguins"}
    server.script(says("").cites("Three kinds.", found), says("Yes."))
    harness = AnyProviderHarness(tmp_path, server)
    session = await harness.session()

    await ask(session, "How many?", model=GEMINI)
    await ask(session, "Sure?", model=GEMINI)

    (part,) = provider_calls(session)
    assert isinstance(part.state, ToolCompleted)
    assert part.tool == "google_search"
    assert part.state.output == "1. Penguins\n   https://example.org/penguins"
    (answer,) = [content for content in server.bodies[1]["contents"] if content["role"] == "model"]
    assert answer["parts"] == [{"text": "Three kinds."}]
    (gone,) = report_of(session).reductions
    assert (gone.way, gone.name) == ("drop", "google_search")
    assert "no form in which it takes such a call back" in gone.reason


@pytest.mark.parametrize("other", [GPT, GEMINI])
async def test_another_provider_is_told_a_search_as_text_which_leaves_a_mark(
    tmp_path: Path, server: FaultServer, other: str
) -> None:
    server.script(searched(), says("Yes."), says("Still yes."))
    harness = AnyProviderHarness(tmp_path, server)
    session = await harness.session()
    await ask(session, "How many?", model=CLAUDE)
    assert report_of(session).reductions == ()

    await ask(session, "Sure?", model=other)
    report = report_of(session)
    await ask(session, "Really?", model=CLAUDE)

    sent = json.dumps(server.bodies[1])
    assert "web_search ran at the provider" in sent
    assert "https://example.org/penguins" in sent
    for word in ("encrypted", "server_tool_use", "srvtoolu", "provider block"):
        assert word not in sent
    assert PENGUINS in server.bodies[2]["messages"][1]["content"][3]["content"]
    (gone,) = report.reductions
    assert (gone.way, gone.name) == ("tell", "web_search")
    assert gone.reason.startswith("It ran at anthropic, whose own form ")
    assert gone.saved > 0
    (item,) = [item for item in report.items if item.part_id == gone.part_id]
    assert (item.state, item.name) == ("told as text", "web_search at the provider")
    assert "told as text" in report.text
    assert report_of(session).reductions == ()


async def test_a_cleared_search_is_told_as_text_and_never_torn(
    tmp_path: Path, server: FaultServer
) -> None:
    server.script(searched(), says("Yes."), says("Yes."))
    http = HttpSessionHarness("anthropic", tmp_path, server)
    session = await http.session()
    await http.ask("How many?")
    (part,) = provider_calls(session)

    cleared = Decision(
        id="dec_h3", action="clear", rule="test", part_id=part.id, message_id=part.message_id
    )
    session.log.append(DecisionMade(decision=cleared))
    await http.ask("Sure?")

    answer = server.bodies[1]["messages"][1]["content"]
    assert [block["type"] for block in answer] == ["thinking", "text", "text", "text", "text"]
    assert "Old tool result content cleared" in answer[2]["text"]
    assert answer[3]["citations"] == [CITED]
    await http.check_requests()


async def test_a_search_that_was_cut_off_is_told_as_text(
    tmp_path: Path, server: FaultServer
) -> None:
    server.script(says("I search.").runs("web_search", query="penguins").stalls(), says("Yes."))
    http = HttpSessionHarness("anthropic", tmp_path, server)
    session = await http.session()
    turn = asyncio.create_task(http.ask("How many?"))
    await until(lambda: bool(provider_calls(session)))
    assert provider_calls(session)[0].state.status in {"pending", "running"}
    session.cancel()
    await turn

    await http.ask("Sure?")

    sent = json.dumps(server.bodies[1])
    assert "server_tool_use" not in sent
    assert "tool_result" not in sent


async def test_a_summary_is_asked_for_and_leaves_a_search_whole(
    tmp_path: Path, server: FaultServer
) -> None:
    server.script(searched(), says("## Goal\nPenguins: three kinds, example.org."), says("Yes."))
    http = HttpSessionHarness("anthropic", tmp_path, server)
    session = await http.session()
    await http.ask("How many?")

    await session.compact()
    await http.ask("Sure?")

    assert len(server.requests) == 3
    assert "web_search" in json.dumps(server.bodies[1])
    for body in server.bodies[1:]:
        sent = json.dumps(body)
        assert sent.count('"server_tool_use"') == sent.count('"web_search_tool_result"')


async def test_pruning_counts_what_is_sent_of_a_search(tmp_path: Path, server: FaultServer) -> None:
    """The text is a line, and what goes back is encrypted and long."""
    page = {**PENGUINS, "encrypted_content": "Eqgf" * 40_000}
    server.script(says("").runs("web_search", [page], query="a").says("Three."), says("Yes."))
    harness = AnyProviderHarness(tmp_path, server)
    session = await harness.session()
    await ask(session, "How many?", model=CLAUDE)
    (part,) = provider_calls(session)

    def tokens() -> int:
        outputs = MessageOutputs(session.basis().view, Policy(), counter("chars/4"))
        (output,) = list(outputs.newest_first())
        assert output.part_id == part.id
        return output.tokens

    assert tokens() > 40_000
    await ask(session, "Sure?", model=GPT)
    assert tokens() < 1_000
