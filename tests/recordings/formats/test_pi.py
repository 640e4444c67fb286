"""Sessions of pi come in with every message, every token and every branch."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.imported import (
    UsageSums,
    dialogue,
    facts_of,
    import_file,
    info_of,
    kinds_of,
    messages_of,
    parts_of,
    sums_of,
)
from tests.recordings.formats.sample_files import sample

from palimpsest.context.visible_messages import View
from palimpsest.recordings.formats.pi import BRANCH_SUMMARY, FirstKeptMessages, PiImporter
from palimpsest.recordings.reading.recorded import CompactionRead
from palimpsest.recordings.reading.sources import discard_report
from palimpsest.store.interface import Problem
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import TextPart, ToolPart


def line(kind: str, name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    moment = "2026-01-01T00:00:00.000Z"
    return {"type": kind, "id": name, "parentId": parent, "timestamp": moment, **fields}


def user(name: str, parent: str | None, words: str) -> dict[str, Any]:
    return line("message", name, parent, message={"role": "user", "content": words})


def answer(name: str, parent: str, *content: Any) -> dict[str, Any]:
    blocks = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content
    ]
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}
    message = {
        "role": "assistant",
        "content": blocks,
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": usage,
        "stopReason": "stop",
    }
    return line("message", name, parent, message=message)


def write_file(path: Path, *entries: dict[str, Any], version: int = 3) -> Path:
    header = {
        "type": "session",
        "version": version,
        "id": "one",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/home/ada/work",
    }
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (header, *entries)))
    return path


def test_a_real_session_gives_its_own_figures(tmp_path: Path) -> None:
    store, report = import_file(sample("pi_large_session.jsonl", tmp_path))

    [session] = report.sessions
    assert report.problems == ()
    assert sums_of(store, session.id) == UsageSums(
        requests=439,
        input=47_526_750,
        cached=43_229_469,
        written=4_296_232,
        output=83_156,
        reasoning=0,
        peak=177_604,
        cost=30.3302,
    )
    kinds = kinds_of(store, session.id)
    assert (kinds["assistant"], kinds["user"]) == (453, 88)
    assert kinds["tool completed"] + kinds["tool error"] == 391
    assert round(info_of(store, session.id).cost or 0, 4) == 30.3302
    assert facts_of(store, session.id)["from"] == "pi"


@pytest.mark.soak  # with each commit a real session gives its own figures, beside it; this adds its thinking levels
def test_thinking_levels_are_the_effort_of_their_requests(tmp_path: Path) -> None:
    store, report = import_file(sample("pi_large_session.jsonl", tmp_path))

    answers = [
        message.info
        for message in messages_of(store, report.sessions[0].id)
        if isinstance(message.info, AssistantMessage)
    ]
    changes = [pair for pair in itertools.pairwise(answers) if pair[0].model != pair[1].model]
    assert {answer.model.variant for answer in answers} == {"off", "minimal", "low", "high"}
    assert len(changes) == 6


@pytest.mark.soak  # with each commit a real session gives its own figures, beside it; this adds its answers that were stopped
def test_an_aborted_answer_says_so(tmp_path: Path) -> None:
    store, report = import_file(sample("pi_large_session.jsonl", tmp_path))

    errors = [
        message.info.error
        for message in messages_of(store, report.sessions[0].id)
        if isinstance(message.info, AssistantMessage) and message.info.error is not None
    ]
    assert len([error for error in errors if isinstance(error, AbortedError)]) == 21
    assert len(errors) == 22


def test_a_file_of_pi_itself_shows_what_pi_would_send(tmp_path: Path) -> None:
    store, report = import_file(sample("pi_version_3.jsonl", tmp_path))

    main, branch = report.sessions
    assert report.problems == ()
    assert main.title == "Two files"
    state = store.load(main.id)
    visible = View.of(state.messages(), state.decisions, store.get_blob).folded_messages()
    words = [
        part.text for message in visible for part in message.parts if isinstance(part, TextPart)
    ]
    assert words == [
        "The folder holds a.py and b.py.",
        "Read a.py",
        "It is empty.",
        "And b.py?",
        "It is empty, too.",
        "Ran `wc -l a.py`\n```\n0 a.py\n```",
        "Remember the tests.",
        BRANCH_SUMMARY.format("The user asked to delete both files."),
        "Keep both",
        "Kept.",
    ]
    assert (sums_of(store, main.id).requests, sums_of(store, main.id).input) == (5, 700)
    assert dialogue(store, branch.id)[-2:] == ["> Delete both", "< I would rather not."]
    efforts = [
        message.info.model.variant
        for message in state.messages()
        if isinstance(message.info, AssistantMessage) and not message.info.summary
    ]
    assert efforts == ["medium", "medium", "high", "high", "high"]
    [tool] = [part for part in parts_of(store, main.id) if isinstance(part, ToolPart)]
    assert tool.metadata == {"gaps": ["The output was cut before it was recorded."]}
    assert facts_of(store, main.id)["gaps"][0]["chars"] == 891


def test_the_last_line_is_the_session_and_other_leaves_are_branches(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "tree.jsonl",
        user("a", None, "Begin"),
        answer("b", "a", "Begun"),
        user("c", "b", "One way"),
        answer("d", "c", "Gone one way"),
        line("branch_summary", "e", "b", summary="One way led nowhere.", fromId="d"),
        user("f", "e", "Another way"),
        answer("g", "f", "Gone another way"),
    )

    store, report = import_file(path)

    main, branch = report.sessions
    summary = dialogue(store, main.id)[2]
    assert dialogue(store, main.id) == [
        "> Begin",
        "< Begun",
        summary,
        "> Another way",
        "< Gone another way",
    ]
    assert "One way led nowhere." in summary
    assert dialogue(store, branch.id) == ["> Begin", "< Begun", "> One way", "< Gone one way"]
    note = facts_of(store, branch.id)
    assert note["branch_of"] == main.id
    assert note["branch_at"] == messages_of(store, branch.id)[1].id


def test_a_compaction_hides_what_it_replaced(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "compacted.jsonl",
        user("a", None, "Old question"),
        answer("b", "a", "Old answer"),
        line("thinking_level_change", "c", "b", thinkingLevel="high"),
        user("d", "c", "Kept question"),
        answer("e", "d", "Kept answer"),
        line(
            "compaction", "f", "e", summary="It was about old things.", firstKeptEntryId="c",
            tokensBefore=50_000,
        ),
        user("g", "f", "New question"),
    )  # fmt: skip

    store, report = import_file(path)

    state = store.load(report.sessions[0].id)
    visible = View.of(state.messages(), state.decisions, store.get_blob).folded_messages()
    words = [part.text for message in visible for part in message.parts if hasattr(part, "text")]
    assert words == ["It was about old things.", "Kept question", "Kept answer", "New question"]


def test_a_size_before_a_compaction_that_is_no_number_is_unknown(tmp_path: Path) -> None:
    entry = line("compaction", "b", "a", summary="Old things.", tokensBefore="many")
    path = write_file(tmp_path / "compacted.jsonl", user("a", None, "Old question"), entry)

    (compaction,) = [
        value
        for value in PiImporter().read(path, discard_report)
        if isinstance(value, CompactionRead)
    ]

    assert compaction.tokens_before is None


def test_what_the_user_ran_is_told_and_what_is_kept_from_the_model_is_not(tmp_path: Path) -> None:
    record = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 1}
    path = write_file(
        tmp_path / "bash.jsonl",
        line("message", "a", None, message=record),
        line("message", "b", "a", message={**record, "excludeFromContext": True}),
        line("custom_message", "c", "b", customType="notes", content="Remember", display=True),
        user("d", "c", "Now?"),
    )

    store, report = import_file(path)

    assert dialogue(store, report.sessions[0].id) == [
        "> Ran `ls`\n```\na.py\n```\n\nCommand exited with code 1",
        "> Remember",
        "> Now?",
    ]
    origins = [message.info.by_engine for message in messages_of(store, report.sessions[0].id)]  # type: ignore[union-attr]
    assert origins == [True, True, False]


def test_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "broken.jsonl", user("a", None, "Begin"), answer("b", "a", "Begun")
    )
    content = path.read_text().splitlines()
    content.insert(2, '{"type": "message", "id": "x", ')
    path.write_text("\n".join(content))

    store, report = import_file(path)

    assert report.problems == (Problem("broken.jsonl, line 3", "It is no JSON and was left out."),)
    assert dialogue(store, report.sessions[0].id) == ["> Begin", "< Begun"]


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_what_follows_a_broken_line_stays_in_its_session(tmp_path: Path, broken: int) -> None:
    entries = [
        user("a", None, "Begin"),
        answer("b", "a", "Begun"),
        user("c", "b", "Go on"),
        answer("d", "c", "Done"),
        user("e", "b", "Do it otherwise"),
    ]
    path = write_file(tmp_path / "broken.jsonl", *entries)
    lines = path.read_text().splitlines()
    lines[broken] = lines[broken][:-5]
    path.write_text("\n".join(lines) + "\n")

    store, report = import_file(path)

    assert [problem.what for problem in report.problems] == ["It is no JSON and was left out."]
    record = [dialogue(store, session.id) for session in report.sessions]
    lost = {1: "> Begin", 2: "< Begun", 3: "> Go on"}[broken]
    branches = (
        ["> Begin", "< Begun", "> Do it otherwise"],
        ["> Begin", "< Begun", "> Go on", "< Done"],
    )
    assert record == [[text for text in branch if text != lost] for branch in branches]


def test_an_entry_that_no_broken_line_explains_begins_a_branch(tmp_path: Path) -> None:
    path = write_file(tmp_path / "lost.jsonl", user("a", None, "Begin"), user("c", "b", "Go on"))

    _, report = import_file(path)

    assert [problem.what for problem in report.problems] == [
        "What it follows is missing; it begins a new branch."
    ]


@pytest.mark.parametrize("has_ids", [False, True])
def test_the_first_message_kept_is_the_first_one_at_or_after_an_entry(*, has_ids: bool) -> None:
    chance, kept = random.Random(3), FirstKeptMessages()
    expected: dict[object, str | None] = {}
    waiting: list[object] = []
    for number in range(1, 400):
        name = f"e{number}" if has_ids else number
        kept.add_entry(name)
        expected[name] = None
        waiting.append(name)
        if chance.random() < 0.4:
            kept.add_message(f"m{number}")
            expected |= dict.fromkeys(waiting, f"m{number}")
            waiting = []

    kept.add_entry(last := "e400" if has_ids else 400)
    expected[last] = None

    assert {name: kept.first_id_at(name) for name in expected} == expected
    assert None in expected.values()
    unknown = (0, 401, "e401", "a", None, True, -1, 1.5, 10**30)
    assert [kept.first_id_at(name) for name in unknown] == [None] * len(unknown)
    assert kept.first_id_at("7") == (None if has_ids else expected[7])
