"""Read from the journal how each recorded compaction ended, before a replay reaches its marker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.context.compaction.summary_request import RULE as COMPACT
from palimpsest.context.visible_messages import marker
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.errors import AbortedError, ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.session_record.events import (
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    Record,
    StepRequested,
)


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """One compaction, as it ended."""

    marker_id: str
    auto: bool
    overflow: bool
    summaries: frozenset[str]
    """Messages of its summary; several when it was tried again."""
    goes_on: str | None
    """Id of the synthetic message after it that continued the turn."""
    good: bool
    stopped: bool
    """The user or the end of the kernel stopped it."""
    request: StepRequest | None
    """The first request for the summary; None where none was sent."""
    requested: int = 0
    """Input tokens of all requests for the summary."""
    tokens_before: int = 0
    tokens_after: int = 0
    """As recorded by the check of the summary; 0 where it was rejected."""


@dataclass(frozen=True, slots=True)
class RecordedCompactions:
    """What a replay must know in advance."""

    compactions: dict[str, RecordedCompaction] = field(default_factory=dict)
    """By marker."""
    following: dict[str, StepRequest] = field(default_factory=dict)
    """The first request of a step after each message appeared; for an answer, its own."""
    unsent: frozenset[str] = frozenset()
    """Answers whose request could not be made to fit, so that none was sent."""
    seq: int = 0
    """Of the newest record that was read."""


def read_compactions(records: Iterable[Record]) -> RecordedCompactions:
    """Read a whole journal, and return how its compactions ended."""
    state, everything = State(), State()
    asking: dict[str, list[StepRequest]] = {}
    following: dict[str, StepRequest] = {}
    waiting: list[str] = []
    sent: set[str | None] = set()
    for record in records:
        state.apply(record)
        if not isinstance(record.event, MessageRemoved | PartRemoved):
            # What the user reverted later was there when the compaction was decided.
            everything.apply(record)
        if isinstance(record.event, MessageUpdated):
            name = record.event.info.id
            if name not in following and name not in waiting:
                waiting.append(name)
        if not isinstance(record.event, StepRequested):
            continue
        request = record.event.request
        sent.add(request.message_id)
        if request.purpose == "compaction" and request.message_id is not None:
            message = state.message(request.message_id)
            if message is not None and isinstance(message.info, AssistantMessage):
                asking.setdefault(message.info.parent_id, []).append(request)
        elif request.purpose == "step":
            following |= dict.fromkeys(waiting, request)
            waiting.clear()
    messages = everything.messages()
    judged = {
        one.message_id: one
        for one in state.decisions
        if one.rule == COMPACT and "retention" in one.numbers
    }
    found = {
        message.id: _recorded(messages, at, asking.get(message.id, ()), judged)
        for at, message in enumerate(messages)
        if marker(message) is not None
    }
    unsent = (one.id for one in messages if one.id not in sent and _too_large(one))
    return RecordedCompactions(found, following, frozenset(unsent), state.seq)


def _too_large(message: Message) -> bool:
    info = message.info
    if not isinstance(info, AssistantMessage) or info.summary:
        return False
    return isinstance(info.error, ContextOverflowError)


def _recorded(
    messages: Messages,
    at: int,
    requests: Sequence[StepRequest],
    judged: Mapping[str | None, Decision],
) -> RecordedCompaction:
    part = marker(messages[at])
    assert part is not None
    name = messages[at].id
    written = [one for one in messages if _summarises(one, name)]
    newest = written[-1].info if written else None
    judgement = next((judged[one.id] for one in written if one.id in judged), None)
    error = newest.error if isinstance(newest, AssistantMessage) else None
    return RecordedCompaction(
        marker_id=name,
        auto=part.auto,
        overflow=part.overflow,
        summaries=frozenset(one.id for one in written),
        goes_on=_goes_on(messages, at),
        good=isinstance(newest, AssistantMessage) and bool(newest.finish) and error is None,
        stopped=isinstance(error, AbortedError) or newest is None,
        request=requests[0] if requests else None,
        requested=sum(one.tokens for one in requests),
        tokens_before=judgement.tokens_before if judgement is not None else 0,
        tokens_after=judgement.tokens_after if judgement is not None else 0,
    )


def _summarises(message: Message, marker_id: str) -> bool:
    info = message.info
    return isinstance(info, AssistantMessage) and info.summary and info.parent_id == marker_id


def _goes_on(messages: Messages, at: int) -> str | None:
    """Return the first user message after the summary, if it is the engine's and no marker."""
    for message in messages[at + 1 :]:
        if isinstance(message.info, UserMessage):
            return message.id if message.info.by_engine and marker(message) is None else None
        if not message.info.summary:
            return None
    return None
