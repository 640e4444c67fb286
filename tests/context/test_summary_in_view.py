"""A summary replaces what it covers, and by default only a good one does."""

from tests.builders import Builder

from palimpsest.context.visible_messages import fold
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import CompactionPart


def marked(build: Builder, tail: str | None = None) -> Message:
    message = build.user("")
    part = CompactionPart(
        id=build.id("prt"), session_id="s", message_id=message.id, auto=True, tail_start_id=tail
    )
    return message.model_copy(update={"parts": (part,)})


def summary(
    build: Builder, marker: Message, *, finished: bool = True, failed: bool = False
) -> Message:
    message = build.assistant("What happened.", error=ApiError(message="no") if failed else None)
    assert isinstance(message.info, AssistantMessage)
    finish = "stop" if finished else None
    update = {"summary": True, "parent_id": marker.id, "finish": finish}
    return message.model_copy(update={"info": message.info.model_copy(update=update)})


def test_a_good_summary_cuts_what_it_covers() -> None:
    build = Builder()
    old, marker = (build.user("a"), build.assistant("b")), marked(build)
    told, new = summary(build, marker), build.user("c")

    assert fold((*old, marker, told, new)) == (marker, told, new)


def test_a_failed_summary_cuts_nothing_except_under_the_seeds_rule() -> None:
    build = Builder()
    old, marker = build.user("a"), marked(build)
    failed = summary(build, marker, failed=True)
    messages = (old, marker, failed)

    assert fold(messages) == messages
    assert fold(messages, CompactPolicy(cut="finished")) == (marker, failed)


def test_the_tail_stands_behind_its_summary() -> None:
    build = Builder()
    old, kept = build.user("a"), build.user("b")
    marker = marked(build, kept.id)
    told, new = summary(build, marker), build.user("c")

    assert fold((old, kept, marker, told, new)) == (marker, told, kept, new)
    assert fold((old, kept, marker, told), CompactPolicy(cut="finished")) == (marker, told)


def test_an_unfinished_summary_moves_nothing_by_default() -> None:
    build = Builder()
    old, kept = build.user("a"), build.user("b")
    marker = marked(build, kept.id)
    half = summary(build, marker, finished=False)
    messages = (old, kept, marker, half)

    assert fold(messages) == messages
    assert fold(messages, CompactPolicy(cut="unfinished-tail")) == (marker, half, kept)
    assert fold(messages, CompactPolicy(cut="finished")) == messages
