"""A log's figures become outputs of a cell, and nothing else of a log does."""

import pytest

from palimpsest.frontends.turn_output.restored_outputs import OutputPlace, turn_pieces
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import Attachment, Span, TextPart, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.sessions import Idle
from palimpsest.transcript.values import ModelRef

MODEL = ModelRef(provider="openai", name="gpt-4o")
SCRIPT = "<script>alert(1)</script>"


def figures(mime: str, url: str) -> tuple[dict[str, str], ...]:
    """Return the outputs of a call of Python whose record has this attachment."""
    begun = UserMessage(
        id="msg_1", session_id="ses_1", time=MessageTime(created=1), agent="build", model=MODEL
    )
    info = AssistantMessage(
        id="msg_2", session_id="ses_1", parent_id="msg_1", time=MessageTime(created=2, completed=3), agent="build",
        model=MODEL, path=MessagePath(cwd="/", root="/"), finish="stop",
    )  # fmt: skip
    state = ToolCompleted(
        input={"code": "plot()"}, output="", title="plot()", time=Span(start=2, end=3),
        attachments=(Attachment(mime=mime, url=url),),
    )  # fmt: skip
    own = {"session_id": "ses_1", "message_id": "msg_2"}
    call = ToolPart(id="prt_2", call_id="call_1", tool="python", state=state, **own)
    asked = TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text="Plot.")
    snapshot = Snapshot(
        session=None, status=Idle(), asks=(), inbox=(), todos=(), request=None, seq=3,
        messages=(Message(info=begun, parts=(asked,)), Message(info=info, parts=(call,))),
    )  # fmt: skip
    pieces = turn_pieces(
        "ses_1",
        "msg_1",
        snapshot,
        (),
        scrub=str,
        density="quiet",
        read_image=lambda url: url.removeprefix("blob:"),
    )
    return next(piece.figures for piece in pieces if isinstance(piece, OutputPlace))


@pytest.mark.parametrize("start", ["", "blob:"])
def test_a_picture_is_shown(start: str) -> None:
    (figure,) = figures("image/png", f"{start}data:image/png;base64,aGk=")

    assert figure == {"image/png": "aGk=", "text/plain": "<image/png>"}


@pytest.mark.parametrize(
    "url",
    [
        f"data:text/html;base64,{SCRIPT}",
        f"data:text/html,{SCRIPT}",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:application/javascript;base64,YWxlcnQoMSk=",
        "data:image/svg+xml;base64,PHN2Zz4=",
        f"data:image/png;base64,{SCRIPT}",
        "data:image/png;base64,",
        "data:",
    ],
)
@pytest.mark.parametrize("mime", ["image/png", "text/html"])
def test_what_is_no_picture_never_becomes_markup_of_a_page(mime: str, url: str) -> None:
    (figure,) = figures(mime, url)

    assert list(figure) == ["text/plain"]
    assert "no picture" in figure["text/plain"]
