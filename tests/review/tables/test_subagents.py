"""A review shows a session's subagents: who began them and when, what they took, what came back, and the sums."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.frontends.command_line.test_command_line import valid
from tests.harness.session import ask
from tests.harness.subagent_session import children, make_subagent_harness
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_claude_code import answer, call, result, user, write_file
from tests.session.runs.test_subagents import Cast, task

from palimpsest.context_policies.registry import get
from palimpsest.frontends.command_line.main import main
from palimpsest.model.script import calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_review import SessionReview
from palimpsest.store.interface import Store


def review(store: Store, session_id: str) -> SessionReview:
    def timelines(parent: str) -> list[object]:
        return [
            timeline_of(store, info.id, counter)
            for info in store.list()
            if info.parent_id == parent
        ]

    timeline = timeline_of(store, session_id, counter)
    return SessionReview(timeline, get, lambda _model: None, None, timelines)  # type: ignore[arg-type]


async def test_those_of_a_session_of_ours_stand_at_the_calls_that_began_them(
    tmp_path: Path,
) -> None:
    model = Cast(
        calls("task", **task("alpha")).reports(input=100, output=5),
        calls("task", **task("beta")).reports(input=200, output=5),
        says("Both.").reports(input=300, output=5),
        alpha=(
            calls("bash", command="echo a").reports(input=1_000, output=10),
            says("A words.").reports(input=2_000, output=10),
        ),
        beta=(says("B words.").reports(input=500, output=10),),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.", yes=True)
    for harness_session in (session, *await children(harness, session)):
        await harness_session.journal.flush()

    reviewed = review(harness.store, session.id)

    alpha, beta = reviewed.subagents.table.records()
    assert alpha["subagent"] == "Do alpha (@general subagent)"
    assert (alpha["request"], beta["request"]) == (1, 2)
    assert (alpha["call"], alpha["calls"]) == ("task Do alpha", 1)
    assert [alpha[key] for key in ("requests", "input", "output", "peak")] == [2, 3_000, 20, 2_000]
    assert "A words." in str(alpha["returned"])
    assert isinstance(alpha["returned_tokens"], int)
    own, whole = reviewed.subagents.own_totals, reviewed.subagents.all_totals
    assert (own.requests, own.input) == (3, 600)
    assert (whole.requests, whole.input, whole.peak) == (6, 4_100, 2_000)

    rows = reviewed.requests_with_subagents.records()
    assert [(row["request"], row["subagent"], row["own_request"]) for row in rows] == [
        (1, "", 1),
        (1, alpha["subagent"], 1),
        (1, alpha["subagent"], 2),
        (2, "", 2),
        (2, beta["subagent"], 1),
        (3, "", 3),
    ]
    assert [row["input"] for row in rows] == [100, 1_000, 2_000, 200, 500, 300]


async def test_one_that_was_resumed_is_one_row_with_two_calls(tmp_path: Path) -> None:
    model = Cast(
        calls("task", **task("alpha")),
        lambda request: calls("task", **task("more", task_id=task_of(request))),  # type: ignore[arg-type]
        says("Both."),
        alpha=(says("First."), says("Second.")),
    )
    harness = make_subagent_harness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Go.")
    for harness_session in (session, *await children(harness, session)):
        await harness_session.journal.flush()

    (row,) = review(harness.store, session.id).subagents.table.records()

    assert (row["calls"], row["requests"], row["request"]) == (2, 2, 1)
    assert "Second." in str(row["returned"])


def task_of(request: object) -> str:
    text = str(request)
    return text[text.index("ses_") :].split(" ")[0]


def test_a_sidechain_stands_at_the_call_that_it_answers(tmp_path: Path) -> None:
    aside = {"isSidechain": True}
    path = write_file(
        tmp_path / "aside.jsonl",
        user("u1", None, "Look around"),
        answer("a1", "u1", "msg_1", call("c1", prompt="Find the tests")),
        user("s1", None, "Find the tests", **aside),
        answer("s2", "s1", "msg_s", "They are in tests/", **aside),
        result("r1", "a1", "c1", "They are in tests/, all of them"),
        answer("a2", "r1", "msg_2", "Found."),
    )

    with open_recording(path) as recording:
        (run,) = recording[0].subagents
        assert run.call is not None
        assert recording[1].timeline.started_by == run.call.group == "c1"
        assert (run.request, run.calls, run.text_beginning) == (
            0,
            1,
            "They are in tests/, all of them",
        )
        assert run.totals.requests == 1
        rows = recording[0].requests_with_subagents.records()
        assert [row["subagent"] for row in rows] == ["", run.name, ""]


@pytest.mark.slow
def test_those_of_a_recording_are_shown_by_the_call_that_it_names(tmp_path: Path) -> None:
    folder = sample("claude_code", tmp_path)

    with open_recording(folder / "cc1df109.jsonl") as recording:
        main = recording[0]
        (run,) = main.subagents
        assert (run.totals.requests, run.totals.input) == (3, 66_063)
        # The call that began it is not in this excerpt; it was begun after all of its requests.
        assert (run.call, run.calls, run.result, run.text_beginning) == (None, 0, None, "")
        assert run.request == len(main.timeline.requests) - 1
        assert main.subagents.all_totals.input == 130_151 + 66_063
        rows = main.requests_with_subagents.records()
        assert len(rows) == 4 + 3
        at = [row["started"] for row in rows if isinstance(row["started"], int)]
        assert len(at) == len(rows)
        assert all(earlier <= other for earlier, other in itertools.pairwise(at))
        assert len(recording[1].subagents) == 0


def exported(path: Path, session: str, parent: str | None, *parts: dict[str, object]) -> Path:
    """Write a session as OpenCode exports it: a prompt, and one answer with these parts."""
    user_id, answer_id = f"msg_{session}_1", f"msg_{session}_2"
    model = {"providerID": "openai", "modelID": "gpt-5.4"}
    info = {
        "id": f"ses_{session}",
        "title": f"Session {session}",
        "version": "1.18.0",
        "directory": "/p",
        "projectID": "global",
        "time": {"created": 1_765_000_000_000, "updated": 1_765_000_009_000},
    }
    if parent is not None:
        info["parentID"] = f"ses_{parent}"
    asked = {
        "id": user_id,
        "sessionID": info["id"],
        "role": "user",
        "agent": "build",
        "model": model,
        "time": {"created": 1_765_000_001_000},
    }
    answered = {
        "id": answer_id,
        "sessionID": info["id"],
        "role": "assistant",
        "parentID": user_id,
        "agent": "build",
        "mode": "build",
        "path": {"cwd": "/p", "root": "/p"},
        "cost": 0.01,
        "tokens": {"input": 100, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "time": {"created": 1_765_000_002_000, "completed": 1_765_000_003_000},
        **model,
    }
    ids = {"sessionID": info["id"], "messageID": answer_id}
    part_fields = [{"id": f"prt_{session}_{n}", **ids, **part} for n, part in enumerate(parts)]
    prompt = {"id": f"prt_{session}_p", "sessionID": info["id"], "messageID": user_id}
    messages = [
        {"info": asked, "parts": [{**prompt, "type": "text", "text": "Count the tests"}]},
        {"info": answered, "parts": part_fields},
    ]
    path.write_text(json.dumps({"info": info, "messages": messages}))
    return path


def test_those_of_opencode_stand_at_the_task_that_names_their_session(tmp_path: Path) -> None:
    state = {
        "status": "completed",
        "input": {"description": "Count", "prompt": "Count", "subagent_type": "general"},
        "output": '<task id="ses_b" state="completed">\n<task_result>\n12 tests.\n</task_result>\n</task>',
        "title": "Count",
        "metadata": {"parentSessionId": "ses_a", "sessionId": "ses_b"},
        "time": {"start": 1_765_000_002_100, "end": 1_765_000_002_900},
    }
    call = {"type": "tool", "callID": "call_1", "tool": "task", "state": state}
    exported(tmp_path / "a.json", "a", None, call)
    exported(tmp_path / "b.json", "b", "a", {"type": "text", "text": "12 tests."})

    with open_recording(tmp_path) as recording:
        parent = recording["ses_a"]
        (run,) = parent.subagents
        assert (run.timeline.session, run.calls, run.text_beginning) == ("ses_b", 1, "12 tests.")
        assert run.call is not None
        assert run.call.group == "call_1"


def test_one_whose_words_nobody_used_is_a_waste_that_names_it() -> None:
    maker = TimelineMaker()
    maker.prompt("Look.")
    maker.answer("", [Call("task", "src/found_here.py holds the_needle_itself " * 20)])
    maker.answer("Well.", [])
    parent = maker.made()
    other = TimelineMaker()
    other.prompt("Find the needle.")
    other.answer("Found.", [])
    call = next(item for item in parent.items if item.kind == "call")
    child = replace(other.made(), session="ses_child", title="Finder", started_by=call.group)
    made = SessionReview(
        parent,
        get,
        lambda _model: None,
        None,
        lambda parent_id: [child] if parent_id == parent.session else [],
    )

    said = [waste.sentence for waste in made.wastes(price="units")]

    assert any(
        sentence.startswith("The subagent 'Finder' read")
        and "no later answer used a name" in sentence
        for sentence in said
    )


def test_the_command_line_says_what_they_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(
        tmp_path / "aside.jsonl",
        user("u1", None, "Look around"),
        answer("a1", "u1", "msg_1", call("c1", prompt="Find the tests")),
        user("s1", None, "Find the tests", isSidechain=True),
        answer("s2", "s1", "msg_s", "They are in tests/", isSidechain=True),
        result("r1", "a1", "c1", "tests/"),
        answer("a2", "r1", "msg_2", "Found."),
    )

    assert main(["inspect", str(path), "--json"]) == 0
    found = valid(json.loads(capsys.readouterr().out))["sessions"][0]["subagents"]
    assert (found["without"]["requests"], found["with"]["requests"]) == (2, 3)
    assert found["rows"][0]["returned"] == "tests/"
    assert main(["inspect", str(path), "--session", "1"]) == 0
    text = capsys.readouterr().out
    assert "requests with theirs" in text
    assert "1 subagent of" in text


def test_where_no_call_is_recorded_nobody_says_that_nothing_came_back(tmp_path: Path) -> None:
    with open_recording(sample("cline_subagent", tmp_path)) as recording:
        parent = next(session for session in recording if len(session.subagents))
        (run,) = parent.subagents
        said = [waste.sentence for waste in parent.wastes()]

    # The call and its result stand in the recording; that they belong to this subagent does not.
    assert run.call is None
    assert run.result is None
    assert [sentence for sentence in said if "subagent" in sentence] == []


def test_totals_are_told_in_whole_units(tmp_path: Path) -> None:
    with open_recording(sample("openhands_v0_delegate.jsonl", tmp_path)) as recording:
        notes = recording[0].subagents_at("units").table.notes

    assert notes == (
        "Without subagents: 4 requests, 14,000 tokens read, 80 written, largest request 6,000, ~8,070 units.",
        "With them: 6 requests, 21,000 tokens read, 120 written, largest request 6,000, ~11,745 units.",
    )
