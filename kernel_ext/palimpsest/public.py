"""What a person holds in a variable: a session to ask, to look at, and to change.

The same things that the magic and the panel can do, as a Python object (docs/api.md).
"""

import functools
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from palimpsest.app import APPS, App
from palimpsest.model.tokenizer import counter
from palimpsest.review.ledger import Ledger
from palimpsest.review.occasions import Redecision
from palimpsest.review.redecide import redecide
from palimpsest.review.requests import Rebuilt, rebuild, requests
from palimpsest.review.standins import SUMMARY_TOKENS
from palimpsest.review.weighing import weigh, weigh_recorded
from palimpsest.review.whatif import WhatIf, whatif
from palimpsest.session.api import Answer, LiveSession, PromptOptions, Snapshot
from palimpsest.session.control import Control
from palimpsest.session.handing import Handing
from palimpsest.session.hooks import HookStatus
from palimpsest.session.policies import policy_from
from palimpsest.session.wishes import Wish
from palimpsest.store.exchange import ImportReport
from palimpsest.tools.mcp_servers import ServerStatus
from palimpsest.transcript.decisions import StepRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.events import QuestionAsked
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.reverts import FileDiff, RevertPreview
from palimpsest.transcript.scrub import scrub, secret_values
from palimpsest.transcript.values import Reply, Todo

NOT_IN_A_CELL = (
    "In a notebook, ask with %agent or %%agent: the agent's Python needs the thread that this call "
    "would block. start() sends a prompt without waiting."
)


class Session(Handing):
    """A session in a person's hands: ask it, look at it, look at what the model saw."""

    def __init__(self, app: App, live: LiveSession) -> None:
        self._app = app
        self._live = live

    @property
    def id(self) -> str:
        """The session's id."""
        return self._live.id

    @property
    def snapshot(self) -> Snapshot:
        """Everything about the session at this moment, as one immutable value."""
        return self._live.snapshot()

    @property
    def messages(self) -> Messages:
        """The transcript."""
        return self._live.snapshot().messages

    def prompt(self, text: str, **options: Any) -> Answer:
        """Send a prompt and wait for its answer.

        For scripts: no kernel runs the agent's Python, and nobody is asked; questions wait until
        ``reply`` answers them from another thread, or ``yes=True`` does.
        """
        if self._app.in_kernel:
            raise UserError(NOT_IN_A_CELL)
        return self.start(text, **options).result()

    def start(self, text: str, **options: Any) -> "Future[Answer]":
        """Send a prompt; its answer arrives in a future."""
        return self._app.engine.submit(self._live.prompt(text, PromptOptions(**options)))

    def compact(self, focus: str | None = None) -> "Future[Answer]":
        """Put a summary in the place of what was said; it arrives in a future, also one that runs already.

        ``focus`` is what the summary keeps above all. In a cell, write ``%agent compact``.
        """
        return self._app.engine.submit(self._live.compact(focus))

    def wait_compaction(self) -> "Future[bool]":
        """Tell when no compaction runs and what it interrupted was tried again; arrives in a future.

        False when that takes longer than the context policy waits, or the session is closed.
        """
        return self._app.engine.submit(self._live.wait_compaction())

    def pin(self, name: str) -> Wish:
        """Keep a part, or a whole message, in every request from the next one on.

        Neither prune nor a compaction takes it out. ``name`` is an id, its beginning or its end, or
        ``last`` for the newest tool call. Also while a turn runs, like all of these.
        """
        return self._live.wish("pin", name)

    def unpin(self, name: str) -> Wish:
        """Take a pin off again."""
        return self._live.wish("unpin", name)

    def exclude(self, name: str) -> Wish:
        """Leave a part, or a whole message, out of every request from the next one on.

        A tool call goes together with what it returned. The transcript keeps everything.
        """
        return self._live.wish("exclude", name)

    def restore(self, name: str) -> Wish:
        """Bring back what was left out, cleared or cut, or what a summary stands for."""
        return self._live.wish("restore", name)

    def undo_compaction(self) -> Wish:
        """Show the model again what the newest summary stands for.

        Nothing is compacted by itself until the next prompt.
        """
        return self._live.wish("undo")

    def preview(self, name: str = "") -> RevertPreview:
        """Say what ``revert`` would do: which messages go, what becomes of which file. Nothing is changed."""
        return self._app.engine.submit(self._live.undoing.preview(name)).result()

    def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Take back the newest prompt, or from a message or part on, and bring its files back.

        What somebody else changed since is named and left alone, unless ``overwrite`` names it. Until
        the next prompt, ``unrevert`` undoes it. Raises SessionBusy while a turn runs.
        """
        return self._app.engine.submit(self._live.undoing.revert(name, overwrite)).result()

    def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that stands."""
        return self._app.engine.submit(self._live.undoing.unrevert(overwrite)).result()

    def cleanup(self) -> int:
        """Remove what is taken back for good; returns how many messages went."""
        return self._app.engine.submit(self._live.undoing.cleanup()).result()

    def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return what the session changed in files; of one turn by its id, or ``last``."""
        return self._app.engine.submit(self._live.undoing.diff(name)).result()

    @property
    def hooks(self) -> tuple[HookStatus, ...]:
        """The hooks of this kernel, with how often each was asked and failed."""
        return self._app.hooks.status()

    @property
    def servers(self) -> tuple[ServerStatus, ...]:
        """The MCP servers of this kernel, with their state and tools."""
        return self._app.servers.status()

    def connect_servers(self) -> tuple[ServerStatus, ...]:
        """Connect the MCP servers that are not connected, and wait a moment for them."""
        return self._app.engine.submit(self._app.servers.restart()).result()

    def cancel(self) -> bool:
        """Stop the turn that runs."""
        return self._live.cancel()

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question; the first answer wins."""
        return self._live.reply(ask_id, reply)

    @property
    def todos(self) -> tuple[Todo, ...]:
        """What the agent has to do, as its tool ``todowrite`` keeps it."""
        return self._live.snapshot().todos

    @property
    def questions(self) -> tuple[QuestionAsked, ...]:
        """What the agent asks you, and nobody answered yet."""
        return self._live.snapshot().questions

    def answer(self, question_id: str, *answers: str | Sequence[str] | None) -> bool:
        """Answer what the agent asks, one answer for each question; the first answer wins.

        An answer is a label, your own words, or a list of labels; None leaves that question open.
        Without any the agent goes on with its best judgement. Returns False when somebody was
        first: ``session.answer(session.questions[0].question_id, "SQLite", ["mass", "year"])``.
        """
        given = [[one] if isinstance(one, str) else list(one or ()) for one in answers]
        return self._live.answer(question_id, given if any(given) else None)

    @property
    def control(self) -> Control:
        """Its mode, what is always allowed, and its spending limit, to look at and to change.

        ``control.mode``, ``control.use_mode("plan")``, ``control.allowances``, ``control.revoke(1)``,
        ``control.spent``, ``control.set_budget(usd=2)``.
        """
        return self._live.control

    @property
    def policy(self) -> Policy:
        """The context policy that holds from the next request on."""
        return self._live.policy()

    def use_policy(self, *words: str | Policy) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Words are the name of a preset, ``name=value`` for one number, or ``default`` for the
        configured one: ``use_policy("opencode-1.18", "prune.protect_tokens=10000")``.
        """
        return self._app.engine.submit(self._live.use_policy(*words)).result()

    def requests(self) -> tuple[StepRequest, ...]:
        """List every model request of the session, in order."""
        self._flush()
        return requests(self._app.services.store, self.id)

    def rebuild(self, request: StepRequest | str) -> Rebuilt:
        """Rebuild what the model saw at a request, from the log."""
        self._flush()
        request_id = request if isinstance(request, str) else request.id
        return rebuild(self._app.services.store, self.id, request_id)

    def context(self, request: StepRequest | str | None = None) -> Ledger:
        """Weigh what the model sees: of the next request, or of a recorded one.

        As the last line of a cell it is drawn: the window, what fills it, and what is gone, since
        when and by which rule. Nothing is sent and nothing is written.
        """
        self._flush()
        clean = functools.partial(scrub, values=secret_values(self._app.environment))
        if request is not None:
            request_id = request if isinstance(request, str) else request.id
            store = self._app.services.store
            return weigh_recorded(store, self.id, request_id, counter, clean)
        return weigh(self._live.basis(), lambda only: self._live.records_after(0, only), clean)

    def whatif(self, *words: str | Policy, summary_tokens: int = SUMMARY_TOKENS) -> WhatIf:
        """Say what would have been sent under another policy; no model is asked.

        Words are those of ``use_policy``; without any, each step keeps the policy it had. A
        summary that would have come at another place has a stand-in of ``summary_tokens``.
        """
        self._flush()
        services = self._app.services
        return whatif(
            services.store,
            self.id,
            policy_from(services.policy, self.policy, words) if words else None,
            counter=services.count,
            summary_tokens=summary_tokens,
        )

    def redecide(self) -> Redecision:
        """Decide again, from the log alone, what was left out for the model; the same comes out."""
        self._flush()
        return redecide(self._app.services.store, self.id, counter=self._app.services.count)

    def fork(self, message_id: str | None = None) -> "Session":
        """Begin a new session with everything before a message, or all of this one."""
        self._flush()
        live = self._app.engine.submit(self._app.workspace.fork(self.id, message_id)).result()
        return Session(self._app, live)

    def view(self) -> Any:
        """Show the transcript in a cell: it follows the session while the kernel lives.

        What the notebook keeps of it is a page of words, which needs no kernel.
        """
        from palimpsest.frontends.view import view_of

        self._flush()
        return view_of(self._live, self._app.engine, self._app.views)

    def _flush(self) -> None:
        journal = getattr(self._live, "journal", None)
        if journal is not None:
            journal.flush_sync()

    def __repr__(self) -> str:
        picture = self._live.snapshot()
        title = picture.session.title if picture.session else "?"
        return f"<Session {self.id} {title!r}, {len(picture.messages)} messages>"


def current_session(session_id: str | None = None) -> Session:
    """Return the notebook's session, or the one that begins with this id, to look at.

    In a script, where no kernel loaded the extension, it belongs to the current folder.
    """
    app = APPS[-1] if APPS else App()
    return open_session(app, session_id)


def import_session(path: str | Path) -> ImportReport:
    """Bring sessions in from OpenCode's storage folder, or from the JSON of an exported session.

    Nothing of them is run, and the same again brings nothing. Returns what came, and what could not
    be read.
    """
    app = APPS[-1] if APPS else App()
    return app.engine.submit(app.workspace.giving.bring(path)).result()


def open_session(app: App, session_id: str | None = None) -> Session:
    """Open a session by id, or the notebook's current one."""
    notebook = app.notebook()
    work = (
        app.workspace.open(session_id, notebook)
        if session_id is not None
        else app.workspace.current(notebook)
    )
    return Session(app, app.engine.submit(work).result())
