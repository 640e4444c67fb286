"""Take snapshots of the files before and after each step, and record the changes of step and turn.

The first snapshot is taken while the model writes, and only a tool waits for it; the second one only where tools ran.
Snapshots and diffs are made in threads. Where no snapshot can be taken, a sentence reports it, and the turn continues.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, TypeVar

from palimpsest.context.visible_messages import begins_turn, newest_turn
from palimpsest.loop.run_inputs.run_context import ProjectFiles
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.store.file_snapshots.file_diffs import join_diffs, snapshot_diffs
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import Message, UserMessage, parts_of
from palimpsest.transcript.parts import PatchPart, SnapshotPart
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated, SessionDiff
from palimpsest.transcript.session_record.reverts import FileDiff

MAX_TURN_PATCH_CHARS = 60_000
"""Maximum characters of diffs for all files of a turn; users read less, and all of it is sent to every page."""
MAX_TURN_DIFFS = 200
"""Maximum files of a turn whose changed lines are stored."""
MAX_SESSION_FILES = 1_000
"""Maximum files in ``session.diff``, which is written again after each turn that changed files."""
MIN_PERSON_SECONDS = 0.2
"""Minimum time in which a person answers a question or saves a file; what is faster was a rule or a program."""
MAX_DIFF_SECONDS = 2.0
"""Maximum time that the end of a turn waits for its diffs; diffs that take longer are written later."""

T = TypeVar("T")


async def take_snapshot(files: ProjectFiles) -> str | None:
    """Take a snapshot and return its hash; None where that fails, with the reason in ``files.problem``."""
    try:
        snapshot_hash = await asyncio.to_thread(files.snapshots.take_snapshot, files.leave_out())
    except UserError as problem:
        files.problem = str(problem)
        return None
    files.problem = ""
    return snapshot_hash


class StepFiles:
    """The snapshots of one step; the one before a turn's first step is also stored with its prompt."""

    def __init__(
        self, log: SessionLog, files: ProjectFiles | None, processor: StreamProcessor
    ) -> None:
        self._log = log
        self._files = files
        self._processor = processor
        self._before_task: asyncio.Task[str | None] | None = None
        self._started_at = 0.0
        self._has_run_tools = False

    def start_snapshot(self) -> None:
        """Start the snapshot before the step, without waiting for it."""
        if self._files is not None:
            loop = asyncio.get_running_loop()
            self._started_at = loop.time()
            self._before_task = loop.create_task(take_snapshot(self._files))

    async def wait_before_tools(self) -> None:
        """Wait until the snapshot before the step is stored; what changed while the model wrote is not the step's."""
        if self._before_task is not None:
            snapshot_before = await self._before_task
            self._record_snapshot(snapshot_before)
            self._has_run_tools = True
            seconds = asyncio.get_running_loop().time() - self._started_at
            if snapshot_before is not None and seconds >= MIN_PERSON_SECONDS:
                self.start_snapshot()
                await asyncio.wait({self._before_task})

    async def leave_out_wait(self, answer: Awaitable[T]) -> T:
        """Return a person's answer; what changes in files until then is the person's work, not the step's.

        To be called only while no other tool of the step works.
        """
        answer_task = asyncio.ensure_future(answer)
        try:
            await asyncio.wait({answer_task}, timeout=MIN_PERSON_SECONDS)
            if answer_task.done() or not await self._record_interval():
                return await answer_task
            try:
                return await answer_task
            finally:
                self.start_snapshot()
                if self._before_task is not None:
                    await asyncio.wait({self._before_task})
        finally:
            answer_task.cancel()

    async def _record_interval(self) -> bool:
        """Record what the step changed so far; False where there are no snapshots."""
        if self._files is None or self._before_task is None or not self._has_run_tools:
            return False
        snapshot_before = await self._before_task
        snapshot_after = await take_snapshot(self._files) if snapshot_before is not None else None
        if snapshot_before is None or snapshot_after is None:
            return False
        changed_paths = await _changed_paths(self._files, snapshot_before, snapshot_after)
        self._processor.files_changed(snapshot_before, snapshot_after, changed_paths)
        return True

    async def record_changes(self) -> None:
        """Record the step's changes; a second call does nothing."""
        if self._files is None or self._before_task is None:
            return
        snapshot_task, self._before_task = self._before_task, None
        snapshot_before = await snapshot_task
        if not self._has_run_tools:
            self._record_snapshot(snapshot_before)
            self._processor.files_changed(snapshot_before, snapshot_before, ())
            return
        snapshot_after = await take_snapshot(self._files) if snapshot_before is not None else None
        changed_paths: tuple[str, ...] = ()
        if snapshot_before is not None and snapshot_after is not None:
            changed_paths = await _changed_paths(self._files, snapshot_before, snapshot_after)
        self._processor.files_changed(snapshot_before, snapshot_after, changed_paths)

    def _record_snapshot(self, snapshot_before: str | None) -> None:
        """Record the snapshot before the step with the answer, and that of the turn's first step also with the prompt."""
        self._processor.snapshot_before(snapshot_before)
        prompt = self._log.state.message(self._processor.message.parent_id)
        if snapshot_before is None or prompt is None or not begins_turn(prompt):
            return
        if not any(isinstance(part, SnapshotPart) for part in prompt.parts):
            part = SnapshotPart(**self._log.new_part(prompt.info), snapshot=snapshot_before)
            self._log.append(PartUpdated(part=part))

    def cancel(self) -> None:
        """Cancel the snapshot, because the kernel ends."""
        if self._before_task is not None:
            self._before_task.cancel()


async def _changed_paths(files: ProjectFiles, hash_before: str, hash_after: str) -> tuple[str, ...]:
    try:
        return await asyncio.to_thread(files.snapshots.changed_paths, hash_before, hash_after)
    except NotFound:
        return ()


async def record_turn_diffs(log: SessionLog, files: ProjectFiles | None) -> None:
    """Record in the log which files the turn changed: with its prompt, and for the session."""
    if files is None:
        return
    turn_messages = newest_turn(log.state.messages())
    patches = patches_of(turn_messages)
    if not patches or not isinstance(turn_messages[0].info, UserMessage):
        return
    diff_task = asyncio.get_running_loop().create_task(
        _journal_diffs(log, files, turn_messages[0].id, patches)
    )
    finished_tasks, _ = await asyncio.wait({diff_task}, timeout=MAX_DIFF_SECONDS)
    if not finished_tasks:
        files.background_tasks.add(diff_task)
        diff_task.add_done_callback(files.background_tasks.discard)
    elif (problem := diff_task.exception()) is not None:
        raise problem


async def _journal_diffs(
    log: SessionLog, files: ProjectFiles, message_id: str, patches: tuple[PatchPart, ...]
) -> None:
    try:
        turn_diffs = await asyncio.to_thread(net_diffs, files.snapshots, patches)
    except NotFound:
        return
    session_diffs = await asyncio.to_thread(
        merged_diffs, files.snapshots, log.state.diff, turn_diffs
    )
    # Read only now, to keep other changes of the summary that were made meanwhile.
    message = log.state.message(message_id)
    if message is None or not isinstance(message.info, UserMessage):
        return  # the message was removed meanwhile
    short_diffs = shortened_diffs(turn_diffs)
    diffs = [diff.model_dump(mode="json", exclude_none=True) for diff in short_diffs]
    summary = {**(message.info.summary or {}), "diffs": diffs}
    info = message.info.model_copy(update={"summary": summary})
    log.append(MessageUpdated(info=info))
    write_session_changes(log, session_diffs)


def write_session_changes(log: SessionLog, session_diffs: tuple[dict[str, Any], ...]) -> None:
    """Record the changes to files that the session has made so far."""
    log.append(SessionDiff(diff=session_diffs))
    session = log.state.session
    if session is not None:
        totals = {
            **(session.summary or {}),
            "additions": sum(diff.get("additions", 0) for diff in session_diffs),
            "deletions": sum(diff.get("deletions", 0) for diff in session_diffs),
            "files": len(session_diffs),
        }
        log.change_session(summary=totals)


def patches_of(messages: Iterable[Message]) -> tuple[PatchPart, ...]:
    """Return the patch parts of the steps that changed files, in order."""
    return tuple(part for part in parts_of(messages) if isinstance(part, PatchPart))


def net_diffs(snapshots: Snapshots, patches: Iterable[PatchPart]) -> tuple[FileDiff, ...]:
    """Return the combined diff of some steps for each file that they changed; raises NotFound."""
    diffs_by_file: dict[str, FileDiff] = {}
    for patch in patches:
        if patch.after is None:
            continue
        files = patch.files if not patch.more else None
        _merge_diffs(
            diffs_by_file, snapshot_diffs(snapshots, patch.hash, patch.after, files), snapshots
        )
    return tuple(diffs_by_file[name] for name in sorted(diffs_by_file))


def _merge_diffs(
    diffs_by_file: dict[str, FileDiff], newer_diffs: Iterable[FileDiff], snapshots: Snapshots
) -> None:
    for diff in newer_diffs:
        older_diff = diffs_by_file.pop(diff.file, None)
        joined_diff = join_diffs(older_diff, diff, snapshots) if older_diff is not None else diff
        if joined_diff is not None:
            diffs_by_file[diff.file] = joined_diff


def merged_diffs(
    snapshots: Snapshots, older_diffs: Iterable[dict[str, Any]], newer_diffs: Iterable[FileDiff]
) -> tuple[dict[str, Any], ...]:
    """Return the files that a session changed, merged with newer diffs; without the lines."""
    diffs_by_file = {diff.file: diff for diff in map(FileDiff.model_validate, older_diffs)}
    _merge_diffs(diffs_by_file, newer_diffs, snapshots)
    paths = sorted(diffs_by_file)[:MAX_SESSION_FILES]
    diffs = [diffs_by_file[name].model_copy(update={"patch": None}) for name in paths]
    return tuple(diff.model_dump(mode="json", exclude_none=True) for diff in diffs)


def shortened_diffs(diffs: Iterable[FileDiff]) -> list[FileDiff]:
    """Return diffs without the lines that exceed the limits; added and deleted lines stay counted."""
    chars_left = MAX_TURN_PATCH_CHARS
    short_diffs: list[FileDiff] = []
    for diff in diffs:
        patch_chars = len(diff.patch or "")
        if patch_chars > chars_left or len(short_diffs) >= MAX_TURN_DIFFS:
            diff = diff.model_copy(update={"patch": None, "note": "%agent diff shows its lines"})
        else:
            chars_left -= patch_chars
        short_diffs.append(diff)
    return short_diffs
