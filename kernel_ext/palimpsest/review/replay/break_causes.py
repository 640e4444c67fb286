"""Why a request did not read from the cache what the one before left there, each cause with the evidence it needs.

A cause is named where the recording holds its evidence, and all that are found are told, those first that are in
what was sent. What none of them explains is unexplained.

| cause | evidence |
|---|---|
| model, tools, system prompt | the two requests differ in it, or the provider says so |
| compacted, reverted | a summary was put in, or messages were taken back, between the two |
| pruned | an item that the request before showed is shown otherwise |
| rewritten | the agent's program put words of its own in between, and of all messages only the beginning that the session's first request sent was read; or the provider says that messages changed |
| client | the agent's program is of another version |
| idle | more time passed than the cache keeps a prefix |
| effort | the two requests differ in it |
| late | the read is what an earlier request left, and the next request read what this one did not |
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

from palimpsest.review.replay.recorded_clock import behind_the_clock
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
TOLD_BY_PROVIDER: dict[str, BreakCause] = {
    "model_changed": "model",
    "tools_changed": "tools",
    "system_changed": "system prompt",
    "messages_changed": "rewritten",
}
"""What Anthropic names (platform.claude.com, "Cache diagnostics", 2026); its other words say that it cannot tell."""
STARTS_ANEW = frozenset({"tools_changed", "system_changed"})
"""Of its words those that are about what stands in front of all messages."""
CHANGES_MESSAGES: frozenset[BreakCause] = frozenset(
    {"compacted", "reverted", "pruned", "rewritten"}
)
SECTIONS = frozenset({"system", "tools"})
"""Items that the system prompt and the tools are; that they changed is told by their hashes."""
SAME = 0.02
"""Two reads are the same prefix where they differ by less: marks of the cache stand at blocks, not at tokens."""
MOST_BEHIND = 5
"""Requests by which a cache is behind; one that is older was not waited for."""


class FoundCause(NamedTuple):
    """A cause whose evidence the recording holds, and that evidence in words."""

    cause: BreakCause
    words: str


def causes_of(
    timeline: Timeline,
    before: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
    lifetime: float,
) -> tuple[FoundCause, ...]:
    """Return why a request read less than the one before left; one that says so where nothing explains it.

    ``following`` is the next request with reported usage, if there is one.
    """
    found = [*_in_what_was_sent(timeline, before, request)]
    told = TOLD_BY_PROVIDER.get(request.cache_miss)
    if told is not None:
        found = _with_provider(found, told)
    found.extend(_around(timeline, before, request, lifetime))
    if not found and (late := _late(timeline, before, request, following)):
        found.append(late)
    return tuple(found) or (FoundCause("unexplained", UNEXPLAINED),)


def reads_beginning_only(timeline: Timeline, request: TimelineRequest) -> bool:
    """Return whether of all that a request sent only what the session began with was read: no later message."""
    first = next(
        (one for one in timeline.requests if one.model == request.model and one.reported), None
    )
    if first is None or first.reported is None or request.usage is None:
        return False
    return first.index < request.index and 0 < request.usage.cache_read <= first.reported


def _in_what_was_sent(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest
) -> Iterator[FoundCause]:
    """Yield what of the second request is another than the first's."""
    between = range(before.index + 1, request.index + 1)
    kinds = {one.kind for one in timeline.events if one.request in between}
    if "compact" in kinds:
        yield FoundCause("compacted", "a summary replaced earlier messages")
    if before.model != request.model:
        yield FoundCause("model", f"the model changed from {before.model} to {request.model}")
    if before.tools_hash != request.tools_hash:
        yield FoundCause("tools", "the tool definitions changed")
    if before.system_hash != request.system_hash:
        yield FoundCause("system prompt", "the system prompt changed")
    if "undo" in kinds:
        yield FoundCause("reverted", "the user took messages back")
    moves = timeline.transitions
    first = bisect_left(moves, between.start, key=lambda one: one.request)
    until = bisect_left(moves, between.stop, key=lambda one: one.request)
    changed = {
        one.item
        for one in moves[first:until]
        if timeline.items[one.item].entered <= before.index
        and timeline.items[one.item].kind not in SECTIONS
    }
    if not kinds & {"compact", "undo"}:
        yield from _shown_otherwise(timeline, before, request, len(changed))
    if before.client and request.client and before.client != request.client:
        yield FoundCause(
            "client",
            f"the agent's program changed from version {before.client} to {request.client}",
        )


def _shown_otherwise(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, changed: int
) -> Iterator[FoundCause]:
    """Yield that earlier messages were sent otherwise: ``changed`` items by decisions, else by the agent's program."""
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
    """Return how words begin that the program wrote in the user's place between two requests; empty without any."""
    said = [
        item for item in timeline.items[before.answer[1] : request.items] if item.kind == "user"
    ]
    # What stands beside a person's words in one message comes with each prompt, and is no note of its own.
    spoken = {item.message for item in said if not item.by_program}
    for item in said:
        if item.message not in spoken:
            return f"“{item.label[:40]}”"
    return ""


def _with_provider(found: list[FoundCause], told: BreakCause) -> list[FoundCause]:
    """Return causes with what the provider itself says first: it confirms one of them, or is one more."""
    alike = [
        one
        for one in found
        if one.cause == told or (told == "rewritten" and one.cause in CHANGES_MESSAGES)
    ]
    if alike:
        first = FoundCause(alike[0].cause, f"{alike[0].words}, as the provider says, too")
        return [first, *(one for one in found if one is not alike[0])]
    words = {
        "model": "the model changed",
        "tools": "the tool definitions changed",
        "system prompt": "the system prompt changed",
    }.get(told, "earlier messages were sent otherwise than before")
    return [FoundCause(told, f"{words}, as the provider says"), *found]


def _around(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, lifetime: float
) -> Iterator[FoundCause]:
    """Yield what explains a loss though the same was sent."""
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


def _late(
    timeline: Timeline,
    before: TimelineRequest,
    request: TimelineRequest,
    following: TimelineRequest | None,
) -> FoundCause | None:
    """Return that the cache was behind, where the read is an earlier request's and the next one read all of it."""
    if request.usage is None or not request.usage.cache_read:
        return None
    read, requests = request.usage.cache_read, timeline.requests
    if following is None or following.usage is None or following.model != request.model:
        return None
    stored = request.usage.cache_read + request.usage.cache_write
    if following.usage.cache_read <= stored * (1 + SAME):
        # It read no more than what this request itself had left: what was lost was written anew.
        return None
    for earlier in reversed(requests[max(before.index - MOST_BEHIND, 0) : before.index]):
        if earlier.usage is None or earlier.model != request.model:
            continue
        held = earlier.usage.cache_read + earlier.usage.cache_write or earlier.reported or 0
        if held and abs(read - held) <= SAME * held:
            return FoundCause(
                "late",
                f"it read what request {earlier.index + 1} had left; what came after was read only by "
                f"request {following.index + 1}: the provider's cache was behind",
            )
    return None
