"""``%agent revert``, ``unrevert`` and ``cleanup`` are carried out and reported."""

from pathlib import Path

import pytest
from tests.frontends.operations.said import said
from tests.session.revert.test_revert import files, three_turns

from palimpsest.frontends.operation_text.revert_text import diff_text, revert_text
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.mime_bundle import (
    SEGMENT_MIME,
    TurnFacts,
    saved_changes,
    segment_bundle,
    turn_changes,
)
from palimpsest.frontends.turn_output.segments import Segment
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview


async def test_a_preview_names_what_goes_and_changes_nothing(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    was = files(tmp_path)

    lines = await said("revert --preview", session)
    marked, plain = lines.markdown, lines.plain_text

    assert plain.startswith("Would revert 3 messages.\n  user: three?")
    assert "a.txt would be brought back (+1 -2)" in plain
    assert "Nothing was changed." in plain
    assert "```diff\n--- a/a.txt" in marked
    assert files(tmp_path) == was


async def test_a_revert_its_undo_and_a_cleanup_are_said(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    assert "Reverted 3 messages." in (await said("revert", session)).plain_text
    assert "3 messages are here again." in (await said("unrevert", session)).plain_text
    await said("revert", session)
    assert (await said("cleanup", session)).plain_text.startswith("Removed 3 messages")
    assert "nothing to remove" in (await said("cleanup", session)).plain_text


async def test_conflicts_are_overwritten_only_when_said(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    (tmp_path / "a.txt").write_text("mine\n")

    with pytest.raises(UserError, match=r"in no conflict. Files with a conflict: a\.txt"):
        await said("revert --overwrite=b.txt", session)
    plain = (await said("revert", session)).plain_text
    assert "a.txt was left alone: changed since the agent left it" in plain
    (hint,) = [line for line in plain.splitlines() if line.startswith("Overwrite it")]
    command = hint.partition("%agent ")[2].rstrip(".")
    await said(command, session)

    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_the_diff_of_the_session(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    lines = await said("diff", session)
    marked, plain = lines.markdown, lines.plain_text

    assert plain == ("This session changed 2 files, +3 -1.\nM a.txt +2 -1\nA b.txt +1 -0")
    assert marked.count("```diff") == 2
    assert diff_text((), "last").plain_text == "That turn changed no file."


def test_backticks_in_a_patch_do_not_end_its_block() -> None:
    change = FileDiff(file="a.md", status="modified", patch="+```\n+x")

    assert diff_text([change]).markdown.endswith("````diff\n+```\n+x\n````")


def test_a_part_is_named() -> None:
    preview = RevertPreview(message_id="msg_0123456789abcdef", part_id="prt_1")

    assert "a part of message" in revert_text(preview).plain_text


async def test_a_cell_says_and_saves_what_its_turn_changed(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    messages = session.snapshot().messages
    changes = turn_changes(messages, messages[0].id)
    turn = [
        message for message in messages if getattr(message.info, "parent_id", "") == messages[0].id
    ]
    frame = TurnFacts(session.id, messages[0].id, (0, 9), changes=changes)

    made = segment_bundle(
        turn, Segment(0, SegmentCut()), frame, notes=OutlineNotes.of_records(()), scrub=str
    )

    assert made["text/plain"].endswith("1 file changed, +1 -1: a.txt")
    assert [change["file"] for change in made[SEGMENT_MIME]["changes"]] == ["a.txt"]
    assert "before" not in made[SEGMENT_MIME]["changes"][0]
    assert (
        saved_changes([changes[0].model_copy(update={"patch": "x" * 9_000})])[0].get("patch")
        is None
    )
