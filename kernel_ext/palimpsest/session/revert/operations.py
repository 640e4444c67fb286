"""Revert a session's messages and files, undo that, or make it final.

A revert hides messages and restores files; nothing is lost until a cleanup, which happens before
the next prompt, before a compaction, or on request. Files are processed on threads, one operation at
a time, and only while the session is idle.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn

from palimpsest.context.request_kinds.turn_summary_request import without_turns
from palimpsest.context.visible_messages import begins_turn, newest_turn, turn_of
from palimpsest.loop.run_inputs.run_context import ProjectFiles
from palimpsest.loop.step_snapshots import (
    merged_diffs,
    net_diffs,
    patches_of,
    take_snapshot,
    write_session_changes,
)
from palimpsest.processor.session_log import SessionLog
from palimpsest.render.content.phrases import subject
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.repeated_prompt import prompt_at
from palimpsest.session.records.part_lookup import find_part
from palimpsest.session.revert.cells import CellReverts
from palimpsest.session.revert.files import (
    changed_paths,
    files_to_bring_back,
    preview_files,
    revert_files,
    wanted_files,
)
from palimpsest.session.revert.plan import (
    RevertPlan,
    hidden_by_revert,
    plan_revert,
    without_reverted,
)
from palimpsest.session.revert.session_cells import SessionCells
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound, SessionBusy, SessionHeld, UserError
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import PatchPart, TextPart, ToolPart
from palimpsest.transcript.session_record.events import MessageRemoved, PartRemoved, SessionUpdated
from palimpsest.transcript.session_record.reverts import (
    FileDiff,
    RevertedCell,
    RevertedFile,
    RevertedMessage,
    RevertPreview,
    RevertState,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, standing_revert

LAST_NAME = "last"
SNAPSHOTS_OFF = "Changes of files are not kept here (snapshot = false), so files stay as they are."
IN_MEMORY_ONLY = "This kernel keeps its sessions in memory only, so files stay as they are."
BUSY_SENTENCE = "The agent works; wait for its answer, or stop it, and then take it back."
NOTHING_REVERTED = "Nothing is reverted in this session."
MAX_EXCERPT_CHARS = 80


@dataclass(eq=False, repr=False)
class LiveReverts:
    """The revert operations of a session that this kernel writes."""

    _journal: Journal
    _log: SessionLog
    _load: Callable[[], State]
    _is_busy: Callable[[], bool]
    files: ProjectFiles | None
    """Takes the snapshots of the session's steps; None where none are taken."""
    _cells: CellReverts
    _no_files_reason: str = SNAPSHOTS_OFF
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a revert processes files."""

    async def preview(self, name: str = "") -> RevertPreview:
        """Return a preview of a revert; a name is an id, the beginning or end of one, or ``last``."""
        async with self.lock:
            messages, revert, plan = await self._plan(name)
            files: tuple[RevertedFile, ...] = ()
            if self.files is not None:
                snapshots = self.files.snapshots
                files = await asyncio.to_thread(
                    lambda: preview_files(
                        snapshots, wanted_files(snapshots, messages, plan, revert)
                    )
                )
            cells = await self._cells.preview(messages, _target_state(plan), revert)
            return self._describe_plan(messages, plan, files, cells)

    async def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Hide a message or part and all later ones, and restore files; ``overwrite`` names files with conflicts."""
        async with self.lock:
            self._check_idle()
            messages, revert, plan = await self._plan(name)
            files, snapshot_before, snapshot_after = await self._restore_files(
                messages, plan, revert, overwrite
            )
            cells, done_cells = await self._cells.revert(messages, _target_state(plan), revert)
            all_changed_paths = set(changed_paths(files))
            if revert is not None:
                all_changed_paths |= set(revert.files)
            revert_state = RevertState(
                message_id=plan.message_id,
                part_id=plan.part_id,
                snapshot=plan.earlier_snapshot or snapshot_before,
                left=snapshot_after,
                files=tuple(sorted(all_changed_paths)),
                diff=tuple(
                    file.diff.model_copy(update={"patch": None, "before": None, "after": None})
                    for file in files
                    if file.diff is not None
                ),
                kept=tuple(file.file for file in files if file.action == "conflict"),
                cells=done_cells,
            )
            await self._journal_revert(revert_state, files)
            return self._describe_plan(messages, plan, files, cells, is_done=True)

    async def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that is in effect."""
        async with self.lock:
            self._check_idle()
            revert = standing_revert(self._log.state.session)
            if revert is None:
                raise UserError(NOTHING_REVERTED)
            files: tuple[RevertedFile, ...] = ()
            if self.files is not None and revert.snapshot is not None:
                snapshots = self.files.snapshots
                files = await asyncio.to_thread(
                    lambda: revert_files(
                        snapshots, files_to_bring_back(snapshots, revert), overwrite
                    )
                )
            cells = await self._cells.unrevert(revert.cells)
            await self._journal_revert(None, files)
            plan = RevertPlan(revert.message_id, revert.part_id, None, ())
            return self._describe_plan(self._log.state.messages(), plan, files, cells, is_done=True)

    async def cleanup(self) -> int:
        """Remove reverted messages and parts permanently; returns the number of messages removed."""
        async with self.lock:
            return await self._remove_reverted()

    async def _remove_reverted(self) -> int:
        revert = standing_revert(self._log.state.session)
        if revert is None:
            return 0
        self._check_idle()
        await self._load_whole_session()
        messages = self._log.state.messages()
        removal = hidden_by_revert(messages, revert)
        session = self._log.state.session
        events: list[Any] = [
            MessageRemoved(message_id=message_id) for message_id in removal.message_ids
        ]
        events += [PartRemoved(message_id=m, part_id=p) for m, p in removal.part_id_pairs]
        if session is not None:
            summary = without_turns(session.summary, removal.message_ids, messages)
            update = {"revert": None, "summary": summary}
            events.append(SessionUpdated(session=session.model_copy(update=update)))
        self._log.append(*events, sync=True)
        return len(removal.message_ids)

    async def make_final(self) -> None:
        """Make a revert final before the session is continued.

        Waits for a revert that is still processing files, which would otherwise hide the new messages too.
        """
        async with self.lock:
            await self._remove_reverted()

    async def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return the file changes of a turn, or without a name of the whole session."""
        if self.files is None:
            raise UserError(self._no_files_reason)
        await self._load_whole_session()
        patches = _patches(self._log.state.messages(), self._log.state.session, name)
        return await asyncio.to_thread(net_diffs, self.files.snapshots, patches)

    @property
    def problem(self) -> str | None:
        """Why files are not restored; None where they are."""
        return self._no_files_reason if self.files is None else self.files.problem or None

    async def prompt_of(self, name: str = "") -> tuple[Message, bool]:
        """Return the prompt of a turn, named as in ``preview``, and whether a revert from there on is in effect."""
        async with self.lock:
            messages, revert, plan = await self._plan(name)
        prompt = prompt_at(messages, plan.message_id)
        place = revert and (revert.message_id, revert.part_id)
        return prompt, place == (prompt.id, None)

    async def _plan(self, name: str) -> tuple[Messages, RevertState | None, RevertPlan]:
        await self._load_whole_session()
        messages, session = self._log.state.messages(), self._log.state.session
        revert = standing_revert(session)
        if name in ("", LAST_NAME):
            message_id, part_id = _newest_prompt(without_reverted(messages, revert)), None
        else:
            target = find_part(messages, name)
            message_id, part_id = target.message.id, target.part.id if target.part else None
        plan = plan_revert(messages, message_id, part_id, standing_revert=revert)
        if plan is None:
            raise NotFound(f"There is no message {name!r} in this session.")
        return messages, revert, plan

    async def _restore_files(
        self,
        messages: Messages,
        plan: RevertPlan,
        revert: RevertState | None,
        overwrite: Collection[str],
    ) -> tuple[tuple[RevertedFile, ...], str | None, str | None]:
        """Restore the files; returns the change of each, and the snapshots before and after."""
        files = self.files
        if files is None:
            return (), None, None
        if files.background_tasks:
            await asyncio.wait(set(files.background_tasks))
        snapshot_before = await take_snapshot(files)
        if snapshot_before is None:  # without a snapshot the revert could not be undone
            return (), None, None
        snapshots = files.snapshots
        restored_files = await asyncio.to_thread(
            lambda: revert_files(
                snapshots, wanted_files(snapshots, messages, plan, revert), overwrite
            )
        )
        return restored_files, snapshot_before, await take_snapshot(files)

    async def _journal_revert(
        self, revert: RevertState | None, files: tuple[RevertedFile, ...]
    ) -> None:
        revert_value = (
            revert.model_dump(mode="json", exclude_none=True) if revert is not None else None
        )
        changed_files = [
            file.diff for file in files if file.diff and file.action in {"restore", "delete"}
        ]
        self._log.change_session(revert=revert_value, sync=True)
        if changed_files and self.files is not None:
            try:
                session_diff = await asyncio.to_thread(
                    merged_diffs, self.files.snapshots, self._log.state.diff, changed_files
                )
            except NotFound:
                return
            write_session_changes(self._log, session_diff)

    def _describe_plan(
        self,
        messages: Messages,
        plan: RevertPlan,
        files: tuple[RevertedFile, ...],
        cells: tuple[RevertedCell, ...],
        *,
        is_done: bool = False,
    ) -> RevertPreview:
        removal = hidden_by_revert(messages, _target_state(plan))
        by_id = {message.id: message for message in messages}
        return RevertPreview(
            message_id=plan.message_id,
            part_id=plan.part_id,
            messages=tuple(_excerpt(by_id[message_id]) for message_id in removal.message_ids),
            files=files,
            cells=cells,
            problem=self.problem,
            done=is_done,
        )

    def _check_idle(self) -> None:
        if self._is_busy():
            raise SessionBusy(BUSY_SENTENCE)

    async def _load_whole_session(self) -> None:
        """Load the whole session if part of it is only in the log."""
        if self._journal.read_state(lambda state: state.is_partial):
            await asyncio.to_thread(self._journal.load_whole, self._load)


def live_reverts(
    services: Services,
    journal: Journal,
    log: SessionLog,
    is_busy: Callable[[], bool],
    protected_notebook: Callable[[], frozenset[str]],
    cells: SessionCells,
) -> LiveReverts:
    """Return the revert operations of a session that this kernel writes."""
    snapshots = services.sessions.snapshots
    files = ProjectFiles(snapshots, protected_notebook) if snapshots is not None else None
    is_memory = isinstance(services.store, MemoryStore)
    return LiveReverts(
        journal,
        log,
        lambda: services.store.load(journal.session_id),
        is_busy,
        files,
        CellReverts(cells, log.session_id),
        IN_MEMORY_ONLY if is_memory else SNAPSHOTS_OFF,
    )


@dataclass(eq=False, repr=False)
class ReadOnlyReverts:
    """The revert operations of a session that another kernel writes: shows changes, and refuses the rest."""

    _reason: str
    _load: Callable[[], State] | None = None
    _snapshots: Snapshots | None = None

    async def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SessionHeld(self._reason)

    preview = prompt_of = revert = unrevert = cleanup = _refuse

    async def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return the file changes of a turn, or without a name of the whole session."""
        load, snapshots = self._load, self._snapshots
        if load is None or snapshots is None:
            raise SessionHeld(self._reason)
        state = await asyncio.to_thread(load)
        patches = _patches(state.messages(), state.session, name)
        return await asyncio.to_thread(net_diffs, snapshots, patches)


def _patches(messages: Messages, session: SessionInfo | None, name: str) -> tuple[PatchPart, ...]:
    """Return the file changes of a turn, or without a name of the whole session."""
    messages = without_reverted(messages, standing_revert(session))
    if name == LAST_NAME:
        messages = newest_turn(messages)
    elif name:
        messages = turn_of(messages, find_part(messages, name).message.id)
    return patches_of(messages)


def _target_state(plan: RevertPlan) -> RevertState:
    return RevertState(message_id=plan.message_id, part_id=plan.part_id)


def _newest_prompt(messages: Messages) -> str:
    """Return the id of the user's newest prompt; raises UserError where there is none."""
    for message in reversed(messages):
        if begins_turn(message):
            return message.id
    raise UserError("There is nothing to revert: nothing was asked yet.")


def _excerpt(message: Message) -> RevertedMessage:
    role = message.info.role
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip() and not part.synthetic:
            text = " ".join(part.text.split())
            return RevertedMessage(id=message.id, role=role, excerpt=text[:MAX_EXCERPT_CHARS])
    for part in message.parts:
        if isinstance(part, ToolPart):
            text = f"{part.tool} {subject(part.state.input)}".strip()
            return RevertedMessage(id=message.id, role=role, excerpt=text[:MAX_EXCERPT_CHARS])
    return RevertedMessage(id=message.id, role=role)


Reverts = LiveReverts | ReadOnlyReverts
"""The revert operations of a session that this kernel writes or follows; an impossible one raises UserError."""
