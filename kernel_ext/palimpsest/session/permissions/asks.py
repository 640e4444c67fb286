"""Ask the user for permission when the rules require it, once per question, and remember "always" answers.

A question is journaled when it is asked and when it is answered; the first answer counts, whether it
comes from a view, the prompt in the cell, ``--yes`` or the end of the turn. "Always" holds for the session,
or for the project if the user chooses that.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from palimpsest.processor.session_log import SessionLog
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.tools.files.write_tools import limited_diff
from palimpsest.tools.permission_rules.bound_approvals import bound_pattern
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    Denied,
    MustAsk,
    Rules,
    Verdict,
    as_limits,
    decide_call,
    rules_of,
)
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted, PermissionDenied, UnknownError, UserError
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import (
    PermissionAsked,
    PermissionReplied,
    SessionError,
)
from palimpsest.transcript.strings.changed_lines import changed_lines
from palimpsest.transcript.strings.deceptive_text import deception_sentences
from palimpsest.transcript.values import Ask, Reply, Rule


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """An open permission question, with the rules needed to decide it again."""

    ask: Ask
    session_id: str
    rules: Rules = ()
    bound_to: str | None = None
    """The description that an "always" is bound to; None where it is bound to its patterns."""


@dataclass(frozen=True, slots=True)
class AppliedReply:
    """The result of a reply: the questions it answers, and the rules approved from now on."""

    approved_rules: Rules
    replies: tuple[tuple[str, Reply], ...]
    """Ask id and reply, the answered question first."""
    new_rules: Rules = ()
    """The rules created by this reply, whatever its scope."""


def apply_reply(
    pending_asks: Sequence[PendingAsk],
    ask_id: str,
    reply: Reply,
    approved_rules: Iterable[Rule] = (),
) -> AppliedReply:
    """Apply a reply to the open questions of its session.

    "always" also answers those that it now allows; a rejection rejects them all. An unknown or already
    answered id has no effect.
    """
    approved_rules = tuple(approved_rules)
    answered_ask = next((pending for pending in pending_asks if pending.ask.id == ask_id), None)
    if answered_ask is None:
        return AppliedReply(approved_rules=approved_rules, replies=())
    other_asks = [
        pending
        for pending in pending_asks
        if pending.session_id == answered_ask.session_id and pending.ask.id != ask_id
    ]
    new_rules: Rules = ()
    if reply.answer == "always":
        new_rules = rules_of(answered_ask.ask.permission, "allow", answered_ask.ask.always)
        approved_rules += tuple(rule for rule in new_rules if rule not in approved_rules)
        other_asks = [pending for pending in other_asks if _is_allowed_by(pending, approved_rules)]
    elif reply.answer != "reject":
        other_asks = []
    replies = tuple((settled_ask.ask.id, reply) for settled_ask in (answered_ask, *other_asks))
    return AppliedReply(approved_rules, replies, new_rules)


def _is_allowed_by(pending: PendingAsk, approved_rules: Rules) -> bool:
    ask = pending.ask
    verdict = decide_call(ask.permission, ask.patterns, pending.rules, approved_rules)
    return isinstance(verdict, Allowed)


def permission_refusal(reply: Reply) -> PermissionDenied:
    """Return the error that a rejected call raises; it ends the turn if the user gave no feedback."""
    if reply.feedback:
        return PermissionDenied(
            f"The user rejected this call with this feedback: {reply.feedback}",
            stops_turn=False,
            denied_by=reply.by,
            reason=reply.feedback,
        )
    if reply.by == "headless":
        return PermissionDenied(
            "This call needs a person's permission and nobody is here to give it, so it was refused.",
            stops_turn=False,
            denied_by=reply.by,
        )
    return PermissionDenied("The user rejected this call.", stops_turn=True, denied_by=reply.by)


def _with_diff(error: PermissionDenied | Aborted, diff: str | None) -> PermissionDenied | Aborted:
    """Return the error with the diff that the question showed, which the refused call keeps."""
    error.diff = limited_diff(diff) if diff else None
    return error


MAX_ALLOWED_INPUTS = 50
"""Maximum number of calls that the user allowed, with which later calls are compared."""
MAY_END_THE_KERNEL = {"python", "bash"}
"""Permissions of calls that may end this kernel."""
NEVER_BY_YES = {"doom_loop", "budget"}
"""Permissions whose questions ``--yes`` does not answer: they mean that something went wrong."""
IN_SESSION_ONLY = {"doom_loop"}
"""Permissions for which "always" holds for the session only, even if the project was chosen."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The tool call that needs a permission."""

    message_id: str
    call_id: str
    tool: str
    input: dict[str, Any] | None = None
    """The input of the call, if no message has a tool part with it."""


def _strictest_verdict(verdict: Verdict, other_verdicts: Sequence[Verdict]) -> tuple[Verdict, bool]:
    """Return the strictest verdict, and whether only the first verdict asks or denies."""
    for other in other_verdicts:
        if isinstance(other, Denied):
            return (verdict if isinstance(verdict, Denied) else other), False
    must_asks = [other for other in other_verdicts if isinstance(other, MustAsk)]
    if not must_asks or isinstance(verdict, Denied):
        return verdict, True
    is_locked = any(must_ask.locked for must_ask in must_asks)
    first_must_ask = verdict if isinstance(verdict, MustAsk) else MustAsk(())
    return MustAsk(first_must_ask.patterns, locked=first_must_ask.locked or is_locked), False


Relay = Callable[[PendingAsk, "asyncio.Future[Reply]", Abort], Awaitable[Reply]]
"""Asks in another session too: ``(question, its future here, abort)`` returns the answer given there."""


class Asks:
    """The permission questions of one session: decided by rules, or journaled until an answer wakes the calls."""

    def __init__(
        self, session_id: str, log: SessionLog, effective_rules: EffectiveRules | None = None
    ) -> None:
        self.session_id = session_id
        self._effective_rules = effective_rules or EffectiveRules()
        session = log.state.session
        self.approved_rules: Rules = (
            self._effective_rules.applicable_rules(session) if session is not None else ()
        )
        """The rules that were always allowed in this session."""
        self._log = log
        self.relay_question: Relay | None = None
        """Asks a question in the parent session too; None unless this is the session of a task."""
        self._relay_tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self._waiting_asks: dict[str, tuple[PendingAsk, asyncio.Future[Reply]]] = {}
        self._allowed_inputs: deque[tuple[str | None, dict[str, Any]]] = deque(
            maxlen=MAX_ALLOWED_INPUTS
        )
        """Tool and input of calls that the user allowed in this kernel; a log's claim of it is not trusted."""

    def verdict_function(self, rules: Rules) -> Callable[[str, Sequence[str]], Verdict]:
        """Return a function that decides by rules and earlier answers alone, from a permission and its patterns."""
        answer_rules = self._answer_rules()
        return lambda permission, patterns: decide_call(permission, patterns, rules, answer_rules)

    def _answer_rules(self) -> Rules:
        """Return the rules that answer questions beforehand; those of this session come last."""
        return (*self._effective_rules.answers_of(self._log.state.session), *self.approved_rules)

    async def ask_permission(
        self,
        caller: Caller,
        permission: str,
        patterns: Sequence[str],
        *,
        rules: Rules,
        abort: Abort,
        yes: bool,
        title: str = "",
        always: Sequence[str] = (),
        diff: str | None = None,
        other_patterns: Mapping[str, Sequence[str]] | None = None,
        bound_to: str | None = None,
    ) -> Reply | None:
        """Return when the call may run: the user's answer, None where rules allow it; raises PermissionDenied or Aborted otherwise.

        ``other_patterns`` maps further permissions to their patterns, which the same question covers; ``bound_to``
        describes what is allowed, in place of ``patterns`` and ``always``.
        """
        if bound_to is not None:
            patterns = always = (bound_pattern(bound_to),)
        answer_rules = self._answer_rules()
        verdict = decide_call(permission, patterns, rules, answer_rules)
        other_verdicts = [
            decide_call(other_permission, permission_patterns, rules, answer_rules)
            for other_permission, permission_patterns in (other_patterns or {}).items()
        ]
        verdict, is_first_alone = _strictest_verdict(verdict, other_verdicts)
        if not is_first_alone:
            # "Always" would not cover the further permissions that the question is about.
            rules = (*rules, *as_limits(rules_of(permission, "ask"), "lock"))
            always = ()
        is_locked = False
        match verdict:
            case Allowed():
                if permission not in NEVER_BY_YES or self._was_always_allowed(permission, patterns):
                    await self._wait_until_on_disk((permission, *(other_patterns or {})), abort)
                    return None
            case Denied() as denied:
                raise _with_diff(
                    PermissionDenied(denied.message, stops_turn=False, reason=denied.description),
                    diff,
                )
            case MustAsk():
                is_locked = verdict.locked
            case _:
                assert_never(verdict)
        tool_input = self._call_input(caller)
        ask = Ask(
            id=self._log.ids.new("per"),
            permission=permission,
            patterns=tuple(patterns),
            always=() if is_locked else tuple(always),
            title=title or caller.tool,
            input=tool_input,
            diff=diff,
            warnings=self._warnings(permission, caller.tool, tool_input),
            changed=self._description_change(permission, bound_to),
            message_id=caller.message_id,
            call_id=caller.call_id,
            tool=caller.tool,
        )
        pending_ask = PendingAsk(ask, self.session_id, rules, bound_to)
        reply = await self._wait_for_reply(pending_ask, abort, yes=yes and not is_locked)
        if reply.answer == "reject":
            is_by_stop = reply.by == "cancel"
            raise _with_diff(Aborted("Stopped.") if is_by_stop else permission_refusal(reply), diff)
        await self._wait_until_on_disk((permission, *(other_patterns or {})), abort)
        return reply

    async def _wait_until_on_disk(self, permissions: Sequence[str], abort: Abort) -> None:
        """Wait until a call that may end this process is on disk with its answer, so that the next kernel can name it."""
        unwritten_sentence = ""
        if MAY_END_THE_KERNEL.intersection(permissions):
            unwritten_sentence = await self._log.wait_until_written(abort.is_set)
        if unwritten_sentence:
            raise UserError(unwritten_sentence)

    async def ask_user(
        self, permission: str, patterns: Sequence[str], *, title: str, abort: Abort
    ) -> Reply:
        """Ask the user a question that no rule answers and no tool call caused, and return the answer."""
        ask = Ask(
            id=self._log.ids.new("per"),
            permission=permission,
            patterns=tuple(patterns),
            title=title,
            input={},
        )
        return await self._wait_for_reply(PendingAsk(ask, self.session_id), abort, yes=False)

    async def forward_question(
        self,
        caller: Caller,
        pending_ask: PendingAsk,
        child_future: "asyncio.Future[Reply]",
        abort: Abort,
    ) -> Reply:
        """Ask a child session's question in this session, on behalf of a call here, and return the answer."""
        own_ids = {
            "id": self._log.ids.new("per"),
            "message_id": caller.message_id,
            "call_id": caller.call_id,
        }
        ask = pending_ask.ask.model_copy(update=own_ids)

        def close_question(done_future: "asyncio.Future[Reply]") -> None:
            if not done_future.cancelled():
                self.reply(ask.id, done_future.result())

        child_future.add_done_callback(close_question)
        own_ask = PendingAsk(ask, self.session_id, pending_ask.rules, pending_ask.bound_to)
        return await self._wait_for_reply(own_ask, abort, yes=False)

    def revoke(self, rules: Rules) -> None:
        """Remove rules that were always allowed in this session; on the engine's loop."""
        for rule in rules:
            self._effective_rules.approvals.remove(rule, self.session_id)
        with self._lock:
            self.approved_rules = tuple(rule for rule in self.approved_rules if rule not in rules)
        self._journal_approved()

    def approve(self, rules: Rules) -> None:
        """Add rules that were granted elsewhere, from the next call on; on the engine's loop."""
        with self._lock:
            new_rules = tuple(rule for rule in rules if rule not in self.approved_rules)
            self.approved_rules = (*self.approved_rules, *new_rules)
        self._journal_approved()

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question from any thread; returns False when it is already answered."""
        with self._lock:
            waiting_ask = self._waiting_asks.get(ask_id)
            if waiting_ask is not None and waiting_ask[0].ask.permission in IN_SESSION_ONLY:
                reply = reply.model_copy(update={"scope": None})
            applied_reply = apply_reply(
                [pending for pending, _ in self._waiting_asks.values()],
                ask_id,
                reply,
                self.approved_rules,
            )
            answered_asks = [
                (self._waiting_asks.pop(answered_id), settled_reply)
                for answered_id, settled_reply in applied_reply.replies
            ]
            # A rule for the project can be revoked for all sessions, so it is not kept as this session's.
            bound_to = waiting_ask[0].bound_to if waiting_ask is not None else None
            new_rules = applied_reply.new_rules
            if new_rules and not self._grant_rules(new_rules, reply, bound_to):
                self.approved_rules = applied_reply.approved_rules
        if not answered_asks:
            return False
        for (pending, future), settled_reply in answered_asks:
            if settled_reply.by == "person" and settled_reply.answer != "reject":
                self._allowed_inputs.append((pending.ask.tool, pending.ask.input))
            reply_event = PermissionReplied(ask_id=pending.ask.id, reply=settled_reply)
            self._log.append(reply_event, sync=True)
            future.get_loop().call_soon_threadsafe(self._resolve_reply, future, settled_reply)
        return True

    def _was_always_allowed(self, permission: str, patterns: Sequence[str]) -> bool:
        """Return whether the user answered this very question with "always"; no other rule and no mode counts."""
        allowed_patterns = {
            rule.pattern
            for rule in self.approved_rules
            if (rule.permission, rule.action) == (permission, "allow")
        }
        return allowed_patterns.issuperset(patterns)

    async def _wait_for_reply(self, pending_ask: PendingAsk, abort: Abort, *, yes: bool) -> Reply:
        ask_id = pending_ask.ask.id
        question_event = PermissionAsked(ask=pending_ask.ask)
        if yes and pending_ask.ask.permission not in NEVER_BY_YES:
            reply = Reply(answer="once", by="--yes")
            reply_event = PermissionReplied(ask_id=ask_id, reply=reply)
            # Appended together, so that no front end finds the question open and takes a typed line for its answer.
            self._log.append(question_event, reply_event, sync=True)
            return reply
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting_asks[ask_id] = (pending_ask, future)
        self._log.append(question_event, sync=True)
        cancel = partial(self.reply, ask_id, Reply(answer="reject", by="cancel"))
        unregister = abort.on_abort(cancel)
        self._ask_in_parent(pending_ask, future, abort)
        try:
            return await future
        finally:
            unregister()
            if not future.done():
                cancel()

    def _ask_in_parent(
        self, pending_ask: PendingAsk, future: "asyncio.Future[Reply]", abort: Abort
    ) -> None:
        """Ask in the parent session too, unless the question is already answered."""
        relay = self.relay_question
        if relay is None or pending_ask.ask.id not in self._waiting_asks:
            return

        async def ask() -> None:
            reply = await relay(pending_ask, future, abort)
            # If the project was chosen there, the rule was already granted there.
            self.reply(pending_ask.ask.id, reply.model_copy(update={"scope": None}))

        task = asyncio.get_running_loop().create_task(ask())
        self._relay_tasks.add(task)
        task.add_done_callback(self._relay_tasks.discard)

    def _resolve_reply(self, future: "asyncio.Future[Reply]", reply: Reply) -> None:
        """Record the rules that "always" allowed, and resolve the call's future; on the engine's loop."""
        self._journal_approved()
        if not future.done():
            future.set_result(reply)

    def _journal_approved(self) -> None:
        session = self._log.state.session
        if session is not None and self.approved_rules != session.permission:
            self._log.change_session(permission=self.approved_rules)

    def _description_change(self, permission: str, bound_to: str | None) -> str | None:
        """Return how a description differs from one that was approved here, or in a parent session."""
        if bound_to is None:
            return None
        sessions = self._effective_rules.with_parents(self._log.state.session)
        session_ids = [session.id for session in sessions]
        return self._effective_rules.approvals.change_of(permission, bound_to, session_ids)

    def _grant_rules(self, rules: Rules, reply: Reply, bound_to: str | None) -> bool:
        """Grant rules in the scope of the reply; returns whether that is the whole project."""
        approvals = self._effective_rules.approvals
        problem_before = approvals.problem
        is_for_project = reply.scope == "project"
        add_rules = approvals.add if is_for_project else approvals.add_to_session
        add_rules(rules, self.session_id, bound_to)
        if approvals.problem and approvals.problem != problem_before:
            error = UnknownError(message=approvals.problem, explained=True)
            self._log.append(SessionError(error=error))
        return is_for_project

    def _warnings(
        self, permission: str, tool: str, tool_input: dict[str, Any]
    ) -> tuple[str, ...] | None:
        """Return warnings about a call's input: first its changes against inputs that were allowed before."""
        earlier_inputs = [
            allowed_input
            for allowed_tool, allowed_input in tuple(self._allowed_inputs)
            if allowed_tool == tool
        ]
        warnings = (
            *changed_lines(tool_input, earlier_inputs),
            *deception_sentences(tool_input, are_commands=permission == "bash"),
        )
        return warnings or None

    def _call_input(self, caller: Caller) -> dict[str, Any]:
        if caller.input is not None:
            return caller.input
        message = self._log.state.message(caller.message_id)
        for part in message.parts if message is not None else ():
            if isinstance(part, ToolPart) and part.call_id == caller.call_id:
                # Arguments changed by a hook are those that would run.
                return getattr(part.state, "metadata", {}).get("changed_input") or part.state.input
        return {}
