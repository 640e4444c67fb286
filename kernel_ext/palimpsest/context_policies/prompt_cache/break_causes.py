"""Find why a request reads less from the prompt cache than the request before it had left there.

Every cause with evidence in the recording is listed, differences between the two requests first. A loss without any such
cause is unexplained.

| cause | evidence |
|---|---|
| model, tools, system prompt | the two requests differ in it, or the provider reports so |
| compacted, reverted | a summary was inserted, or messages were undone, between the two |
| pruned | an item of the earlier request is shown in another state |
| rewritten | the agent's program inserted a text, and the cache gave no more than the session's first request had sent; or the provider reports that messages changed |
| client | the version of the agent's program changed |
| idle | more time passed than the cache keeps a prefix |
| effort | the two requests differ in it |
| late | the request read as much as one before the previous request had left; the next request read the rest, too |
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from palimpsest.context_policies.prompt_cache.recorded_clock import behind_the_clock
from palimpsest.transcript.timeline import SECTION_KINDS, Timeline, TimelineRequest

BreakCause = Literal[
    "compacted",
    "model",
    "tools",
    "system prompt",
    "reverted",
    "pruned",
    "rewritten",
    "client",
    "idle",
    "effort",
    "late",
    "unexplained",
]
UNEXPLAINED = "nothing in the recording explains it"
PROVIDER_CAUSES: dict[str, BreakCause] = {
    "model_changed": "model",
    "tools_changed": "tools",
    "system_changed": "system prompt",
    "messages_changed": "rewritten",
}
"""Causes that Anthropic's API reports (platform.claude.com, "Cache diagnostics", 2026); its other values mean that the
cause is not known."""
BEGINNING_CHANGES = frozenset({"tools_changed", "system_changed"})
"""The causes in ``PROVIDER_CAUSES`` that concern the part before all messages."""
MESSAGE_CAUSES: frozenset[BreakCause] = frozenset({"compacted", "reverted", "pruned", "rewritten"})
MAX_READ_DIFFERENCE = 0.02
"""Maximum relative difference of two reads of the same prefix: cache marks are set at blocks, not at tokens."""
MAX_REQUESTS_BEHIND = 5
"""Maximum requests by which a cache may lag behind."""
MAX_QUOTED_CHARS = 40
"""Maximum characters of a message's beginning that a sentence quotes."""
SECTION_CHANGES: Mapping[BreakCause, str] = {
    "tools": "the tool definitions changed",
    "system prompt": "the system prompt changed",
}


class FoundCause(NamedTuple):
    """A cause of a cache loss, with a phrase that states the evidence for it."""

    cause: BreakCause
    evidence: str


def causes_of(
    timeline: Timeline,
    previous: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
    lifetime_seconds: float,
) -> tuple[FoundCause, ...]:
    """Return the causes of a cache loss; ``following`` is the next request with reported usage, if there is one."""
    causes = [*_differences_sent(timeline, previous, request)]
    provider_cause = PROVIDER_CAUSES.get(request.cache_miss)
    if provider_cause is not None:
        causes = _with_provider_cause(causes, provider_cause)
    causes.extend(_causes_without_difference(timeline, previous, request, lifetime_seconds))
    if not causes and (late := _late_cache(timeline, previous, request, following)):
        causes.append(late)
    return tuple(causes) or (FoundCause("unexplained", UNEXPLAINED),)


def reads_beginning_only(timeline: Timeline, request: TimelineRequest) -> bool:
    """Return whether a request read only the part that the session's first request sent, and no later message."""
    requests_of_model = (earlier for earlier in timeline.requests if earlier.model == request.model)
    first = next((earlier for earlier in requests_of_model if earlier.reported), None)
    if first is None or first.reported is None or request.usage is None:
        return False
    return first.index < request.index and 0 < request.usage.cache_read <= first.reported


def _differences_sent(
    timeline: Timeline, previous: TimelineRequest, request: TimelineRequest
) -> Iterator[FoundCause]:
    """Yield the causes that are differences between the two requests."""
    request_indexes = range(previous.index + 1, request.index + 1)
    event_kinds = {event.kind for event in timeline.events if event.request in request_indexes}
    if "compact" in event_kinds:
        yield FoundCause("compacted", "a summary replaced earlier messages")
    if previous.model != request.model:
        yield FoundCause("model", f"the model changed from {previous.model} to {request.model}")
    for section in request.changed_sections(previous):
        yield FoundCause(section, SECTION_CHANGES[section])
    if "undo" in event_kinds:
        yield FoundCause("reverted", "the user took messages back")
    transitions = timeline.transitions
    start = bisect_left(transitions, request_indexes.start, key=lambda change: change.request)
    end = bisect_left(transitions, request_indexes.stop, key=lambda change: change.request)
    changed_items = {
        transition.item
        for transition in transitions[start:end]
        if timeline.items[transition.item].entered <= previous.index
        and timeline.items[transition.item].kind not in SECTION_KINDS
    }
    if not event_kinds & {"compact", "undo"}:
        yield from _changed_messages(timeline, previous, request, len(changed_items))
    if previous.client and request.client and previous.client != request.client:
        yield FoundCause(
            "client",
            f"the agent's program changed from version {previous.client} to {request.client}",
        )


def _changed_messages(
    timeline: Timeline, previous: TimelineRequest, request: TimelineRequest, changed_count: int
) -> Iterator[FoundCause]:
    """Yield the cause that earlier messages changed: ``changed_count`` items by decisions, or else by the agent's program."""
    if changed_count:
        items_were = (
            "1 earlier item was" if changed_count == 1 else f"{changed_count} earlier items were"
        )
        yield FoundCause("pruned", f"{items_were} shown otherwise")
        return
    quote = _program_message(timeline, previous, request)
    if quote and reads_beginning_only(timeline, request):
        yield FoundCause(
            "rewritten",
            f"the agent's program put in {quote} and sent the messages before it otherwise: "
            "only the beginning of the session was read",
        )


def _program_message(
    timeline: Timeline, previous: TimelineRequest, request: TimelineRequest
) -> str:
    """Return the beginning of a user message that the program wrote between two requests; empty without any."""
    new_items = timeline.items[previous.answer[1] : request.items]
    user_messages = [item for item in new_items if item.kind == "user"]
    # Text that the program adds to the message of a prompt comes with every prompt and is no separate message.
    prompt_messages = {item.message for item in user_messages if not item.by_program}
    for item in user_messages:
        if item.message not in prompt_messages:
            return f"“{item.label[:MAX_QUOTED_CHARS]}”"
    return ""


def _with_provider_cause(causes: list[FoundCause], provider_cause: BreakCause) -> list[FoundCause]:
    """Return the causes with the provider's cause first: it confirms one of them, or is added."""
    same_causes = [
        cause
        for cause in causes
        if cause.cause == provider_cause
        or (provider_cause == "rewritten" and cause.cause in MESSAGE_CAUSES)
    ]
    if same_causes:
        confirmed_cause = same_causes[0]
        confirmed = confirmed_cause._replace(
            evidence=f"{confirmed_cause.evidence}, as the provider says, too"
        )
        return [confirmed, *(cause for cause in causes if cause is not confirmed_cause)]
    changes: Mapping[BreakCause, str] = {"model": "the model changed", **SECTION_CHANGES}
    change = changes.get(provider_cause, "earlier messages were sent otherwise than before")
    return [FoundCause(provider_cause, f"{change}, as the provider says"), *causes]


def _causes_without_difference(
    timeline: Timeline, previous: TimelineRequest, request: TimelineRequest, lifetime_seconds: float
) -> Iterator[FoundCause]:
    """Yield the causes of a loss where both requests sent the same."""
    is_time_known = previous.index not in behind_the_clock(timeline)
    seconds = request.seconds_since(previous) if is_time_known else None
    if seconds is not None and seconds > lifetime_seconds:
        since = "the request before"
        if previous.index != request.index - 1:
            since = f"request {previous.index + 1}, the last with reported usage"
        yield FoundCause(
            "idle",
            f"{seconds:,.0f} s passed since {since}; the cache is kept for {lifetime_seconds:,.0f} s",
        )
    if previous.effort != request.effort:
        yield FoundCause(
            "effort", f"the reasoning effort changed from {previous.effort} to {request.effort}"
        )


def _late_cache(
    timeline: Timeline,
    previous: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
) -> FoundCause | None:
    """Return the cause ``late``: the request read only what an earlier one had left, and the next read the rest, too."""
    if request.usage is None or not request.usage.cache_read:
        return None
    if following is None or following.usage is None or following.model != request.model:
        return None
    read_tokens = request.usage.cache_read
    left_by_request = read_tokens + request.usage.cache_write
    if following.usage.cache_read <= left_by_request * (1 + MAX_READ_DIFFERENCE):
        # The next request read no more than this one had left: the lost part was written anew.
        return None
    first_earlier = max(previous.index - MAX_REQUESTS_BEHIND, 0)
    for earlier in reversed(timeline.requests[first_earlier : previous.index]):
        usage = earlier.usage
        if usage is None or earlier.model != request.model:
            continue
        left_by_earlier = usage.cache_read + usage.cache_write or earlier.reported or 0
        difference = abs(read_tokens - left_by_earlier)
        if left_by_earlier and difference <= MAX_READ_DIFFERENCE * left_by_earlier:
            return FoundCause(
                "late",
                f"it read what request {earlier.index + 1} had left; what came after was read only by "
                f"request {following.index + 1}: the provider's cache was behind",
            )
    return None
