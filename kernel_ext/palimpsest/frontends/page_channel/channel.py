"""Handle the commands of pages, and send them notices.

Border: the control thread calls in here and returns at once, because interrupt and shutdown wait
behind it; work goes to the engine. Notices are published from whatever thread has them (sending
on iopub is safe from any), only while a page watches, and belong to no cell.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from palimpsest import __version__
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.cell_turn.turn import without_cell
from palimpsest.frontends.kernel.main_thread import MainThread
from palimpsest.frontends.magic.agent_magics import current_notebook, rename_notebook
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operation_text.command_output import shown
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.operations.operation import Desk, Done, Operation, SessionAnswer
from palimpsest.frontends.operations.turns import PromptBase
from palimpsest.frontends.page_channel.notices import new_records, resynced
from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.page_presence import PagePresence, PageWatches
from palimpsest.frontends.page_channel.typed_commands import panel_words, typed_command
from palimpsest.frontends.protocol.connection import (
    PROTOCOL_VERSION,
    WATCH_SECONDS,
    AnnounceRun,
    CommandBase,
    CommandReply,
    CurrentNotice,
    Hello,
    InsertCellsNotice,
    OutcomeNotice,
    PingNotice,
    Prepare,
    TellCells,
    TypedAnswer,
    Unwatch,
    Watch,
)
from palimpsest.frontends.protocol.sessions import RenameNotebook
from palimpsest.frontends.protocol.transcript import Resync
from palimpsest.session.engine import EngineFuture
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import AWAY_SECONDS
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record

GREETING_SECONDS = 1.0
"""How long to wait for a page's ``Hello``, which it sends when the cell that loaded us has ended.

With Run All the next cell asks sooner: without this wait, five of six such runs showed an input
prompt beside the page's buttons.
"""
REMEMBERED = 1_000
"""Replies kept for repeated commands; a page repeats within seconds."""
CONNECTION_COMMANDS: Mapping[str, type[CommandBase]] = {
    str(one.model_fields["type"].default): one
    for one in (Hello, Watch, Unwatch, AnnounceRun, Prepare, TellCells, Resync, RenameNotebook)
}
"""The commands about the page's own connection, by their types; all others are operations."""
FORMER_TYPES = {
    "allowed": "approvals",
    "choose": "context-edit",
    "guests": "extensions",
    "picture": "image",
    "put-back": "recreate-outputs",
}
"""Command types of protocol 1 and the types that replaced them."""


class Channel:
    """Connects the browser pages with the engine.

    Responsibilities: validate and remember commands; reply at once; do the rest on the engine;
    publish records and outcomes.
    """

    def __init__(self, services: FrontendServices, main_thread: MainThread, shell: Any) -> None:
        self.watches = PageWatches()
        self.announced: Callable[[int], None] = lambda _cells: None
        """Called with how many cells a page sends together; set by ``frontends/frontend.py``."""
        self._presence = PagePresence(self.watches.fresh, lambda: self._send(PingNotice()))
        self.cells = PageCells(self._send)
        self.parts = KernelParts(services, main_thread, self)
        self._services = services
        self._shell = shell
        self._sessions: dict[str, KernelSession] = {}
        self._unsubscribe: list[Callable[[], None]] = []
        self._current: str | None = None
        self._greeting_ends: float | None = None
        self._replies: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._tasks: set[EngineFuture[None]] = set()

    def fresh(self, session_id: str) -> bool:
        """Tell whether a page watches this session now."""
        return self.watches.fresh(session_id)

    def present(self, session_id: str) -> bool:
        """Tell whether a page can answer the session's questions now, or may be about to."""
        return self._presence.present(session_id) or self.expected()

    def expected(self) -> bool:
        """Tell whether a page may be about to watch: for ``GREETING_SECONDS`` after the first question."""
        now = time.monotonic()
        if self._greeting_ends is None:
            is_kernel = getattr(self._shell, "kernel", None) is not None
            self._greeting_ends = now + GREETING_SECONDS if is_kernel else now
        return now < self._greeting_ends

    @property
    def current(self) -> KernelSession | None:
        """The notebook's current session, once one is open."""
        with self._lock:
            return self._sessions.get(self._current) if self._current is not None else None

    def adopt(self, session: KernelSession) -> None:
        """Make a session the notebook's current one; from any thread."""
        with self._lock:
            known = session.id in self._sessions
            changed = self._current != session.id
            self._sessions[session.id] = session
            self._current = session.id
            if not known:
                self._unsubscribe.append(session.subscribe(partial(self._forward, session.id)))
                self._unsubscribe.append(session.on_problem(partial(self._tell_problem, session)))
        if changed:
            self._publish(CurrentNotice(session=head_of(session)))

    def insert_cells(self, sources: Sequence[str], below: str | None) -> bool:
        """Have the page that watched last insert new cells; false where none watches."""
        client = self.watches.newest()
        if client is None:
            return False
        self._send(InsertCellsNotice(client=client, sources=tuple(sources), below=below))
        return True

    def forget(self, session_id: str) -> None:
        """Drop a session that was deleted; from any thread."""
        with self._lock:
            self._sessions.pop(session_id, None)
            was_current = self._current == session_id
            if was_current:
                self._current = None
        if was_current:
            self._services.engine.submit(self._find_current())

    def handle(self, content: dict[str, Any]) -> dict[str, Any]:
        """Answer one command at once; on the control thread."""
        identifier = content.get("id")
        known = self._replies.get(identifier) if isinstance(identifier, str) else None
        if known is not None:
            return {**known, "repeated": True}
        try:
            command = _command(content)
        except ValidationError as error:
            return self._error(identifier, _complaint(content, error))
        except UserError as error:
            return self._error(identifier, str(error))
        try:
            reply = self._do(command)
        except UserError as error:
            reply = self._reply(command, status="error", error=str(error))
        data = reply.model_dump(mode="json", exclude_none=True)
        with self._lock:
            self._replies[command.id] = data
            while len(self._replies) > REMEMBERED:
                self._replies.popitem(last=False)
        return data

    def close(self) -> None:
        """Stop sending records of sessions."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()

    def prepare(self, session_id: str | None = None) -> None:
        """Begin to import what the session's model needs, unless that has begun; returns at once, from any thread."""
        with self._lock:
            session = self._sessions.get(session_id or self._current or "")
        info = session.snapshot(messages=False).session if session is not None else None
        model = info.model.id if info is not None and info.model is not None else None
        self._services.engine.submit(asyncio.to_thread(self._services.preload_model, model))

    # Commands

    def _do(self, command: CommandBase) -> CommandReply:
        match command:
            case Hello():
                if command.client:
                    # It watches next; until then it counts as watching, so that cells do not ask.
                    self.watches.renew(command.client, None, GREETING_SECONDS)
                self._on_engine(command, self._find_current())
                return self._reply(
                    command,
                    project=str(self._services.workspace.project),
                    notebook=self._notebook(),
                    watch_seconds=WATCH_SECONDS,
                )
            case Watch():
                self.watches.renew(command.client, command.session)
                if command.pings:
                    self._presence.heard(command.client, command.session)
                if command.cells:
                    self.cells.heard(command.client)
                return self._reply(command, watch_seconds=WATCH_SECONDS)
            case AnnounceRun():
                self.announced(command.cells)
                return self._reply(command)
            case Prepare():
                self.prepare(command.session)
                return self._reply(command)
            case Unwatch():
                self.watches.end(command.client, command.session)
                self._presence.gone(command.client)
                self.cells.gone(command.client)
                return self._reply(command)
            case _:
                self._on_engine(command, self._carry_out(command))
                return self._reply(command)

    async def _carry_out(self, command: CommandBase) -> Any:
        """Do the slow part of a command, and return its answer."""
        match command:
            case TellCells():
                await self.cells.take(command)
                return None
            case Resync():
                return await self._resync(command)
            case RenameNotebook():
                return await self._rename(command)
            case PromptBase() if "/" in command.text:
                return await self._typed(command)
            case Operation():
                return await command.run(self._desk())
            case _:
                raise UserError(f"Nothing is done for {type(command).__name__}.")

    def _desk(self) -> Desk:
        return Desk(
            self._services,
            self._session,
            self._notebook(),
            is_page=True,
            adopt=self.adopt,
            forget=self.forget,
            publish=self._publish,
            turn=self._turn,
        )

    async def _typed(self, command: PromptBase) -> TypedAnswer | SessionAnswer:
        """Do what a prompt names behind a slash, or send it; raises UserError for a mistake."""
        from palimpsest.frontends.operations.definitions import own_commands  # noqa: PLC0415 - with the first prompt of a page

        own = await asyncio.to_thread(own_commands, self._services)
        typed = typed_command(command.text, own)
        if isinstance(typed, str):
            return await command.model_copy(update={"text": typed}).run(self._desk())
        if typed.view is not None:
            return TypedAnswer(view=typed.view)
        named: dict[str, str | None] = {"id": command.id}
        if getattr(typed.operation, "session", "") is None:
            named["session"] = command.session
        operation = typed.operation.model_copy(update=named)
        try:
            answer = await operation.run(replace(self._desk(), in_cell=True))
        except UserError as error:
            raise UserError(panel_words(str(error))) from None
        if isinstance(answer, TypedAnswer):
            return answer
        said = operation.output(answer)
        if isinstance(answer, Done) and answer.late:
            raise UserError(panel_words(shown(said).plain))
        # What has no words of its own is seen in the transcript, such as a turn.
        is_shown = isinstance(said, BaseModel)
        return TypedAnswer(markdown="" if is_shown else panel_words(shown(said).markdown))

    async def _turn(
        self, session: KernelSession, turn: Coroutine[Any, Any, Answer]
    ) -> SessionAnswer:
        """Await a turn that belongs to no cell."""
        session.take_withheld()  # a page has shown it
        answer = await without_cell(self.parts, session, turn, AWAY_SECONDS)
        # An error is shown in the message where it happened; this turn has no message to show it in.
        if answer.error is not None and answer.turn_id != "" and not answer.messages:
            raise UserError(answer.error.message)
        return SessionAnswer(session=head_of(session))

    async def _resync(self, command: Resync) -> None:
        session = await self._session(command.session)
        for notice in await resynced(session, command.after, command.id):
            self._publish(notice)

    async def _rename(self, command: RenameNotebook) -> Done:
        before = self._notebook()
        is_ours = rename_notebook(command.was, command.notebook)
        after = self._notebook()
        if is_ours and before is not None and after is not None:
            await self._services.workspace.rename(before, after)
        return Done(late=not is_ours)

    async def _find_current(self) -> None:
        await self._session(None)

    async def _session(self, identifier: str | None) -> KernelSession:
        """Return a session that this kernel has open, or open it."""
        if identifier is not None and identifier in self._sessions:
            return self._sessions[identifier]
        session = await self._services.workspace.meant(identifier, self._notebook())
        self.adopt(session)
        return session

    # Helpers

    def _on_engine(self, command: CommandBase, work: Coroutine[Any, Any, Any]) -> None:
        """Do the slow part of a command on the engine, and publish its answer, or the error when it failed."""

        async def guarded() -> None:
            try:
                answer = await work
            except UserError as error:
                self._publish(OutcomeNotice(id=command.id, error=str(error)))
            except Exception as error:
                self._publish(
                    OutcomeNotice(id=command.id, error=f"{type(error).__name__}: {error}")
                )
                raise
            else:
                if isinstance(answer, TypedAnswer):
                    self._publish(OutcomeNotice(id=command.id, typed=answer))
                elif answer is not None:
                    said = _words(command, answer)
                    self._publish(OutcomeNotice(id=command.id, answer=answer, words=said))

        future = self._services.engine.submit(guarded())
        self._tasks.add(future)
        future.add_done_callback(self._tasks.discard)

    def _reply(self, command: CommandBase, **fields: Any) -> CommandReply:
        with self._lock:
            # With the lock, since a head of the former session must not have a higher order than one of the present.
            named = getattr(command, "session", None) or self._current
            session = self._sessions.get(named) if named is not None else None
            head = head_of(session) if session is not None else None
        return CommandReply(
            **{
                "status": "ok",
                "id": command.id,
                "version": __version__,
                "session": head,
                **fields,
            }
        )

    def _error(self, identifier: Any, words: str) -> dict[str, Any]:
        reply = CommandReply(
            status="error",
            id=identifier if isinstance(identifier, str) else None,
            error=words,
            version=__version__,
        )
        return reply.model_dump(mode="json", exclude_none=True)

    def _notebook(self) -> str | None:
        return current_notebook(self._shell)

    def _forward(self, session_id: str, records: Sequence[Record]) -> None:
        if self.watches.fresh(session_id):
            for notice in new_records(session_id, records):
                self._publish(notice)

    def _tell_problem(self, session: KernelSession) -> None:
        if self._current == session.id:
            self._publish(CurrentNotice(session=head_of(session)))

    def _publish(self, notice: BaseModel) -> None:
        """Send a notice to every page, while one watches; from any thread."""
        if self.watches.fresh():
            self._send(notice)

    def _send(self, notice: BaseModel) -> None:
        kernel = getattr(self._shell, "kernel", None)
        if kernel is None:
            return
        content = {"v": PROTOCOL_VERSION, **notice.model_dump(mode="json", exclude_none=True)}
        kernel.session.send(
            kernel.iopub_socket, "palimpsest_notice", content, parent={}, ident=b"palimpsest_notice"
        )


def _command(content: dict[str, Any]) -> CommandBase:
    """Return the command of a message; raises UserError for one that is not known, and ValidationError."""
    kind = str(content.get("type"))
    kind = FORMER_TYPES.get(kind, kind)
    found = CONNECTION_COMMANDS.get(kind) or TABLE.find(kind)
    if found is None or not getattr(found, "in_page", True):
        known = ", ".join((*CONNECTION_COMMANDS, *TABLE.in_page))
        raise UserError(f"Unknown command {content.get('type')!r}. Known commands: {known}.")
    return found.model_validate({"id": None, **content, "type": kind})


def _words(command: CommandBase, answer: Any) -> str | None:
    """Return what a button's operation says, for a page that knows nothing of its answer."""
    if isinstance(command, Operation) and any(form.button for form in command.forms):
        return shown(command.output(answer)).plain
    return None


def _complaint(content: dict[str, Any], error: ValidationError) -> str:
    """Return one sentence about what is wrong with a command."""
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"]) or "it"
    return f"The command {content.get('type')!r} is not well formed: {where}: {first['msg']}."
