"""``%agent revert``, ``unrevert`` and ``cleanup`` are parsed, carried out and reported."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.session.revert.test_revert import files, three_turns
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.magic.line_parser import OptionError, parse
from palimpsest.frontends.protocol.commands import COMMANDS
from palimpsest.frontends.subcommands.reverts import (
    answer_revert_command,
    diff_text,
    fenced,
    run_revert_command,
    said,
)
from palimpsest.frontends.turn_output.file_changes import saved_changes, turn_changes
from palimpsest.frontends.turn_output.mime_bundle import MIME, Frame, bundle
from palimpsest.frontends.turn_output.segments import Position, Segment
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.reverts import RevertPreview


@pytest.mark.parametrize(
    ("line", "command", "argument"),
    [
        ("revert", "revert", ""),
        ("revert last", "revert", "last"),
        ("revert abcd1234 --preview", "revert", "abcd1234 --preview"),
        ("revert --overwrite=a.txt,b.txt", "revert", "--overwrite=a.txt,b.txt"),
        ("unrevert", "unrevert", ""),
        ("cleanup", "cleanup", ""),
        ("diff", "diff", ""),
        ("diff last", "diff", "last"),
    ],
)
def test_a_line_is_read_as_a_subcommand(line: str, command: str, argument: str) -> None:
    request = parse(line)

    assert (request.command, request.argument) == (command, argument)


@pytest.mark.parametrize(
    "line", ["revert the change in a.py", "diff the two files", "cleanup the names"]
)
def test_a_sentence_stays_a_prompt(line: str) -> None:
    assert parse(line).prompt == line


def test_a_misspelt_word_is_asked_about() -> None:
    with pytest.raises(OptionError, match="Did you mean %agent unrevert"):
        parse("unrevret")


async def do(name: str, text: str, session: Any) -> tuple[str, str]:
    """Run a subcommand in a thread, as the magic does; return its Markdown and its plain text."""
    loop = asyncio.get_running_loop()

    def submit(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(LAST_RESORT_SECONDS)

    return await asyncio.to_thread(run_revert_command, name, text, session.reverts, submit)


async def test_a_preview_names_what_goes_and_changes_nothing(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    was = files(tmp_path)

    marked, plain = await do("revert", "--preview", session)

    assert plain.startswith("Would revert 3 messages.\n  user: three?")
    assert "a.txt would be brought back (+1 -2)" in plain
    assert "Nothing was changed." in plain
    assert "```diff\n--- a/a.txt" in marked
    assert files(tmp_path) == was


async def test_a_revert_its_undo_and_a_cleanup_are_said(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    assert "Reverted 3 messages." in (await do("revert", "", session))[1]
    assert "3 messages are here again." in (await do("unrevert", "", session))[1]
    await do("revert", "", session)
    assert (await do("cleanup", "", session))[1].startswith("Removed 3 messages")
    assert "nothing to remove" in (await do("cleanup", "", session))[1]


async def test_conflicts_are_overwritten_only_when_said(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    (tmp_path / "a.txt").write_text("mine\n")

    with pytest.raises(UserError, match=r"in no conflict. Files with a conflict: a\.txt"):
        await do("revert", "--overwrite=b.txt", session)
    plain = (await do("revert", "", session))[1]
    assert "a.txt was left alone: changed since the agent left it" in plain
    (hint,) = [line for line in plain.splitlines() if line.startswith("Overwrite it")]
    command = hint.partition("%agent revert ")[2].rstrip(".")
    await do("revert", command, session)

    assert (tmp_path / "a.txt").read_text() == "two\n"


async def test_the_diff_of_the_session(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    marked, plain = await do("diff", "", session)

    assert plain == ("This session changed 2 files, +3 -1.\nM a.txt +2 -1\nA b.txt +1 -0")
    assert marked.count("```diff") == 2
    assert diff_text((), "last")[1] == "That turn changed no file."


async def test_a_page_commands_the_same(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    async def command(action: str, **fields: Any) -> Any:
        made = COMMANDS.validate_python(
            {"type": "revert", "id": action, "action": action, **fields}
        )
        return await answer_revert_command(made, session.reverts)  # type: ignore[arg-type]  # it is a Revert

    looked = await command("preview", target="last")
    done = await command("revert", target="last")
    shown = await command("diff", target="last")
    again = await command("unrevert")

    assert (looked.revert.done, done.revert.done, again.revert.done) == (False, True, True)
    assert [one.file for one in shown.diffs] == ["b.txt"]
    assert (await command("cleanup")).late


def test_backticks_in_a_patch_do_not_end_its_block() -> None:
    assert fenced("+```\n+x").startswith("````diff\n")


def test_a_part_is_named() -> None:
    preview = RevertPreview(message_id="msg_0123456789abcdef", part_id="prt_1")

    assert "a part of message" in said(preview)[1]


async def test_a_cell_says_and_saves_what_its_turn_changed(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    messages = session.snapshot().messages
    changes = turn_changes(messages, messages[0].id)
    turn = [one for one in messages if getattr(one.info, "parent_id", "") == messages[0].id]
    frame = Frame(session.id, messages[0].id, (0, 9), changes=changes)

    made = bundle(turn, Segment(0, Position()), frame, notes=OutlineNotes.of(()), scrub=str)

    assert made["text/plain"].endswith("1 file changed, +1 -1: a.txt")
    assert [one["file"] for one in made[MIME]["changes"]] == ["a.txt"]
    assert "before" not in made[MIME]["changes"][0]
    assert (
        saved_changes([changes[0].model_copy(update={"patch": "x" * 9_000})])[0].get("patch")
        is None
    )
