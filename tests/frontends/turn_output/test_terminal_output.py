"""A terminal prints each item once, in the same words as every other view."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.render import reader_samples as told
from tests.render.sample_parts import assistant, failed, ran, user

from palimpsest.frontends.turn_output.terminal_output import TerminalOutput
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import RetryPart, Span, TextPart
from palimpsest.transcript.session_record.sessions import Idle
from palimpsest.transcript.values import Ask, Reply


class Feed:
    """A fake feed of a turn's messages."""

    def __init__(self, *messages: Message) -> None:
        self.changes = 0
        self.problems = 0
        self.notes = OutlineNotes()
        self.told = True
        self._messages = messages

    def snapshot(self) -> Any:
        return SimpleNamespace(status=Idle(), problem="")

    def has_told(self, _snapshot: Any) -> bool:
        return self.told

    def messages(self, _snapshot: Any) -> tuple[Message, ...]:
        self.changes += 1
        return self._messages


def cleared(part_id: str, number: int = 1) -> Decision:
    return Decision(
        id=f"dec_{number}",
        action="clear",
        rule="prune/batch",
        part_id=part_id,
        message_id="msg_2",
        numbers={"reason": "read-again"},
        tokens_before=4_000,
        tokens_after=15,
    )


def printed(
    feed: Feed, capsys: pytest.CaptureFixture[str], story: TerminalOutput | None = None
) -> str:
    feed.changes += 1
    (story or TerminalOutput(feed, scrub=str)).refresh()  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_a_call_stands_with_what_the_model_no_longer_sees_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "line", path="a.txt")))
    feed.notes = OutlineNotes(decisions=(cleared("prt_c"),))

    assert (
        "    --- Cleared for the model: 4,000 → 15 tokens, by rule prune/batch; the whole text is kept. "
        "The same file was read again later. ---\n"
    ) in printed(feed, capsys)


def test_what_is_cleared_later_is_said_once_for_all_that_are_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "one", "prt_a"), ran("read", "two", "prt_b")))
    story = TerminalOutput(feed, scrub=str)  # type: ignore[arg-type]
    assert "---" not in printed(feed, capsys, story)

    feed.notes = OutlineNotes(decisions=(cleared("prt_a", 1), cleared("prt_b", 2)))

    assert printed(feed, capsys, story) == (
        "--- 2 earlier outputs · Cleared for the model: 8,000 → 30 tokens, by rule prune/batch; the "
        "whole text is kept. The same file was read again later. ---\n"
    )
    assert printed(feed, capsys, story) == ""


@pytest.mark.parametrize("part", told.PARTS, ids=lambda part: f"{part.type} {part.id}")
def test_every_part_is_told_but_what_is_streamed_or_still_waits(
    part: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    html = told.render_message(assistant(part))
    still = part.type == "tool" and part.state.status in ("pending", "running")
    still = still or (part.type == "text" and "\n" not in part.text)  # a line still being written
    elsewhere = part.type == "step-finish" and part.reason != "length"

    made = printed(Feed(assistant(part)), capsys)

    assert bool(made.strip()) == (bool(html) and not still and not elsewhere)


def retry(name: str, why: str, seconds: int) -> RetryPart:
    error = ApiError(message=why, retryable=True)
    time = Span(start=0, end=1_000 * seconds)
    return RetryPart(id=name, session_id="s", message_id="m", attempt=1, error=error, time=time)


def test_attempts_in_a_row_are_one_line_that_grows_and_says_how_they_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(retry("r1", "Overloaded", 2)))
    story = TerminalOutput(feed, scrub=str)  # type: ignore[arg-type]
    assert printed(feed, capsys, story) == "↻ Overloaded. Sent again after 2.0 s"

    feed._messages = (
        assistant(
            retry("r1", "Overloaded", 2),
            retry("r2", "Overloaded", 4),
            retry("r3", "Too many requests.", 8),
            TextPart(id="t", session_id="s", message_id="m", text="Here I am.\n"),
        ),
    )
    assert printed(feed, capsys, story) == (
        ", then 4.0 s; Too many requests. Sent again after 8.0 s: answered.\nHere I am.\n"
    )
    assert printed(feed, capsys, story) == ""


def test_another_way_that_was_taken_at_once_is_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = Feed(assistant(retry("r1", "Model a cannot be used, so b writes it.", 0)))

    assert printed(story, capsys) == "↻ Model a cannot be used, so b writes it.\n"


def test_what_a_person_typed_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(Feed(user("How many?")), capsys) == ""


ASK = Ask(
    id="per_1", permission="python", patterns=("*",), title="", input={}, call_id="call_prt_f"
)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, "failed"),
        (Reply(answer="once"), "failed · allowed once"),
        (Reply(answer="once", by="a hook"), "failed · allowed once by a hook"),
        (Reply(answer="reject"), "refused by you"),
        (Reply(answer="reject", feedback="not now"), "refused by you: not now"),
        (Reply(answer="reject", by="the rule x"), "refused by the rule x"),
        (Reply(answer="reject", by="headless"), "refused, nobody was there to ask"),
    ],
)
def test_a_call_that_did_not_run_says_whether_it_failed_or_who_refused_it(
    capsys: pytest.CaptureFixture[str], reply: Reply | None, words: str
) -> None:
    feed = Feed(assistant(failed("python", "No.")))
    feed.notes = OutlineNotes((ASK,), (("per_1", reply),) if reply is not None else ())

    assert printed(feed, capsys).splitlines()[0].endswith(f" · {words}")


def test_a_failed_call_is_printed_when_it_is_known_whether_it_was_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(assistant(ran("read", "line", path="a.txt"), failed("python", "No.")))
    story = TerminalOutput(feed, scrub=str)  # type: ignore[arg-type]
    feed.told = False
    assert printed(feed, capsys, story) == ""

    feed.notes, feed.told = OutlineNotes((ASK,), (("per_1", Reply(answer="reject")),)), True
    shown = printed(feed, capsys, story)

    assert shown.index("read") < shown.index("refused by you")
