"""The turn: steps until the newest user message is answered.

Exit rule (DESIGN.md 5, spec/session-engine.md 1.6): the newest assistant message answers the
newest user message, has a real finish that is not about tools, and holds no tool part except
those the provider ran or that were left interrupted.
"""

from palimpsest.context.guard import refusal
from palimpsest.loop.compaction import asked, begin, possible, run_compaction
from palimpsest.loop.saying import say
from palimpsest.loop.stage import Setup, Stage
from palimpsest.loop.step import run_step
from palimpsest.transcript.errors import ErrorValue, ModelFailed, UnknownError, UserError
from palimpsest.transcript.events import SessionError
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    Messages,
    UserMessage,
)
from palimpsest.transcript.parts import ToolFailed, ToolPart

UNFINISHED = {None, "tool-calls", "unknown"}

LAST_STEP = (
    "This is the last step of this turn: its step limit of {limit} is reached and tools are off. "
    "Answer now in words: what was done, what was found, and what remains to be done."
)

UNKNOWN_LIMIT = 2
"""Steps in a row that end for an unknown reason without calling a tool before the turn stops."""


async def run_turn(stage: Stage, *, again: bool = False) -> ErrorValue | None:
    """Run steps until done, stopped, or at the step limit; returns why no more could be sent.

    ``again`` goes on with a turn that failed: the failed request is sent anew, with all that was
    done before it, and the user's message is not said twice.
    """
    steps = unknown = compactions = 0
    while not stage.abort.is_set():
        stage.deliver()
        messages = stage.log.state.messages()
        user = newest_user(messages)
        if user is None or (answered(messages, user) and not (again and steps == 0)):
            return None
        try:
            setup = await stage.setup(user)
            _check_window(setup)
        except (UserError, ModelFailed) as problem:
            return _refuse(stage, user, problem)
        if asked(messages, user) is not None:
            if await run_compaction(stage, setup, user) == "stop":
                return None
            continue
        steps += 1
        last = steps >= setup.max_steps
        if last and steps > 1:
            user = say(stage, user, LAST_STEP.format(limit=setup.max_steps))
        room = compactions < setup.policy.compact.max_attempts and possible(messages)
        may_compact = setup.policy.overflow.auto and room
        result = await run_step(stage, setup, user, last=last, may_compact=may_compact)
        if result in ("compact", "overflow"):
            compactions += 1
            begin(stage, user, auto=True, overflow=result == "overflow")
            continue
        unknown = unknown + 1 if _ended_unknown(stage.log.state.messages()) else 0
        if result == "stop" or unknown >= UNKNOWN_LIMIT:
            return None
    return None


def newest_user(messages: Messages) -> UserMessage | None:
    """Return the newest user message."""
    for message in reversed(messages):
        if isinstance(message.info, UserMessage):
            return message.info
    return None


def answered(messages: Messages, user: UserMessage) -> bool:
    """Tell whether the newest assistant message ends the turn of this user message."""
    newest = next((m for m in reversed(messages) if isinstance(m.info, AssistantMessage)), None)
    if newest is None or not isinstance(newest.info, AssistantMessage):
        return False
    if newest.info.parent_id != user.id:
        return False
    if newest.info.error is not None:
        return True
    return newest.info.finish not in UNFINISHED and not _open_tools(newest)


def failure(messages: Messages) -> ErrorValue | None:
    """Return the error that ended the newest turn; None when it did not fail."""
    user = newest_user(messages)
    newest = messages[-1].info if messages else None
    if user is None or not isinstance(newest, AssistantMessage) or newest.parent_id != user.id:
        return None
    return newest.error


def _check_window(setup: Setup) -> None:
    """Refuse a model whose window is too small to work in, before anything is sent to it."""
    words = refusal(setup.info, setup.policy.guard)
    if words is not None:
        raise UserError(words)


def _open_tools(message: Message) -> bool:
    for part in message.parts:
        if not isinstance(part, ToolPart):
            continue
        metadata = part.metadata or {}
        orphan = isinstance(part.state, ToolFailed) and part.state.metadata.get("interrupted")
        if not (metadata.get("provider_executed") or metadata.get("failed_attempt") or orphan):
            return True
    return False


def _ended_unknown(messages: Messages) -> bool:
    newest = messages[-1]
    return (
        isinstance(newest.info, AssistantMessage)
        and newest.info.finish == "unknown"
        and not _open_tools(newest)
    )


def _refuse(stage: Stage, user: UserMessage, problem: UserError | ModelFailed) -> ErrorValue:
    error: ErrorValue = (
        problem.error if isinstance(problem, ModelFailed) else UnknownError(message=str(problem))
    )
    stage.write(SessionError(error=error, message_id=user.id))
    return error
