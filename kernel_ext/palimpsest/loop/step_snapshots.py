"""Take snapshots of the files before and after each step, and record the changes of step and turn.

The first snapshot is taken while the model writes, and only a tool waits for it; the last one only where tools ran.
What changed on disk while the model wrote, or while every running tool waited for the user, is not the step's change:
people and JupyterLab save files meanwhile. Threads do all of it. Where no snapshot can be taken, a sentence reports it,
and the turn continues.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

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

TURN_PATCH_CHARS = 60_000
"""Maximum characters of diffs for all files of a turn; users read less, and all of it is sent to every page."""
MAX_DIFFS = 200
MAX_SESSION_FILES = 1_000
"""Maximum files in ``session.diff``, which is written again after each turn that changed files."""
IDLE_SECONDS = 0.5
"""A shorter time in which no tool runs counts as the tools' time: it is not worth a snapshot."""
SUMMARY_SECONDS = 2.0
"""Time that the end of a turn waits for its diffs, which otherwise are written later."""


async def take_snapshot(files: ProjectFiles) -> str | None:
    """Take a snapshot; None where that fails, with the reason in ``problem``."""
    try:
        name = await asyncio.to_thread(files.snapshots.take_snapshot, files.leave_out())
    except UserError as problem:
        files.problem = str(problem)
        return None
    files.problem = ""
    return name


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
        self._running_calls: set[str] = set()
        self._waiting_calls: set[str] = set()
        self._idle_task: asyncio.Task[str | None] | None = None
        """Takes the snapshot at the beginning of a time in which every running tool waits for the user."""
        self._tools_run_since: str | None = None
        """The newest snapshot behind which tools ran."""
        self._before_changes: str | None = None
        """The newest snapshot before the first change by a tool."""
        self._changed_by_tools: set[str] = set()
        """Paths that changed before ``_tools_run_since`` while tools ran."""

    def start_snapshot(self) -> None:
        """Start the snapshot before the step, without waiting for it."""
        if self._files is not None:
            loop = asyncio.get_running_loop()
            self._started_at = loop.time()
            self._before_task = loop.create_task(take_snapshot(self._files))

    async def before_tools(self) -> None:
        """Wait until the snapshot before the step is stored, and begin to count changes as those of tools."""
        if self._files is None or self._before_task is None:
            return
        snapshot_before = self._tools_run_since = await self._before_task
        if asyncio.get_running_loop().time() - self._started_at >= IDLE_SECONDS:
            self._tools_run_since = await take_snapshot(self._files) or snapshot_before
        self._before_changes = self._tools_run_since
        self._record_snapshot(snapshot_before)
        self._has_run_tools = True

    def begin_call(self, call_id: str) -> None:
        """Count a tool call as running."""
        self._running_calls.add(call_id)
        self._cancel_idle_snapshot()

    def end_call(self, call_id: str) -> None:
        """Count a tool call as ended."""
        self._running_calls.discard(call_id)
        self._start_idle_snapshot()

    @asynccontextmanager
    async def waiting_call(self, call_id: str) -> AsyncIterator[None]:
        """Count a running tool call as waiting for the user, during the ``async with`` block."""
        self._waiting_calls.add(call_id)
        self._start_idle_snapshot()
        try:
            yield
        finally:
            await self._end_idle_time()
            self._waiting_calls.discard(call_id)

    def _start_idle_snapshot(self) -> None:
        """If every running tool waits for the user, take a snapshot unless one continues soon."""
        if self._files is None or self._tools_run_since is None or self._idle_task is not None:
            return
        if self._waiting_calls and self._waiting_calls >= self._running_calls:
            self._idle_task = asyncio.get_running_loop().create_task(_later_snapshot(self._files))

    def _cancel_idle_snapshot(self) -> None:
        if self._idle_task is not None:
            self._idle_task.cancel()
            self._idle_task = None

    async def _end_idle_time(self) -> None:
        """Leave what changed since the idle time's snapshot out of the changes by tools."""
        if self._files is None or self._tools_run_since is None:
            return
        if self._idle_task is None or not self._idle_task.done():
            self._cancel_idle_snapshot()
            return
        idle_since = self._idle_task.result()
        self._idle_task = None
        tools_run_since = await take_snapshot(self._files) if idle_since is not None else None
        if idle_since is not None and tools_run_since is not None:
            self._changed_by_tools.update(
                await self._changed_paths(self._tools_run_since, idle_since)
            )
            self._tools_run_since = tools_run_since
            if not self._changed_by_tools:
                self._before_changes = tools_run_since

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
        before = self._before_changes or snapshot_before
        snapshot_after = await take_snapshot(self._files) if before is not None else None
        changed: tuple[str, ...] = ()
        if before is not None and snapshot_after is not None:
            changed = await self._changed_paths(before, snapshot_after)
            if self._tools_run_since is not None and self._tools_run_since != before:
                by_tools = self._changed_by_tools.union(
                    await self._changed_paths(self._tools_run_since, snapshot_after)
                )
                changed = tuple(path for path in changed if path in by_tools)
        self._processor.files_changed(before, snapshot_after, changed)

    async def _changed_paths(self, older: str, newer: str) -> tuple[str, ...]:
        """Return the paths that differ between two snapshots; none where one is no longer kept."""
        assert self._files is not None
        try:
            return await asyncio.to_thread(self._files.snapshots.changed_paths, older, newer)
        except NotFound:
            return ()

    def _record_snapshot(self, snapshot_before: str | None) -> None:
        """Record the snapshot before the step, and, once a turn, with its prompt."""
        self._processor.snapshot_before(snapshot_before)
        prompt = self._log.state.message(self._processor.message.parent_id)
        if snapshot_before is None or prompt is None or not begins_turn(prompt):
            return
        if not any(isinstance(part, SnapshotPart) for part in prompt.parts):
            part = SnapshotPart(**self._log.new_part(prompt.info), snapshot=snapshot_before)
            self._log.append(PartUpdated(part=part))

    def cancel(self) -> None:
        """Cancel the snapshots, because the kernel ends."""
        self._cancel_idle_snapshot()
        if self._before_task is not None:
            self._before_task.cancel()


async def _later_snapshot(files: ProjectFiles) -> str | None:
    await asyncio.sleep(IDLE_SECONDS)
    return await take_snapshot(files)


async def write_turn_changes(log: SessionLog, files: ProjectFiles | None) -> None:
    """Write the turn's changes to files: with its prompt, and for the whole session."""
    if files is None:
        return
    turn = newest_turn(log.state.messages())
    patches = patches_of(turn)
    if not patches or not isinstance(turn[0].info, UserMessage):
        return
    diff_task = asyncio.get_running_loop().create_task(
        _journal_diffs(log, files, turn[0].id, patches)
    )
    done, _ = await asyncio.wait({diff_task}, timeout=SUMMARY_SECONDS)
    if not done:
        files.background.add(diff_task)
        diff_task.add_done_callback(files.background.discard)
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
        return  # it was removed meanwhile
    shortened_list = shortened_diffs(turn_diffs)
    diffs = [diff.model_dump(mode="json", exclude_none=True) for diff in shortened_list]
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
    by_file: dict[str, FileDiff] = {}
    for patch in patches:
        if patch.after is None:
            continue
        files = patch.files if not patch.more else None
        _merge_diffs(by_file, snapshot_diffs(snapshots, patch.hash, patch.after, files), snapshots)
    return tuple(by_file[name] for name in sorted(by_file))


def _merge_diffs(
    diffs_by_file: dict[str, FileDiff], newer_diffs: Iterable[FileDiff], snapshots: Snapshots
) -> None:
    for diff in newer_diffs:
        older = diffs_by_file.pop(diff.file, None)
        joined = join_diffs(older, diff, snapshots) if older is not None else diff
        if joined is not None:
            diffs_by_file[diff.file] = joined


def merged_diffs(
    snapshots: Snapshots, diffs_by_file: Iterable[dict[str, Any]], newer_diffs: Iterable[FileDiff]
) -> tuple[dict[str, Any], ...]:
    """Return the files that a session changed, merged with newer diffs; without the lines."""
    by_file = {
        diff.file: diff for diff in (FileDiff.model_validate(each) for each in diffs_by_file)
    }
    _merge_diffs(by_file, newer_diffs, snapshots)
    paths = sorted(by_file)[:MAX_SESSION_FILES]
    diffs = [by_file[name].model_copy(update={"patch": None}) for name in paths]
    return tuple(diff.model_dump(mode="json", exclude_none=True) for diff in diffs)


def shortened_diffs(diffs: Iterable[FileDiff]) -> list[FileDiff]:
    """Return diffs without the lines that exceed the limits; added and deleted lines stay counted."""
    chars_left = TURN_PATCH_CHARS
    shortened_list: list[FileDiff] = []
    for diff in diffs:
        size = len(diff.patch or "")
        if size > chars_left or len(shortened_list) >= MAX_DIFFS:
            diff = diff.model_copy(update={"patch": None, "note": "%agent diff shows its lines"})
        else:
            chars_left -= size
        shortened_list.append(diff)
    return shortened_list
