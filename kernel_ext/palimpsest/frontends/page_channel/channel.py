"""Handle the commands of pages, and send them notices.

Border: the control thread calls in here and returns at once, because interrupt and shutdown wait
behind it; work goes to the engine. Notices are published from whatever thread has them (sending
on iopub is safe from any), only while a page watches, and belong to no cell.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from palimpsest import __version__
from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.cell_turn.turn import without_cell
from palimpsest.frontends.kernel.main_thread import MainThread
from palimpsest.frontends.magic.agent_magics import current_notebook, rename_notebook
from palimpsest.frontends.page_channel import permissions
from palimpsest.frontends.page_channel.cell_outputs import SegmentsChannel
from palimpsest.frontends.page_channel.extensions import ExtensionsChannel
from palimpsest.frontends.page_channel.inspector import InspectorChannel
from palimpsest.frontends.page_channel.mentions import MentionsChannel
from palimpsest.frontends.page_channel.notices import (
    choices_of,
    head_of,
    new_records,
    own_commands,
    records_since,
    session_states,
)
from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.page_presence import PagePresence, PageWatches
from palimpsest.frontends.page_channel.project import ProjectChannel
from palimpsest.frontends.page_channel.runs import RunsChannel
from palimpsest.frontends.page_channel.sessions import SessionsChannel
from palimpsest.frontends.page_channel.sharing import SharingChannel
from palimpsest.frontends.page_channel.typed_commands import (
    RefusedCommand,
    TypedCommand,
    typed_command,
)
from palimpsest.frontends.protocol.choices import ListChoices
from palimpsest.frontends.protocol.commands import COMMAND_TYPES, COMMANDS, FORMER_TYPES, Command
from palimpsest.frontends.protocol.connection import (
    PROTOCOL_VERSION,
    WATCH_SECONDS,
    AnnounceRun,
    CommandBase,
    CommandReply,
    CurrentNotice,
    Hello,
    InsertCellsNotice,
    PingNotice,
    Unwatch,
    Watch,
)
from palimpsest.frontends.protocol.context import ApplyContextEdit
from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.permissions import (
    AskForAnotherSummary,
    ListApprovals,
    ReleaseRequest,
    SetBudget,
    SetMode,
    SetStepMode,
    TrustProject,
    UseOlderSummary,
)
from palimpsest.frontends.protocol.prompts import (
    AnswerAsk,
    AnswerQuestion,
    Cancel,
    Prompt,
    PromptBase,
    Queue,
    Retry,
    Steer,
    Withdraw,
)
from palimpsest.frontends.protocol.sessions import NewSession, OpenSession, RenameNotebook, Revert
from palimpsest.frontends.protocol.sharing import ImportProgressNotice
from palimpsest.frontends.protocol.transcript import Resync, ShowImage
from palimpsest.frontends.subcommands import reverts
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import AWAY_SECONDS
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Reply

GREETING_SECONDS = 1.0
"""How long to wait for a page's ``Hello``, which it sends when the cell that loaded us has ended.

With Run All the next cell asks sooner: without this wait, five of six such runs showed an input
prompt beside the page's buttons.
"""
REMEMBERED = 1_000
"""Replies kept for repeated commands; a page repeats within seconds."""


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
        self._services = services
        self._main_thread = main_thread
        self._shell = shell
        self._sessions: dict[str, KernelSession] = {}
        self._unsubscribe: list[Callable[[], None]] = []
        self._current: str | None = None
        self._greeting_ends: float | None = None
        self._replies: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._tasks: set[Any] = set()
        self._work: dict[type[CommandBase], Callable[[Any], Coroutine[Any, Any, None]]] = {
            Prompt: self._prompt,
            Queue: self._prompt,
            Steer: self._prompt,
            Retry: self._retry,
            AnswerAsk: self._answer,
            AnswerQuestion: self._answer_question,
            ShowImage: self._picture,
            Cancel: self._cancel,
            Withdraw: self._withdraw,
            Resync: self._resync,
            ListChoices: self._choices,
            OpenSession: self._open,
            NewSession: self._new,
            RenameNotebook: self._rename,
            ApplyContextEdit: self._choose,
            SetMode: self._allow,
            SetBudget: self._allow,
            SetStepMode: self._allow,
            ReleaseRequest: self._allow,
            AskForAnotherSummary: self._allow,
            UseOlderSummary: self._allow,
            ListApprovals: self._allow,
            TrustProject: self._allow,
            Revert: self._revert,
        }
        """The slow part of each command, which runs on the engine."""
        self._work |= MentionsChannel(self).work
        self._work |= self.cells.work
        self._work |= SegmentsChannel(self).work
        self._work |= SessionsChannel(services, self).work
        self._work |= SharingChannel(services, self).work
        self._work |= ExtensionsChannel(services, self).work
        self._work |= ProjectChannel(services, self).work
        self._work |= InspectorChannel(services, self).work
        self._work |= RunsChannel(self._session, self._turn, self._publish, self._notebook).work

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
                self._unsubscribe.append(session.subscribe(self._forwarder(session.id)))
                self._unsubscribe.append(session.on_problem(self._problem_teller(session)))
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

    def publish(self, notice: OutcomeNotice | ImportProgressNotice) -> None:
        """Send the outcome of a command, or how far it is, to the pages."""
        self._publish(notice)

    def notebook(self) -> str | None:
        """Return the path of this kernel's notebook."""
        return self._notebook()

    def handle(self, content: dict[str, Any]) -> dict[str, Any]:
        """Answer one command at once; on the control thread."""
        identifier = content.get("id")
        known = self._replies.get(identifier) if isinstance(identifier, str) else None
        if known is not None:
            return {**known, "repeated": True}
        try:
            command = COMMANDS.validate_python(_in_present_words(content))
        except ValidationError as error:
            return self._error(identifier, _complaint(content, error))
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

    # Commands

    def _do(self, command: Command) -> CommandReply:
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
            case Unwatch():
                self.watches.end(command.client, command.session)
                self._presence.gone(command.client)
                self.cells.gone(command.client)
                return self._reply(command)
            case _:
                self._on_engine(command, self._work[type(command)](command))
                return self._reply(command)

    async def _prompt(self, command: PromptBase) -> None:
        text: TypedCommand | RefusedCommand | str = command.text
        if "/" in command.text:
            own = await asyncio.to_thread(own_commands, self._services)
            text = typed_command(command.text, own)
        if isinstance(text, RefusedCommand):
            raise UserError(text.sentence)
        session = await self._session(command.session)
        if isinstance(text, TypedCommand):
            await self._typed(command, text, session)
            return
        options = PromptOptions.of(
            command,
            files=command.files,
            delivery="steer" if isinstance(command, Steer) else "queue",
            origin=Origin(kind="panel", notebook=self._notebook()),
            prompt_id=command.id,
        )
        await self._turn(command, session, session.prompt(text, options))

    async def _typed(
        self, command: PromptBase, typed: TypedCommand, session: KernelSession
    ) -> None:
        """Do what a built-in command says that was typed into the panel."""
        options, argument = typed.line.options, typed.line.argument
        match typed.name:
            case "compact":
                origin = Origin(kind="panel", notebook=self._notebook())
                summary = session.compact(
                    argument or None, origin, model=options.model, auto=options.auto
                )
                await self._turn(command, session, summary)
            case "retry":
                await self._turn(command, session, session.retry())
            case "stop":
                if not session.cancel("Stopped."):
                    raise UserError("Nothing was running.")
                self._publish(OutcomeNotice(id=command.id))
            case "new":
                made = await self._services.workspace.new(self._notebook())
                self.adopt(made)
                self._publish(OutcomeNotice(id=command.id, session=head_of(made)))
            case name:
                submit = self._services.engine.submit
                await asyncio.to_thread(
                    reverts.run_revert_command,
                    name,
                    argument,
                    session.reverts,
                    lambda work: submit(work).result(),
                )
                self._publish(OutcomeNotice(id=command.id))

    async def _retry(self, command: Retry) -> None:
        session = await self._session(command.session)
        await self._turn(command, session, session.retry())

    async def _turn(
        self, command: CommandBase, session: KernelSession, turn: Coroutine[Any, Any, Answer]
    ) -> None:
        """Await a turn that belongs to no cell."""
        session.take_withheld()  # a page has shown it
        answer = await without_cell(self._main_thread, self, session, turn, AWAY_SECONDS)
        # An error is shown in the message where it happened; this turn has no message to show it in.
        unsaid = answer.error is not None and answer.turn_id != "" and not answer.messages
        error = answer.error.message if answer.error is not None and unsaid else None
        self._publish(OutcomeNotice(id=command.id, error=error, session=head_of(session)))

    async def _answer(self, command: AnswerAsk) -> None:
        session = await self._session(command.session)
        reply = Reply(answer=command.answer, feedback=command.feedback, scope=command.scope)
        first = session.reply(command.ask_id, reply)
        self._publish(OutcomeNotice(id=command.id, late=not first))

    async def _answer_question(self, command: AnswerQuestion) -> None:
        session = await self._session(command.session)
        first = session.answer(command.question_id, command.answers)
        self._publish(OutcomeNotice(id=command.id, late=not first))

    async def _picture(self, command: ShowImage) -> None:
        session = await self._session(command.session)
        found = await asyncio.to_thread(session.picture, command.url)
        self._publish(OutcomeNotice(id=command.id, image=found))

    async def _cancel(self, command: Cancel) -> None:
        session = await self._session(command.session)
        stopped = session.cancel("Stopped.")
        self._publish(OutcomeNotice(id=command.id, late=not stopped))

    async def _withdraw(self, command: Withdraw) -> None:
        session = await self._session(command.session)
        self._publish(OutcomeNotice(id=command.id, late=not session.withdraw(command.prompt_id)))

    async def _resync(self, command: Resync) -> None:
        session = await self._session(command.session)
        if command.after is None:
            for notice in session_states(session, command.id):
                self._publish(notice)
            return
        after = command.after
        for told in await asyncio.to_thread(
            lambda: list(records_since(session, after, command.id))
        ):
            self._publish(told)

    async def _choices(self, command: ListChoices) -> None:
        made = await asyncio.to_thread(choices_of, self._services)
        self._publish(OutcomeNotice(id=command.id, choices=made))

    async def _open(self, command: OpenSession) -> None:
        session = await self._services.workspace.open(command.session, self._notebook())
        self.adopt(session)
        self._publish(OutcomeNotice(id=command.id, session=head_of(session)))

    async def _new(self, command: NewSession) -> None:
        session = await self._services.workspace.new(
            self._notebook(),
            title=command.title,
            parent=command.parent,
            permission=command.permission,
        )
        if command.parent is None:
            self.adopt(session)
        self._publish(OutcomeNotice(id=command.id, session=head_of(session)))

    async def _rename(self, command: RenameNotebook) -> None:
        before = self._notebook()
        is_ours = rename_notebook(command.was, command.notebook)
        after = self._notebook()
        if is_ours and before is not None and after is not None:
            await self._services.workspace.rename(before, after)
        self._publish(OutcomeNotice(id=command.id, late=not is_ours))

    async def _choose(self, command: ApplyContextEdit) -> None:
        session = await self._session(command.session)
        # In a worker thread, because it may first read older messages from the log.
        changed = session.step_mode.session_of(command.hold) if command.hold else session
        await asyncio.to_thread(changed.edit_context, command.action, command.target)
        self._publish(OutcomeNotice(id=command.id))

    async def _revert(self, command: Revert) -> None:
        session = await self._session(command.session)
        self._publish(await reverts.answer_revert_command(command, session.reverts))

    async def _allow(self, command: permissions.PermissionCommand) -> None:
        session = await self._session(getattr(command, "session", None))
        # In a worker thread, because the project's permissions are a file.
        done = await asyncio.to_thread(
            permissions.answer_permission_command, command, session, self._services
        )
        self._publish(done)

    async def _find_current(self) -> None:
        session = await self._services.workspace.current(self._notebook())
        self.adopt(session)

    async def session(self, identifier: str | None) -> KernelSession:
        """Return a session by id, or the notebook's."""
        return await self._session(identifier)

    async def _session(self, identifier: str | None) -> KernelSession:
        """Return a session that this kernel has open, or open it."""
        if identifier is not None and identifier in self._sessions:
            return self._sessions[identifier]
        workspace = self._services.workspace
        if identifier is None:
            session = await workspace.current(self._notebook())
        else:
            session = await workspace.open(identifier, self._notebook())
        self.adopt(session)
        return session

    # Helpers

    def _on_engine(self, command: CommandBase, work: Coroutine[Any, Any, None]) -> None:
        """Do the slow part of a command on the engine, and publish an error when it failed."""

        async def guarded() -> None:
            try:
                await work
            except UserError as error:
                self._publish(OutcomeNotice(id=command.id, error=str(error)))
            except Exception as error:
                self._publish(
                    OutcomeNotice(id=command.id, error=f"{type(error).__name__}: {error}")
                )
                raise

        future = self._services.engine.submit(guarded())
        self._tasks.add(future)
        future.add_done_callback(self._tasks.discard)

    def _reply(self, command: Command, **fields: Any) -> CommandReply:
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

    def _forwarder(self, session_id: str) -> Callable[[Sequence[Record]], None]:
        def forward(records: Sequence[Record]) -> None:
            if not self.watches.fresh(session_id):
                return
            for notice in new_records(session_id, records):
                self._publish(notice)

        return forward

    def _problem_teller(self, session: KernelSession) -> Callable[[], None]:
        def tell() -> None:
            if self._current == session.id:
                self._publish(CurrentNotice(session=head_of(session)))

        return tell

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


def _in_present_words(content: dict[str, Any]) -> dict[str, Any]:
    """Return a command with the type of an older protocol replaced by the present one."""
    former = FORMER_TYPES.get(str(content.get("type")))
    return content if former is None else content | {"type": former}


def _complaint(content: dict[str, Any], error: ValidationError) -> str:
    """Return one sentence about what is wrong with a command."""
    kind = content.get("type")
    first = error.errors()[0]
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return f"Unknown command {kind!r}. Known commands: {COMMAND_TYPES}."
    where = ".".join(str(step) for step in first["loc"][1:]) or "it"
    return f"The command {kind!r} is not well formed: {where}: {first['msg']}."
