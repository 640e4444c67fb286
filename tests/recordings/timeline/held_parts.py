"""Which parts of the log each request of a session held: by its timeline, and by the request rebuilt to the byte."""

from collections.abc import Mapping

from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.recordings.timeline.message_items import part_id_of
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.neutral_messages import Block, ResultBlock, TextBlock
from palimpsest.transcript.parts import CompactionPart, Part, ToolPart
from palimpsest.transcript.timeline import GONE_STATES, Timeline, TimelineItem

Held = list[tuple[str, set[str]]]
"""Of each request the message that it fills, and what it held: parts, and the results of calls as ``part/result``."""


def held_by_timeline(timeline: Timeline) -> Held:
    """Return what the timeline says of each request, without system prompt and tools."""
    return [
        (
            request.id,
            {
                _name(item)
                for item in timeline.items[: request.items]
                if item.message and timeline.state(item.index, request.index) not in GONE_STATES
            },
        )
        for request in timeline.requests
    ]


def held_by_requests(store: Store, session_id: str) -> Held:
    """Return what the rebuilt requests hold; of a step that was asked again, the last one."""
    parts = {part.id: part for loaded in store.load(session_id).messages() for part in loaded.parts}
    found: dict[str, set[str]] = {}
    for rebuilt in rebuild_all(store, session_id, store.read(session_id)):
        assert rebuilt.matches
        if rebuilt.record.purpose == "step" and rebuilt.record.message_id is not None:
            found.pop(rebuilt.record.message_id, None)
            blocks = (block for message in rebuilt.neutral for block in message.blocks)
            held = {name for block in blocks for name in _named(block, parts)}
            found[rebuilt.record.message_id] = held
    return list(found.items())


def _named(block: Block, parts: Mapping[str, Part]) -> tuple[str, ...]:
    """Return what a block shows: a quoted call has its result with it, and a summary its question."""
    part = parts.get(block.part_id or "")
    if part is None or isinstance(part, CompactionPart):
        return ()
    if isinstance(block, ResultBlock):
        return (part.id + RESULT_SUFFIX,)
    is_quoted = isinstance(part, ToolPart) and isinstance(block, TextBlock)
    return (part.id, part.id + RESULT_SUFFIX) if is_quoted else (part.id,)


def differences(store: Store, session_id: str) -> list[str]:
    """Return where timeline and requests disagree, in words."""
    timeline = timeline_of(store, session_id)
    told, sent = held_by_timeline(timeline), held_by_requests(store, session_id)
    assert [name for name, _ in told] == [name for name, _ in sent]
    labels = {_name(item): f"{item.kind} {item.label!r}" for item in timeline.items}
    return [
        f"request {number}: {words} {labels.get(part, part)}"
        for number, ((_, mine), (_, theirs)) in enumerate(zip(told, sent, strict=True))
        for words, those in (("not sent:", mine - theirs), ("sent besides:", theirs - mine))
        for part in sorted(those)
    ]


def _name(item: TimelineItem) -> str:
    return part_id_of(item) + (RESULT_SUFFIX if item.kind == "output" else "")
