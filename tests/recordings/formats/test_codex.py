"""Rollouts of Codex come in with each request counted once, though it is reported twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import (
    UsageSums,
    dialogue,
    facts_of,
    import_file,
    kinds_of,
    messages_of,
    parts_of,
    sums_of,
)
from tests.recordings.formats.sample_files import sample
from tests.recordings.money_recordings import write_recordings

from palimpsest.context.visible_messages import View
from palimpsest.recordings.formats.codex import CodexImporter
from palimpsest.recordings.reading.recorded import MessageRead
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import TextPart, ToolCompleted, ToolPart
from palimpsest.transcript.provider_calls import is_provider_call
from palimpsest.transcript.values import Usage


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def message(role: str, words: str) -> dict[str, Any]:
    block = "output_text" if role == "assistant" else "input_text"
    content = [{"type": block, "text": words}]
    return line("response_item", type="message", role=role, content=content)


def usage(total: int, last: int = 10) -> dict[str, Any]:
    said_of = {
        name: {"input_tokens": count, "cached_input_tokens": 4, "output_tokens": 1}
        for name, count in (("total_token_usage", total), ("last_token_usage", last))
    }
    return line("event_msg", type="token_count", info=said_of)


def write_file(path: Path, *lines: dict[str, Any]) -> Path:
    meta = line("session_meta", id="one", cwd="/home/ada", cli_version="0.115.0")
    context = line("turn_context", model="gpt-5.4", effort="high")
    path.write_text("".join(json.dumps(record) + "\n" for record in (meta, context, *lines)))
    return path


def test_a_real_rollout_gives_its_own_figures(tmp_path: Path) -> None:
    store, report = import_file(sample("codex_rollout.jsonl", tmp_path))

    [session] = report.sessions
    assert report.problems == ()
    assert sums_of(store, session.id) == UsageSums(
        requests=6,
        input=160_333,
        cached=90_368,
        written=0,
        output=2_829 - 975,
        reasoning=975,
        peak=42_519,
        cost=None,
    )
    assert kinds_of(store, session.id)["user"] == 4
    assert facts_of(store, session.id)["window"] == 258_400
    system = store.get_blob(facts_of(store, session.id)["system"]["sha256"])
    assert system.startswith(b"You are Codex")
    answers = [
        message.info
        for message in messages_of(store, session.id)
        if isinstance(message.info, AssistantMessage)
    ]
    assert {answer.model.id for answer in answers} == {"openai/gpt-5.4"}


def test_the_items_of_one_answer_are_one_request(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "rollout.jsonl",
        message("developer", "Be careful"),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "List"),
        line("event_msg", type="user_message", message="List"),
        line("response_item", type="reasoning", summary=[], encrypted_content="gAAA"),
        message("assistant", "I list."),
        line("event_msg", type="agent_message", message="I list."),
        line("response_item", type="function_call", name="shell", arguments='{"cmd": "ls"}', call_id="c1"),
        usage(10),
        usage(10),
        line("response_item", type="function_call_output", call_id="c1", output="a.py"),
        message("assistant", "One file."),
        usage(20),
    )  # fmt: skip

    store, report = import_file(path)

    [session] = report.sessions
    assert dialogue(store, session.id)[2:] == ["> List", "< I list.", "< One file."]
    assert (sums_of(store, session.id).requests, sums_of(store, session.id).input) == (2, 20)
    by_program = [message.info.by_engine for message in messages_of(store, session.id)[:3]]  # type: ignore[union-attr]
    assert by_program == [True, True, False]
    [tool] = [part for part in parts_of(store, session.id) if isinstance(part, ToolPart)]
    assert isinstance(tool.state, ToolCompleted)
    assert (tool.tool, tool.state.input, tool.state.output) == ("shell", {"cmd": "ls"}, "a.py")


def test_a_compaction_keeps_what_its_new_history_holds(tmp_path: Path) -> None:
    kept = message("user", "Second")["payload"]
    summary = message("user", "Summary: it went well")["payload"]
    path = write_file(
        tmp_path / "compacted.jsonl",
        message("user", "First"),
        message("assistant", "Answer one"),
        usage(10),
        message("user", "Second"),
        message("assistant", "Answer two"),
        usage(20),
        line("compacted", message="", replacement_history=[kept, summary]),
        message("user", "Third"),
    )

    store, report = import_file(path)

    state = store.load(report.sessions[0].id)
    visible = View.of(state.messages(), state.decisions, store.get_blob).folded_messages()
    words = [
        part.text
        for message_shown in visible
        for part in message_shown.parts
        if isinstance(part, TextPart)
    ]
    assert words == ["Summary: it went well", "Third"]
    replaced = [state.messages()[at].id for at in (0, 1, 3)]
    assert state.messages()[4].info.imported["replaced"] == replaced  # type: ignore[union-attr]


def test_a_rollback_takes_turns_back_and_a_stop_is_said(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "back.jsonl",
        message("user", "First"),
        message("assistant", "One"),
        usage(10),
        message("user", "Second"),
        message("assistant", "Half of"),
        line("event_msg", type="turn_aborted", reason="interrupted"),
        usage(20),
        line("event_msg", type="thread_rolled_back", num_turns=1),
        message("user", "Third"),
        message("assistant", "Half"),
        line("event_msg", type="turn_aborted", reason="interrupted"),
    )

    store, report = import_file(path)

    [session] = report.sessions
    assert dialogue(store, session.id) == ["> First", "< One", "> Third", "< Half"]
    last = messages_of(store, session.id)[-1].info
    assert isinstance(last, AssistantMessage)
    assert last.error == AbortedError()
    state = store.load(session.id)
    assert state.session is not None
    assert state.session.tokens.prompt == 20


@pytest.mark.parametrize(("name", "tier"), [("codex.jsonl", None), ("codex_flex.jsonl", "flex")])
def test_tokens_written_to_the_cache_and_the_tier_are_read(
    name: str, tier: str | None, tmp_path: Path
) -> None:
    recorded = list(CodexImporter().read(write_recordings(tmp_path)[name], lambda *_: None))

    (usage,) = (
        message.usage for message in recorded if isinstance(message, MessageRead) and message.usage
    )
    assert usage == Usage(
        input=500,
        output=60,
        reasoning=40,
        cache_read=8_000,
        cache_write=1_500,
        service_tier=tier,
    )


SEARCHED = {
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "penguins"},
}


def test_a_search_that_the_provider_ran_is_a_call_of_its_answer(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "rollout-1.jsonl",
        message("user", "How many?"),
        line("response_item", type="reasoning", summary=[], encrypted_content="x"),
        line("response_item", **SEARCHED, id="ws_1"),
        line("response_item", **SEARCHED),
        line("response_item", **SEARCHED),
        message("assistant", "Three."),
        usage(10),
    )

    store, report = import_file(path)

    [session] = report.sessions
    assert report.problems == ()
    calls = [part for part in parts_of(store, session.id) if isinstance(part, ToolPart)]
    assert [(part.tool, part.state.input["query"]) for part in calls] == [
        ("web_search", "penguins")
    ] * 3
    assert all(is_provider_call(part) for part in calls)
    assert all(isinstance(part.state, ToolCompleted) for part in calls)
    assert sums_of(store, session.id).requests == 1


@pytest.mark.parametrize(
    ("item", "tool", "output"),
    [
        ({"type": "web_search_call", "status": "failed"}, "web_search", "it failed"),
        (
            {"type": "mcp_call", "name": "ask", "arguments": '{"q": 1}', "output": "Yes."},
            "ask",
            "Yes.",
        ),
        ({"type": "mcp_call", "name": "ask", "error": "no"}, "ask", "no"),
        (
            {
                "type": "code_interpreter_call",
                "code": "1",
                "outputs": [{"type": "logs", "logs": "1"}],
            },
            "code_interpreter",
            "1",
        ),
        (
            {"type": "file_search_call", "queries": ["a"], "results": [{"text": "b", "score": 1}]},
            "file_search",
            "b",
        ),
        ({"type": "image_generation_call", "result": "aGk="}, "image_generation", ""),
        ({"type": "new_kind_call"}, "new_kind", ""),
        ({"type": "web_search_call", "action": 3}, "web_search", ""),
        ({"type": "mcp_call", "name": 3, "arguments": "[", "output": {"a": 1}}, "mcp", '{"a": 1}'),
    ],
)
def test_whatever_the_provider_ran_is_a_call_with_what_is_known_of_it(
    item: dict[str, Any], tool: str, output: str, tmp_path: Path
) -> None:
    path = write_file(
        tmp_path / "rollout-1.jsonl",
        message("user", "Go."),
        line("response_item", **item, id="x_1"),
        message("assistant", "Done."),
        line("response_item", type="function_call", name="ls", call_id="c", arguments="{}"),
        line("response_item", type="function_call_output", call_id="c", output="a"),
        message("assistant", "So."),
    )

    store, report = import_file(path)

    [session] = report.sessions
    assert report.problems == ()
    ran, ours = [part for part in parts_of(store, session.id) if isinstance(part, ToolPart)]
    assert (ran.tool, is_provider_call(ran), is_provider_call(ours)) == (tool, True, False)
    state = ran.state
    shown_output = (
        state.output if isinstance(state, ToolCompleted) else getattr(state, "error", None)
    )
    assert shown_output == output
    answers = [
        shown_message
        for shown_message in messages_of(store, session.id)
        if isinstance(shown_message.info, AssistantMessage)
    ]
    assert len(answers) == 2
