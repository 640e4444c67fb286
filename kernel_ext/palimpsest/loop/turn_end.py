"""End a turn: journal with its last answer why it ended, and notify the user where it was cut short.

Border: called by the runner when nothing runs any more; the turn itself reports which guard ended it.

A turn that takes too long is stopped by its time limit, but a compaction that runs then may finish,
once: a user who has waited minutes for a summary should not lose it (spec/context-stability.md
1.8). Most policies have no limit; the presets of systems that have one keep it.
"""

import asyncio
from collections.abc import Sequence

from palimpsest.loop.model_requests.engine_messages import write_refusal
from palimpsest.loop.run_inputs.compaction_state import CompactionState, at_time_limit
from palimpsest.loop.run_inputs.run_context import RunContext
from palimpsest.processor.tool_call_runner import UNATTENDED
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    Messages,
    StoppedBy,
    UserMessage,
    stop_reason_of,
)
from palimpsest.transcript.parts import ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import Event, MessageUpdated, PartUpdated
from palimpsest.transcript.user_notices import user_notice

TIME_IS_UP = "The turn took longer than {seconds:g} seconds, its time limit. Ask again to go on."


async def run_turn_time_limit(abort: Abort, state: CompactionState, policy: RecoveryPolicy) -> None:
    """Abort the turn at its time limit; the caller cancels this when the turn ends before."""
    if policy.turn_seconds is None:
        return
    await asyncio.sleep(policy.turn_seconds)
    extended = False
    while _next(state, extended=extended) == "extend":
        extended = True
        await asyncio.sleep(policy.compaction_seconds)
    state.late = True
    abort.set(TIME_IS_UP.format(seconds=policy.turn_seconds), "interrupted")


def _next(state: CompactionState, *, extended: bool) -> str:
    return at_time_limit(in_flight=state.in_flight, retries=state.retries > 0, extended=extended)


STOP = "stop"
"""Topic of the notice about a turn's end."""

WORDS: dict[StoppedBy, str] = {
    "steps": "The turn ended at its step limit. Ask it to go on.",
    "rejected": "The turn ended here because a call was refused. Say how to go on.",
    "error": "The provider ended the answer without saying why. Ask it to go on.",
}
"""Notices for the reasons that no error and no other notice explains."""

WITHDRAWN = "withdrawn"
"""Topic of the notice about withdrawn prompts."""

SHOWN_WORDS = 8
"""Words of a withdrawn prompt that are shown, for the user to recognise it."""

UNATTENDED_WORDS = (
    "The turn ended here: its calls need a person's permission, and nobody is here to give it. Run it with "
    "--yes, or allow the calls in the settings."
)


def say_stopped(run_context: RunContext, messages: Messages, reason: str) -> None:
    """Write an answer with an error for a turn stopped between requests, where nothing else shows it."""
    newest = messages[-1].info if messages else None
    user = next((m.info for m in reversed(messages) if isinstance(m.info, UserMessage)), None)
    if user is None or (isinstance(newest, AssistantMessage) and newest.error is not None):
        return
    if isinstance(newest, AssistantMessage) and newest.finish not in (None, "tool-calls"):
        return
    write_refusal(run_context, user, AbortedError(message=reason or "Stopped."))


def journal_end(
    run_context: RunContext,
    stopped_by: StoppedBy | None,
    messages: Messages,
    withdrawn: Sequence[str] = (),
) -> StoppedBy | None:
    """Write why the turn of these messages ended into its last answer; returns the reason.

    Without ``stopped_by`` the reason is derived from the answer; a turn without an answer records none.
    ``withdrawn`` are the waiting prompts that were withdrawn with it.
    """
    last = next((m for m in reversed(messages) if isinstance(m.info, AssistantMessage)), None)
    if last is None or not isinstance(last.info, AssistantMessage):
        return stopped_by
    by = stopped_by or stop_reason_of(last.info) or "interrupted"
    written: list[Event] = []
    words = _words(last, by)
    if words:
        part = user_notice(run_context.ids.new("prt"), run_context.session_id, last.id, STOP, words)
        written.append(PartUpdated(part=part))
    if withdrawn:
        part = user_notice(
            run_context.ids.new("prt"),
            run_context.session_id,
            last.id,
            WITHDRAWN,
            withdrawn_words(withdrawn),
        )
        written.append(PartUpdated(part=part))
    if last.info.stopped_by != by:
        written.append(MessageUpdated(info=last.info.model_copy(update={"stopped_by": by})))
    if written:
        run_context.write(*written, sync=True)
    return by


def refused_unasked(message: Message) -> bool:
    """Return whether every call of a step was refused because no user was there to ask."""
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    return bool(calls) and all(_unasked(part) for part in calls)


def withdrawn_words(prompts: Sequence[str]) -> str:
    """Return the notice about prompts that waited and were not sent."""
    named = ", ".join(f"“{_beginning(prompt)}”" for prompt in prompts)
    if len(prompts) == 1:
        return f"A prompt that waited was withdrawn with this stop, and was not sent: {named}."
    return f"{len(prompts)} prompts that waited were withdrawn with this stop, and were not sent: {named}."


def _beginning(prompt: str) -> str:
    words = prompt.split()
    return " ".join(words[:SHOWN_WORDS]) + (" …" if len(words) > SHOWN_WORDS else "")


def _unasked(part: ToolPart) -> bool:
    return isinstance(part.state, ToolFailed) and bool(part.state.metadata.get(UNATTENDED))


def _words(last: Message, by: StoppedBy) -> str:
    """Return the notice about why the turn ended; empty where the answer shows it already."""
    info = last.info
    if not isinstance(info, AssistantMessage) or info.error is not None or info.stopped_by == by:
        return ""
    if by == "rejected" and refused_unasked(last):
        return UNATTENDED_WORDS
    return WORDS.get(by, "")
