"""No text of a model or a tool breaks views or storage, even if a server splits surrogate pairs."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jupyter_client.session import json_packer
from tests.sample_size import sample_size

from palimpsest.frontends.page_channel.notices import records_since, session_states
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.mime_bundle import TurnFacts, segment_bundle
from palimpsest.frontends.turn_output.segments import Segment
from palimpsest.model.script import ModelAnswer
from palimpsest.public.session_object import Session
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.session.interfaces.sharing_operations import Form
from palimpsest.testing import ScriptedModel, isolated_session
from palimpsest.transcript.parts import ReasoningPart, ToolCompleted, ToolPart
from palimpsest.transcript.redaction.secret_patterns import scrub

FORMS: tuple[Form, ...] = ("md", "html", "ipynb", "json", "opencode")
ODD = ["🐧", "👩‍🚀", "\ud83d", "\udc27", "é", "ש", "a", "\n", "`", "|", "\x00", "\u202e", "\ufffe"]
WORDS = st.lists(st.characters() | st.sampled_from(ODD), max_size=20).map("".join)


@st.composite
def in_pieces(draw: st.DrawFn) -> list[str]:
    """Draw a text, split anywhere in its UTF-16 form, as servers written in JavaScript do."""
    raw = draw(WORDS).encode("utf-16-le", "surrogatepass")
    places = draw(st.sets(st.integers(0, len(raw) // 2), max_size=8))
    cuts = [0, *sorted(2 * place for place in places), len(raw)]
    return [
        raw[begin:end].decode("utf-16-le", "surrogatepass")
        for begin, end in itertools.pairwise(cuts)
    ]


def whole(text: str) -> str:
    """Return a text with lone surrogates replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def said(pieces: list[str]) -> ModelAnswer:
    """Return an answer that sends each piece separately."""
    answer = ModelAnswer().in_pieces(1_000)
    for piece in pieces:
        answer = answer.says(piece)
    return answer


def repeat(text: str) -> str:
    """Say it again.

    Args:
        text: What to say.
    """
    return PRINTED[text]


PRINTED: dict[str, str] = {}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, ScriptedModel]]:
    model = ScriptedModel()
    folder = tmp_path_factory.mktemp("project")
    with isolated_session(
        model, folder=folder, tools=[repeat], settings={"permission": {"repeat": "allow"}}
    ) as session:
        yield session, model


@settings(
    max_examples=sample_size(4, 150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(pieces=in_pieces(), thought=in_pieces(), printed=WORDS, asked=WORDS)
def test_any_text_can_be_shown_kept_and_exported(
    session: tuple[Session, ScriptedModel],
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[str],
    thought: list[str],
    printed: str,
    asked: str,
) -> None:
    live, model = session
    PRINTED["now"] = printed
    before = live.snapshot.seq
    call = ModelAnswer().in_pieces(1_000)
    for piece in thought:
        call = call.thinks(piece)
    model.script(call.calls("repeat", text="now", more=asked), said(["It is ", *pieces, "."]))

    answer = live.prompt(f"Ask. {asked}")

    assert answer.error is None
    assert answer.text == f"It is {whole(''.join(pieces))}."
    parts = [part for message in answer.messages for part in message.parts]
    states = [part.state for part in parts if isinstance(part, ToolPart)]
    assert [state.output for state in states if isinstance(state, ToolCompleted)] == [
        whole(printed)
    ]
    thoughts = [part.text for part in parts if isinstance(part, ReasoningPart)]
    assert "".join(thoughts) == whole("".join(thought))
    _assert_sendable(live, before)
    _assert_exportable(live, tmp_path_factory.mktemp("exports"))


def _assert_sendable(live: Session, before: int) -> None:
    """Check that the cell's output and the panel's notices can be serialised."""
    kernel_session: Any = live._kernel_session
    segment = Segment(0, SegmentCut())
    frame = TurnFacts(session=live.id, turn="msg_0", seq=(0, 0), status="waits")
    json_packer(segment_bundle(live.messages, segment, frame, notes=OutlineNotes(), scrub=scrub))
    notices = [*session_states(kernel_session, "a"), *records_since(kernel_session, before, "b")]
    for notice in notices:
        json_packer(notice.model_dump(mode="json", exclude_none=True))


def _assert_exportable(live: Session, folder: Path) -> None:
    for form in FORMS:
        path = live.export(form, folder / f"session.{form}")
        for file in [path] if path.is_file() else path.rglob("*.json"):
            text = Path(file).read_text(encoding="utf-8")
            if file.suffix in {".json", ".ipynb"}:
                json.loads(text)
