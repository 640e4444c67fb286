"""Each error that the user sees is published as one ``session.error``, with the id of its message."""

from collections.abc import Sequence

import pytest

from palimpsest.testing import (
    ModelAnswer,
    ScriptedModel,
    fails,
    isolated_session,
    overflows,
    says,
    unauthorized,
)
from palimpsest.transcript.session_record.events import PartDelta, PartUpdated, Record, SessionError

pytestmark = pytest.mark.slow

FAILING: dict[str, tuple[ModelAnswer, str]] = {
    "a wrong key": (unauthorized(), "auth"),
    "a request that is none": (fails(400, "temperature is not supported"), "api"),
    "a prompt that is too long": (overflows(), "context-overflow"),
    "an answer cut off": (ModelAnswer().finishes("length"), "output-length"),
    "an answer that was filtered": (says("I").finishes("content_filter"), "content-filter"),
    "an empty answer": (ModelAnswer().finishes("stop"), "unknown"),
}


@pytest.mark.parametrize("case", FAILING)
def test_an_answer_that_fails_is_told_once(case: str) -> None:
    answer, kind = FAILING[case]
    told: list[SessionError] = []

    def watch(records: Sequence[Record]) -> None:
        told.extend(record.event for record in records if isinstance(record.event, SessionError))

    with isolated_session(ScriptedModel(answer, answer, answer)) as session:
        end = session.subscribe(watch)
        ended = session.prompt("Look.")
        messages = session.messages
        session.requests()  # reads the log, so all of it is written
        end()

    shown = {
        m.info.id: m.info.error for m in messages if m.info.role == "assistant" and m.info.error
    }
    assert ended.error is not None
    assert ended.error.type == kind
    assert {error_event.message_id: error_event.error for error_event in told} == shown
    assert len(told) == len(shown) == 1


def test_a_stopped_answer_is_told_once() -> None:
    told: list[SessionError] = []

    with isolated_session(ScriptedModel(says("I begin. ").stalls())) as session:

        def watch(records: Sequence[Record]) -> None:
            told.extend(
                record.event for record in records if isinstance(record.event, SessionError)
            )
            if any(isinstance(record.event, PartUpdated | PartDelta) for record in records):
                session.cancel()

        end = session.subscribe(watch)
        ended = session.prompt("Look.")
        session.requests()
        end()

    assert ended.stopped_by == "cancelled"
    assert [error_event.error.type for error_event in told] == ["aborted"]


def test_an_answer_that_ends_well_after_an_attempt_failed_tells_none() -> None:
    told: list[SessionError] = []

    def watch(records: Sequence[Record]) -> None:
        told.extend(record.event for record in records if isinstance(record.event, SessionError))

    again = fails(429, "Slow down.", retry_after_ms=1)
    with isolated_session(ScriptedModel(again, says("Good."))) as session:
        end = session.subscribe(watch)
        assert session.prompt("Look.").stopped_by == "finished"
        session.requests()
        end()

    assert told == []
