"""Texts of items that are collected while a timeline is built are those that are read from the log later."""

from palimpsest.recordings.timeline.item_texts import RESULT_SUFFIX, ItemTexts
from palimpsest.store.interface import Owner
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.parts import (
    CompactionPart,
    Span,
    TextPart,
    ToolCompleted,
    ToolPart,
    ToolPending,
)
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    PartDelta,
    PartRemoved,
    PartUpdated,
    Record,
)
from palimpsest.transcript.values import BlobRef

SESSION = "ses_1"


def text_part(name: str, text: str, message: str = "m1") -> PartUpdated:
    return PartUpdated(part=TextPart(id=name, session_id=SESSION, message_id=message, text=text))


def call_part(name: str, state: ToolPending | ToolCompleted) -> PartUpdated:
    part = ToolPart(
        id=name, session_id=SESSION, message_id="m1", call_id="c", tool="read", state=state
    )
    return PartUpdated(part=part)


def done(output: str, blob: BlobRef | None = None) -> ToolCompleted:
    span = Span(start=1, end=2)
    return ToolCompleted(input={"path": "a.py"}, output=output, title="", time=span, blob=blob)


def texts_of(*events: Event, names: tuple[str, ...]) -> list[str]:
    """Return the texts of items, which must be the same collected and read."""
    store = MemoryStore()
    blob = store.put_blob(b"the whole of it")
    writer = store.acquire(SESSION, Owner(host="h", pid=1, kernel_id="k"), create=True)
    collected = ItemTexts(store, SESSION, names.__getitem__, collects_texts=True)
    for seq, event in enumerate(events, start=1):
        record = Record(seq=seq, ts=0, event=event)
        writer.append([record])
        collected.update(record)
    later = ItemTexts(store, SESSION, names.__getitem__)
    for texts in (collected, later):
        texts.blob_by_item = {"system/1/0": blob.sha256}
    found = [collected(index) for index in range(len(names))]
    assert found == [later(index) for index in range(len(names))]
    return found


def test_a_part_has_the_text_of_its_newest_version_and_of_the_deltas_since() -> None:
    delta = PartDelta(message_id="m1", part_id="p1", field="text", delta=" and more")
    of_another_field = PartDelta(message_id="m1", part_id="p1", field="metadata", delta="!")

    assert texts_of(
        text_part("p1", "first"),
        delta,
        text_part("p1", "second"),
        delta,
        of_another_field,
        names=("m1/p1", "m1/p2"),
    ) == ["second and more", ""]


def test_a_call_and_its_result_are_two_texts_and_a_blob_is_read_whole() -> None:
    whole = MemoryStore().put_blob(b"the whole of it")
    gone = BlobRef(sha256="ab" * 32, bytes=3)
    items = (
        "m1/p1",
        f"m1/p1{RESULT_SUFFIX}",
        f"m1/p2{RESULT_SUFFIX}",
        f"m1/p3{RESULT_SUFFIX}",
        "system/1/0",
    )

    assert texts_of(
        call_part("p1", ToolPending()),
        call_part("p1", done("1 x")),
        call_part("p2", done("the wh", whole)),
        call_part("p3", done("short", gone)),
        names=items,
    ) == ['read{"path": "a.py"}', "1 x", "the whole of it", "short", "the whole of it"]


def test_what_was_removed_has_no_text_until_it_is_written_again() -> None:
    assert texts_of(
        text_part("p1", "gone"),
        text_part("p2", "gone with its message", "m2"),
        text_part("p3", "stays", "m3"),
        text_part("p4", "replaced", "m4"),
        PartRemoved(message_id="m1", part_id="p1"),
        MessageRemoved(message_id="m2"),
        MessageRemoved(message_id="m4"),
        text_part("p5", "again", "m4"),
        names=("m1/p1", "m2/p2", "m3/p3", "m4/p4", "m4/p5"),
    ) == ["", "", "stays", "", "again"]


def test_a_compaction_has_the_sentence_that_is_sent_in_its_place() -> None:
    part = CompactionPart(id="p1", session_id=SESSION, message_id="m1", auto=True)

    (text,) = texts_of(PartUpdated(part=part), names=("m1/p1",))

    assert text
