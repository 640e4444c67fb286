"""Where a constraint was said, whether a compaction kept it, and which later call touches it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.request_contents.compaction_losses import CompactionLoss
from palimpsest.review.request_contents.replaced_constraints import is_user_text
from palimpsest.transcript.timeline import Timeline, TimelineItem

DEMAND = "Never delete anything in the folder archive."


def compacted(folder: Path, summary: str, command: str) -> CompactionLoss:
    """Return the compaction of a recording of pi: a demand, an answer, a summary, a call."""
    rows: list[dict[str, Any]] = [
        {
            "type": "session",
            "version": 3,
            "id": "p1",
            "cwd": "/w",
            "timestamp": "2026-08-01T10:00:00.000Z",
        }
    ]

    def message(name: str, role: str, content: list[dict[str, Any]]) -> None:
        parent = rows[-1]["id"] if len(rows) > 1 else None
        rows.append(
            {
                "type": "message",
                "id": name,
                "parentId": parent,
                "timestamp": f"2026-08-01T10:00:{len(rows):02d}.000Z",
                "message": {"role": role, "content": content, "provider": "x", "model": "m"},
            }
        )

    message("u1", "user", [{"type": "text", "text": f"Tidy up the project. {DEMAND}"}])
    message("a1", "assistant", [{"type": "text", "text": "I looked around."}])
    message("u2", "user", [{"type": "text", "text": "Go on."}])
    kept = {
        "firstKeptEntryId": "u2",
        "tokensBefore": 9_000,
        "timestamp": "2026-08-01T10:00:20.000Z",
    }
    rows.append({"type": "compaction", "id": "c1", "parentId": "u2", "summary": summary, **kept})
    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": command}}
    message("a2", "assistant", [call])
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_recording(path) as recording:
        (compaction,) = recording[0].compactions()
    return compaction


def test_a_constraint_that_the_summary_drops_is_told_with_the_call_that_touches_it(
    tmp_path: Path,
) -> None:
    loss = compacted(tmp_path, "The project was looked at.", "rm -r archive/old")

    (constraint,) = loss.constraints
    assert (
        constraint.sentence,
        constraint.shown_from,
        constraint.shown_until,
        constraint.is_kept,
        constraint.call,
    ) == (DEMAND, 0, 0, False, 1)
    assert loss.found["constraints"] == 1
    sentence = next(sentence for sentence in loss.sentences if DEMAND in sentence)
    assert "of request 1; a call of request 2 holds one of its words" in sentence
    assert sentence.endswith("Words are compared, not meanings.")
    assert loss.json()["constraints"] == [
        {"constraint": DEMAND, "said": 1, "shown_until": 1, "kept": "no", "call": 2}
    ]
    assert "meanings" in loss.constraints_table.text


@pytest.mark.parametrize(
    ("summary", "command", "kept", "call"),
    [
        ("The user forbids to delete in the folder archive.", "ls", True, None),
        ("The project was looked at.", "ls", False, None),
    ],
)
def test_a_kept_one_and_one_that_no_call_touches(
    tmp_path: Path, summary: str, command: str, *, kept: bool, call: int | None
) -> None:
    (constraint,) = compacted(tmp_path, summary, command).constraints

    assert (constraint.is_kept, constraint.call) == (kept, call)


def test_what_a_parent_tells_its_subagent_and_what_a_program_writes_are_no_persons_words() -> None:
    item = TimelineItem(index=0, id="m/p", kind="user", message="m", turn=1, entered=0, chars=1)
    own, child = Timeline(session="s"), Timeline(session="s", parent="p")

    assert is_user_text(own, item)
    assert not is_user_text(child, item)
    assert not is_user_text(own, replace(item, by_program=True))
    assert not is_user_text(own, replace(item, kind="output"))
