"""A turn is split into segments that together are the whole turn, without loss or repetition."""

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.mime_bundle import TurnFacts, segment_bundle
from palimpsest.frontends.turn_output.segments import (
    MAX_SEGMENT_CHARS,
    Segment,
    cut_after_call,
    cut_when_long,
    segment_after,
    segment_messages,
)
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    parts_of,
)
from palimpsest.transcript.parts import (
    Part,
    Span,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.values import ModelRef

MODEL = ModelRef(provider="test", name="m")


def text(number: int, words: str) -> TextPart:
    return TextPart(id=f"prt_{number}", session_id="s", message_id="m", text=words)


def call(number: int) -> ToolPart:
    state = ToolCompleted(input={}, output="ok", time=Span(start=0, end=1))
    return ToolPart(
        id=f"prt_{number}",
        session_id="s",
        message_id="m",
        call_id=f"call_{number}",
        tool="python",
        state=state,
    )


def message(*parts: Part, id: str = "m") -> Message:
    info = AssistantMessage(
        id=id,
        session_id="s",
        parent_id="u",
        time=MessageTime(created=0),
        agent="build",
        model=MODEL,
        path=MessagePath(cwd="/", root="/"),
    )
    return Message(info=info, parts=parts)


def cut(messages: list[Message]) -> list[Segment]:
    """Split a turn as a cell does."""
    open_, done = Segment(0, SegmentCut()), []
    while (closed := cut_when_long(messages, open_)) is not None:
        done.append(closed)
        open_ = segment_after(messages, closed)
    return [*done, open_]


def shown(messages: list[Message], segments: list[Segment]) -> list[Part]:
    return [p for segment in segments for m in segment_messages(messages, segment) for p in m.parts]


def paragraphs(count: int) -> str:
    return "".join(f"Paragraph {i}. {'word ' * 40}\n\n" for i in range(count))


def test_a_short_turn_is_one_segment() -> None:
    messages = [message(text(1, "Hello."), call(2))]

    assert cut(messages) == [Segment(0, SegmentCut())]
    assert shown(messages, cut(messages)) == list(parts_of(messages))


def test_a_long_text_is_cut_between_blocks() -> None:
    whole = paragraphs(100)
    messages = [message(text(1, whole))]

    segments = cut(messages)
    texts = [part.text for part in shown(messages, segments) if isinstance(part, TextPart)]

    assert len(segments) == 3
    assert "".join(texts) == whole
    assert all(piece.startswith("Paragraph") for piece in texts)
    paragraph = len(whole) / 100
    assert all(
        MAX_SEGMENT_CHARS <= len(piece) < MAX_SEGMENT_CHARS + 2 * paragraph for piece in texts[:-1]
    )


def test_a_long_listing_stays_in_the_output_in_which_it_was_written() -> None:
    prose = paragraphs(10)
    listing = "```python\n" + "x = 1  # a line of code\n" * 400 + "```\n\n"
    messages = [message(text(1, prose + listing + paragraphs(2)))]

    texts = [p.text for p in shown(messages, cut(messages)) if isinstance(p, TextPart)]

    assert texts == [prose + listing, paragraphs(2)]


def test_lists_and_code_are_not_cut() -> None:
    code = "```python\n" + "\n\n".join(f"line_{i} = {i}" for i in range(400)) + "\n```\n\n"
    items = "".join(f"- item {i} {'word ' * 20}\n\n" for i in range(60))
    messages = [message(text(1, paragraphs(20) + code + items + paragraphs(20)))]

    texts = [p.text for p in shown(messages, cut(messages)) if isinstance(p, TextPart)]

    assert all(piece.count("```") % 2 == 0 for piece in texts)
    assert not any(piece.startswith("- item 3") for piece in texts)


def test_a_listing_without_end_is_cut_at_a_line_and_fenced_again() -> None:
    listing = "```python\n" + "x = 1  # a line of code\n" * 3_000 + "```\n"
    messages = [message(text(1, listing))]

    texts = [p.text for p in shown(messages, cut(messages)) if isinstance(p, TextPart)]

    assert len(texts) > 1
    assert all(piece.startswith("```python\n") for piece in texts)
    assert all(piece.rstrip().endswith("```") for piece in texts)
    assert sum(piece.count("x = 1") for piece in texts) == 3_000


def test_a_cut_after_a_call_leaves_the_call_above() -> None:
    messages = [
        message(text(1, "a"), call(2), text(3, "b"), id="m1"),
        message(text(4, "c"), id="m2"),
    ]

    closed = cut_after_call(messages, Segment(0, SegmentCut()), "call_2")
    assert closed is not None
    rest = segment_after(messages, closed)

    assert [p.id for m in segment_messages(messages, closed) for p in m.parts] == ["prt_1", "prt_2"]
    assert [(m.id, [p.id for p in m.parts]) for m in segment_messages(messages, rest)] == [
        ("m1", ["prt_3"]),
        ("m2", ["prt_4"]),
    ]
    assert cut_after_call(messages, rest, "call_2") is None


def test_steps_are_counted_on() -> None:
    step = StepFinishPart(id="prt_9", session_id="s", message_id="m", reason="stop")
    messages = [message(call(1), step, call(2))]
    closed = cut_after_call(messages, Segment(0, SegmentCut()), "call_2")
    assert closed is not None

    assert segment_after(messages, closed).first_step == 2


BLOCKS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=400).map(
        lambda t: t + "\n\n"
    ),
    st.sampled_from(
        [
            "```\ncode\n\ncode\n```\n\n",
            "- a\n\n- b\n\n",
            "~~~\n```\n~~~\n",
            paragraphs(12),
            "| a |\n|---|\n| b |\n",
        ]
    ),
)
PARTS = st.lists(
    st.one_of(st.just("call"), st.lists(BLOCKS, max_size=30).map("".join)), min_size=1, max_size=6
)


@given(PARTS)
def test_segments_together_are_the_turn(parts: list[str]) -> None:
    """For any texts and calls, the segments hold each of them once and in order."""
    made = [call(i) if kind == "call" else text(i, kind) for i, kind in enumerate(parts)]
    messages = [message(*made)]

    segments = shown(messages, cut(messages))

    order = [part.id for part in segments]
    assert sorted(set(order), key=order.index) == [
        part.id for part in made if not isinstance(part, TextPart) or part.text or part.id in order
    ]
    for part in made:
        pieces = [found_part for found_part in segments if found_part.id == part.id]
        if isinstance(part, TextPart):
            assert "".join(getattr(piece, "text", "") for piece in pieces) == part.text
        else:
            assert pieces == [part]


def test_a_text_is_searched_for_secrets_once_for_all_formats() -> None:
    searched: list[str] = []

    def scrub(words: str) -> str:
        searched.append(words)
        return words

    turn = [message(text(1, "The mean is 43.92."), call(2))]
    frame = TurnFacts(session="s", turn="t", seq=(1, 2))
    made = segment_bundle(turn, Segment(0, SegmentCut()), frame, notes=OutlineNotes(), scrub=scrub)

    assert "43.92" in made["text/markdown"]
    assert "43.92" in made["text/plain"]
    assert searched.count("The mean is 43.92.") == 1
    assert len(searched) == len(set(searched))
