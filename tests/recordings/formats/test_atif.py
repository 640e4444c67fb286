"""ATIF trajectories give messages, calls, results, usage, compactions and subagents."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.recording import SAMPLES, read_all

from palimpsest.recordings.formats.atif import AtifImporter
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ToolSpec, Usage

REAL = SAMPLES / "atif"
"""Written with the models of harbor 0.26.0: a trajectory, its continuation, and the run that summarised."""
Json = dict[str, Any]


def sessions(recorded: list[Recorded]) -> dict[str, list[Recorded]]:
    by_session: dict[str, list[Recorded]] = {}
    newest: list[Recorded] = []
    for entry in recorded:
        if isinstance(entry, SessionBegin):
            newest = by_session[entry.id] = []
        newest.append(entry)
    return by_session


def test_a_trajectory_with_its_continuation_is_one_session() -> None:
    recorded, reports = read_all(AtifImporter(), REAL / "trajectory.json")

    found = sessions(recorded)
    assert reports == []
    assert list(found) == ["run-1", "sub-1", "run-1-summarization-1"]
    begin, *main = found["run-1"]
    assert begin == SessionBegin(
        id="run-1",
        format="atif",
        format_version="ATIF-v1.7",
        created=1767323040000,
        model="anthropic/claude-sonnet-4-5",
        system="You work in a terminal.",
        tools=(
            ToolSpec(
                name="bash",
                description="Run a command",
                parameters={"type": "object", "properties": {"command": {"type": "string"}}},
            ),
        ),
    )
    asked, first, ls = main[:3]
    assert asked == MessageRead("step-1", "user", (Text("Make hello.txt."),), created=1767323041000)
    assert first == MessageRead(
        "step-2",
        "assistant",
        (Thinking("What is here?"), Text("I look first."), Call("c1", "bash", {"command": "ls"})),
        created=1767323043250,
        usage=Usage(input=100, output=30, reasoning=20, cache_read=600, cache_write=300),
        cost=0.002,
        finish="tool-calls",
    )
    assert ls == ResultRead("c1", "a.txt\n")
    assert ResultRead("c3", "/app", media=(Media("image/png", None, "images/one.png"),)) in main


def test_copied_steps_are_in_the_context_but_not_in_the_sums() -> None:
    recorded, _ = read_all(AtifImporter(), REAL / "trajectory.json")

    main = sessions(recorded)["run-1"]
    asked = [
        entry for entry in main if isinstance(entry, MessageRead) and entry.role == "assistant"
    ]
    assert [message.usage and message.usage.prompt for message in asked] == [1000, 1100, 400, 450]
    assert [message.effort for message in asked] == [None, None, None, "high"]
    assert [entry for entry in main if isinstance(entry, CompactionRead)] == [
        CompactionRead(
            "step-4", "Summary so far: a.txt exists.", replaced_messages=("step-2", "step-3")
        ),
        CompactionRead("step-5", "Handoff: only hello.txt is missing."),
    ]
    calls = [part.id for message in asked for part in message.parts if isinstance(part, Call)]
    assert calls == ["c1", "c2", "c3", "c1#2"]
    by_program = [entry for entry in main if isinstance(entry, MessageRead) and entry.by_program]
    assert [message.parts for message in by_program] == [
        (Text("The file must end with a newline."),),
        (Text("checked"),),
    ]
    assert [gap.sentence for gap in main if isinstance(gap, GapRead)] == [
        "This step stands for 2 requests, whose usage is recorded as one sum."
    ]


def test_subagents_are_children_of_the_call_that_began_them() -> None:
    recorded, _ = read_all(AtifImporter(), REAL / "trajectory.json")

    begins = [begin for begin in recorded if isinstance(begin, SessionBegin)]
    assert [(begin.id, begin.parent, begin.parent_call) for begin in begins] == [
        ("run-1", None, None),
        ("sub-1", "run-1", "c2"),
        ("run-1-summarization-1", "run-1", None),
    ]
    helper = sessions(recorded)["sub-1"]
    assert helper[-1] == MessageRead(
        "step-2",
        "assistant",
        (Text("It says hi."),),
        created=1767323042250,
        usage=Usage(input=70, output=7),
        finish="stop",
    )


@pytest.mark.parametrize(
    "name", ["../secret.json", "/etc/passwd", "a/b.json", "..", "C:\\x.json", "a\0b", "link.json"]
)
def test_no_reference_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    secret = trajectory([step("user", "secret")])
    (tmp_path / "secret.json").write_text(json.dumps(secret))
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    path = folder / "trajectory.json"
    path.write_text(json.dumps(trajectory([step("user", "hi")], continued_trajectory_ref=name)))

    recorded, reports = read_all(AtifImporter(), path)

    assert len(recorded) == 2
    assert len(reports) == 1


def test_a_chain_that_comes_back_ends(tmp_path: Path) -> None:
    for name, following in (("a.json", "b.json"), ("b.json", "a.json")):
        value = trajectory([step("user", name)], continued_trajectory_ref=following)
        (tmp_path / name).write_text(json.dumps(value))

    recorded, reports = read_all(AtifImporter(), tmp_path / "a.json")

    assert [message.parts for message in recorded if isinstance(message, MessageRead)] == [
        (Text("a.json"),),
        (Text("b.json"),),
    ]
    assert len(reports) == 1


def trajectory(steps: list[Any], **more: Any) -> Json:
    numbered = [
        {"step_id": number, **step} if isinstance(step, dict) else step
        for number, step in enumerate(steps, 1)
    ]
    agent = {"name": "a", "version": "1", "model_name": "gpt-5"}
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": agent,
        "steps": numbered,
    } | more


def step(source: str, message: Any, **more: Any) -> Json:
    return {"source": source, "message": message, **more}


def read(tmp_path: Path, value: Json) -> tuple[list[Recorded], list[tuple[str, str]]]:
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(value))
    return read_all(AtifImporter(), path)


def boundary(kind: str, content: str | None, **more: Any) -> Json:
    management = {"type": "compaction", "boundary": kind, **more}
    results = [{"content": content}] if content is not None else []
    return step(
        "system",
        "Done.",
        observation={"results": results},
        extra={"context_management": management},
    )


def test_copies_after_a_compaction_say_what_it_kept(tmp_path: Path) -> None:
    last = [step("user", "and b?"), step("agent", "b is 2")]
    copies = [{**copied, "is_copied_context": True} for copied in last]

    recorded, _ = read(
        tmp_path,
        trajectory(
            [
                *(step("user", "a?"), step("agent", "a is 1"), *last),
                *(boundary("replace", "a is 1", tokens_before=90), *copies, step("user", "c?")),
            ]
        ),
    )

    assert [entry for entry in recorded if not isinstance(entry, MessageRead)][1:] == [
        CompactionRead("step-5", "a is 1", keeps_from="step-3", tokens_before=90)
    ]
    assert len([entry for entry in recorded if isinstance(entry, MessageRead)]) == 5


def test_a_continuation_without_new_copies_only_takes_away(tmp_path: Path) -> None:
    first = [step("user", "a?"), step("agent", "a is 1"), step("user", "b?")]
    copies = [{**copied, "is_copied_context": True} for copied in (first[0], first[2])]
    (tmp_path / "more.json").write_text(json.dumps(trajectory([*copies, step("agent", "2")])))

    recorded, _ = read(tmp_path, trajectory(first, continued_trajectory_ref="more.json"))

    assert [removed for removed in recorded if isinstance(removed, RemovedRead)] == [
        RemovedRead(("step-2",))
    ]
    assert not any(isinstance(entry, CompactionRead) for entry in recorded)


def test_what_was_pruned_is_named_where_the_recording_names_it(tmp_path: Path) -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": {}}
    result = {"results": [{"source_call_id": "c", "content": "long"}]}
    steps = [
        step("agent", "", tool_calls=[call], observation=result),
        boundary("truncate", None, outputs=[{"tool_call_id": "c", "shown": "…", "rule": "prune"}]),
        boundary("truncate", None),
    ]

    recorded, _ = read(tmp_path, trajectory(steps))

    assert recorded[3:] == [
        ReducedRead("c", "…", "prune"),
        GapRead("Older messages were taken out of the context here; which ones is not recorded."),
    ]


def test_results_without_a_call_id_belong_to_the_calls_of_their_step(tmp_path: Path) -> None:
    calls = [{"tool_call_id": call, "function_name": "keys", "arguments": {}} for call in "ab"]
    together = {"results": [{"content": "screen"}]}
    steps = [
        step("agent", "x", tool_calls=calls, observation=together),
        step("agent", "ls", observation=together),
    ]

    recorded, _ = read(tmp_path, trajectory(steps))

    assert [result for result in recorded if isinstance(result, ResultRead)] == [
        ResultRead("a", "screen"),
        ResultRead("step-2.command", "screen"),
    ]
    assert sum(isinstance(entry, GapRead) for entry in recorded) == 1


def test_a_broken_step_costs_only_itself(tmp_path: Path) -> None:
    steps = [step("user", "hi"), 7, step("nobody", "x"), step("agent", "hello")]

    recorded, reports = read(tmp_path, trajectory(steps))

    assert len([message for message in recorded if isinstance(message, MessageRead)]) == 2
    assert [place for place, _ in reports] == ["trajectory.json, step 2", "trajectory.json, step 3"]


def test_another_document_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"steps": []}')

    with pytest.raises(UserError, match="is no trajectory in ATIF"):
        list(AtifImporter().read(path, lambda _place, _what: None))


def test_the_oldest_version_is_read(tmp_path: Path) -> None:
    value = trajectory([step("user", "hi"), step("agent", "hello")]) | {
        "schema_version": "ATIF-v1.0"
    }

    recorded, _ = read(tmp_path, value)

    assert [type(entry).__name__ for entry in recorded] == [
        "SessionBegin",
        "MessageRead",
        "MessageRead",
    ]


def test_a_lone_continuation_says_that_its_beginning_is_elsewhere(tmp_path: Path) -> None:
    shutil.copy(REAL / "trajectory.cont-1.json", tmp_path)
    shutil.copy(REAL / "trajectory.summarization-1-summary.json", tmp_path)

    recorded, _ = read_all(AtifImporter(), tmp_path / "trajectory.cont-1.json")

    asked = [
        message
        for message in recorded
        if isinstance(message, MessageRead) and message.role == "assistant"
    ]
    assert [message.usage and message.usage.prompt for message in asked] == [400, 450, 500]
    gaps = [gap.sentence for gap in recorded if isinstance(gap, GapRead)]
    assert gaps[0] == "These steps were copied from a trajectory that is not in the recording."
