"""A folder of sessions at a glance: each counted once, with its file and its parent, in order, with sums and sentences."""

import json
from pathlib import Path

import pytest
from tests.recordings.formats.test_shared_beginnings import claude, made, pi, write_file

import palimpsest
from palimpsest.review.corpus.corpus import Corpus
from palimpsest.review.corpus.folder_overview import OverviewOrder
from palimpsest.testing import ScriptedModel, isolated_session, says

WIDTH = 80


def opened(folder: Path) -> Corpus:
    return palimpsest.corpus(folder, cache=False)


def with_subagent(folder: Path) -> Path:
    """Write a session of Claude Code of two requests whose subagent makes three, 110 tokens in and 5 out each."""
    head = {
        "sessionId": "main",
        "version": "2.1.74",
        "cwd": "/w",
        "timestamp": "2026-01-01T00:00:00.000Z",
    }
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 5}

    def record(
        kind: str, name: str, parent: str | None, content: object, **more: object
    ) -> dict[str, object]:
        message = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{name}", "model": "claude-sonnet-4-5", "usage": usage}
        return {
            "type": kind,
            "uuid": name,
            "parentUuid": parent,
            "isSidechain": False,
            "message": message,
            **head,
            **more,
        }

    call = [{"type": "tool_use", "id": "call", "name": "Task", "input": {"prompt": "Look"}}]
    result = [{"type": "tool_result", "tool_use_id": "call", "content": "Found nothing"}]
    write_file(folder / "main.jsonl", [
        record("user", "u", None, "Find it"),
        record("assistant", "a", "u", call),
        record("user", "r", "a", result, toolUseResult={"agentId": "sub"}),
        record("assistant", "b", "r", [{"type": "text", "text": "There is nothing."}]),
    ])  # fmt: skip
    inner = {"isSidechain": True, "agentId": "sub"}
    rows = [record("user", "su", None, "Look", **inner)]
    for number in range(3):
        before = f"sa{number - 1}" if number else "su"
        rows.append(
            record(
                "assistant", f"sa{number}", before, [{"type": "text", "text": "Looking"}], **inner
            )
        )
    write_file(folder / "main" / "subagents" / "agent-sub.jsonl", rows)
    return folder


def test_each_message_of_resumed_sessions_counts_once(tmp_path: Path) -> None:
    overview = opened(made(tmp_path / "sessions", "claude")).overview()

    together = overview.totals()
    assert (together.sessions, together.requests, together.input) == (3, 6, 660)
    assert [row["requests"] for row in overview.table.records()] == [3, 2, 1]


def test_a_subagent_names_its_session_and_the_sums_are_without_and_with_it(tmp_path: Path) -> None:
    overview = opened(with_subagent(tmp_path / "sessions")).overview("requests")

    sub, main = overview.table.records()
    assert (sub["requests"], sub["of"], main["requests"], main["of"]) == (3, 2, 2, None)
    assert {sub["file"], main["file"]} == {"main.jsonl"}
    assert overview.totals(with_subagents=False).input == 220
    assert overview.totals().input == 550
    assert overview.sentences[0].startswith(
        "Without subagents: 2 requests, 220 tokens read, 10 written"
    )
    assert overview.sentences[1].startswith(
        "With 1 subagent: 5 requests, 550 tokens read, 25 written"
    )


def test_a_file_that_was_copied_counts_once_and_is_named(tmp_path: Path) -> None:
    write_file(tmp_path / "a.jsonl", pi("one", "ab"))
    write_file(tmp_path / "copy of a.jsonl", pi("one", "ab"))
    write_file(tmp_path / "no recording.json", [{"a": 1}])

    overview = opened(tmp_path).overview()

    assert overview.totals().cost == 1.0
    assert overview.repeated == (("copy of a.jsonl", "a.jsonl"),)
    assert (
        "1 session came twice and counts once: that of copy of a.jsonl, as in a.jsonl."
        in overview.sentences
    )
    assert any("no recording.json" in problem for problem in overview.problems)


def test_a_cut_copy_of_a_file_counts_once(tmp_path: Path) -> None:
    rows = pi("one", "abc")
    write_file(tmp_path / "a cut copy.jsonl", rows[:5])
    write_file(tmp_path / "whole.jsonl", rows)
    write_file(tmp_path / "without its beginning.jsonl", [rows[0], *rows[3:]])

    overview = opened(tmp_path).overview()

    assert overview.totals().requests == 3
    assert overview.repeated == (
        ("a cut copy.jsonl", "whole.jsonl"),
        ("without its beginning.jsonl", "whole.jsonl"),
    )


def test_what_a_run_printed_counts_once_beside_its_transcript(tmp_path: Path) -> None:
    transcript = claude("one", "ab")
    init = {"type": "system", "subtype": "init", "session_id": "one", "model": "claude-sonnet-4-5"}
    answers = [row for row in transcript if row["type"] == "assistant"]
    stream = [
        {
            "type": "assistant", "message": row["message"], "parent_tool_use_id": None,
            "session_id": "one", "uuid": row["uuid"],
        }
        for row in answers
    ]  # fmt: skip
    write_file(tmp_path / "printed.jsonl", [init, *stream])
    write_file(tmp_path / "transcript.jsonl", transcript)

    overview = opened(tmp_path).overview()

    assert (overview.totals().requests, overview.totals().input) == (2, 220)
    assert len(overview.repeated) == 1


def test_different_sessions_of_one_id_both_count(tmp_path: Path) -> None:
    longer = pi("one", "xyz")
    for row in longer:
        usage = row.get("message", {}).get("usage")
        if usage:
            usage["input"] += 1
    write_file(tmp_path / "a.jsonl", pi("one", "ab"))
    write_file(tmp_path / "b.jsonl", longer)

    overview = opened(tmp_path).overview()

    assert overview.totals().requests == 5
    assert overview.repeated == ()


def test_a_second_run_of_one_id_counts_though_it_reported_the_same(tmp_path: Path) -> None:
    write_file(tmp_path / "a.jsonl", pi("one", "abc"))
    write_file(tmp_path / "b.jsonl", pi("one", "ab", second=30))
    write_file(tmp_path / "c.jsonl", pi("one", "de"))

    overview = opened(tmp_path).overview()

    assert overview.totals().requests == 7
    assert overview.repeated == ()


def test_a_recording_beside_one_that_is_a_folder_counts_once(tmp_path: Path) -> None:
    write_file(tmp_path / "both" / "claude.jsonl", pi("one", "ab"))
    message = {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Hi"}], "ts": 1}
    cline = {"version": 1, "sessionId": "c1", "agent": "lead", "messages": [message]}
    (tmp_path / "both" / "c1.messages.json").write_text(json.dumps(cline))

    overview = opened(tmp_path).overview()

    assert len(overview.sessions) == 2
    assert overview.repeated == ()


@pytest.mark.parametrize("by", ["cost", "waste", "input", "requests", "breaks", "file"])
def test_the_table_fits_a_terminal_in_every_order(tmp_path: Path, by: OverviewOrder) -> None:
    folder = made(tmp_path / "sessions with a long name", "pi")
    with_subagent(folder / "deeper" / "and deeper")

    overview = opened(folder).overview(by)

    [table] = [part for part in overview.text.split("\n\n") if part.lstrip().startswith("#")]
    assert max(map(len, table.splitlines())) <= WIDTH
    records = overview.json()["sessions"]
    amounts = [record[by] for record in records]
    # The subagent and its session have the same file.
    assert amounts == sorted(amounts, reverse=by != "file")


def test_sentences_say_what_cost_most_what_was_wasted_and_what_would_have_helped(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sessions"
    write_file(folder / "cheap.jsonl", pi("one", "ab"))
    rows = pi("two", "cde", second=10)
    # After an hour the whole prefix of 50,000 tokens is written again.
    for row, minute in zip(rows[2::2], (0, 1, 59), strict=True):
        row["timestamp"] = f"2026-01-01T01:{minute:02d}:00.000Z"
        usage = {"input": 10, "output": 5, "cost": {"total": 1.0}}
        cached = {"cacheRead": 50_000} if minute == 1 else {"cacheWrite": 50_000}
        row["message"]["usage"] = {**usage, **cached}
    write_file(folder / "dear.jsonl", rows)

    overview = opened(folder).overview()

    sentences = "\n".join(overview.sentences)
    assert "Number 1 (dear.jsonl) cost most: 3.00 USD, 75 % of all." in sentences
    assert "Wasted: 1 break of the cache (~" in sentences
    assert "Number 1 (dear.jsonl) wasted most: ~" in sentences
    assert (
        "What would have helped: requests that keep the cache warm through a pause (against ~"
        in sentences
    )


def test_a_fork_of_our_own_counts_only_what_it_sent_itself(tmp_path: Path) -> None:
    model = ScriptedModel(
        says("One."), says("Two."), says("Another two.").reports(input=900, output=9)
    )
    with isolated_session(model, folder=tmp_path) as session:
        session.prompt("Count.")
        session.prompt("Go on.")
        branch = session.fork(request=2)
        branch.loop().result()
        assert len(branch.review.timeline.requests) == 2  # what a person opens has all of it

    requests = {row.figures.session: row.figures for row in opened(tmp_path).overview().sessions}

    assert (requests[session.id].requests, requests[branch.id].requests) == (2, 1)
    # Its prompt is that of the session from which it was forked.
    assert (requests[branch.id].input, requests[branch.id].turns) == (900, 0)
