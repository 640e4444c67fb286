"""``Session``, the object of the Python API: prompt a session, inspect it, and change it.

It offers what the magic and the panel can do as a Python object (docs/api.md).
"""

import functools
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, Unpack

from palimpsest.app.wiring import App
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.model.tokenizer import counter
from palimpsest.public.session_calls import forwarded_method
from palimpsest.public.session_inspection import SessionInspection
from palimpsest.public.session_lifecycle import SessionLifecycle
from palimpsest.public.session_runs import NOT_IN_A_CELL, AsyncRuns, SessionRuns
from palimpsest.session.config.context_policy import policy_from
from palimpsest.session.controls.context_edits import ContextEdit
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.session.controls.step_mode import StepMode
from palimpsest.session.engine import Snapshot
from palimpsest.session.extensions.hooks import HookStatus
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.prompts.prompt_checks import PromptWords
from palimpsest.tools.mcp.servers import McpServerStatus
from palimpsest.transcript.context_values.cell_changes import CellReview
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import OwnPolicy, Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import PromptAdmitted, QuestionAsked
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.session_record.sessions import Status
from palimpsest.transcript.values import Ask, Todo

if TYPE_CHECKING:
    from palimpsest.context_policies.interface.policy import ContextPolicy
    from palimpsest.recordings.reconstruction.decision_points import Redecision
    from palimpsest.recordings.reconstruction.requests import Rebuilt
    from palimpsest.review.context_report.context_report import ContextReport
    from palimpsest.review.recorded_sessions.branch_comparison import BranchComparison
    from palimpsest.review.recorded_sessions.session_answers import SessionReviews
    from palimpsest.review.session_review import SessionReview
    from palimpsest.review.whatif import WhatIf


def _review_of(session: "Session") -> "SessionReview":
    return session.review


def _review_class() -> "type[SessionReview]":
    """Return the class of reviews; imported at the first use, since review is as large as the engine."""
    from palimpsest.review.session_review import SessionReview

    return SessionReview


class Session(SessionRuns, SessionLifecycle, SessionInspection):
    """A session of the agent: send it prompts, read its transcript, inspect what the model saw."""

    @property
    def id(self) -> str:
        """The session's id.

        >>> session.id[:4]
        'ses_'
        """
        return self._kernel_session.id

    @property
    def snapshot(self) -> Snapshot:
        """Everything about the session at this moment, as one immutable value.

        >>> picture = session.snapshot
        >>> len(picture.messages), picture.status.type, picture.seq > 0
        (2, 'idle', True)
        """
        return self._kernel_session.snapshot()

    @property
    def messages(self) -> Messages:
        """The transcript.

        >>> [message.info.role for message in session.messages]
        ['user', 'assistant']
        """
        return self._kernel_session.snapshot().messages

    def message_page(self, count: int = 100, before: str = "") -> Messages:
        """Return the newest ``count`` messages, or those before the message with the id ``before``, oldest first.

        Of a long session no other message is read. Raises NotFound where there is no such message.

        >>> page = session.message_page(1)
        >>> [message.info.role for message in page]
        ['assistant']
        >>> [message.info.role for message in session.message_page(10, before=page[0].id)]
        ['user']
        """
        return self._kernel_session.message_page(count, before)

    @property
    def status(self) -> Status:
        """Whether the session is idle, busy, or waits to try again.

        >>> session.status.type
        'idle'
        """
        return self._kernel_session.snapshot(messages=False).status

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The agent's todo list.

        >>> session.todos
        ()
        """
        return self._kernel_session.snapshot(messages=False).todos

    @property
    def waiting(self) -> tuple[PromptAdmitted, ...]:
        """The prompts that wait for their turn, in order.

        >>> session.waiting
        ()
        """
        return self._kernel_session.snapshot(messages=False).inbox

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The permission questions that are open; ``reply`` answers them.

        >>> session.asks
        ()
        """
        return self._kernel_session.snapshot(messages=False).asks

    @property
    def questions(self) -> tuple[QuestionAsked, ...]:
        """The model's open questions to the person; ``answer`` answers them.

        >>> session.questions
        ()
        """
        return tuple(self._kernel_session.snapshot(messages=False).questions)

    @property
    def title(self) -> str:
        """The session's title.

        >>> len(session.title) > 0
        True
        """
        session = self._kernel_session.snapshot(messages=False).session
        return session.title if session is not None else ""

    @property
    def summary(self) -> str:
        """A summary of what was done in the session so far; empty without the setting ``turn_summaries``.

        >>> session.summary
        ''
        """
        session = self._kernel_session.snapshot(messages=False).session
        return session.about if session is not None else ""

    def prompt(self, text: str, **options: Unpack[PromptWords]) -> Answer:
        """Send a prompt and wait for its answer; a keyboard interrupt stops the turn.

        For scripts: no kernel runs the agent's Python, and questions are asked at the terminal. Without
        a terminal they are rejected, with a record, except that ``yes=True`` allows those for
        permission; a program that answers by itself uses ``start`` and ``reply``. Options are those of
        ``PromptOptions``: model, variant, agent, system, tools, files, format, max_steps, yes.

        >>> answer = session.prompt("Which files are there?", yes=True)
        >>> answer.error is None, answer.steps > 0
        (True, True)
        """
        from palimpsest.frontends.typed_input.script_prompt import await_answer

        if self._app.in_kernel:
            raise UserError(NOT_IN_A_CELL)
        return await_answer(
            self._kernel_session,
            self.start(text, **options),
            self._app.take_notices(),
            run=lambda coroutine: self._app.engine.submit(coroutine).result(),
        )

    @property
    def aio(self) -> AsyncRuns:
        """The methods that wait, as coroutines, for a script that has an event loop of its own.

        >>> import asyncio
        >>> asyncio.run(session.aio.prompt("Hello.")).error is None
        True
        """
        return AsyncRuns(self, self._app, self._kernel_session)

    def pin(self, name: str) -> ContextEdit:
        """Keep a part, or a whole message, in every request from the next one on.

        Neither prune nor a compaction removes it. ``name`` is an id, its beginning or its end, or
        ``last`` for the newest tool call. Works while a turn runs, like all of these methods.

        >>> name = session.messages[-1].id
        >>> session.pin(name).target == name
        True
        """
        return self._edit_context("pin", name)

    def unpin(self, name: str) -> ContextEdit:
        """Unpin a part or message, so that it can be pruned and compacted again.

        >>> _ = session.pin(session.messages[-1].id)
        >>> len(session.unpin(session.messages[-1].id).decisions) > 0
        True
        """
        return self._edit_context("unpin", name)

    def exclude(self, name: str) -> ContextEdit:
        """Leave a part, or a whole message, out of every request from the next one on.

        A tool call is left out together with its output. The transcript keeps everything.

        >>> edit = session.exclude(session.messages[-1].id)
        >>> {decision.rule for decision in edit.decisions}
        {'user/exclude'}
        """
        return self._edit_context("exclude", name)

    def restore(self, name: str) -> ContextEdit:
        """Restore what was excluded, cleared or truncated, or what a summary replaced.

        >>> _ = session.exclude(session.messages[-1].id)
        >>> len(session.restore(session.messages[-1].id).decisions) > 0
        True
        """
        return self._edit_context("restore", name)

    def undo_compaction(self) -> ContextEdit:
        """Undo the newest compaction: show the model again what its summary replaced.

        There is no automatic compaction until the next prompt.

        >>> session.undo_compaction()
        Traceback (most recent call last):
        palimpsest.transcript.errors.UserError: There is no compaction to undo
        """
        return self._edit_context("undo")

    def _edit_context(self, action: str, name: str = "") -> ContextEdit:
        edit: ContextEdit = self._run_at_once("context-edit", action=action, target=name).edit
        return edit

    def preview(self, name: str = "") -> RevertPreview:
        """Return what ``revert`` would do to which messages and files, without changing anything.

        >>> len(session.preview("last").messages) > 0
        True
        """
        return self._revert("preview", target=name)

    def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Revert the newest prompt, or everything from a message or part on, and restore its files.

        A file that was changed outside the session since is reported and left alone, unless ``overwrite``
        names it. Until the next prompt, ``unrevert`` undoes it. Raises SessionBusy while a turn runs.

        >>> before = len(session.messages)
        >>> _ = session.prompt("Which files are there?", yes=True)
        >>> _ = session.revert()
        >>> _ = session.cleanup()
        >>> len(session.messages) == before
        True
        """
        return self._revert("revert", target=name, overwrite=tuple(overwrite))

    def review_cells(
        self,
        answer: Literal["accept", "reject"] | None = None,
        *,
        number: int | None = None,
        reason: str = "",
    ) -> CellReview:
        """Accept the changes of cells that the agent made without asking, or take them back in the notebook.

        Without ``answer`` they are only listed; ``number``, from 1, means one of that list; ``reason`` tells the model
        why. A cell that was changed since is not taken back: its change stays open, with a ``problem``.

        >>> session.review_cells().changes
        ()
        """
        review: CellReview = self.run("review-cells", all=answer, number=number, reason=reason)
        return review

    def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that is in effect.

        >>> _ = session.revert()
        >>> _ = session.unrevert()
        >>> session.snapshot.session.revert is None
        True
        """
        return self._revert("unrevert", overwrite=tuple(overwrite))

    def _revert(self, action: str, **arguments: Any) -> RevertPreview:
        preview: RevertPreview = self.run("revert", action=action, **arguments).revert
        return preview

    def cleanup(self) -> int:
        """Remove what is reverted, for good; returns how many messages were removed.

        >>> session.cleanup()
        0
        """
        return int(self.run("revert", action="cleanup").removed)

    def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return the session's file changes, or those of one turn, by its id or ``last``.

        >>> session.diff()
        ()
        """
        return tuple(self.run("revert", action="diff", target=name).diffs)

    @property
    def hooks(self) -> tuple[HookStatus, ...]:
        """The hooks of this kernel, with how often each was called and failed.

        Hooks that cannot be loaded are reported by ``palimpsest.problems()``.

        >>> session.hooks
        ()
        """
        return tuple(self.run("extensions", kind="hooks").hooks)

    @property
    def servers(self) -> tuple[McpServerStatus, ...]:
        """The MCP servers of this kernel, with their state and tools."""
        return tuple(self._run_at_once("extensions", kind="mcp").servers)

    def connect_servers(self) -> tuple[McpServerStatus, ...]:
        """Connect the MCP servers that are not connected, and wait a moment for them."""
        return tuple(self.run("extensions", connect=True, kind="mcp").servers)

    @property
    def control(self) -> SessionControls:
        """The session's mode, what is always allowed, and its spending limit, to read and to change.

        ``control.mode``, ``control.use_mode("plan")``, ``control.allowances``, ``control.revoke(1)``,
        ``control.spent``, ``control.set_budget(usd=2)``.

        >>> session.control.mode
        'ask'
        """
        return self._kernel_session.control

    @property
    def step_mode(self) -> StepMode:
        """Step mode: ``switch(is_on=True)`` holds each request, ``held`` says how it would be sent, ``release`` sends it.

        >>> session.step_mode.is_on, session.step_mode.held
        (False, ())
        """
        return self._kernel_session.step_mode

    @property
    def policy(self) -> Policy:
        """The context policy that applies from the next request on.

        >>> session.policy.name
        'palimpsest'
        """
        return self._kernel_session.policy()

    @policy.setter
    def policy(self, chosen: "str | Policy | ContextPolicy") -> None:
        self.use_policy(chosen)

    @property
    def own_policy(self) -> OwnPolicy | None:
        """The policy of your own that acts before the context policy, as it is recorded; None where none does.

        >>> session.own_policy is None
        True
        """
        session = self._kernel_session.snapshot(messages=False).session
        return session.own_policy if session is not None else None

    def use_policy(self, *words: "str | Policy | ContextPolicy") -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Each argument is the name of a preset, ``name=value`` for one setting, or ``default`` for the
        configured policy: ``use_policy("opencode-1.18", "prune.protect_tokens=10000")``. A policy of your own
        (``@palimpsest.policy``) or one of ``palimpsest.policies`` that writes no summary acts before it, in
        this kernel; its decisions are journaled, and its text is never run from the log.

        >>> session.use_policy("opencode-1.18").name
        'opencode-1.18'
        >>> _ = session.use_policy("sweagent.last_n")
        >>> session.own_policy.name
        'sweagent.last_n'
        >>> _ = session.use_policy("default")
        """
        return self._app.engine.submit(self._kernel_session.use_policy(*words)).result()

    def requests(self) -> tuple[StepRequest, ...]:
        """List every model request of the session, in order.

        >>> {request.model.ref.id for request in session.requests()}
        {'rehearsal/rules'}
        """
        from palimpsest.recordings.reconstruction.requests import requests

        self._flush()
        return requests(self._app.services.store, self.id)

    def rebuild(self, request: StepRequest | str) -> "Rebuilt":
        """Rebuild what the model saw at a request, from the log.

        >>> session.rebuild(session.requests()[-1]).matches
        True
        """
        from palimpsest.recordings.reconstruction.requests import rebuild

        self._flush()
        request_id = request if isinstance(request, str) else request.id
        return rebuild(self._app.services.store, self.id, request_id)

    def context(self, request: StepRequest | str | None = None) -> "ContextReport":
        """Report what fills the context window, in the next request or in a recorded one.

        As the last line of a cell it is drawn: the window, what fills it, and what was removed, since
        when and by which rule. Nothing is sent and nothing is written.

        >>> window = session.context()
        >>> window.used_tokens + window.free_tokens + window.reserve == window.window
        True
        """
        from palimpsest.frontends.operation_text.context_answers import ContextAnswers
        from palimpsest.review.context_report.report_builder import build_recorded_report

        self._flush()
        clean = scrubber(self._app.environment)
        if request is None:
            return ContextAnswers(self._app).window(self._kernel_session, clean)
        request_id = request if isinstance(request, str) else request.id
        return build_recorded_report(self._app.services.store, self.id, request_id, counter, clean)

    @functools.cached_property
    def _reviews(self) -> "SessionReviews":
        from palimpsest.review.recorded_sessions.session_answers import SessionReviews

        return SessionReviews(self._app.services.store, self.id, self._app.price)

    @property
    def review(self) -> "SessionReview":
        """The session's review: its requests, items and decisions as tables, its cache breaks and wastes.

        >>> len(session.review.requests.rows) > 0
        True
        """
        self._flush()
        return self._reviews.review_at(self._kernel_session.snapshot(messages=False).seq)

    compare = forwarded_method(_review_of, lambda: _review_class().compare)
    sweep = forwarded_method(_review_of, lambda: _review_class().sweep)
    breaks = forwarded_method(_review_of, lambda: _review_class().breaks)
    wastes = forwarded_method(_review_of, lambda: _review_class().wastes)
    cache_use = forwarded_method(_review_of, lambda: _review_class().cache_use)
    own_rule = forwarded_method(_review_of, lambda: _review_class().own_rule)
    proof = forwarded_method(_review_of, lambda: _review_class().proof)
    why = forwarded_method(_review_of, lambda: _review_class().why)
    request = forwarded_method(_review_of, lambda: _review_class().request)
    difference = forwarded_method(_review_of, lambda: _review_class().difference)
    compactions = forwarded_method(_review_of, lambda: _review_class().compactions)
    notes = forwarded_method(_review_of, lambda: _review_class().notes)
    note = forwarded_method(_review_of, lambda: _review_class().note)
    change_note = forwarded_method(_review_of, lambda: _review_class().change_note)
    remove_note = forwarded_method(_review_of, lambda: _review_class().remove_note)

    def whatif(
        self,
        *words: "str | Policy | ContextPolicy",
        summary_tokens: int = SUMMARY_TOKENS,
        exact: bool = False,
    ) -> "WhatIf":
        """Return what would have been sent under another policy; no model is called.

        Arguments are those of ``use_policy``, or one policy of ``palimpsest.policies`` by its name or as a value;
        without any, the session is compared with itself. A summary that would have been made at another place is
        replaced by a placeholder of ``summary_tokens``. With ``exact`` each request is written again, to the byte:
        that takes seconds, and works for sessions that were recorded here and for the engine's own policies.

        >>> session.whatif("opencode-1.18").other.policy is not None
        True
        """
        from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
        from palimpsest.context_policies.whatif.light_whatif import light_whatif
        from palimpsest.review.whatif import engine_policy

        review = self.review
        services = self._app.services
        policy = self._policy_of(words)
        if not exact:
            return light_whatif(review, policy, summary_tokens=summary_tokens)
        return exact_whatif(
            services.store,
            self.id,
            engine_policy(policy),
            counter=services.models.count,
            summary_tokens=summary_tokens,
        )

    def _policy_of(
        self, words: "tuple[str | Policy | ContextPolicy, ...]"
    ) -> "str | Policy | ContextPolicy | None":
        """Return the policy named by the arguments of ``whatif``; None without arguments."""
        if not words:
            return None
        from palimpsest.review.whatif import is_policy_of_review

        if len(words) == 1 and is_policy_of_review(words[0]):
            return words[0]
        services = self._app.services
        engine_words = tuple(word for word in words if isinstance(word, str | Policy))
        if len(engine_words) < len(words):
            raise UserError("Give whatif one policy of palimpsest.policies, and nothing beside it.")
        return policy_from(services.rules.policy, self.policy, engine_words)

    def redecide(self) -> "Redecision":
        """Make the context decisions again from the log alone; the result must equal the recorded ones."""
        from palimpsest.recordings.reconstruction.redecision import redecide

        self._flush()
        return redecide(self._app.services.store, self.id, counter=self._app.services.models.count)

    def fork(
        self,
        message_id: str | None = None,
        *,
        request: int | str | None = None,
        model: str | None = None,
    ) -> "Session":
        """Begin a new session as a copy of this one, whole, or up to a message or a request.

        ``request`` is its place in the session, from 1, or its id; ``loop()`` of the fork then sends the request
        that follows, under a policy or a ``model`` of its own. Raises NotFound, and ConfigError for an unknown model.

        >>> session.fork().messages == session.messages
        True
        >>> len(session.fork(request=1).messages)
        1
        """
        self._flush()
        answer = self.run("fork", message=message_id, request=request, model=model)
        return Session(self._app, answer.kernel_session)

    def branches(self) -> "BranchComparison":
        """Compare all branches of this session's tree, since the first two part.

        The tree is the session that all were forked from, its forks and their forks; each branch names the place
        where it parts from its parent. Answers, cost and context are shown side by side, as text, Markdown or HTML.
        Raises UserError for a session without a branch.

        >>> branch = session.fork(request=1)
        >>> branch.loop().result().error is None
        True
        >>> [row.requests for row in branch.branches().branches][-1] > 0
        True
        """
        self._flush()
        comparison: BranchComparison = self.run("branches").branches
        return comparison

    def view(self) -> Any:
        """Show the transcript in a cell: it follows the session while the kernel lives.

        The notebook saves it as static HTML, which needs no kernel.
        """
        from palimpsest.frontends.session_view import view_of

        self._flush()
        return view_of(self._kernel_session, self._app.engine, self._app.views)

    def _flush(self) -> None:
        journal = getattr(self._kernel_session, "journal", None)
        if journal is not None:
            journal.flush_sync()
        self._wait_for_listeners()

    def __repr__(self) -> str:
        snapshot = self._kernel_session.snapshot()
        title = snapshot.session.title if snapshot.session else "?"
        return f"<Session {self.id} {title!r}, {len(snapshot.messages)} messages>"


def open_session(app: App, session_id: str | None = None) -> Session:
    """Open a session by id, or the notebook's current one, and begin to import what its model needs."""
    app.preload_model()
    coroutine = app.workspace.open_or_current(session_id, app.notebook())
    return Session(app, app.engine.submit(coroutine).result())
