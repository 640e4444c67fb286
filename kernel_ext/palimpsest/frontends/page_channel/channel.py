"""Run the commands of pages, and send them notices.

Border: called on the control thread, where it returns at once, because interrupt and shutdown wait
behind it; slow work runs on the engine. Notices are published from any thread (sending
on iopub is thread-safe), only while a page watches, and belong to no cell.
"""

import asyncio
import threading
import time
import uuid
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
from palimpsest.frontends.operation_base.operation import (
    Done,
    Operation,
    OperationContext,
    SessionAnswer,
)
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operation_text.command_output import joined_output
from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.frontends.operations.turns import PromptBase
from palimpsest.frontends.page_channel.notices import missed_notices, new_records
from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.page_changes import PageChanges
from palimpsest.frontends.page_channel.page_presence import PagePresence, PageWatches
from palimpsest.frontends.page_channel.requested_runs import RequestedRuns
from palimpsest.frontends.page_channel.typed_commands import panel_text, typed_command
from palimpsest.frontends.protocol.connection import (
    PROTOCOL_VERSION,
    WATCH_SECONDS,
    AnnounceRun,
    CellsChanged,
    CommandBase,
    CommandReply,
    CurrentNotice,
    Hello,
    OutcomeNotice,
    PingNotice,
    Prepare,
    RenameNotebook,
    TellCells,
    TypedAnswer,
    Unwatch,
    Watch,
)
from palimpsest.frontends.protocol.transcript import Resync
from palimpsest.session.engine import EngineFuture
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import MAX_AWAY_SECONDS
from palimpsest.tools.notebook.notebook_tool import MAX_PAGE_SECONDS
from palimpsest.transcript.context_values.cell_changes import CellChange
from palimpsest.transcript.context_values.page_cells import CellsWanted
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record

MAX_GREETING_SECONDS = 1.0
"""Time to wait for a page's ``Hello``, which it sends when the cell with ``%load_ext`` has ended.

With Run All the next cell may ask sooner: without this wait, five of six such runs showed an input
prompt beside the page's buttons.
"""
MAX_STORED_REPLIES = 1_000
"""Maximum replies that are kept for repeated commands; a page repeats within seconds."""
CONNECTION_COMMANDS: Mapping[str, type[CommandBase]] = {
    str(command_type.model_fields["type"].default): command_type
    for command_type in (
        *(Hello, Watch, Unwatch, AnnounceRun, Prepare),
        *(TellCells, CellsChanged, Resync, RenameNotebook),
    )
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
    """Connects pages with the engine: validates commands, replies at once, runs slow work, publishes outcomes."""

    def __init__(self, services: FrontendServices, main_thread: MainThread, shell: Any) -> None:
        self.page_watches = PageWatches()
        self.on_run_announced: Callable[[int], None] = lambda _cells: None
        """Called with the number of cells that a page sends together; set by ``frontends/frontend.py``."""
        is_watched = self.page_watches.is_watched
        self._page_presence = PagePresence(is_watched, lambda: self._send(PingNotice()))
        self.cells = PageCells(self._send)
        self.requested_runs = RequestedRuns(main_thread, services.notebook_runs)
        self.cell_changes = PageChanges(self._send, self.cells, self.requested_runs)
        self.kernel_parts = KernelParts(services, main_thread, self)
        self._services = services
        self._shell = shell
        self._sessions: dict[str, KernelSession] = {}
        self._unsubscribe_functions: list[Callable[[], None]] = []
        self._current_id: str | None = None
        self._greeting_ends_at: float | None = None
        self._replies_by_command: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._running_futures: set[EngineFuture[None]] = set()

    def is_watched(self, session_id: str) -> bool:
        """Return whether a page watches this session now."""
        return self.page_watches.is_watched(session_id)

    def may_answer(self, session_id: str) -> bool:
        """Return whether a page can answer the session's questions now, or may be about to."""
        return self._page_presence.may_answer(session_id) or self.may_appear()

    def may_appear(self) -> bool:
        """Return whether a page may still begin to watch; the first call starts the ``MAX_GREETING_SECONDS``."""
        now = time.monotonic()
        if self._greeting_ends_at is None:
            is_kernel = getattr(self._shell, "kernel", None) is not None
            self._greeting_ends_at = now + MAX_GREETING_SECONDS if is_kernel else now
        return now < self._greeting_ends_at

    @property
    def current_session(self) -> KernelSession | None:
        """The notebook's current session; None while none is open."""
        with self._lock:
            return self._sessions.get(self._current_id) if self._current_id is not None else None

    def adopt(self, session: KernelSession) -> None:
        """Make a session the notebook's current one; from any thread."""
        with self._lock:
            is_known = session.id in self._sessions
            is_changed = self._current_id != session.id
            self._sessions[session.id] = session
            self._current_id = session.id
            if not is_known:
                on_records = partial(self._forward_records, session.id)
                on_problem = partial(self._send_problem, session)
                self._unsubscribe_functions += [
                    session.subscribe(on_records),
                    session.on_problem(on_problem),
                ]
        if is_changed:
            self._send_to_pages(CurrentNotice(session=head_of(session)))

    def insert_cells(self, sources: Sequence[str], below_id: str | None) -> bool:
        """Insert new cells below a cell, blocking, through the page that shows it; returns False where none does."""
        if below_id is None:
            return False
        return self._services.engine.submit(self._insert_cells(sources, below_id)).result()

    async def _insert_cells(self, sources: Sequence[str], below_id: str) -> bool:
        notebooks = await self.cells.page_notebooks(CellsWanted(below_id), MAX_PAGE_SECONDS) or ()
        paths = [
            notebook.path
            for notebook in notebooks
            if any(cell.id == below_id for cell in notebook.cells)
        ]
        if not paths:
            return False
        cell_ids = [below_id, *(uuid.uuid4().hex[:8] for _ in sources)]
        changes = [
            CellChange(action="insert", cell=cell, after=after, new=source)
            for source, after, cell in zip(sources, cell_ids[:-1], cell_ids[1:], strict=True)
        ]
        try:
            results = await self.cell_changes.change(paths[0], changes, None)
        except UserError:
            return False
        return all(result.problem is None for result in results)

    def forget(self, session_id: str) -> None:
        """Remove a session that was deleted; from any thread."""
        with self._lock:
            self._sessions.pop(session_id, None)
            was_current = self._current_id == session_id
            if was_current:
                self._current_id = None
        if was_current:
            self._services.engine.submit(self._open_current())

    def handle(self, content: dict[str, Any]) -> dict[str, Any]:
        """Answer one command at once; on the control thread."""
        command_id = content.get("id")
        earlier_reply = (
            self._replies_by_command.get(command_id) if isinstance(command_id, str) else None
        )
        if earlier_reply is not None:
            return {**earlier_reply, "repeated": True}
        try:
            command = _validated_command(content)
        except ValidationError as error:
            return self._error_reply(command_id, _validation_sentence(content, error))
        except UserError as error:
            return self._error_reply(command_id, str(error))
        try:
            reply = self._run_command(command)
        except UserError as error:
            reply = self._reply(command, status="error", error=str(error))
        reply_json = reply.model_dump(mode="json", exclude_none=True)
        with self._lock:
            self._replies_by_command[command.id] = reply_json
            while len(self._replies_by_command) > MAX_STORED_REPLIES:
                self._replies_by_command.popitem(last=False)
        return reply_json

    def close(self) -> None:
        """Stop sending records of sessions."""
        for unsubscribe in self._unsubscribe_functions:
            unsubscribe()
        self._unsubscribe_functions.clear()

    def prepare(self, session_id: str | None = None) -> None:
        """Begin to import the modules of the session's model; returns at once, from any thread."""
        with self._lock:
            session = self._sessions.get(session_id or self._current_id or "")
        info = session.snapshot(messages=False).session if session is not None else None
        model_id = info.model.id if info is not None and info.model is not None else None
        self._services.engine.submit(asyncio.to_thread(self._services.preload_model, model_id))

    # Commands

    def _run_command(self, command: CommandBase) -> CommandReply:
        match command:
            case Hello():
                if command.client:
                    # Its Watch follows; until then it counts as watching, so that cells do not ask.
                    self.page_watches.renew_watch(command.client, None, MAX_GREETING_SECONDS)
                self._on_engine(command, self._open_current())
                return self._reply(
                    command,
                    project=str(self._services.workspace.project),
                    notebook=self._notebook_path(),
                    watch_seconds=WATCH_SECONDS,
                )
            case Watch():
                self.page_watches.renew_watch(command.client, command.session)
                if command.pings:
                    self._page_presence.record_message(command.client, command.session)
                if command.cells:
                    self.cells.record_message(command.client)
                return self._reply(command, watch_seconds=WATCH_SECONDS)
            case AnnounceRun():
                self.on_run_announced(command.cells)
            case Prepare():
                self.prepare(command.session)
            case Unwatch():
                self.page_watches.end_watch(command.client, command.session)
                self._page_presence.record_leave(command.client)
                self.cells.record_leave(command.client)
            case _:
                self._on_engine(command, self._run_slow_part(command))
        return self._reply(command)

    async def _run_slow_part(self, command: CommandBase) -> Any:
        if isinstance(command, PromptBase) and command.client is not None:
            self.cells.record_prompt(
                command.client, (await self._find_or_open_session(command.session)).id
            )
        match command:
            case TellCells():
                await self.cells.add_piece(command)
                return None
            case CellsChanged():
                self.cell_changes.add_answer(command)
                return None
            case Resync():
                return await self._resend_records(command)
            case RenameNotebook():
                return await self._rename(command)
            case PromptBase() if "/" in command.text:
                return await self._run_typed_command(command)
            case Operation():
                return await command.run(self._operation_context())
            case _:
                raise UserError(f"Nothing is done for {type(command).__name__}.")

    def _operation_context(self) -> OperationContext:
        return OperationContext(
            self._services,
            self._find_or_open_session,
            self._notebook_path(),
            is_page=True,
            adopt=self.adopt,
            forget=self.forget,
            publish=self._send_to_pages,
            await_turn=self._await_turn,
        )

    async def _run_typed_command(self, command: PromptBase) -> TypedAnswer | SessionAnswer:
        """Run the slash command in a prompt, or send the prompt; raises UserError for a mistake."""
        from palimpsest.frontends.operations.definitions import own_command_names  # noqa: PLC0415 - with the first prompt of a page

        command_names = await asyncio.to_thread(own_command_names, self._services)
        parsed_command = typed_command(command.text, command_names)
        if isinstance(parsed_command, str):
            prompt = command.model_copy(update={"text": parsed_command})
            return await prompt.run(self._operation_context())
        if parsed_command.view is not None:
            return TypedAnswer(view=parsed_command.view)
        fields: dict[str, str | None] = {"id": command.id}
        if getattr(parsed_command.operation, "session", "") is None:
            fields["session"] = command.session
        operation = parsed_command.operation.model_copy(update=fields)
        try:
            answer = await operation.run(replace(self._operation_context(), in_cell=True))
        except UserError as error:
            raise UserError(panel_text(str(error))) from None
        if isinstance(answer, TypedAnswer):
            return answer
        output = operation.output(answer)
        if isinstance(answer, Done) and answer.late:
            raise UserError(panel_text(joined_output(output).plain_text))
        if isinstance(output, BaseModel):  # without text, such as a turn: it is in the transcript
            return TypedAnswer()
        return TypedAnswer(markdown=panel_text(joined_output(output).markdown))

    async def _await_turn(
        self, session: KernelSession, turn: Coroutine[Any, Any, Answer]
    ) -> SessionAnswer:
        """Await a turn for which no cell waits."""
        session.take_opening_notice()  # the page shows the notice about the opening
        answer = await without_cell(self.kernel_parts, session, turn, MAX_AWAY_SECONDS)
        # An error is shown in its message; raise it for a turn without messages.
        if answer.error is not None and answer.turn_id != "" and not answer.messages:
            raise UserError(answer.error.message)
        return SessionAnswer(session=head_of(session))

    async def _resend_records(self, command: Resync) -> None:
        session = await self._find_or_open_session(command.session)
        for notice in await missed_notices(session, command.after, command.id):
            self._send_to_pages(notice)

    async def _rename(self, command: RenameNotebook) -> Done:
        old_path = self._notebook_path()
        is_renamed = rename_notebook(command.was, command.notebook)
        new_path = self._notebook_path()
        if is_renamed and old_path is not None and new_path is not None:
            await self._services.workspace.rename(old_path, new_path)
        return Done(late=not is_renamed)

    async def _open_current(self) -> None:
        await self._find_or_open_session(None)

    async def _find_or_open_session(self, session_id: str | None) -> KernelSession:
        """Return an open session of this kernel, or open it."""
        if session_id is not None and session_id in self._sessions:
            return self._sessions[session_id]
        session = await self._services.workspace.open_or_current(session_id, self._notebook_path())
        self.adopt(session)
        return session

    # Internals

    def _on_engine(self, command: CommandBase, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run the slow part of a command on the engine, and publish its answer or its error."""

        def publish(**outcome: Any) -> None:
            self._send_to_pages(OutcomeNotice(id=command.id, **outcome))

        async def run_and_publish() -> None:
            try:
                answer = await coroutine
            except UserError as error:
                publish(error=str(error))
            except Exception as error:
                publish(error=f"{type(error).__name__}: {error}")
                raise
            else:
                if isinstance(answer, TypedAnswer):
                    publish(typed=answer)
                elif answer is not None:
                    publish(answer=answer, words=_answer_text(command, answer))

        future = self._services.engine.submit(run_and_publish())
        self._running_futures.add(future)
        future.add_done_callback(self._running_futures.discard)

    def _reply(self, command: CommandBase, **fields: Any) -> CommandReply:
        with self._lock:
            # Under the lock, so that no head of the former session gets a higher order than one of the present session.
            session_id = getattr(command, "session", None) or self._current_id
            session = self._sessions.get(session_id) if session_id is not None else None
            head = head_of(session) if session is not None else None
        values = {"status": "ok", "id": command.id, "version": __version__, "session": head}
        return CommandReply(**(values | fields))

    def _error_reply(self, command_id: Any, sentence: str) -> dict[str, Any]:
        reply = CommandReply(
            status="error",
            id=command_id if isinstance(command_id, str) else None,
            error=sentence,
            version=__version__,
        )
        return reply.model_dump(mode="json", exclude_none=True)

    def _notebook_path(self) -> str | None:
        return current_notebook(self._shell)

    def _forward_records(self, session_id: str, records: Sequence[Record]) -> None:
        if self.page_watches.is_watched(session_id):
            for notice in new_records(session_id, records):
                self._send_to_pages(notice)

    def _send_problem(self, session: KernelSession) -> None:
        if self._current_id == session.id:
            self._send_to_pages(CurrentNotice(session=head_of(session)))

    def _send_to_pages(self, notice: BaseModel) -> None:
        """Send a notice to all pages if one watches; from any thread."""
        if self.page_watches.is_watched():
            self._send(notice)

    def _send(self, notice: BaseModel) -> None:
        kernel = getattr(self._shell, "kernel", None)
        if kernel is None:
            return
        content = {"v": PROTOCOL_VERSION, **notice.model_dump(mode="json", exclude_none=True)}
        kernel.session.send(
            kernel.iopub_socket, "palimpsest_notice", content, parent={}, ident=b"palimpsest_notice"
        )


def _validated_command(content: dict[str, Any]) -> CommandBase:
    """Return the command of a message; raises UserError for an unknown type, and ValidationError."""
    type_name = str(content.get("type"))
    type_name = FORMER_TYPES.get(type_name, type_name)
    command_type = CONNECTION_COMMANDS.get(type_name) or TABLE.operation_type(type_name)
    if command_type is None or not getattr(command_type, "in_page", True):
        known_types = ", ".join((*CONNECTION_COMMANDS, *TABLE.page_operations))
        raise UserError(f"Unknown command {content.get('type')!r}. Known commands: {known_types}.")
    return command_type.model_validate({"id": None, **content, "type": type_name})


def _answer_text(command: CommandBase, answer: Any) -> str | None:
    """Return the text of an answer to a button's operation; None for other operations."""
    if isinstance(command, Operation) and any(form.button for form in command.forms):
        return joined_output(command.output(answer)).plain_text
    return None


def _validation_sentence(content: dict[str, Any], error: ValidationError) -> str:
    first_error = error.errors()[0]
    field_path = ".".join(str(step) for step in first_error["loc"]) or "it"
    return f"The command {content.get('type')!r} is not well formed: {field_path}: {first_error['msg']}."
