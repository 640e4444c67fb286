"""Sessions of Claude Code come in with each request counted once, their branches and their subagents."""

import json
from pathlib import Path
from typing import Any

from tests.recordings.formats.imported import (
    dialogue,
    facts_of,
    import_file,
    info_of,
    kinds_of,
    messages_of,
    parts_of,
    sums_of,
)
from tests.recordings.formats.reading import only, read_all
from tests.recordings.formats.sample_files import sample

from palimpsest.context.visible_messages import View
from palimpsest.recordings.formats.claude_code import ClaudeCodeImporter
from palimpsest.recordings.reading.recorded import CompactionRead
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import TextPart, ToolPart


def record(kind: str, name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "session",
        "version": "2.1.74",
        "cwd": "/home/ada",
        "type": kind,
        "uuid": name,
        "timestamp": "2026-01-01T00:00:00.000Z",
        **fields,
    }


def user(name: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    return record("user", name, parent, message={"role": "user", "content": content}, **fields)


def answer(
    name: str, parent: str, message: str, *blocks: Any, output: int = 5, **fields: Any
) -> dict[str, Any]:
    content = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
    ]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": output}
    message_fields = {
        "id": message,
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "usage": usage,
        "stop_reason": "end_turn",
    }
    return record("assistant", name, parent, message=message_fields, **fields)


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": given}


def result(name: str, parent: str, call: str, words: str) -> dict[str, Any]:
    return user(name, parent, [{"type": "tool_result", "tool_use_id": call, "content": words}])


def write_file(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_real_session_and_its_subagent_give_their_own_figures(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)

    store, report = import_file(folder / "cc1df109.jsonl")

    main, agent = report.sessions
    assert report.problems == ()
    assert (sums_of(store, main.id).requests, sums_of(store, main.id).input) == (4, 130_151)
    assert (sums_of(store, agent.id).requests, sums_of(store, agent.id).input) == (3, 66_063)
    assert info_of(store, agent.id).parent_id == main.id
    assert kinds_of(store, main.id)["tool completed"] == 8
    assert kinds_of(store, agent.id)["tool completed"] == 12
    assert facts_of(store, main.id)["format_version"] == "2.1.74"


def test_a_folder_brings_every_session_once(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)

    store, report = import_file(folder)
    again = import_file(folder, store)[1]

    found = sorted(
        (sums_of(store, session.id).input, session.outcome) for session in report.sessions
    )
    assert found == [(180, "new"), (66_063, "new"), (130_151, "new")]
    assert {session.outcome for session in again.sessions} == {"same"}


def test_a_compaction_hides_what_its_summary_replaced(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)

    store, report = import_file(folder / "compaction_session.jsonl")

    state = store.load(report.sessions[0].id)
    visible = View.of(state.messages(), state.decisions, store.get_blob).folded_messages()
    words = [
        part.text for message in visible for part in message.parts if isinstance(part, TextPart)
    ]
    assert words[0].startswith("Summary of previous conversation")
    assert words[1] == "Continue where we left off"
    assert len(words) == 3
    assert len(state.messages()) == 6
    marker = state.messages()[2].info
    assert marker.imported["tokens_before"] == 50_000  # type: ignore[union-attr]


def test_the_records_of_one_answer_are_one_request_with_the_last_usage(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "joined.jsonl",
        user("u", None, "Read both"),
        answer("a1", "u", "msg_1", "I read.", output=1),
        answer("a2", "a1", "msg_1", call("c1"), output=1),
        result("r1", "a2", "c1", "first"),
        answer("a3", "a2", "msg_1", call("c2"), output=9),
        result("r2", "a3", "c2", "second"),
        answer("a4", "r2", "msg_2", "Both are read."),
    )

    store, report = import_file(path)

    [session] = report.sessions
    assert dialogue(store, session.id) == ["> Read both", "< I read.", "< Both are read."]
    assert (sums_of(store, session.id).requests, sums_of(store, session.id).output) == (2, 14)
    outputs = [
        part.state.output for part in parts_of(store, session.id) if isinstance(part, ToolPart)
    ]  # type: ignore[union-attr]
    assert outputs == ["first", "second"]


def test_where_the_user_went_back_the_newest_way_is_the_session(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "back.jsonl",
        user("u1", None, "Begin"),
        answer("a1", "u1", "msg_1", "Begun"),
        user("u2", "a1", "One way"),
        answer("a2", "u2", "msg_2", "Gone one way"),
        user("u3", "a1", "Another way"),
        answer("a3", "u3", "msg_3", "Gone another way"),
    )

    store, report = import_file(path)

    main, branch = report.sessions
    assert dialogue(store, main.id) == ["> Begin", "< Begun", "> Another way", "< Gone another way"]
    assert dialogue(store, branch.id) == ["> Begin", "< Begun", "> One way", "< Gone one way"]
    assert facts_of(store, branch.id)["branch_of"] == main.id
    assert facts_of(store, branch.id)["branch_at"] == messages_of(store, branch.id)[1].id


def test_a_sidechain_in_the_same_file_is_a_child_of_its_call(tmp_path: Path) -> None:
    aside = {"isSidechain": True}
    path = write_file(
        tmp_path / "aside.jsonl",
        user("u1", None, "Look around"),
        answer("a1", "u1", "msg_1", call("c1", prompt="Find the tests")),
        user("s1", None, "Find the tests", **aside),
        answer("s2", "s1", "msg_s", "They are in tests/", **aside),
        result("r1", "a1", "c1", "tests/"),
        answer("a2", "r1", "msg_2", "Found."),
    )

    store, report = import_file(path)

    main, child = report.sessions
    assert dialogue(store, main.id) == ["> Look around", "<", "< Found."]
    assert dialogue(store, child.id) == ["> Find the tests", "< They are in tests/"]
    assert info_of(store, child.id).parent_id == main.id
    assert facts_of(store, child.id)["parent_call"] == "c1"


def test_what_was_cleared_while_it_ran_is_a_decision(tmp_path: Path) -> None:
    cleared = {"trigger": "auto", "compactedToolIds": ["c1", "unknown"]}
    path = write_file(
        tmp_path / "cleared.jsonl",
        user("u1", None, "Read"),
        answer("a1", "u1", "msg_1", call("c1")),
        result("r1", "a1", "c1", "a long output"),
        record("system", "x", "r1", subtype="microcompact_boundary", microcompactMetadata=cleared),
        answer("a2", "x", "msg_2", "Done"),
    )

    store, report = import_file(path)

    [decision] = store.load(report.sessions[0].id).decisions
    assert (decision.action, decision.numbers) == (
        "clear",
        {"shown": "[Old tool result content cleared]", "rule": "microcompact"},
    )
    assert [problem.where for problem in report.problems] == ["cleared.jsonl, reduction 2"]


def test_a_size_of_a_compaction_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    sizes = {"trigger": "auto", "preTokens": "many", "postTokens": -1}
    path = write_file(
        tmp_path / "compacted.jsonl",
        user("u1", None, "Read"),
        answer("a1", "u1", "msg_1", "Done"),
        record("system", "c1", "a1", subtype="compact_boundary", compactMetadata=sizes),
        user("u2", "c1", "The summary.", isCompactSummary=True),
        answer("a2", "u2", "msg_2", "Yes"),
    )

    [compaction] = only(CompactionRead, read_all(ClaudeCodeImporter(), path)[0])

    assert (compaction.tokens_before, compaction.tokens_after) == (None, None)


def test_what_the_program_wrote_is_not_the_users(tmp_path: Path) -> None:
    failed = answer("a1", "u3", "msg_1", "API Error: 529", isApiErrorMessage=True)
    failed["message"] |= {"model": "<synthetic>"}
    path = write_file(
        tmp_path / "program.jsonl",
        {"type": "summary", "summary": "Another session", "leafUuid": "none"},
        user("u1", None, "A note", isMeta=True),
        user("u2", "u1", "<local-command-stdout>ok</local-command-stdout>"),
        user("u3", "u2", "<command-name>/review</command-name> the diff"),
        failed,
        {"type": "ai-title", "aiTitle": "Review of the diff", "sessionId": "session"},
    )

    store, report = import_file(path)

    [session] = report.sessions
    messages = messages_of(store, session.id)
    assert [message.info.by_engine for message in messages[:3]] == [True, True, False]  # type: ignore[union-attr]
    error = messages[3].info
    assert isinstance(error, AssistantMessage)
    assert error.error is not None
    assert error.error.message == "API Error: 529"
    assert sums_of(store, session.id).requests == 0
    assert session.title == "Review of the diff"


def test_what_the_provider_ran_itself_is_a_call_of_its_own_with_its_result(tmp_path: Path) -> None:
    used = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "penguins"},
    }
    found = {
        "type": "web_search_result",
        "url": "https://example.org/penguins",
        "title": "Penguins",
        "encrypted_content": "EqgfCio",
    }
    returned = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    path = write_file(
        tmp_path / "session.jsonl",
        user("u1", None, "How many?"),
        answer("a1", "u1", "m1", "I search.", used),
        answer("a2", "a1", "m1", returned, "Three."),
    )

    store, report = import_file(path)

    found_parts = parts_of(store, report.sessions[0].id)
    (part,) = [found for found in found_parts if isinstance(found, ToolPart)]
    assert (part.metadata or {})["provider_executed"] is True
    assert part.state.status == "completed"
    assert part.state.output == "1. Penguins\n   https://example.org/penguins"


SUBAGENT = (
    user("s1", None, "Find the tests", isSidechain=True, agentId="abc"),
    answer("s2", "s1", "msg_s", "They are in tests/", isSidechain=True, agentId="abc"),
)


def launching_session(path: Path) -> Path:
    """Write a session whose call starts a run of the tool Workflow, and return its path."""
    launched = result("r1", "a1", "c1", "Workflow launched")
    return write_file(
        path,
        user("u1", None, "Look around"),
        answer("a1", "u1", "msg_1", {**call("c1"), "name": "Workflow"}),
        {**launched, "toolUseResult": {"isAsync": True, "runId": "wf_1"}},
        answer("a2", "r1", "msg_2", "It runs."),
    )


def test_the_subagents_of_a_workflow_are_children_of_its_call(tmp_path: Path) -> None:
    path = launching_session(tmp_path / "session.jsonl")
    run = tmp_path / "session" / "subagents" / "workflows" / "wf_1"
    run.mkdir(parents=True)
    write_file(run / "agent-abc.jsonl", *SUBAGENT)
    write_file(run / "journal.jsonl", {"type": "started", "agentId": "abc"})

    store, report = import_file(path)
    folder_report = import_file(tmp_path)[1]

    main, child = report.sessions
    assert dialogue(store, child.id) == ["> Find the tests", "< They are in tests/"]
    assert info_of(store, child.id).parent_id == main.id
    assert facts_of(store, child.id)["parent_call"] == "c1"
    assert [session.id for session in folder_report.sessions] == [main.id, child.id]


def test_a_subagents_file_beside_its_session_belongs_to_it(tmp_path: Path) -> None:
    path = launching_session(tmp_path / "session.jsonl")
    write_file(tmp_path / "agent-abc.jsonl", *SUBAGENT)
    stray = [{**record, "sessionId": "another"} for record in SUBAGENT]
    write_file(tmp_path / "agent-def.jsonl", *stray)

    store, report = import_file(path)
    folder_report = import_file(tmp_path)[1]

    main, child = report.sessions
    assert info_of(store, child.id).parent_id == main.id
    assert dialogue(store, child.id) == ["> Find the tests", "< They are in tests/"]
    imported = [session.id for session in folder_report.sessions]
    assert len(imported) == len(set(imported)) == 3
    assert {main.id, child.id} < set(imported)


def test_a_long_queue_operation_before_a_session_hides_nothing(tmp_path: Path) -> None:
    queued = {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sessionId": "session",
        "content": "long prompt " * 6_000,
    }
    path = launching_session(tmp_path / "session.jsonl")
    path.write_text(json.dumps(queued) + "\n" + path.read_text())

    store, report = import_file(path)

    [session] = report.sessions
    assert dialogue(store, session.id) == ["> Look around", "<", "< It runs."]
