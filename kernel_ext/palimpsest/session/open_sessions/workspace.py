"""Open, create, list and delete the sessions of one project for one kernel.

A session belongs to a notebook. Front ends name a notebook by its path relative to the kernel's start
directory; its path relative to the project is stored. Before a name is used, its file is compared with the
records of sessions (``notebook_recognition.py``), since files are moved while no kernel runs. A kernel without
a notebook (a console) has one session of its own. Opening a session runs nothing: turns that a dead kernel left
running are closed as interrupted, and prompts that waited in its inbox are withdrawn, and shown in the transcript.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from palimpsest import __version__
from palimpsest.session.interfaces.services import Services
from palimpsest.session.open_sessions.followed_session import FollowedSession, KernelSession
from palimpsest.session.open_sessions.live_session import UNWRITTEN_SENTENCE, LiveSession
from palimpsest.session.open_sessions.notebook_recognition import (
    NotebookRecognition,
    RecognisedNotebook,
)
from palimpsest.session.open_sessions.open_children import OpenChildren
from palimpsest.session.open_sessions.subagent_runner import ChildSessionRunner
from palimpsest.session.permissions.withheld_claims import with_granted_rights, withheld_text
from palimpsest.session.records.cell_history import history_elsewhere
from palimpsest.session.records.prompt_history import PromptPage, prompt_page
from palimpsest.session.records.retention import (
    PrunePlan,
    RetentionLimits,
    SessionTree,
    holds_pins,
    prune_plan,
)
from palimpsest.session.records.session_search import (
    Page,
    Query,
    matches_id,
    prompt_texts,
    search_page,
    typed_prompts,
    with_children,
)
from palimpsest.session.replay.recorded_answers import RecordedAnswers
from palimpsest.session.revert.fork import forked_session
from palimpsest.session.runs.child_sessions import child_of, with_own_rules
from palimpsest.session.runs.title_writer import default_title, title_from
from palimpsest.session.sharing.share_page import remove_page
from palimpsest.session.sharing.sharing_service import SharingService
from palimpsest.session.turn_setup.environment_updates import path_in_project
from palimpsest.store.blobs.blob_sweep import Sweep, UnneededBlob, find_unneeded
from palimpsest.store.blobs.blob_sweep import delete_unneeded as delete_blobs
from palimpsest.store.blobs.disk_usage import DiskUsage, measure_disk_usage
from palimpsest.store.disk import is_full, storage_errors
from palimpsest.store.file_snapshots.trees import sweep_snapshots
from palimpsest.store.interface import Owner, Problem, SessionSummary, Store, Writer
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import Layout
from palimpsest.store.session_state.interrupted_work import (
    INTERRUPTED,
    close_interrupted,
    code_at_the_end,
)
from palimpsest.store.session_state.state import State
from palimpsest.tools.permission_rules.permissions import Rules, from_config
from palimpsest.transcript.context_values.cell_changes import CellHistory
from palimpsest.transcript.errors import (
    NotFound,
    SessionHeld,
    StorageFailed,
    UnknownError,
    UserError,
)
from palimpsest.transcript.session_record.events import (
    Event,
    PromptDelivered,
    Record,
    SessionCreated,
    SessionError,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime

MAX_NEWEST_SESSIONS = 200
"""Number of sessions that are read before anything is shown, which takes 0.1 s; a list of thousands is built later."""

OpenSessionT = TypeVar("OpenSessionT", bound=LiveSession | FollowedSession)


GONE_SENTENCE = "{why}; put it back, or begin a new session with %agent --new."


class Workspace:
    """Opens, creates, lists and closes the sessions of a project."""

    def __init__(
        self,
        services: Services,
        owner: Owner,
        *,
        project_id: str,
        warning: str | None = None,
        notice: str = "",
    ) -> None:
        self.project: Path = services.root
        self.warning = warning
        self.notice = notice
        self._services = services
        self._store: Store = services.store
        self._owner = owner
        self._project_id = project_id
        self._open_sessions: dict[str, LiveSession | FollowedSession] = {}
        self._current_ids: dict[str | None, str] = {}
        self._recognised_notebooks: dict[str, RecognisedNotebook] = {}
        """The recognition of each notebook's file, from when this kernel first used its name."""
        self._lock = asyncio.Lock()
        self._open_children = OpenChildren(self._close_child)
        services.rules.effective_rules.default_model = services.models.default_model
        services.rules.effective_rules.default_agent = services.agents.default_agent
        factory = services.sessions.child_sessions
        factory.create_session = self._create_child
        factory.open_session = self._resume_session
        factory.report_end = self._open_children.end_work
        factory.runner = functools.partial(ChildSessionRunner, services)
        self.sharing = SharingService(services, self._flushed_id, self._note_share)
        self.replay = RecordedAnswers(services, self._flushed_id, self._live_state)

    async def current(self, notebook: str | None) -> KernelSession:
        """Return the notebook's session: the one used here last, its newest one, or a new one."""
        async with self._lock:
            name = self._notebook_name(notebook)
            return await self._open_existing_session(name) or self._report_unusual_notebook(
                name, await self._create_session(name)
            )

    async def recognise(self, notebook: str | None) -> None:
        """Compare a notebook's file with the sessions' records, once in a kernel; a moved file keeps its sessions."""
        async with self._lock:
            await self._recognise_notebook(self._notebook_name(notebook))

    async def current_session(self, notebook: str | None) -> KernelSession | None:
        """Return the notebook's session if it has one; none is created."""
        async with self._lock:
            return await self._open_existing_session(self._notebook_name(notebook))

    async def new(
        self,
        notebook: str | None,
        *,
        title: str | None = None,
        parent: str | None = None,
        permission: Mapping[str, Any] | str | None = None,
    ) -> KernelSession:
        """Create a new session for the notebook and make it current.

        ``title`` is used instead of a title that a model writes. ``permission`` are rules in the form of the settings,
        for this session alone, which override what the settings allow. A session with a ``parent``, an id, is a child session
        like that of a task: it has the parent's mode and limits, and does not become the notebook's current session.
        Raises UserError, NotFound and ConfigError; then nothing is created.
        """
        if title is not None and not isinstance(title, str):
            raise UserError(f"title is a text, not {title!r:.60}.")
        if isinstance(permission, Mapping) and any(
            not isinstance(rule, str) for rule in permission
        ):
            raise UserError(
                f"permission names tools, such as {{'bash': 'deny'}}, not {permission!r:.60}."
            )
        home = self._services.environment.get("HOME") or str(Path.home())
        rules = from_config(permission if permission is not None else {}, home=home)
        title = title_from(" ".join(title.split())) if title is not None else None
        async with self._lock:
            if parent is not None:
                return await self._create_child_of(self._full_id(parent), title, rules)
            return await self._create_session(self._notebook_name(notebook), title, rules)

    async def open(self, session_id: str, notebook: str | None = None) -> KernelSession:
        """Open a session by its id, or a piece that names only it, and make it current."""
        async with self._lock:
            session = await self._open_session(
                self._full_id(session_id), self._notebook_name(notebook)
            )
            self._open_children.mark_viewed(session.id)
            return session

    async def open_or_current(self, session_id: str | None, notebook: str | None) -> KernelSession:
        """Open a session by its id or an unambiguous piece of it; None means the notebook's current session."""
        if session_id is None:
            return await self.current(notebook)
        return await self.open(session_id, notebook)

    async def rename(self, old_name: str, new_name: str) -> None:
        """Move the sessions of a renamed notebook to its new name."""
        old_name = self._notebook_name(old_name) or old_name
        new_name = self._notebook_name(new_name) or new_name
        async with self._lock:
            current_id = self._current_ids.pop(old_name, None)
            if current_id is not None:
                self._current_ids[new_name] = current_id
            for summary in await self.every_session():
                if summary.notebook == old_name:
                    await self._write_new_name(summary.id, new_name)

    async def fork(
        self,
        session_id: str,
        message_id: str | None = None,
        *,
        request: int | str | None = None,
        model: str | None = None,
        notebook: str | None = None,
    ) -> KernelSession:
        """Create a fork: a new session with a copy of another, up to a message or request, or whole.

        It belongs to ``notebook``, else to the parent's notebook, and becomes its current session. ``model`` answers
        its newest prompt and all later prompts.
        """
        async with self._lock:
            parent_id = self._full_id(session_id)
            await self._flush_session(parent_id)
            services = self._services
            if model is not None:
                # An unknown one raises before there is a fork.
                services.models.info(str(model), None)
            session = await asyncio.to_thread(
                forked_session,
                self._store,
                parent_id,
                functools.partial(services.ids.new, "ses", descending=True),
                services.clock(),
                message=message_id,
                request=request,
                notebook=self._notebook_name(notebook),
            )
            open_session = await self._open_session(session.id, session.notebook, is_new=True)
            if model is not None and isinstance(open_session, LiveSession):
                open_session.answer_with(model)
            return open_session

    async def _flushed_id(self, session_id: str) -> str:
        """Write the pending records of a session into its log, and return its whole id."""
        async with self._lock:
            full_id = self._full_id(session_id)
            await self._flush_session(full_id)
            return full_id

    async def records(self, session_id: str) -> Sequence[Record]:
        """Return all records of a session, also of one that is not open, or deleted and needed by a fork.

        Raises NotFound.
        """
        with suppress(NotFound):
            session_id = await self._flushed_id(session_id)
        return await asyncio.to_thread(lambda: tuple(self._store.read(session_id)))

    def _live_state(self, session_id: str) -> State | None:
        """Return the state of a session that this kernel writes; None for another one."""
        open_session = self._open_sessions.get(session_id)
        return open_session.journal.state if isinstance(open_session, LiveSession) else None

    async def _note_share(self, session_id: str, share: dict[str, Any] | None) -> None:
        async with self._lock:
            await self._change_session(session_id, share=share)

    async def children(self, session_id: str) -> Sequence[SessionSummary]:
        """List the child sessions that ``task`` calls of a session created, oldest first."""
        parent_id = self._full_id(session_id)
        children = [
            summary for summary in await self.every_session() if summary.parent_id == parent_id
        ]
        return sorted(children, key=lambda child: (child.created, child.id))

    async def retitle(self, session_id: str, title: str) -> str:
        """Rename a session; returns the title as it is stored."""
        line = title_from(title)
        if not line:
            raise UserError("A title has at least one letter.")
        async with self._lock:
            await self._change_session(self._full_id(session_id), title=line)
        return line

    async def archive(self, session_id: str, *, archived: bool = True) -> str:
        """Archive a session, or unarchive it; returns its id.

        An archived session keeps its content, but is not listed or continued automatically.
        """
        async with self._lock:
            full_id = self._full_id(session_id)
            state = await asyncio.to_thread(self._store.open_live, full_id)
            if state.session is not None:
                archived_at_ms = self._services.clock() if archived else None
                session_time = state.session.time.model_copy(update={"archived": archived_at_ms})
                await self._change_session(full_id, time=session_time)
            if archived:
                self._forget_current((full_id,))
            return full_id

    async def record(self, session_id: str, change: Callable[[State], Sequence[Event]]) -> None:
        """Append the events that ``change`` returns for a session's whole state to its log.

        Raises SessionBusy while its agent works, and SessionHeld where another kernel writes it.
        """
        async with self._lock:
            self._follow_moved(session_id)
            open_session = self._open_sessions.get(session_id)
            if isinstance(open_session, LiveSession):
                await open_session.record(change)
                return
            journal = await self._open_journal(session_id, self._store.load)
            try:
                journal.append(*change(journal.state), sync=True)
                is_written = await journal.flush(sync=True)
            finally:
                await asyncio.to_thread(journal.close)
            if not is_written:
                raise StorageFailed(journal.failure or UNWRITTEN_SENTENCE)

    def journal_of(self, session_id: str) -> Journal | None:
        """Return the journal of a session that this kernel writes; from any thread."""
        open_session = self._open_sessions.get(session_id)
        return open_session.journal if isinstance(open_session, LiveSession) else None

    async def delete(self, session_id: str) -> tuple[str, ...]:
        """Delete a session and its child sessions permanently; returns their ids, the session's own last.

        A session that a fork needs is hidden until its last fork is gone. Raises SessionHeld when
        another kernel writes one of them; nothing is deleted then. A piece of an id raises UserError.
        """
        async with self._lock:
            full_id = self._full_id(session_id)
            if full_id != session_id:
                raise UserError(f"A session is deleted by its whole id. Is {full_id} meant?")
            deleted_ids = with_children(await self.every_session(), full_id)
            for deleted_id in deleted_ids:
                self._follow_moved(deleted_id)
                await self._check_writable(deleted_id)
            for deleted_id in deleted_ids:
                open_session = self._open_sessions.pop(deleted_id, None)
                if open_session is not None:
                    await open_session.close(is_deleted=True)
            self._forget_current(deleted_ids)
            await asyncio.to_thread(self._delete_sessions, deleted_ids)
            return deleted_ids

    async def problems(self, session_id: str) -> Sequence[Problem]:
        """Read all of a session's log, and return its unreadable records."""
        full_id = self._full_id(session_id)
        journal = self.journal_of(full_id)
        if journal is not None and (why := await asyncio.to_thread(journal.missing_reason)):
            return (Problem("", GONE_SENTENCE.format(why=why)),)
        return await asyncio.to_thread(self._store.problems, full_id)

    async def session_and_children(self, session_id: str) -> tuple[SessionSummary, ...]:
        """Return a session and its descendants, which are deleted together, the session's own row last."""
        session_summaries = await self.every_session()
        by_id = {summary.id: summary for summary in session_summaries}
        return tuple(
            by_id[member] for member in with_children(session_summaries, self._full_id(session_id))
        )

    async def storage(self) -> tuple[DiskUsage, Sequence[SessionSummary]]:
        """Measure the project's folder; raises UserError where sessions are in memory only."""
        layout = self._layout()
        session_summaries = await self.every_session()  # which may rewrite the index
        return await asyncio.to_thread(measure_disk_usage, layout), session_summaries

    async def plan(self, limits: RetentionLimits) -> PrunePlan:
        """Return which sessions would be deleted under limits of age and size, and which never are."""
        disk_usage, session_summaries = await self.storage()
        is_open = frozenset(self._open_sessions).__contains__
        is_pinned = functools.partial(holds_pins, self._store)
        now = self._services.clock()
        return await asyncio.to_thread(
            prune_plan, session_summaries, disk_usage, limits, now, is_open, is_pinned
        )

    async def prune(self, limits: RetentionLimits) -> tuple[PrunePlan, tuple[SessionTree, ...]]:
        """Delete sessions beyond the limits; returns the plan, and the sessions that were deleted."""
        plan = await self.plan(limits)
        deleted_trees = []
        for tree in plan.due:
            with suppress(SessionHeld, NotFound):  # it came into use, or was already deleted
                await self.delete(tree.summary.id)
                deleted_trees.append(tree)
        return plan, tuple(deleted_trees)

    async def page(self, query: Query) -> Page:
        """Return a page of the sessions that a query finds, newest first."""
        texts_of = functools.partial(prompt_texts, self._store)
        if not query.words and query.cursor is None:
            max_summaries = max(MAX_NEWEST_SESSIONS, 2 * query.number * query.limit)
            session_summaries, unread_count = await asyncio.to_thread(
                self._store.recent_sessions, max_summaries
            )
            page = search_page(session_summaries, query, texts_of, unread_count)
            if not unread_count or len(page.sessions) == query.limit:
                return page
        return await asyncio.to_thread(search_page, await self.every_session(), query, texts_of)

    async def typed_prompts(self, first_session_id: str, cursor: str | None = None) -> PromptPage:
        """Return a page of the prompts that were typed in the project, those of ``first_session_id`` before others."""
        prompts_of = functools.partial(typed_prompts, self._store)
        summaries = await self.every_session()
        return await asyncio.to_thread(prompt_page, summaries, prompts_of, first_session_id, cursor)

    async def cell_history(
        self,
        cell_name: str,
        number: int | None,
        notebook: str | None,
        first_session_id: str | None,
        asked_session_id: str,
    ) -> CellHistory:
        """Return what the first session that changed a cell did to it, without the session ``asked_session_id``.

        The session ``first_session_id`` is searched first, then those of the notebook, then the others.
        """
        name = self._notebook_name(notebook)

        def rank(summary: SessionSummary) -> tuple[bool, bool, int]:
            is_elsewhere = name is None or not self._belongs_to(summary, name)
            return summary.id != first_session_id, is_elsewhere, -summary.updated

        summaries = sorted(await self.every_session(), key=rank)
        other_session_ids = [summary.id for summary in summaries if summary.id != asked_session_id]
        return await asyncio.to_thread(
            history_elsewhere, cell_name, number, self._store, other_session_ids
        )

    def current_id(self, notebook: str | None) -> str:
        """Return the id of the notebook's session without opening it; empty when it has none yet."""
        name = self._notebook_name(notebook)
        if name is None or name in self._current_ids:
            return self._current_ids.get(name, "")
        newest_summary = self._newest_summary(self.sessions(), name)
        return newest_summary.id if newest_summary is not None else ""

    def sessions(self) -> Sequence[SessionSummary]:
        """List the sessions of the project, newest first; while the list is built, only the newest ones."""
        return self._store.recent_sessions(MAX_NEWEST_SESSIONS)[0]

    async def every_session(self) -> Sequence[SessionSummary]:
        """List all sessions of the project, newest first, however long that takes."""
        return await asyncio.to_thread(self._store.list)

    async def sweep_texts(
        self, days: float, *, delete: bool = False
    ) -> tuple[Sweep, tuple[UnneededBlob, ...]]:
        """Find long stored texts that no session has needed for ``days``, and delete them if ``delete``."""
        return await asyncio.to_thread(_sweep_texts, self._layout(), days, delete=delete)

    async def close(self) -> None:
        """Close every open session when the kernel ends; an unfinished answer gets an error that names the reason."""
        async with self._lock:
            open_sessions, self._open_sessions = self._open_sessions, {}
            self._current_ids.clear()
            await asyncio.gather(
                *(session.close(INTERRUPTED) for session in open_sessions.values())
            )

    def _notebook_name(self, notebook: str | None) -> str | None:
        return path_in_project(notebook, self._services.cwd, self._services.root)

    # With the lock held

    def _forget_current(self, session_ids: Collection[str]) -> None:
        for name in [
            name for name, current_id in self._current_ids.items() if current_id in session_ids
        ]:
            del self._current_ids[name]

    def _newest_summary(
        self, summaries: Sequence[SessionSummary], notebook: str
    ) -> SessionSummary | None:
        """Return the first of the sessions that the notebook continues without being asked."""
        return next((summary for summary in summaries if self._belongs_to(summary, notebook)), None)

    async def _open_existing_session(self, notebook: str | None) -> KernelSession | None:
        current_id = self._current_ids.get(notebook)
        if current_id is not None and current_id in self._open_sessions:
            return await self._open_session(current_id, notebook)
        if notebook is not None:
            await self._recognise_notebook(notebook)
            session_summaries, unread_count = await asyncio.to_thread(
                self._store.recent_sessions, MAX_NEWEST_SESSIONS
            )
            newest_summary = self._newest_summary(session_summaries, notebook)
            if newest_summary is None and unread_count:
                newest_summary = self._newest_summary(await self.every_session(), notebook)
            if newest_summary is not None:
                return self._report_unusual_notebook(
                    notebook, await self._open_session(newest_summary.id, notebook)
                )
        elif self._services.kernel.script:
            return await self._open_newest_of_folder()
        return None

    async def _recognise_notebook(self, notebook: str | None) -> None:
        if (
            notebook is None
            or notebook in self._recognised_notebooks
            or notebook in self._current_ids
        ):
            return
        recognition = NotebookRecognition(self._store, self._services.root)
        session_summaries = await asyncio.to_thread(self.sessions)
        recognised_notebook = await asyncio.to_thread(
            recognition.recognise_sessions, notebook, session_summaries
        )
        self._recognised_notebooks[notebook] = recognised_notebook
        moved_ids = recognised_notebook.moved_session_ids
        for summary in session_summaries:
            if summary.id in moved_ids or summary.parent_id in moved_ids:
                await self._write_new_name(summary.id, notebook)

    def _belongs_to(self, summary: SessionSummary, notebook: str) -> bool:
        """Return whether a notebook continues a session without being asked."""
        recognised_notebook = self._recognised_notebooks.get(notebook, RecognisedNotebook())
        if summary.id in recognised_notebook.other_notebooks_session_ids:
            return False
        # Another kernel may write its record, with the old name.
        is_moved = summary.id in recognised_notebook.moved_session_ids
        return is_moved or _is_continued_by(summary, notebook)

    def _report_unusual_notebook(self, notebook: str | None, session: OpenSessionT) -> OpenSessionT:
        """Add the sentence about a moved or replaced notebook to the session's notice, once."""
        recognised_notebook = self._recognised_notebooks.get(notebook or "", RecognisedNotebook())
        sentence = recognised_notebook.sentence
        if sentence and isinstance(session, LiveSession):
            session.opening_notice = " ".join(filter(None, (session.opening_notice, sentence)))
            self._recognised_notebooks[notebook or ""] = replace(recognised_notebook, sentence="")
        return session

    async def _open_newest_of_folder(self) -> LiveSession | None:
        """Return the newest session that scripts in this folder used, unless another process writes it."""
        for summary in await asyncio.to_thread(self.sessions):
            if not _is_continued_by(summary, None):
                continue
            state = await asyncio.to_thread(self._store.open_live, summary.id)
            if state.session is None or state.session.directory != str(self._services.cwd):
                continue
            open_session = await self._open_session(summary.id, None)
            if isinstance(open_session, LiveSession):
                return open_session
            await open_session.close()
            del self._open_sessions[summary.id], self._current_ids[None]
            return None
        return None

    async def _create_session(
        self, notebook: str | None, title: str | None = None, rules: Rules = ()
    ) -> LiveSession:
        services = self._services
        now = services.clock()
        session = SessionInfo(
            id=services.ids.new("ses", descending=True),
            project_id=self._project_id,
            directory=str(services.cwd),
            notebook=notebook,
            title=title or default_title(now),
            version=__version__,
            time=SessionTime(created=now, updated=now),
        )
        return self._register_session(await self._create_with_rules(session, rules), notebook)

    async def _create_child_of(
        self, parent_id: str, title: str | None, rules: Rules
    ) -> LiveSession:
        services = self._services
        await self._flush_session(parent_id)
        state = await asyncio.to_thread(self._store.open_live, parent_id)
        parent = state.session
        if parent is None:
            raise NotFound(
                f"The session {parent_id!r} has no record of its own. Begin one without a parent."
            )
        now = services.clock()
        session = child_of(
            parent,
            services.ids.new("ses", descending=True),
            now,
            title or default_title(now, child=True),
            limits=parent.limits,
        )
        services.rules.effective_rules.parent_of_child[session.id] = parent.id
        return await self._create_with_rules(session, rules)

    async def _create_with_rules(self, session: SessionInfo, rules: Rules) -> LiveSession:
        if rules:
            session = with_own_rules(session, rules)
            allowed = tuple(rule for rule in rules if rule.action == "allow")
            self._services.rules.effective_rules.approvals.add_to_session(allowed, session.id)
        return await self._create_from_record(session)

    async def _create_from_record(self, session: SessionInfo) -> LiveSession:
        """Create a session with this record; also without the lock, since its id is not known elsewhere yet."""
        writer = await asyncio.to_thread(self._store.acquire, session.id, self._owner, create=True)
        journal = self._new_journal(writer, State())
        journal.append(SessionCreated(session=session), sync=True)
        await journal.flush()  # so that other kernels find the notebook's session
        live_session = LiveSession(self._services, journal, asyncio.get_running_loop())
        if isinstance(self._store, JsonlStore):
            live_session.opening_notice = self._store.take_notice()
        self._open_sessions[session.id] = live_session
        return live_session

    async def _create_child(self, session: SessionInfo) -> LiveSession:
        """Create the session of a task, and count its work."""
        child = await self._create_from_record(session)
        self._open_children.begin_work(session.id)
        return child

    async def _close_child(self, session_id: str) -> None:
        """Close the session of a task that is not needed any more."""
        async with self._lock:
            child = self._open_sessions.get(session_id)
            is_needed = self._open_children.is_needed(session_id)
            if isinstance(child, LiveSession) and child.read_only and not is_needed:
                del self._open_sessions[session_id]
                await child.close()

    async def _resume_session(self, session_id: str) -> LiveSession:
        """Open the session of a task again; raises NotFound or SessionHeld."""
        child = await self._take_over(self._full_id(session_id))
        self._open_children.begin_work(child.id)
        return child

    async def _write_new_name(self, session_id: str, notebook: str) -> None:
        """Write a notebook's new name into a session, unless another kernel writes that session."""
        with suppress(SessionHeld):
            await self._change_session(session_id, notebook=notebook)

    async def _change_session(self, session_id: str, **fields: Any) -> None:
        """Change fields of a session's own record; raises SessionHeld."""
        self._follow_moved(session_id)
        open_session = self._open_sessions.get(session_id)
        if isinstance(open_session, LiveSession):
            open_session.log.change_session(**fields)
            await open_session.journal.flush()  # session lists are made from the log
            return
        journal = await self._open_journal(session_id, self._store.open_live)
        session = journal.state.session
        if session is not None:
            journal.append(SessionUpdated(session=session.model_copy(update=fields)))
        await asyncio.to_thread(journal.close)

    async def _open_journal(self, session_id: str, load_state: Callable[[str], State]) -> Journal:
        """Open a session's log for one write; raises SessionHeld where another kernel writes it."""
        writer = await asyncio.to_thread(self._store.acquire, session_id, self._owner)
        state = await asyncio.to_thread(_read_or_release, writer, load_state)
        return self._new_journal(writer, state)

    def _new_journal(self, writer: Writer, state: State) -> Journal:
        return Journal(writer, state, clock=self._services.clock, secrets=self._services.secrets)

    def _delete_sessions(self, session_ids: Sequence[str]) -> None:
        for session_id in session_ids:
            session = self._store.open_live(session_id).session
            if session is not None:
                with suppress(UserError, OSError):
                    remove_page(self._store, session)
            self._services.rules.effective_rules.grants.drop_grants(session_id)
            self._services.rules.approved_code.forget_session(session_id)
        for session_id in session_ids:
            self._store.delete(session_id)

    async def _flush_session(self, session_id: str) -> None:
        """Wait until everything this kernel appended to a session is written to its log."""
        open_session = self._open_sessions.get(session_id)
        if isinstance(open_session, LiveSession):
            await open_session.journal.flush()

    def _layout(self) -> Layout:
        if isinstance(self._store, JsonlStore):
            return self._store.layout
        raise UserError(
            "This kernel keeps its sessions in memory only, so there is no storage to look after."
        )

    def _follow_moved(self, session_id: str) -> None:
        """Store an open session under its new id after another kernel took it over and it became a fork."""
        open_session = self._open_sessions.get(session_id)
        if open_session is not None and open_session.id != session_id:
            self._open_sessions[open_session.id] = self._open_sessions.pop(session_id)
            for notebook, current_id in self._current_ids.items():
                if current_id == session_id:
                    self._current_ids[notebook] = open_session.id

    async def _check_writable(self, session_id: str) -> None:
        """Raise SessionHeld unless this kernel may write a session."""
        open_session = self._open_sessions.get(session_id)
        if isinstance(open_session, FollowedSession):
            raise SessionHeld(open_session.reason)
        if open_session is None:
            try:
                writer = await asyncio.to_thread(self._store.acquire, session_id, self._owner)
            except StorageFailed as error:
                if not is_full(error):  # a full disk still deletes
                    raise
            else:
                await asyncio.to_thread(writer.close)

    async def _open_session(
        self, session_id: str, notebook: str | None, *, is_new: bool = False
    ) -> LiveSession | FollowedSession:
        open_session = self._open_sessions.get(session_id)
        if open_session is not None and open_session.id != session_id:
            # Another kernel took it over; records that this kernel wrote since continue as a fork.
            self._open_sessions.pop(session_id)
            return self._register_session(open_session, notebook)
        if isinstance(open_session, LiveSession):
            return self._register_session(open_session, notebook)
        loop = asyncio.get_running_loop()
        try:
            writer = await asyncio.to_thread(self._store.acquire, session_id, self._owner)
        except SessionHeld as error:
            if open_session is not None:
                return self._register_session(open_session, notebook)
            if not isinstance(self._store, JsonlStore):
                raise
            state = await asyncio.to_thread(self._store.open_live, session_id)
            followed = FollowedSession(
                self._store,
                session_id,
                state,
                str(error),
                self._services.sessions.snapshots,
                functools.partial(self._take_over, session_id),
                loop,
                density=self._services.sessions.density,
            )
            return self._register_session(followed, notebook)
        if open_session is not None:
            await asyncio.to_thread(open_session.catch_up)
        state = await asyncio.to_thread(_read_or_release, writer, self._store.open_live)
        journal = self._new_journal(writer, state)
        if open_session is not None:
            open_session.move_subscribers_to(journal)
        code_sentence = self._close_interrupted_work(journal, state, has_ended=not is_new)
        withheld_sentence = await self._reduce_to_rights(journal)
        live_session = LiveSession(self._services, journal, loop)
        live_session.opening_notice = "\n".join(filter(None, (code_sentence, withheld_sentence)))
        if open_session is not None:
            open_session.delegate_to(live_session)
        return self._register_session(live_session, notebook)

    async def _take_over(self, session_id: str) -> LiveSession:
        """Continue a session that another kernel had; raises SessionHeld while that kernel writes it."""
        async with self._lock:
            names = [
                name for name, current_id in self._current_ids.items() if current_id == session_id
            ]
            previous_current_id = self._current_ids.get(None)
            open_session = await self._open_session(session_id, names[0] if names else None)
            if not names:  # a task works in it, or a front end only watches it, so it does not become a current session
                self._current_ids.pop(None, None)
                if previous_current_id is not None:
                    self._current_ids[None] = previous_current_id
        if isinstance(open_session, LiveSession):
            return open_session
        raise SessionHeld(open_session.reason)

    def _close_interrupted_work(self, journal: Journal, state: State, *, has_ended: bool) -> str:
        """Close turns that an ended kernel left open; returns a sentence about the code that ran then, or ""."""
        sentence = code_at_the_end(state) if has_ended else ""
        events = close_interrupted(state, self._services.clock(), has_ended=has_ended)
        if sentence:
            events.append(SessionError(error=UnknownError(message=sentence, explained=True)))
        events += [PromptDelivered(prompt_id=prompt_id) for prompt_id in state.inbox]
        if events:
            journal.append(*events, sync=True)
        return sentence

    async def _reduce_to_rights(self, journal: Journal) -> str:
        """Reduce a session's record to the rights that apply here; returns a sentence for the user, or ""."""
        session = journal.state.session
        if session is None:
            return ""
        is_fork = session.forked_from is not None  # its copied answers were paid for in its parent
        counted_spending, message_infos = (
            (None, ()) if is_fork else journal.state.reported_spending()
        )
        # The id is that of the folder: a record that names another session must not get that session's rights.
        session_of_folder = session.model_copy(update={"id": journal.session_id})
        reduced_session = await asyncio.to_thread(
            with_granted_rights,
            session_of_folder,
            self._services.rules.effective_rules,
            message_infos,
            counted_spending,
        )
        if reduced_session == session:
            return ""
        sentence = (
            withheld_text(reduced_session) if reduced_session.claimed != session.claimed else ""
        )
        notice_events = (
            [SessionError(error=UnknownError(message=sentence, explained=True))] if sentence else []
        )
        journal.append(SessionUpdated(session=reduced_session), *notice_events, sync=True)
        return sentence

    def _register_session(self, session: OpenSessionT, notebook: str | None) -> OpenSessionT:
        self._open_sessions[session.id] = session
        if not (isinstance(session, LiveSession) and session.read_only):
            self._current_ids[notebook] = session.id
        return session

    def _full_id(self, session_id: str) -> str:
        if session_id in self._open_sessions or session_id in {s.id for s in self.sessions()}:
            return session_id  # an open session is found even if its log was deleted
        known_ids = [summary.id for summary in self._store.list()]
        if session_id in known_ids:
            return session_id
        matching_ids = [known_id for known_id in known_ids if matches_id(known_id, session_id)]
        if len(matching_ids) == 1:
            return matching_ids[0]
        if not matching_ids:
            raise NotFound(f"There is no session {session_id!r} here. %agent sessions lists them.")
        raise NotFound(
            f"{session_id!r} is the beginning of {len(matching_ids)} sessions. Give more of it."
        )


def _is_continued_by(summary: SessionSummary, notebook: str | None) -> bool:
    """Return whether a notebook, or a script without one, continues a session automatically."""
    return summary.notebook == notebook and summary.archived is None and summary.parent_id is None


def _read_or_release(writer: Writer, load_state: Callable[[str], State]) -> State:
    """Read the session of a writer; if that fails, release its lease."""
    try:
        return load_state(writer.session_id)
    except BaseException:
        writer.close()
        raise


def _sweep_texts(
    layout: Layout, days: float, *, delete: bool
) -> tuple[Sweep, tuple[UnneededBlob, ...]]:
    with storage_errors(layout.root):
        snapshot_sweep = sweep_snapshots(layout, time.time(), days, delete=delete)
        blob_sweep = find_unneeded(layout, time.time(), days)
        plan = replace(blob_sweep, snapshot_bytes=snapshot_sweep.unneeded_bytes)
        return plan, delete_blobs(layout, plan.due_blobs) if delete else ()
