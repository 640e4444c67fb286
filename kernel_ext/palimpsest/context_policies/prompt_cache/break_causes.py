"""The causes for which a request reads less from the cache than the request before left there, with their evidence.

Every cause with evidence in the recording is listed, differences between the two requests first. A loss without any such
cause is unexplained.

| cause | evidence |
|---|---|
| model, tools, system prompt | the two requests differ in it, or the provider reports so |
| compacted, reverted | a summary was inserted, or messages were undone, between the two |
| pruned | an item of the earlier request is shown in another state |
| rewritten | the agent's program inserted a text of its own, and only the beginning that the session's first request sent was read; or the provider reports that messages changed |
| client | the version of the agent's program changed |
| idle | more time passed than the cache keeps a prefix |
| effort | the two requests differ in it |
| late | the read is what an earlier request left, and the next request read what this one did not |
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from palimpsest.context_policies.prompt_cache.recorded_clock import behind_the_clock
from palimpsest.transcript.timeline import Timeline, TimelineRequest

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
CHANGED_BEGINNING = frozenset({"tools_changed", "system_changed"})
"""The provider's causes that concern the part before all messages."""
CHANGES_MESSAGES: frozenset[BreakCause] = frozenset(
    {"compacted", "reverted", "pruned", "rewritten"}
)
SECTIONS = frozenset({"system", "tools"})
"""Item kinds of the system prompt and the tools; their hashes show that they changed."""
SAME_SHARE = 0.02
"""Maximum relative difference of two reads of the same prefix: cache marks are set at blocks, not at tokens."""
MAX_REQUESTS_BEHIND = 5
"""Maximum requests by which a cache may lag behind."""

SECTION_CHANGES: Mapping[BreakCause, str] = {
    "tools": "the tool definitions changed",
    "system prompt": "the system prompt changed",
}


class FoundCause(NamedTuple):
    """A cause of a cache loss with its evidence in words."""

    cause: BreakCause
    words: str


def causes_of(
    timeline: Timeline,
    before: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
    lifetime: float,
) -> tuple[FoundCause, ...]:
    """Return the causes of a cache loss; ``following`` is the next request with reported usage, if there is one."""
    causes = [*_differences_sent(timeline, before, request)]
    provider_cause = PROVIDER_CAUSES.get(request.cache_miss)
    if provider_cause is not None:
        causes = _with_provider(causes, provider_cause)
    causes.extend(_causes_without_difference(timeline, before, request, lifetime))
    if not causes and (late := _late_cache(timeline, before, request, following)):
        causes.append(late)
    return tuple(causes) or (FoundCause("unexplained", UNEXPLAINED),)


def reads_beginning_only(timeline: Timeline, request: TimelineRequest) -> bool:
    """Return whether a request read only the part that the session's first request sent, and no later message."""
    first = next(
        (
            earlier_request
            for earlier_request in timeline.requests
            if earlier_request.model == request.model and earlier_request.reported
        ),
        None,
    )
    if first is None or first.reported is None or request.usage is None:
        return False
    return first.index < request.index and 0 < request.usage.cache_read <= first.reported


def _differences_sent(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest
) -> Iterator[FoundCause]:
    """Yield the causes that are differences between the two requests."""
    between = range(before.index + 1, request.index + 1)
    kinds = {event.kind for event in timeline.events if event.request in between}
    if "compact" in kinds:
        yield FoundCause("compacted", "a summary replaced earlier messages")
    if before.model != request.model:
        yield FoundCause("model", f"the model changed from {before.model} to {request.model}")
    for section in request.changed_sections(before):
        yield FoundCause(section, SECTION_CHANGES[section])
    if "undo" in kinds:
        yield FoundCause("reverted", "the user took messages back")
    transitions = timeline.transitions
    first = bisect_left(transitions, between.start, key=lambda change: change.request)
    until = bisect_left(transitions, between.stop, key=lambda change: change.request)
    changed_items = {
        transition.item
        for transition in transitions[first:until]
        if timeline.items[transition.item].entered <= before.index
        and timeline.items[transition.item].kind not in SECTIONS
    }
    if not kinds & {"compact", "undo"}:
        yield from _changed_messages(timeline, before, request, len(changed_items))
    if before.client and request.client and before.client != request.client:
        yield FoundCause(
            "client",
            f"the agent's program changed from version {before.client} to {request.client}",
        )


def _changed_messages(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, changed: int
) -> Iterator[FoundCause]:
    """Yield the cause that earlier messages changed: ``changed`` items by decisions, or else by the agent's program."""
    if changed:
        many = "1 earlier item was" if changed == 1 else f"{changed} earlier items were"
        yield FoundCause("pruned", f"{many} shown otherwise")
        return
    note = _note_of_program(timeline, before, request)
    if note and reads_beginning_only(timeline, request):
        yield FoundCause(
            "rewritten",
            f"the agent's program put in {note} and sent the messages before it otherwise: "
            "only the beginning of the session was read",
        )


def _note_of_program(timeline: Timeline, before: TimelineRequest, request: TimelineRequest) -> str:
    """Return the beginning of a user message that the program wrote between two requests; empty without any."""
    notes = [
        item for item in timeline.items[before.answer[1] : request.items] if item.kind == "user"
    ]
    # Text that the program adds to the message of a prompt comes with every prompt and is no separate message.
    prompt_messages = {item.message for item in notes if not item.by_program}
    for item in notes:
        if item.message not in prompt_messages:
            return f"“{item.label[:40]}”"
    return ""


def _with_provider(causes: list[FoundCause], provider_cause: BreakCause) -> list[FoundCause]:
    """Return the causes with the provider's cause first: it confirms one of them, or is added."""
    same_cause = [
        cause
        for cause in causes
        if cause.cause == provider_cause
        or (provider_cause == "rewritten" and cause.cause in CHANGES_MESSAGES)
    ]
    if same_cause:
        first = FoundCause(same_cause[0].cause, f"{same_cause[0].words}, as the provider says, too")
        return [first, *(cause for cause in causes if cause is not same_cause[0])]
    words = {
        "model": "the model changed",
        "tools": "the tool definitions changed",
        "system prompt": "the system prompt changed",
    }.get(provider_cause, "earlier messages were sent otherwise than before")
    return [FoundCause(provider_cause, f"{words}, as the provider says"), *causes]


def _causes_without_difference(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, lifetime: float
) -> Iterator[FoundCause]:
    """Yield the causes of a loss where both requests sent the same."""
    is_known = before.index not in behind_the_clock(timeline)
    seconds = request.seconds_since(before) if is_known else None
    if seconds is not None and seconds > lifetime:
        since = (
            "the request before"
            if before.index == request.index - 1
            else f"request {before.index + 1}, the last with reported usage"
        )
        yield FoundCause(
            "idle",
            f"{seconds:,.0f} s passed since {since}; the cache is kept for {lifetime:,.0f} s",
        )
    if before.effort != request.effort:
        yield FoundCause(
            "effort", f"the reasoning effort changed from {before.effort} to {request.effort}"
        )


def _late_cache(
    timeline: Timeline,
    before: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
) -> FoundCause | None:
    """Return the cause that the cache lagged: this request read an earlier request's part, and the next read all of it."""
    if request.usage is None or not request.usage.cache_read:
        return None
    read, requests = request.usage.cache_read, timeline.requests
    if following is None or following.usage is None or following.model != request.model:
        return None
    stored = request.usage.cache_read + request.usage.cache_write
    if following.usage.cache_read <= stored * (1 + SAME_SHARE):
        # The next request read no more than this one had left: the lost part was written anew.
        return None
    for earlier in reversed(requests[max(before.index - MAX_REQUESTS_BEHIND, 0) : before.index]):
        if earlier.usage is None or earlier.model != request.model:
            continue
        stored_tokens = (
            earlier.usage.cache_read + earlier.usage.cache_write or earlier.reported or 0
        )
        if stored_tokens and abs(read - stored_tokens) <= SAME_SHARE * stored_tokens:
            return FoundCause(
                "late",
                f"it read what request {earlier.index + 1} had left; what came after was read only by "
                f"request {following.index + 1}: the provider's cache was behind",
            )
    return None
