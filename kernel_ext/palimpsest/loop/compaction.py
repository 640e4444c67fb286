"""A compaction: ask for a summary, judge it, and let the work go on behind it.

Nothing is erased. The marker and the summary are messages like others; the fold shows the summary
instead of what it covers, and only when it is good: a summary that failed, that is too short or
that saves too little carries an error, and the history stays as it was (DESIGN.md 4).
"""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from palimpsest.context.compact import Plan, plan, summary_text
from palimpsest.context.convert import convert
from palimpsest.context.estimate import json_tokens, message_tokens
from palimpsest.context.fold import marker
from palimpsest.context.overflow import usable
from palimpsest.context.projection import project
from palimpsest.context.retention import report
from palimpsest.context.serialize import serialize
from palimpsest.context.summary import RULE, SYSTEM, going_on, project_summary, seen_at
from palimpsest.context.texts import load_texts
from palimpsest.context.view import View
from palimpsest.loop.answering import answer, desk
from palimpsest.loop.recovery import too_large
from palimpsest.loop.request import build
from palimpsest.loop.saying import engine_message, say
from palimpsest.loop.stage import Setup, Stage
from palimpsest.processor.processor import Processor
from palimpsest.tools.variables import MOST_VARIABLES
from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    UnknownError,
    UserError,
)
from palimpsest.transcript.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    SessionCompacted,
    SessionUpdated,
    StepRequested,
)
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    Messages,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import CompactionPart, FilePart, Part, TextPart

AGENT = "compaction"
CONTINUES = "compaction_continue"
"""Key in the metadata of what the engine says to go on."""

RESULT_SHARES = (1, 4, 20)
"""Where the text to summarise does not fit, outputs are told at this fraction of their length."""

KERNEL_SECONDS = 2.0
KERNEL = "What the kernel holds at this moment, observed when earlier messages were put into a summary:\n{lines}"

USELESS = (
    "The summary was too short to be of use ({chars} characters), so nothing was cut. Try again, name "
    "another model, or begin a new session with %agent --new."
)
SAVES_LITTLE = (
    "The summary saved too little ({before:,} tokens before, {after:,} after), so nothing was cut. "
    "Begin a new session with %agent --new, or choose a model with a larger window with --model."
)
TOO_LONG = (
    "The conversation is too long to be summarised in one request to {model} (about {tokens:,} tokens, "
    "and {budget:,} fit). Choose a model with a larger window with --model, or begin a new session with "
    "%agent --new."
)


def begin(
    stage: Stage,
    user: UserMessage,
    *,
    auto: bool,
    overflow: bool = False,
    focus: str | None = None,
    origin: Origin | None = None,
) -> UserMessage:
    """Write the marker that asks for a compaction, in the name of a user message."""
    marked = engine_message(stage, user)
    if origin is not None:
        marked = marked.model_copy(update={"origin": origin})
    part = CompactionPart(
        id=stage.ids.new("prt"),
        session_id=marked.session_id,
        message_id=marked.id,
        auto=auto,
        overflow=overflow,
        focus=focus,
    )
    stage.write(MessageUpdated(info=marked), PartUpdated(part=part), sync=True)
    return marked


def asked(messages: Messages, user: UserMessage) -> CompactionPart | None:
    """Return the marker that a user message carries."""
    found = next((message for message in messages if message.id == user.id), None)
    return marker(found) if found is not None else None


def possible(messages: Messages) -> bool:
    """Tell whether there is more to summarise than the newest prompt alone."""
    return any(isinstance(message.info, AssistantMessage) for message in messages)


Outcome = Literal["continue", "stop", "failed"]
"""``stop``: nobody has to go on, or somebody stopped it; ``failed``: no summary, nothing cut."""


async def run_compaction(stage: Stage, setup: Setup, user: UserMessage) -> Outcome:
    """Summarise what a marker asks for, and say how the turn goes on."""
    part = asked(stage.log.state.messages(), user)
    if part is None:
        raise ValueError("A compaction needs its marker.")
    quiet = dataclasses.replace(setup, agent=AGENT, system=(SYSTEM,), specs=())
    _note(stage, stage.clock())
    made, part = _plan(stage, quiet, user.id, part)
    message = AssistantMessage(
        id=stage.ids.new("msg"),
        session_id=stage.session_id,
        parent_id=user.id,
        time=MessageTime(created=stage.clock()),
        agent=AGENT,
        model=setup.info.ref,
        path=MessagePath(cwd=str(stage.cwd), root=str(stage.root)),
        summary=True,
    )
    stage.write(MessageUpdated(info=message))
    error = await _summarise(stage, setup, quiet, message, user.id)
    _note(stage, None)
    if error is not None:
        return "stop" if isinstance(error, AbortedError) else "failed"
    stage.write(SessionCompacted(message_id=user.id), sync=True)
    if not part.auto:
        return "stop"
    if made.replay is not None:
        _say_again(stage, user, made.replay)
    else:
        _go_on(stage, setup, user, made)
    return "continue"


def _plan(
    stage: Stage, setup: Setup, marker_id: str, part: CompactionPart
) -> tuple[Plan, CompactionPart]:
    """Choose the tail and how much of each output is told, and write both down."""
    policy = setup.policy
    view = _view(stage)
    seen = seen_at(view, marker_id, policy)
    made = plan(seen, policy.compact, usable(setup.info, policy.overflow), _weigh(setup))
    part = part.model_copy(update={"tail_start_id": made.tail_start_id})
    stage.write(PartUpdated(part=part))
    view = _view(stage)
    chosen = _decision(stage, marker_id, policy.compact.result_chars)
    for share in RESULT_SHARES:
        chosen = _decision(stage, marker_id, policy.compact.result_chars // share)
        tried = View(view.messages, (*view.decisions, chosen), view.texts)
        asking = project_summary(
            tried,
            marker_id=marker_id,
            system=setup.system,
            model=setup.info.ref,
            policy=policy,
            count=setup.count,
        )
        if asking.total < usable(setup.info, policy.overflow):
            break
    stage.write(DecisionMade(decision=chosen))
    return made, part


def _decision(stage: Stage, marker_id: str, result_chars: int) -> Decision:
    return Decision(
        id=stage.ids.new("dec"),
        action="summarise",
        rule=RULE,
        message_id=marker_id,
        numbers={"result_chars": result_chars},
    )


def _weigh(setup: Setup) -> Callable[[Messages], int]:
    """Return how messages are weighed: as the policy's estimator does it."""

    def weigh(messages: Messages) -> int:
        flat = convert(messages, setup.info.ref)
        if setup.policy.estimator == "chars/4":
            return json_tokens(flat)
        return sum(message_tokens(message, setup.count) for message in flat)

    return weigh


async def _summarise(
    stage: Stage, setup: Setup, quiet: Setup, message: AssistantMessage, marker_id: str
) -> ErrorValue | None:
    """Ask for the summary and judge it; returns what is wrong with it."""
    before = _size(stage, setup, _until(stage, marker_id))
    assembled = build(stage, quiet, message.id, {}, "compaction", marker_id=marker_id)
    processor = Processor(
        desk(stage, quiet, assembled.record.facts),
        message,
        request_id=assembled.record.id,
        window=setup.info.window,
    )
    error: ErrorValue | None = None
    try:
        if assembled.route.fits:
            stage.write(StepRequested(request=assembled.record), sync=True)
            finished = await answer(stage, quiet.model, assembled, processor)
            processor.reported(finished)
            processor.take_calls()
            processor.handle(finished)
            error = _judge(stage, setup, processor.message, marker_id, before)
        else:
            error = _too_long(setup, too_large(assembled.route, setup.info))
    except Aborted:
        error = AbortedError(message=stage.abort.reason or "Stopped.")
    except ModelFailed as failure:
        error = failure.error
    except asyncio.CancelledError:
        processor.close(AbortedError())
        raise
    except UserError as problem:
        error = UnknownError(message=str(problem))
    await _observe(stage, marker_id, wanted=error is None)
    processor.close(error)
    return error


def _judge(
    stage: Stage, setup: Setup, message: AssistantMessage, marker_id: str, before: int
) -> ErrorValue | None:
    """Say what makes a summary useless; a good one gets its report."""
    compact = setup.policy.compact
    written = stage.log.state.message(message.id)
    text = summary_text(written) if written is not None else ""
    if compact.judge and len(text) < compact.min_summary_chars:
        return UnknownError(message=USELESS.format(chars=len(text)))
    done = message.model_copy(update={"finish": "stop", "error": None})
    hypothetical = tuple(
        one.model_copy(update={"info": done}) if one.id == message.id else one
        for one in stage.log.state.messages()
    )
    after = _size(stage, setup, hypothetical)
    if compact.judge and after > compact.max_share_after * before:
        return UnknownError(message=SAVES_LITTLE.format(before=before, after=after))
    view = _view(stage)
    seen = seen_at(view, marker_id, setup.policy)
    tail = marker(seen[-1])
    ids = [one.id for one in seen]
    cut = ids.index(tail.tail_start_id) if tail and tail.tail_start_id in ids else len(seen) - 1
    lost = report(
        serialize(seen[:cut], compact.result_chars),
        text + serialize(seen[cut:], compact.result_chars),
    )
    stage.write(
        DecisionMade(
            decision=Decision(
                id=stage.ids.new("dec"),
                action="summarise",
                rule=RULE,
                message_id=message.id,
                numbers={"retention": lost},
                tokens_before=before,
                tokens_after=after,
            )
        )
    )
    return None


def _too_long(setup: Setup, error: ContextOverflowError) -> ContextOverflowError:
    words = TOO_LONG.format(
        model=setup.info.ref.id, tokens=error.tokens or 0, budget=error.budget or 0
    )
    return error.model_copy(update={"message": words})


def _view(stage: Stage, messages: Messages | None = None) -> View:
    state = stage.log.state
    found = state.messages() if messages is None else messages
    return View(found, state.decisions, load_texts(found, stage.blobs.get_blob))


def _size(stage: Stage, setup: Setup, messages: Messages) -> int:
    """Return the tokens that these messages take in a request, without system prompt and tools."""
    projection = project(
        _view(stage, messages),
        system=(),
        tools=(),
        model=setup.info,
        policy=setup.policy,
        count=setup.count,
    )
    return projection.total


def _until(stage: Stage, marker_id: str) -> Messages:
    messages = stage.log.state.messages()
    ids = [message.id for message in messages]
    return messages[: ids.index(marker_id)]


async def _observe(stage: Stage, marker_id: str, *, wanted: bool) -> None:
    """Write what the kernel holds beside the marker: it is looked at, not summarised."""
    if not wanted or stage.namespace is None:
        return
    try:
        found = await asyncio.wait_for(stage.namespace.list(), KERNEL_SECONDS)
    except (TimeoutError, UserError):
        return
    lines = [f"- {one.name}: {one.kind}, {one.summary}" for one in found[:MOST_VARIABLES]]
    if not lines:
        return
    part = TextPart(
        id=stage.ids.new("prt"),
        session_id=stage.session_id,
        message_id=marker_id,
        text=KERNEL.format(lines="\n".join(lines)),
        synthetic=True,
    )
    stage.write(PartUpdated(part=part))


def _go_on(stage: Stage, setup: Setup, user: UserMessage, made: Plan) -> None:
    """Say in the engine's name that the work goes on."""
    words = going_on(setup.policy, made, _unanswered(stage, user.id))
    say(stage, user, words, {CONTINUES: True})


def _unanswered(stage: Stage, marker_id: str) -> Message | None:
    """Return the newest words of a person before the marker."""
    for message in reversed(_until(stage, marker_id)):
        if isinstance(message.info, UserMessage) and any(
            isinstance(part, TextPart) and not part.synthetic for part in message.parts
        ):
            return message
    return None


def _say_again(stage: Stage, user: UserMessage, replay: Message) -> None:
    """Say a prompt again after the summary, its files by name only."""
    message = engine_message(stage, user)
    parts = [_again(stage, part, message.id) for part in replay.parts]
    stage.write(
        MessageUpdated(info=message),
        *(PartUpdated(part=part) for part in parts if part is not None),
        sync=True,
    )


def _again(stage: Stage, part: Part, message_id: str) -> Part | None:
    ids: dict[str, Any] = {"id": stage.ids.new("prt"), "message_id": message_id}
    match part:
        case TextPart():
            return part.model_copy(update={**ids, "synthetic": True})
        case FilePart():
            words = f"[Attached {part.mime}: {part.filename or 'file'}]"
            return TextPart(session_id=part.session_id, text=words, synthetic=True, **ids)
        case _:
            return None


def _note(stage: Stage, compacting: int | None) -> None:
    """Note on the session that it is being compacted, or no more."""
    session = stage.log.state.session
    if session is not None:
        time = session.time.model_copy(update={"compacting": compacting, "updated": stage.clock()})
        stage.write(SessionUpdated(session=session.model_copy(update={"time": time})))
