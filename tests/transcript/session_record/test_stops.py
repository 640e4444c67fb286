"""The reason for a turn's end is read from its last answer, also in logs of older versions."""

import pytest

from palimpsest.transcript.errors import (
    AbortedError,
    AuthError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    OutputLengthError,
)
from palimpsest.transcript.messages import (
    KERNEL_ENDED,
    STOP_REASONS,
    AssistantMessage,
    MessagePath,
    MessageTime,
    stop_reason_of,
)
from palimpsest.transcript.session_record.events import MessageUpdated, Record, parse_record
from palimpsest.transcript.values import ModelRef


def answer(
    finish: str | None = None, error: ErrorValue | None = None, stopped_by: str | None = None
) -> AssistantMessage:
    return AssistantMessage(
        id="msg_2",
        session_id="ses_1",
        parent_id="msg_1",
        time=MessageTime(created=1),
        agent="build",
        model=ModelRef(provider="a", name="b"),
        path=MessagePath(cwd="/", root="/"),
        finish=finish,
        error=error,
        stopped_by=stopped_by,
    )


@pytest.mark.parametrize(
    ("older", "stop"),
    [
        (answer("stop"), "finished"),
        (answer("length"), "length"),
        (answer("content-filter"), "content_filter"),
        (answer("unknown"), "error"),
        (answer("tool-calls"), None),
        (answer(), None),
        (answer("stop", AuthError(provider="a", message="No.")), "error"),
        (answer("length", OutputLengthError()), "length"),
        (answer(error=ContentFilterError()), "content_filter"),
        (answer(error=ContextOverflowError(message="Long.")), "window"),
        (answer(error=AbortedError()), "cancelled"),
        (answer(error=AbortedError(message=KERNEL_ENDED[0])), "interrupted"),
    ],
)
def test_of_an_older_log_it_is_derived(older: AssistantMessage, stop: str | None) -> None:
    assert stop_reason_of(older) == stop


@pytest.mark.parametrize("stop", STOP_REASONS)
def test_what_is_journaled_is_read_back(stop: str) -> None:
    written = MessageUpdated(info=answer("stop", stopped_by=stop))

    read = parse_record(Record(seq=1, ts=1, event=written).wire()).event

    assert isinstance(read, MessageUpdated)
    assert isinstance(read.info, AssistantMessage)
    assert stop_reason_of(read.info) == stop


def test_a_word_of_a_newer_version_is_kept_and_passed_over() -> None:
    newer = answer("stop", stopped_by="moonlight")

    assert AssistantMessage.model_validate_json(newer.model_dump_json()) == newer
    assert stop_reason_of(newer) == "finished"
