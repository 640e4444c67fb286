"""A revert hides messages and restores files, can be undone, and is final after a cleanup."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, requested, until

from palimpsest.loop import step_snapshots
from palimpsest.loop.run_inputs.run_context import ProjectFiles
from palimpsest.model.script import calls, says, stalls
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.sharing.share_page import page_html
from palimpsest.store.file_snapshots.snapshots import SnapshotLimits, Snapshots
from palimpsest.store.file_snapshots.trees import sweep_snapshots
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules
from palimpsest.transcript.errors import NotFound, SessionBusy, UserError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import (
    PatchPart,
    SnapshotPart,
    StepFinishPart,
    StepStartPart,
    ToolPart,
)
from palimpsest.transcript.session_record.events import SessionDiff
from palimpsest.transcript.session_record.sessions import standing_revert
from palimpsest.transcript.values import Reply


def make_harness(
    root: Path, *answers: Any, limits: SnapshotLimits | None = None, **more: Any
) -> SessionHarness:
    layout = open_project_folder(root)
    snapshots = Snapshots(
        root, layout.snapshots, rules=GitignoreRules, excluded_folders=ALWAYS_SKIPPED, limits=limits
    )
    fields = {"snapshots": snapshots} | more
    return SessionHarness(root, ScriptedModel(*answers), store=JsonlStore(layout), **fields)


def writes(path: str, content: str) -> Any:
    return calls("write", path=path, content=content)


def files(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".palimpsest" not in path.parts
    }


def words(session: LiveSession) -> list[str]:
    return [
        part.text
        for message in session.snapshot().messages
        for part in message.parts
        if part.type == "text" and not part.synthetic
    ]


async def three_turns(root: Path) -> tuple[SessionHarness, LiveSession]:
    (root / "a.txt").write_text("one\n")
    made = make_harness(
        root,
        writes("a.txt", "two\n"),
        says("First."),
        calls("bash", command="echo new > b.txt; chmod 755 b.txt"),
        says("Second."),
        writes("a.txt", "three\nfour\n"),
        says("Third."),
        says("Fourth."),
        says("Fifth."),
    )
    session = await made.session()
    for prompt in ("one?", "two?", "three?"):
        await ask(session, prompt, yes=True)
    return made, session


async def test_takes_back_the_newest_prompt_and_its_files(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    looked = await session.reverts.preview()
    done = await session.reverts.revert()

    assert [message.excerpt for message in looked.messages] == ["three?", "write a.txt", "Third."]
    assert [(file.file, file.action) for file in looked.files] == [("a.txt", "restore")]
    assert looked.files[0].diff is not None
    assert (looked.files[0].diff.additions, looked.files[0].diff.deletions) == (1, 2)
    assert (looked.done, done.done, done.files) == (False, True, looked.files)
    assert files(tmp_path) == {"a.txt": "two\n", "b.txt": "new\n"}
    assert "Third." in words(session)  # it is marked, and stays until a cleanup


async def test_a_prompt_keeps_the_files_as_it_found_them(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    layout = open_project_folder(tmp_path)
    snapshots = Snapshots(
        tmp_path, layout.snapshots, rules=GitignoreRules, excluded_folders=ALWAYS_SKIPPED
    )
    (tmp_path / "c.txt").write_text("my own\n")
    await ask(session, "four?")

    messages = session.snapshot().messages
    found = [
        [part.snapshot for part in message.parts if isinstance(part, SnapshotPart)]
        for message in messages
        if isinstance(message.info, UserMessage)
    ]
    behind = [
        part.snapshot
        for message in messages
        for part in message.parts
        if isinstance(part, StepFinishPart) and part.reason == "stop"
    ]

    assert [len(patch_list) for patch_list in found] == [1] * 4
    taken = [one for (one,) in found]
    assert taken[1:3] == behind[:2]
    assert snapshots.changed_paths(behind[2], taken[3]) == ("c.txt",)
    records = await made.records(session)
    assert all(
        rebuilt_request.matches for rebuilt_request in rebuild_all(made.store, session.id, records)
    )


async def test_unrevert_brings_everything_back(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    was = files(tmp_path)

    await session.reverts.revert(session.snapshot().messages[0].id)
    assert files(tmp_path) == {"a.txt": "one\n"}
    await session.reverts.unrevert()

    assert files(tmp_path) == was
    assert (tmp_path / "b.txt").stat().st_mode & 0o777 == 0o755
    assert standing_revert(session.snapshot().session) is None


async def test_reverts_one_after_the_other_go_further_back(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    was = files(tmp_path)

    for expected in ({"a.txt": "two\n", "b.txt": "new\n"}, {"a.txt": "two\n"}, {"a.txt": "one\n"}):
        await session.reverts.revert("last")
        assert files(tmp_path) == expected
    with pytest.raises(UserError, match="nothing was asked"):
        await session.reverts.revert("last")
    await session.reverts.unrevert()

    assert files(tmp_path) == was


async def test_a_later_place_brings_files_forward_again(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    users = [m.id for m in session.snapshot().messages if isinstance(m.info, UserMessage)]

    await session.reverts.revert(users[0])
    await session.reverts.revert(users[2])

    assert files(tmp_path) == {"a.txt": "two\n", "b.txt": "new\n"}


async def test_the_model_does_not_see_what_was_taken_back(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)

    await session.reverts.revert("last")
    messages = session.basis().view.messages
    await ask(session, "instead?")

    newest = requested(await made.records(session))[-1].request
    assert "Third." not in str(messages)
    assert [text for text in words(session) if text.endswith("?")] == ["one?", "two?", "instead?"]
    gone = {part for item in newest.items for part in item.part_ids}
    known = {part.id for message in session.snapshot().messages for part in message.parts}
    assert gone <= known
    assert standing_revert(session.snapshot().session) is None


async def test_taking_back_an_answer_takes_back_its_question(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    answer = session.snapshot().messages[-1]

    done = await session.reverts.revert(answer.id)

    assert done.messages[0].excerpt == "three?"


@pytest.mark.parametrize("by_part", [True, False])
async def test_what_goes_back_to_its_question_takes_the_files_of_all_its_steps(
    tmp_path: Path,
    by_part: bool,  # noqa: FBT001
) -> None:
    made = make_harness(
        tmp_path, writes("a.txt", "1"), writes("b.txt", "2"), says("Done."), says("Ok.")
    )
    session = await made.session()
    await ask(session, "go", yes=True)
    message = session.snapshot().messages[2]
    call = next(part for part in message.parts if isinstance(part, ToolPart))

    done = await session.reverts.revert(call.id if by_part else message.id)

    assert len(done.messages) == 4
    assert [file.file for file in done.files] == ["a.txt", "b.txt"]
    assert files(tmp_path) == {}
    await session.reverts.unrevert()
    assert files(tmp_path) == {"a.txt": "1", "b.txt": "2"}


async def test_a_part_in_the_middle_of_an_answer_can_be_taken_back(tmp_path: Path) -> None:
    made = make_harness(
        tmp_path, says("Look.").calls("bash", command="echo x > x.txt"), says("Done."), says("Ok.")
    )
    session = await made.session()
    await ask(session, "go", yes=True)
    message = session.snapshot().messages[1]
    call = next(part for part in message.parts if isinstance(part, ToolPart))

    done = await session.reverts.revert(call.id)
    assert (done.part_id, files(tmp_path)) == (call.id, {})
    await session.reverts.cleanup()

    left = session.snapshot().messages
    assert [message.id for message in left] == [left[0].id, message.id]
    assert call.id not in {part.id for part in left[1].parts}
    assert (await ask(session, "on")).text == "Ok."


async def test_a_file_that_a_person_changed_is_named_and_left_alone(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    (tmp_path / "a.txt").write_text("mine\n")

    looked = await session.reverts.preview()
    done = await session.reverts.revert()

    assert looked.conflicts == ("a.txt",)
    assert looked.files[0].reason == "changed since the agent left it"
    assert done.conflicts == ("a.txt",)
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    await session.reverts.unrevert()
    await session.reverts.revert(overwrite=["a.txt"])
    assert (tmp_path / "a.txt").read_text() == "two\n"
    await session.reverts.unrevert()
    assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_work_of_a_person_between_two_steps_is_a_conflict(tmp_path: Path) -> None:
    made = make_harness(tmp_path, writes("a.txt", "1"), says("a"), writes("a.txt", "2"), says("b"))
    session = await made.session()
    first = await ask(session, "one", yes=True)
    (tmp_path / "a.txt").write_text("mine")
    await ask(session, "two", yes=True)

    looked = await session.reverts.preview(first.turn_id)

    assert looked.files[0].action == "conflict"
    assert "between two steps" in (looked.files[0].reason or "")


async def test_what_changed_after_the_revert_is_not_overwritten_by_its_undo(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    await session.reverts.revert()
    (tmp_path / "a.txt").write_text("mine\n")

    done = await session.reverts.unrevert()

    assert done.conflicts == ("a.txt",)
    assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_a_running_turn_refuses(tmp_path: Path) -> None:
    made = make_harness(tmp_path, says("a"), stalls())
    session = await made.session()
    await ask(session, "one")
    running = asyncio.create_task(ask(session, "two"))
    await until(lambda: session.runner.active_run is not None)

    for operation in (session.reverts.revert(), session.reverts.unrevert()):
        with pytest.raises(SessionBusy, match="wait for its answer"):
            await operation
    session.cancel()
    await running


async def test_unknown_names_and_no_revert_change_nothing(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    before = len(await made.records(session))

    with pytest.raises(NotFound):
        await session.reverts.revert("msg_nowhere")
    with pytest.raises(UserError, match="Nothing is reverted"):
        await session.reverts.unrevert()

    assert await session.reverts.cleanup() == 0
    assert len(await made.records(session)) == before


async def test_a_step_and_a_turn_say_what_they_changed(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)

    step = session.snapshot().messages[1]
    start, finish, patch = (
        next(part for part in step.parts if isinstance(part, kind))
        for kind in (StepStartPart, StepFinishPart, PatchPart)
    )
    asked = session.snapshot().messages[0].info
    whole = [r.event for r in await made.records(session) if isinstance(r.event, SessionDiff)]

    assert (patch.hash, patch.after, patch.files) == (start.snapshot, finish.snapshot, ("a.txt",))
    assert isinstance(asked, UserMessage)
    assert asked.summary is not None
    (diff,) = asked.summary["diffs"]
    assert (diff["file"], diff["additions"], diff["deletions"]) == ("a.txt", 1, 1)
    assert "-one\n+two" in diff["patch"]
    newest = {diff["file"]: (diff["additions"], diff["deletions"]) for diff in whole[-1].diff}
    assert newest == {"a.txt": (2, 1), "b.txt": (1, 0)}
    info = session.snapshot().session
    assert info is not None
    assert info.summary == {"additions": 3, "deletions": 1, "files": 2}


async def test_the_diff_of_a_turn_and_of_the_session(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    whole = await session.reverts.diff()
    newest = await session.reverts.diff("last")

    assert [(diff.file, diff.additions, diff.deletions) for diff in whole] == [
        ("a.txt", 2, 1),
        ("b.txt", 1, 0),
    ]
    assert [(diff.file, diff.additions, diff.deletions) for diff in newest] == [("a.txt", 2, 1)]
    await session.reverts.revert()
    assert [diff.file for diff in await session.reverts.diff("last")] == ["b.txt"]


async def test_the_sessions_own_notebook_is_the_pages(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("{}")
    made = make_harness(
        tmp_path, calls("bash", command="echo 1 > a.ipynb; echo 1 > b.ipynb"), says("a")
    )
    session = await made.session()
    await ask(session, "go", yes=True)

    done = await session.reverts.revert()

    assert [file.file for file in done.files] == ["b.ipynb"]
    assert (tmp_path / "a.ipynb").read_text() == "1\n"


async def test_without_snapshots_messages_are_taken_back_and_it_says_so(tmp_path: Path) -> None:
    made = make_harness(tmp_path, writes("a.txt", "1"), says("a"), snapshots=None)
    session = await made.session()
    await ask(session, "go", yes=True)

    done = await session.reverts.revert()

    assert (done.files, len(done.messages)) == ((), 3)
    assert "snapshot = false" in (done.problem or "")
    assert files(tmp_path) == {"a.txt": "1"}


async def test_a_project_that_is_too_large_says_so_and_the_turn_goes_on(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("x")
    made = make_harness(tmp_path, writes("a.txt", "1"), says("a"), limits=SnapshotLimits(files=5))
    session = await made.session()
    answer = await ask(session, "go", yes=True)

    looked = await session.reverts.preview()

    assert answer.text == "a"
    assert "more than 5 files" in (looked.problem or "")
    assert looked.files == ()


async def test_a_stopped_turn_can_be_taken_back_too(tmp_path: Path) -> None:
    made = make_harness(tmp_path, calls("bash", command="echo 1 > x.txt; sleep 30"))
    session = await made.session()
    running = asyncio.create_task(ask(session, "go", yes=True))
    await until(lambda: (tmp_path / "x.txt").exists())
    session.cancel()
    await running

    await session.reverts.revert()

    assert files(tmp_path) == {}


async def test_a_revert_stands_after_the_session_is_opened_again(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    await session.reverts.revert()
    await made.workspace.close()

    again = make_harness(tmp_path, says("x"), kernel_id="kernel-two")
    session = await again.session()

    assert standing_revert(session.snapshot().session) is not None
    await session.reverts.unrevert()
    assert files(tmp_path)["a.txt"] == "three\nfour\n"
    await again.workspace.close()


async def test_a_cleanup_is_final_and_survives_opening(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    await session.reverts.revert()

    removed = await session.reverts.cleanup()

    assert removed == 3
    with pytest.raises(UserError, match="Nothing is reverted"):
        await session.reverts.unrevert()
    await made.workspace.close()
    again = make_harness(tmp_path, kernel_id="kernel-two")
    assert "Third." not in words(await again.session())
    await again.workspace.close()


async def test_snapshots_go_with_the_sessions_that_name_them(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    await made.workspace.close()
    layout = open_project_folder(tmp_path)
    later = time.time() + 7_200

    cleanup = sweep_snapshots(layout, later, 0, delete=True)
    again = make_harness(tmp_path, kernel_id="kernel-two")
    await (await again.session()).reverts.revert()
    assert (cleanup.unneeded_bytes, files(tmp_path)["a.txt"]) == (0, "two\n")
    await again.workspace.close()
    JsonlStore(layout).delete(session.id)
    gone = sweep_snapshots(layout, later + 7_200, 0, delete=True)

    assert gone.unneeded_bytes > 0
    assert not list(layout.snapshots.glob("*.pack"))


async def test_a_step_that_changed_more_files_than_it_names_is_taken_back_whole(
    tmp_path: Path,
) -> None:
    made = make_harness(
        tmp_path, calls("bash", command="for n in $(seq 600); do echo $n > f$n; done")
    )
    session = await made.session()
    await ask(session, "go", yes=True)
    part = next(p for m in session.snapshot().messages for p in m.parts if p.type == "patch")

    assert (len(part.files), part.more) == (500, 100)
    assert len(await session.reverts.diff()) == 600
    await session.reverts.revert()
    assert files(tmp_path) == {}


async def test_what_is_taken_back_leaves_the_project_in_no_page(tmp_path: Path) -> None:
    made, session = await three_turns(tmp_path)
    await session.reverts.revert()
    await session.journal.flush()

    shared = "".join(page_html(made.store, session.id, {}))

    assert "Second." in shared
    assert "Third." not in shared
    assert "Third." in words(session)


async def test_a_prompt_that_comes_while_files_go_back_is_not_taken_back_too(
    tmp_path: Path,
) -> None:
    _, session = await three_turns(tmp_path)

    taking_back = asyncio.create_task(session.reverts.revert())
    await asyncio.sleep(0)  # it has begun, and reads files in a thread
    answer = await ask(session, "instead?")
    await taking_back
    await session.reverts.make_final()

    assert answer.text == "Fourth."
    assert files(tmp_path) == {"a.txt": "two\n", "b.txt": "new\n"}
    assert words(session)[-2:] == ["instead?", "Fourth."]
    assert "Third." not in words(session)


WHITELISTS: dict[str, dict[str, str]] = {
    "by suffix": {".gitignore": "*\n!*/\n!*.py\n"},
    "a folder": {".gitignore": "*\n!/lesson/\n!/lesson/**\n"},
    "only what lies above": {".gitignore": "/*\n!/lesson/\n"},
    "without a slash": {".gitignore": "/*\n!lesson\n"},
    "a file in a folder": {".gitignore": "/*\n!/lesson\n/lesson/*\n!/lesson/a.py\n"},
    "nested": {".gitignore": "lesson/*\n", "lesson/.gitignore": "!*.py\n"},
    "nested, of all": {"lesson/.gitignore": "*\n!*/\n!a.py\n"},
    "with a BOM": {".gitignore": "\ufeff*\n!*/\n!*.py\n"},
    "with CRLF": {".gitignore": "*\r\n!*/\r\n!*.py\r\n"},
    "with BOM and CRLF": {".gitignore": "\ufeff*\r\n!*/\r\n!*.py\r\n"},
    "with escapes": {".gitignore": "*\n!*/\n!\\a.p\\y\n"},
    "with blanks behind": {".gitignore": "*\n!*/\n!*.py   \n"},
    "with a range": {".gitignore": "*\n!*/\n![a-c].py\n"},
    "with two stars": {".gitignore": "*\n!*/\n!**/lesson/**\n"},
    "with broken lines": {".gitignore": "[\n*\n!*/\n![z-\n!*.py\n"},
    "the last line without an end": {".gitignore": "*\n!*/\n!*.py"},
}


@pytest.mark.parametrize("rules", WHITELISTS.values(), ids=WHITELISTS.keys())
async def test_what_a_whitelist_does_not_ignore_is_reverted(
    tmp_path: Path, rules: dict[str, str]
) -> None:
    (tmp_path / "lesson").mkdir()
    (tmp_path / "lesson/a.py").write_text("one\n")
    for name, text in rules.items():
        (tmp_path / name).write_bytes(text.encode())
    made = make_harness(tmp_path, writes("lesson/a.py", "two\n"), says("Done."))
    session = await made.session()
    await ask(session, "change it", yes=True)

    assert [diff.file for diff in await session.reverts.diff()] == ["lesson/a.py"]
    done = await session.reverts.revert()

    assert [(file.file, file.action) for file in done.files] == [("lesson/a.py", "restore")]
    assert (tmp_path / "lesson/a.py").read_text() == "one\n"


async def test_a_file_of_which_no_snapshot_is_kept_is_named_when_its_change_stays(
    tmp_path: Path,
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.txt"
    project.mkdir()
    (project / ".gitignore").write_text("*.log\nout/\n")
    (project / "out").mkdir()
    (project / "out/b.txt").write_text("was\n")
    made = make_harness(
        project,
        writes("a.log", "new\n"),
        writes("out/b.txt", "new\n"),
        writes(".cache/c.txt", "new\n"),
        writes(str(outside), "new\n"),
        writes("d.txt", "new\n"),
        calls("edit", path="d.txt", old="nothing like it", new="x"),
        says("Done."),
    )
    session = await made.session()
    await ask(session, "write them", yes=True)

    looked = await session.reverts.preview()
    done = await session.reverts.revert()

    left_out = "it was left out of the snapshot by an ignore rule"
    assert {file.file: (file.action, file.reason) for file in looked.files} == {
        "a.log": ("impossible", left_out),
        "out/b.txt": ("impossible", left_out),
        ".cache/c.txt": ("impossible", "it lies in a folder that is never kept or brought back"),
        str(outside): ("impossible", "it lies outside the project, where no earlier state is kept"),
        "d.txt": ("delete", None),
    }
    assert done.files == looked.files
    assert (project / "out/b.txt").read_text() == "new\n"
    assert not (project / "d.txt").exists()


async def test_what_a_person_saved_while_no_tool_ran_is_not_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_snapshots, "MIN_PERSON_SECONDS", 0)
    (tmp_path / "mine.ipynb").write_text("one")
    taken = []
    take_snapshot = Snapshots.take_snapshot

    def counted(self: Snapshots, *words: Any) -> str:
        taken.append(take_snapshot(self, *words))
        if len(taken) == 1:
            (tmp_path / "notes.txt").write_text("saved while the model wrote")
        return taken[-1]

    monkeypatch.setattr(Snapshots, "take_snapshot", counted)
    command = "echo one > made.txt; echo of the agent > both.txt"
    made = make_harness(tmp_path, calls("bash", command=command), says("Done."))
    session = await made.session()
    turn = asyncio.create_task(ask(session, "Go."))
    await until(lambda: session.snapshot().asks)
    await until(lambda: len(taken) == 3)  # before the step, before its tools, while they wait

    (tmp_path / "mine.ipynb").write_text("two")
    (tmp_path / "both.txt").write_text("of the person")
    session.reply(session.snapshot().asks[0].id, Reply(answer="once"))
    await turn

    patch = next(
        part
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, PatchPart)
    )
    assert patch.files == ("both.txt", "made.txt")
    await session.reverts.revert()
    assert files(tmp_path) == {
        "both.txt": "of the person",
        "mine.ipynb": "two",
        "notes.txt": "saved while the model wrote",
    }


async def test_what_a_person_changes_while_a_question_waits_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str | None] = []
    take = step_snapshots.take_snapshot

    async def counted(of_files: ProjectFiles) -> str | None:
        taken.append(await take(of_files))
        return taken[-1]

    monkeypatch.setattr(step_snapshots, "take_snapshot", counted)
    monkeypatch.setattr(step_snapshots, "MIN_PERSON_SECONDS", 0)
    for name in ("both.txt", "mine.txt"):
        (tmp_path / name).write_text("one\n")
    made = make_harness(
        tmp_path,
        writes("new.txt", "new\n").calls("write", path="both.txt", content="agent\n"),
        says("Done."),
    )
    session = await made.session()
    answering = asyncio.ensure_future(ask(session, "Write them."))
    for number in (1, 2):
        asked = (await until(lambda: session.snapshot().asks))[0]
        # The snapshots before the step and its tools, at a question, at its answer, and at the next question.
        await until(lambda expected=2 * number + 1: len(taken) == expected)
        if number == 2:
            (tmp_path / "mine.txt").write_text("two\n")
        session.reply(asked.id, Reply(answer="once"))
        await until(lambda old=asked.id: old not in {ask.id for ask in session.snapshot().asks})
    await answering

    [prompt] = [m for m in session.snapshot().messages if isinstance(m.info, UserMessage)]
    assert prompt.info.summary is not None
    assert [diff["file"] for diff in prompt.info.summary["diffs"]] == ["both.txt", "new.txt"]
    done = await session.reverts.revert()
    assert {file.file: file.action for file in done.files} == {
        "both.txt": "restore",
        "new.txt": "delete",
    }
    assert files(tmp_path) == {"both.txt": "one\n", "mine.txt": "two\n"}
    await session.reverts.unrevert()
    assert files(tmp_path) == {"both.txt": "agent\n", "mine.txt": "two\n", "new.txt": "new\n"}
