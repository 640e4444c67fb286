"""The pictures of a request fit what its provider takes, whatever a session holds, and what was sent before stays as it was."""

import base64
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder

from palimpsest.context.reduction.picture_limits import (
    SentPicture,
    ShrunkPicture,
    cannot_shrink,
    keep_picture_limits,
    learned_limits,
    sent_pictures,
)
from palimpsest.context.reduction.picture_sizes import picture_size, size_of_url
from palimpsest.context.request_assembly.projection import Projection, project
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.provider_messages import message_hash, to_provider
from palimpsest.render.content.decision_reasons import reason
from palimpsest.transcript.context_values.decisions import RESTORE, Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Attachment, FilePart, ToolCompleted, ToolPart
from palimpsest.transcript.provider_profile.profile import limits_of
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits
from palimpsest.transcript.values import ModelInfo, ModelRef


def png(width: int, height: int, extra: int = 0) -> bytes:
    """Return the beginning of a PNG of this size, and so many bytes more."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    return head + struct.pack(">I", zlib.crc32(chunk)) + b"x" * extra


def url_of(content: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def model_of(name: str, api_base: str | None = None) -> ModelInfo:
    provider, _, model = name.partition("/")
    return ModelInfo(
        ref=ModelRef(provider=provider, name=model),
        window=200_000,
        output_limit=8_000,
        vision=True,
        api_base=api_base,
    )


@dataclass
class Session:
    """A session that grows, whose requests keep the limits of a model."""

    model: ModelInfo
    learned: RequestLimits = NO_LIMITS
    shrinks: bool = True
    make: Builder = field(default_factory=Builder)
    messages: Messages = ()
    decisions: tuple[Decision, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    def look(self, *pictures: bytes, mime: str = "image/png") -> None:
        """Add a turn in which a tool returned pictures, and the prompt had the first of them attached."""
        prompt = self.make.user("Look.")
        call = self.make.ran("read", "output", path="x.png")
        assert isinstance(call.state, ToolCompleted)
        attachments = tuple(
            Attachment(mime=mime, filename=f"{at}.png", url=url_of(picture, mime))
            for at, picture in enumerate(pictures)
        )
        state = call.state.model_copy(update={"attachments": attachments})
        call = call.model_copy(update={"state": state})
        self.messages += (prompt, self.make.assistant(call, to=prompt))

    def attach(self, picture: bytes) -> None:
        """Add a prompt with a picture."""
        prompt = self.make.user("This.")
        file = FilePart(
            id=self.make.id("prt"),
            session_id=prompt.info.session_id,
            message_id=prompt.id,
            mime="image/png",
            filename="mine.png",
            url=url_of(picture),
        )
        changed = prompt.model_copy(update={"parts": (*prompt.parts, file)})
        self.messages += (changed, self.make.assistant("I see.", to=prompt))

    @property
    def view(self) -> View:
        return View(self.messages, self.decisions, self.texts)

    def request(self) -> Projection:
        return project(
            self.view, system=("Help.",), tools=(), model=self.model, policy=Policy(), count=len
        )

    def sent(self) -> list[SentPicture]:
        return list(sent_pictures(self.view, self.request().messages, self.model))

    def hashes(self) -> list[str]:
        return [
            message_hash(message) for message in to_provider(self.request().messages, self.model)
        ]

    def decide(self) -> tuple[Decision, ...]:
        """Decide before the next request, as the loop does."""
        ids = (f"dec_{len(self.decisions) + number}" for number in range(1_000))
        made = keep_picture_limits(
            self.view,
            self.request().messages,
            self.model,
            lambda: next(ids),
            self.shrink if self.shrinks else cannot_shrink,
            self.learned,
        )
        self.decisions += made
        return made

    def shrink(self, picture: SentPicture, side: int, most: int | None) -> ShrunkPicture | None:
        """Return a stand-in of the wanted size, as light as a header."""
        assert picture.size is not None
        scale = min(1.0, side / picture.longer_side)
        size = max(1, int(picture.size[0] * scale)), max(1, int(picture.size[1] * scale))
        url = url_of(png(*size))
        if most is not None and len(url) > most:
            return None
        name = f"sha{len(self.texts)}"
        self.texts[name] = url
        return ShrunkPicture(f"blob:{name}", "image/png", size, len(url))


PICTURES = st.tuples(st.integers(10, 9_000), st.integers(10, 9_000), st.integers(0, 60_000))
LIMITS = st.builds(
    RequestLimits,
    pictures=st.none() | st.integers(1, 12),
    side=st.none() | st.integers(1_000, 8_000),
    many=st.just(4),
    many_side=st.none() | st.integers(500, 2_000),
    pixels=st.none() | st.integers(500_000, 40_000_000),
    picture_bytes=st.none() | st.integers(1_000, 60_000),
    request_bytes=st.none() | st.integers(4_000, 200_000),
)


def breaks(pictures: list[SentPicture], limits: RequestLimits) -> list[str]:
    """Return the limits that pictures of a request break, written apart from what is tested."""
    sides = [picture.longer_side for picture in pictures]
    found = {
        "pictures": limits.pictures is not None and len(pictures) > limits.pictures,
        "side": limits.side is not None and any(side > limits.side for side in sides),
        "many": limits.many is not None
        and limits.many_side is not None
        and len(pictures) > limits.many
        and any(side > limits.many_side for side in sides),
        "pixels": limits.pixels is not None
        and any(picture.pixels > limits.pixels for picture in pictures),
        "bytes": limits.picture_bytes is not None
        and any(picture.bytes > limits.picture_bytes for picture in pictures),
        "request": limits.request_bytes is not None
        and sum(picture.bytes for picture in pictures) > limits.request_bytes,
    }
    return [name for name, broken in found.items() if broken]


@given(
    turns=st.lists(st.lists(PICTURES, min_size=1, max_size=4), min_size=1, max_size=8),
    limits=LIMITS,
    shrinks=st.booleans(),
)
def test_no_request_breaks_a_limit_and_each_call_keeps_its_result(
    turns: list[list[tuple[int, int, int]]], limits: RequestLimits, *, shrinks: bool
) -> None:
    session = Session(model_of("somebody/sees"), limits, shrinks)
    before: list[str] = []
    for pictures in turns:
        session.look(*(png(*size) for size in pictures))
        made = session.decide()

        hashes = session.hashes()
        assert breaks(session.sent(), limits) == []
        assert session.decide() == ()
        calls = [b for m in session.request().messages for b in m.blocks if b.type == "call"]
        results = [b for m in session.request().messages for b in m.blocks if b.type == "result"]
        assert [call.call_id for call in calls] == [result.call_id for result in results]
        if not made:
            assert hashes[: len(before)] == before
        before = hashes


def test_a_cached_beginning_breaks_once_for_several_pictures() -> None:
    session = Session(model_of("mistral/pixtral-large"))
    broken = 0
    for _ in range(40):
        session.look(png(300, 200))
        broken += bool(session.decide())

    assert broken == 11
    assert len(session.sent()) <= 8


def test_what_is_left_out_is_named_and_the_log_keeps_it() -> None:
    session = Session(model_of("somebody/sees"), RequestLimits(pictures=1))
    session.look(png(300, 200), png(400, 200))
    whole = session.messages

    (made,) = session.decide()

    assert made.numbers["pictures"]["0"]["size"] == [300, 200]
    result = next(b for m in session.request().messages for b in m.blocks if b.type == "result")
    assert result.text.startswith("output\n\n[picture left out: 0.png, 300 x 200 pixels. ")
    assert [attachment.filename for attachment in result.media] == ["1.png"]
    assert session.messages == whole


def test_a_picture_of_a_prompt_is_made_smaller_or_becomes_words() -> None:
    session = Session(model_of("anthropic/claude-x"))
    session.attach(png(9_000, 4_500))
    session.decide()
    assert [picture.size for picture in session.sent()] == [(7_600, 3_800)]

    session.shrinks = False
    session.attach(png(9_000, 4_500))
    session.decide()

    assert [picture.size for picture in session.sent()] == [(7_600, 3_800)]
    words = str(to_provider(session.request().messages, session.model))
    assert "[picture left out: mine.png, 9,000 x 4,500 pixels." in words


def test_a_later_reduction_of_the_text_keeps_the_picture_as_it_is_sent() -> None:
    session = Session(model_of("anthropic/claude-x"))
    session.look(png(9_000, 900))
    session.decide()
    call = session.messages[-1].parts[-1]
    assert isinstance(call, ToolPart)
    cut = {"head_chars": 3, "tail_chars": 0, "suffix": "…"}
    for action in ("truncate", "restore"):
        session.decisions += (
            Decision(
                id=f"dec_{action}",
                action="truncate" if action == "truncate" else "restore",
                rule="recover/oversized" if action == "truncate" else RESTORE,
                message_id=call.message_id,
                part_id=call.id,
                numbers=cut,
            ),
        )
        assert [picture.longer_side for picture in session.sent()] == [7_600]
    result = next(b for m in session.request().messages for b in m.blocks if b.type == "result")
    assert result.text == "output"


def test_what_a_person_pinned_is_left_out_last() -> None:
    session = Session(model_of("somebody/sees"), RequestLimits(pictures=2))
    for width in (100, 200, 300):
        session.look(png(width, 50))
    first = session.messages[1].parts[-1]
    pin = Decision(
        id="p", action="pin", rule="user/pin", part_id=first.id, message_id=first.message_id
    )
    session.decisions += (pin,)

    session.decide()

    assert [picture.longer_side for picture in session.sent()] == [100]


def test_a_limit_that_was_learned_holds_for_its_model_alone() -> None:
    session = Session(model_of("somebody/sees"), RequestLimits(pictures=2))
    for _ in range(3):
        session.look(png(100, 100))
    session.decide()

    assert learned_limits(session.decisions, session.model) == RequestLimits(pictures=2)
    assert learned_limits(session.decisions, model_of("other/sees")) == NO_LIMITS


@pytest.mark.parametrize(
    ("name", "api_base", "known"),
    [
        ("anthropic/claude-x", None, True),
        ("anthropic/claude-x", "http://127.0.0.1:9", True),
        ("openrouter/anthropic/claude-x", None, True),
        ("openai/gpt-5.4", None, True),
        ("openai/my-model", "http://127.0.0.1:9/v1", False),
        ("groq/llama-4", None, True),
        ("somebody/else", None, False),
    ],
)
def test_limits_are_those_of_who_documents_them(
    name: str, api_base: str | None, *, known: bool
) -> None:
    assert limits_of(model_of(name, api_base)).has_picture_limits == known


def test_a_model_that_sees_nothing_has_nothing_left_out() -> None:
    session = Session(model_of("mistral/large").model_copy(update={"vision": False}))
    session.look(*(png(100, 100) for _ in range(20)))

    assert session.decide() == ()


def test_a_document_counts_and_is_named_as_one() -> None:
    session = Session(model_of("anthropic/claude-x"), RequestLimits(pictures=1))
    session.look(b"%PDF-1.4\n", b"%PDF-1.5\n", mime="application/pdf")

    session.decide()

    assert len(session.sent()) == 1
    assert "[document left out: 0.png." in str(session.request().messages)


SIZES: dict[str, Callable[[int, int], bytes]] = {
    "png": png,
    "gif": lambda w, h: b"GIF89a" + struct.pack("<HH", w, h),
    "jpeg": lambda w, h: (
        b"\xff\xd8\xff\xe1" + struct.pack(">H", 60_002) + b"e" * 60_000
        + b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", h, w) + b"\x03"
    ),
    "webp": lambda w, h: (
        b"RIFF....WEBPVP8X\x0a\0\0\0....." [:24] + (w - 1).to_bytes(3, "little") + (h - 1).to_bytes(3, "little")
    ),
    "webp lossless": lambda w, h: (
        b"RIFF....WEBPVP8L....\x2f" + ((w - 1) | (h - 1) << 14).to_bytes(4, "little")
    ),
    "webp lossy": lambda w, h: b"RIFF....WEBPVP8 ....fff\x9d\x01\x2a" + struct.pack("<HH", w, h),
}  # fmt: skip


@pytest.mark.parametrize("kind", SIZES)
@given(width=st.integers(1, 16_000), height=st.integers(1, 16_000))
def test_a_size_is_read_from_the_first_bytes(kind: str, width: int, height: int) -> None:
    content = SIZES[kind](width, height)

    assert picture_size(content) == (width, height)
    assert size_of_url(url_of(content, "image/any")) == (width, height)


@given(st.binary(max_size=300) | st.binary(max_size=60).map(lambda rest: b"\xff\xd8" + rest))
def test_any_bytes_have_a_size_or_none(content: bytes) -> None:
    size = picture_size(content)

    assert size is None or min(size) > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMED = st.sampled_from(["url", "mime", "out", "size", "to", "name"])


@given(
    pictures=JSON | st.dictionaries(st.sampled_from("0123"), st.dictionaries(NAMED, JSON) | JSON),
    learned=JSON | st.dictionaries(st.sampled_from(["side", "pixels", "pictures", "many"]), JSON),
)
def test_a_log_that_says_anything_of_pictures_makes_a_request(
    pictures: object, learned: object
) -> None:
    session = Session(model_of("somebody/sees"))
    session.look(png(300, 200), png(9_000, 30))
    call = session.messages[-1].parts[-1]
    numbers = {"pictures": pictures, "learned": learned, "model": "somebody/sees", **TEXT}
    session.decisions += (
        Decision(
            id="dec_x",
            action="truncate",
            rule="limit/pictures",
            message_id=call.message_id,
            part_id=call.id,
            numbers=numbers,
        ),
    )

    session.decide()

    assert session.hashes()
    assert reason(session.decisions[0])


TEXT = {"head_chars": 100, "tail_chars": 0, "suffix": ""}
